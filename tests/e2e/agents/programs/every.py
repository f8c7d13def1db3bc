"""The programs that are driven: one in every run, all of them with SAYSO_ALL."""

from __future__ import annotations

import os

from tests.e2e.agents.place import Program
from tests.e2e.agents.programs.claude_code import ClaudeCode, ClaudeCodeWithRules
from tests.e2e.agents.programs.codex import Codex, CodexInJavaScript
from tests.e2e.agents.programs.gemini_cli import GeminiCli
from tests.e2e.agents.programs.opencode import OpenCode

EVERY: tuple[Program, ...] = (
    CodexInJavaScript(),
    Codex(),
    ClaudeCode(),
    ClaudeCodeWithRules(),
    GeminiCli(),
    OpenCode(),
)
DRIVEN = EVERY if "SAYSO_ALL" in os.environ else EVERY[:1]
UNRULED = [program for program in DRIVEN if not isinstance(program, ClaudeCodeWithRules)]
"""Those that run every call unless a hook stops it."""

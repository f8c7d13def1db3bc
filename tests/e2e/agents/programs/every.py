"""The programs that are driven: one in every run, all of them with SAYSO_ALL."""

from __future__ import annotations

import os

from tests.e2e.agents.place import Program
from tests.e2e.agents.programs.claude_code import ClaudeCode
from tests.e2e.agents.programs.codex import Codex, CodexInJavaScript
from tests.e2e.agents.programs.gemini_cli import GeminiCli
from tests.e2e.agents.programs.opencode import OpenCode

EVERY: tuple[Program, ...] = (CodexInJavaScript(), Codex(), ClaudeCode(), GeminiCli(), OpenCode())
DRIVEN = EVERY if "SAYSO_ALL" in os.environ else EVERY[:1]

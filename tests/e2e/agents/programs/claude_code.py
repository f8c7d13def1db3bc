"""Claude Code, without a terminal (`claude -p`)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.agents.apis.anthropic_messages import AnthropicMessages
from tests.e2e.agents.model import Api, ToolCall
from tests.e2e.agents.place import CONSENT, DENIAL, HandWritten, Place, find_installed, write_script

SETTINGS = '{\n\t"cleanupPeriodDays" : 30,\n\n  "env": {} }'  # as a user may have written it


class ClaudeCode:
    """Its own permissions are off, so that nothing but the hook stands in the way of a call."""

    name = "claude"
    package = "@anthropic-ai/claude-code"
    api: Api = AnthropicMessages()
    denial = HandWritten(json.dumps({"hookSpecificOutput": DENIAL}))
    consent = HandWritten(json.dumps({"hookSpecificOutput": CONSENT}))

    def start(self) -> list[str]:
        return [find_installed(self.name, "@anthropic-ai/claude-code-*/claude")]

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--output-format", "json", "--dangerously-skip-permissions"]

    def environment(self, model: str) -> dict[str, str]:
        return {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": model,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # without it root may not turn the permissions off
        }

    def configure(self, place: Place, model: str) -> None:
        (place.home / ".claude").mkdir()
        (place.home / ".claude" / "settings.json").write_text(SETTINGS, encoding="utf-8")

    def shell_call(self, line: str) -> ToolCall:
        return ToolCall("Bash", {"command": line, "description": "Write the file"})

    def write_hook(self, place: Place, hook: HandWritten) -> None:
        command = write_script(place.home / "hook", hook, place.home / "seen")
        hooks = {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]}
        (place.home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")

    def hook_settings(self, place: Place) -> Path:
        return place.home / ".claude" / "settings.json"

    def accept_hooks(self, place: Place) -> None:
        """Nothing: hooks run at once."""


class ClaudeCodeWithRules(ClaudeCode):
    """Its own permissions are on: without a terminal it refuses what no rule and no hook allows."""

    def arguments(self, prompt: str) -> list[str]:
        return ["-p", prompt, "--output-format", "json"]

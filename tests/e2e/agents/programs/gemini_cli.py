"""Gemini CLI, without a terminal (`gemini -p`)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.agents.apis.gemini_content import GeminiContent
from tests.e2e.agents.model import Api, ToolCall
from tests.e2e.agents.place import HandWritten, Place, find_installed, write_script
from tests.support.repository import ROOT

SETTINGS = {
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
}


class GeminiCli:
    """Its own approvals are off, so that nothing but the hook stands in the way of a call."""

    name = "gemini"
    package = "@google/gemini-cli"
    api: Api = GeminiContent()
    denial = HandWritten('{"decision": "deny", "reason": "no, says the test"}')
    consent = HandWritten('{"decision": "allow"}')

    def start(self) -> list[str]:
        return [
            str(ROOT / ".venv/bin/node"),
            find_installed(self.name, "@google/gemini-cli/bundle/gemini.js"),
        ]

    def arguments(self, prompt: str) -> list[str]:
        # With a model named, none is asked which one to use.
        return ["-p", prompt, "-o", "json", "-y", "-m", "gemini-2.5-flash"]

    def environment(self, model: str) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GOOGLE_GEMINI_BASE_URL": model,
        }

    def configure(self, place: Place, model: str) -> None:
        (place.home / ".gemini").mkdir()
        (place.home / ".gemini" / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")

    def shell_call(self, line: str) -> ToolCall:
        return ToolCall("run_shell_command", {"command": line, "description": "Write the file"})

    def write_hook(self, place: Place, hook: HandWritten) -> None:
        command = write_script(place.home / "hook", hook, place.home / "seen")
        hooks = {"BeforeTool": [{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]}
        settings = json.dumps(SETTINGS | {"hooks": hooks})
        (place.home / ".gemini" / "settings.json").write_text(settings, encoding="utf-8")

    def hook_settings(self, place: Place) -> Path:
        return place.home / ".gemini" / "settings.json"

    def accept_hooks(self, place: Place) -> None:
        """Nothing: hooks run at once."""

"""opencode, without a terminal (`opencode run`)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.agents.apis.anthropic_messages import AnthropicMessages
from tests.e2e.agents.model import Api, ToolCall
from tests.e2e.agents.place import HandWritten, Place, find_installed, write_script

# A hook is a plugin here. This one hands the call to the script, and refuses it as the script says.
PLUGIN = """\
import { spawnSync } from "node:child_process"
export const HandWritten = async () => ({
  "tool.execute.before": async (input, output) => {
    const call = JSON.stringify({ ...input, args: output.args })
    const done = spawnSync(COMMAND, { input: call, encoding: "utf8" })
    if (done.status !== 0) throw new Error(done.stderr)
  },
})
"""


class OpenCode:
    """It asks nobody by default, so nothing but the plugin stands in the way of a call."""

    name = "opencode"
    package = "opencode-ai"
    api: Api = AnthropicMessages()
    denial = HandWritten(err="no, says the test", code=1)
    consent = HandWritten()

    def start(self) -> list[str]:
        # The plain build needs a processor with AVX2, which the baseline does without.
        return [find_installed(self.name, "opencode-*-baseline/bin/opencode", "opencode-*/bin/opencode")]

    def arguments(self, prompt: str) -> list[str]:
        return ["run", "--format", "json", prompt]

    def environment(self, model: str) -> dict[str, str]:
        names = ("AUTOUPDATE", "LSP_DOWNLOAD", "MODELS_FETCH", "SHARE")
        return {f"OPENCODE_DISABLE_{name}": "1" for name in names}

    def configure(self, place: Place, model: str) -> None:
        options = {"baseURL": f"{model}/v1", "apiKey": "none"}
        provider = {
            "npm": "@ai-sdk/anthropic",
            "name": "loopback",
            "options": options,
            "models": {"scripted": {}},
        }
        config = {
            "autoupdate": False, "share": "disabled",
            "model": "loopback/scripted", "small_model": "loopback/scripted",
            "provider": {"loopback": provider},
        }  # fmt: skip
        folder = place.config / "opencode"
        folder.mkdir()
        (folder / "opencode.json").write_text(json.dumps(config), encoding="utf-8")

    def shell_call(self, line: str) -> ToolCall:
        return ToolCall("bash", {"command": line, "description": "Write the file"})

    def write_hook(self, place: Place, hook: HandWritten) -> None:
        command = write_script(place.home / "hook", hook, place.home / "seen")
        folder = place.config / "opencode" / "plugins"
        folder.mkdir()
        (folder / "hand_written.js").write_text(
            PLUGIN.replace("COMMAND", json.dumps(command)), encoding="utf-8"
        )

    def hook_settings(self, place: Place) -> Path:
        return place.config / "opencode" / "plugins" / "sayso.js"

    def accept_hooks(self, place: Place) -> None:
        """Nothing: hooks run at once."""

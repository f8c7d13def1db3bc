"""Codex, without a terminal (`codex exec`)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e.agents.apis.openai_responses import OpenAiResponses
from tests.e2e.agents.model import Api, ToolCall
from tests.e2e.agents.place import DENIAL, HandWritten, Place, find_installed, write_script

CONFIG = """\
model = "{name}"
model_provider = "loopback"

[model_providers.loopback]
name = "loopback"
base_url = "{model}/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"

[analytics]
enabled = false

[projects."{work}"]
trust_level = "trusted"
"""
LEADING_AGENT = "/root"  # as Codex names the one that the user talks to
STATE = "\n[hooks.state."


class Codex:
    """Its sandbox and approvals are off, so that nothing but the hook stands in the way of a call."""

    name = "codex"
    model = "gpt-5.5"  # the first offers the shell as a tool, newer ones only inside JavaScript
    package = "@openai/codex"
    api: Api = OpenAiResponses()
    denial = HandWritten(json.dumps({"hookSpecificOutput": DENIAL}))
    consent = HandWritten()

    def start(self) -> list[str]:
        return [find_installed(self.name, "@openai/codex-*/vendor/*/bin/codex")]

    def arguments(self, prompt: str) -> list[str]:
        off = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        return ["exec", "--json", *off, prompt]

    def environment(self, model: str) -> dict[str, str]:
        return {"LOOPBACK_KEY": "none"}

    def configure(self, place: Place, model: str) -> None:
        folder = place.home / ".codex"
        folder.mkdir()
        config = CONFIG.format(name=self.model, model=model, work=place.work)
        (folder / "config.toml").write_text(config, encoding="utf-8")

    def shell_call(self, line: str) -> ToolCall:
        return ToolCall("exec_command", {"cmd": line})

    def write_hook(self, place: Place, hook: HandWritten) -> None:
        command = write_script(place.home / "hook", hook, place.home / "seen")
        hooks = {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]}
        (place.home / ".codex" / "hooks.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
        self.accept_hooks(place)

    def hook_settings(self, place: Place) -> Path:
        return place.home / ".codex" / "hooks.json"

    def accept_hooks(self, place: Place) -> None:
        trust_hooks(place)


class CodexInJavaScript(Codex):
    """With its newest models, the model writes JavaScript, and tools are functions that this calls."""

    model = "gpt-6.1-sol"

    def shell_call(self, line: str) -> ToolCall:
        run = (
            f"const done = await tools.exec_command({json.dumps({'cmd': line})}); text(JSON.stringify(done))"
        )
        return ToolCall("exec", {"input": run})


def trust_hooks(place: Place) -> None:
    """Trust every hook as it is now, as the user does with /hooks: Codex skips the others without a word."""
    config = place.home / ".codex" / "config.toml"
    earlier = config.read_text(encoding="utf-8").partition(STATE)[0]
    trusted = [
        f'{STATE}{json.dumps(hook["key"])}]\ntrusted_hash = "{hook["currentHash"]}"\n'
        for hook in list_hooks(place)
    ]
    config.write_text("".join([earlier, *trusted]), encoding="utf-8")


def list_hooks(place: Place) -> list[dict[str, str]]:
    """The hooks that Codex itself finds, with the hash it wants and whether it trusts them."""
    asks = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "tests", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(place.work)]}},
    ]
    server = subprocess.Popen(
        [*Codex().start(), "app-server"],
        cwd=place.work, env=place.environment() | {"HTTPS_PROXY": "http://127.0.0.1:9"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(json.dumps(ask) + "\n" for ask in asks))
        server.stdin.flush()
        answers = (json.loads(line) for line in server.stdout)
        hooks: list[dict[str, str]] = next(one for one in answers if one.get("id") == 2)["result"]["data"][0][
            "hooks"
        ]
        server.kill()
    return hooks

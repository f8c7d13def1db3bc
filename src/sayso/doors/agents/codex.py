"""Codex CLI: PreToolUse denies or stays silent, PermissionRequest answers its own prompt.

- Codex takes `ask` and a bare `allow` for mistakes, and runs the call. So an allow prints nothing.
- Hooks run only once the user has trusted them in `/hooks`; until then Codex skips them without a word.
- `codex app-server` lists the hooks that Codex would run, one JSON message a line. Only it knows whether it
  trusts them as they are now, and whether a project's own file switches them off.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sayso.doors.agents.agent import (
    Agent,
    CommandFor,
    HookEvent,
    Place,
    Scope,
    Wanted,
    WantedEntries,
    canary_of,
    make_hook_entries,
)
from sayso.doors.agents.answers import (
    FAILED_PERMISSION,
    MESSAGE_LOST,
    refuse_by_exit,
    render_permission,
    show_announced,
)
from sayso.doors.agents.payload import optional_text, read_place, read_tool, refuse_event
from sayso.wire import HookAnswer, HookOutput, HostCall, HostEvent, HostMessage, HostOutcome

LISTING_PATIENCE = 30
LISTED = 2
LISTING = (
    {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "sayso", "version": "1"}}},
    {"method": "initialized"},
)


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    where = read_place(event, payload)
    if event in ("PreToolUse", "PermissionRequest"):
        return HostCall(**where, **read_tool(payload), prompts=event == "PermissionRequest")
    if event == "PostToolUse":
        return HostOutcome(**where, **read_tool(payload))
    if event == "UserPromptSubmit":
        return HostMessage(**where, text=optional_text(payload, "prompt"))
    raise refuse_event(event)


def _render_answer(event: HostEvent, answer: HookAnswer) -> HookOutput:
    if isinstance(event, HostMessage):
        return show_announced(answer)
    if not isinstance(event, HostCall):
        return HookOutput()
    if event.prompts:
        return render_permission(answer)
    if answer.verdict == "allow":
        return HookOutput()
    return refuse_by_exit(answer)


EVENTS = (
    HookEvent("PreToolUse"),
    HookEvent("PermissionRequest", 0, FAILED_PERMISSION),
    HookEvent("PostToolUse", 0, quick=True),
    HookEvent("UserPromptSubmit", 0, MESSAGE_LOST, quick=True),
)


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    def entry(event: HookEvent, line: str) -> dict[str, Any]:
        return {"hooks": [{"type": "command", "command": line, "timeout": event.seconds(seconds)}]}

    return (WantedEntries(codex_hooks_file(place, scope), make_hook_entries(EVENTS, command, entry)),)


def codex_hooks_file(place: Place, scope: Scope) -> Path:
    if scope == "project":
        return place.project / ".codex" / "hooks.json"
    return home_of_codex(place) / "hooks.json"


def home_of_codex(place: Place) -> Path:
    return Path(place.variables.get("CODEX_HOME") or place.home / ".codex")


def is_trusted_by_codex(program: str, folder: Path, hooks: Path, command: str) -> bool | None:
    """Return whether Codex runs this command of this file before tools in this folder; None if unknown."""
    found = _list_hooks(program, folder)
    if found is None:
        return None
    return any(
        one.get("eventName") == "preToolUse"
        and one.get("sourcePath") == str(hooks)
        and one.get("enabled") is True
        and one.get("trustStatus") in ("trusted", "managed")
        and one.get("command") == command
        for one in found
    )


def _list_hooks(program: str, folder: Path) -> list[dict[str, Any]] | None:
    """Return the hooks that Codex finds in this folder; None without an answer."""
    asked = [*LISTING, {"id": LISTED, "method": "hooks/list", "params": {"cwds": [str(folder)]}}]
    try:
        server = subprocess.Popen(  # noqa: S603  the user's own agent, asked for its hooks
            [program, "app-server"],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return None
    with server:
        late = threading.Timer(LISTING_PATIENCE, server.kill)
        late.start()
        try:
            return _exchange(server, b"".join(json.dumps(one).encode() + b"\n" for one in asked))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        finally:
            late.cancel()
            server.kill()


def _exchange(server: subprocess.Popen[bytes], asked: bytes) -> list[dict[str, Any]] | None:
    if server.stdin is None or server.stdout is None:
        return None
    server.stdin.write(asked)
    server.stdin.flush()
    for answer in _read_messages(server.stdout):
        if answer.get("id") == LISTED:
            found: list[dict[str, Any]] = answer["result"]["data"][0]["hooks"]
            return [one for one in found if isinstance(one, dict)]
    return None


def _read_messages(lines: Any) -> Iterator[dict[str, Any]]:
    for line in lines:
        message = json.loads(line)
        if isinstance(message, dict):
            yield message


AGENT = Agent(
    name="codex",
    read_event=_read_event,
    render_answer=_render_answer,
    title="Codex CLI",
    program="codex",
    events=EVENTS,
    wanted=_wanted,
    canary=canary_of("PreToolUse", "Write", permission_mode="default"),
    unproven="it was not started, but asked which hooks it would run",
    condition="you have trusted its hooks, and not before",
    advice=(
        "Start codex, type /hooks, and trust all of Sayso's; until then Codex skips them and runs all calls.",
    ),
)

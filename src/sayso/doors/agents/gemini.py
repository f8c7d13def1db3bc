"""Gemini CLI: BeforeTool denies or allows. It never says `ask`, which hangs a run without a terminal.

Times are in milliseconds, and calls have no id.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sayso.doors.agents.agent import Agent, CommandFor, HookEvent, Place, Scope, Wanted, WantedEntries
from sayso.doors.agents.claude import NOT_DECIDED, NOT_HEARD, QUICK, tell_user, to_json
from sayso.doors.agents.payload import (
    check_event,
    folder_of_call,
    object_of,
    optional_text,
    refuse_event,
    text_of,
)
from sayso.wire import (
    CANARY_SESSION,
    HookAnswer,
    HookOutput,
    HostCall,
    HostEvent,
    HostMessage,
    HostOutcome,
    HostSessionEnd,
)

SHELL = "run_shell_command"


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    check_event(payload, event)
    where: dict[str, Any] = {
        "name": event,
        "session": text_of(payload, "session_id"),
        "folder": optional_text(payload, "cwd"),
    }
    if event == "BeforeTool":
        return HostCall(**{**where, **_tool(payload)})
    if event == "AfterTool":
        return HostOutcome(**{**where, **_tool(payload)}, ok=not _failed(payload.get("tool_response")))
    if event == "BeforeAgent":
        return HostMessage(**where, text=optional_text(payload, "prompt"))
    if event == "SessionEnd":
        return HostSessionEnd(**where)
    raise refuse_event(event)


def _tool(payload: dict[str, Any]) -> dict[str, Any]:
    tool, args = text_of(payload, "tool_name"), object_of(payload, "tool_input")
    folder = optional_text(payload, "cwd")
    if tool == SHELL:
        folder = folder_of_call(folder, args, "dir_path")
    return {"tool": tool, "args": args, "folder": folder}


def _failed(response: object) -> bool:
    return isinstance(response, dict) and bool(response.get("error"))


def _render_answer(event: HostEvent, answer: HookAnswer) -> HookOutput:
    if isinstance(event, HostMessage):
        return tell_user(answer)
    if not isinstance(event, HostCall):
        return HookOutput()
    if answer.verdict != "allow":
        return HookOutput(2, err=f"{answer.reason or NOT_DECIDED}\n")
    shown = {"systemMessage": "\n".join(answer.announced)} if answer.announced else {}
    return HookOutput(out=to_json({"decision": "allow", **shown}))


EVENTS = (
    HookEvent("BeforeTool"),
    HookEvent("AfterTool", 0, quick=True),
    HookEvent("BeforeAgent", 0, to_json({"systemMessage": NOT_HEARD}), quick=True),
    HookEvent("SessionEnd", 0, quick=True),
)


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    entries: dict[tuple[str, ...], Any] = {
        ("hooks", one.name): {"hooks": [_hook(one, command(one.name), seconds)]} for one in EVENTS
    }
    return (WantedEntries(gemini_settings_file(place, scope), entries, comments=True),)


def _hook(event: HookEvent, command: str, seconds: int) -> dict[str, Any]:
    milliseconds = 1_000 * (QUICK if event.quick else seconds)
    return {"name": "sayso", "type": "command", "command": command, "timeout": milliseconds}


def gemini_settings_file(place: Place, scope: Scope) -> Path:
    home = Path(place.variables.get("GEMINI_CLI_HOME") or place.home)
    return (place.project if scope == "project" else home) / ".gemini" / "settings.json"


def _canary(file: str, folder: str) -> tuple[str, dict[str, Any]]:
    return "BeforeTool", {
        "session_id": CANARY_SESSION,
        "cwd": folder,
        "hook_event_name": "BeforeTool",
        "tool_name": "write_file",
        "tool_input": {"file_path": file, "content": ""},
    }


AGENT = Agent(
    name="gemini",
    read_event=_read_event,
    render_answer=_render_answer,
    title="Gemini CLI",
    program="gemini",
    events=EVENTS,
    wanted=_wanted,
    canary=_canary,
)

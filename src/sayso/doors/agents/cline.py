"""Cline: executable files named after their events; an answer either cancels the call or does not.

A hook has 30 seconds, so a person has 15. After that the call is cancelled, and the same call made again uses
the approval.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sayso.doors.agents.agent import Agent, CommandFor, HookEvent, Place, Scope, Wanted, WantedFile
from sayso.doors.agents.answers import NOT_DECIDED, to_json
from sayso.doors.agents.payload import (
    check_event,
    first_root,
    name_call,
    object_of,
    optional_text,
    refuse_event,
    text_of,
)
from sayso.wire import CANARY_SESSION, HookAnswer, HookOutput, HostCall, HostEvent, HostMessage, HostOutcome

SCRIPT = """\
#!/bin/sh
# Written by `sayso install cline`; `sayso uninstall cline` removes it.
answer=$({command}) && [ -n "$answer" ] && printf '%s\\n' "$answer" && exit 0
printf '%s\\n' '{refusal}'
exit 0
"""
GO_ON = to_json({"cancel": False})


def _cancelled(reason: str) -> str:
    return to_json({"cancel": True, "errorMessage": reason, "contextModification": reason})


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    check_event(payload, event)
    root = first_root(payload, "workspaceRoots")
    where: dict[str, Any] = {
        "name": event,
        "session": text_of(payload, "taskId"),
        "folder": root,
        "workspace": root,
    }
    if event == "PreToolUse":
        return HostCall(**where, **_tool(object_of(payload, "preToolUse")))
    if event == "PostToolUse":
        told = object_of(payload, "postToolUse")
        return HostOutcome(**where, **_tool(told), ok=told.get("success") is not False)
    if event == "UserPromptSubmit":
        return HostMessage(**where, text=optional_text(object_of(payload, "userPromptSubmit"), "prompt"))
    raise refuse_event(event)


def _tool(told: dict[str, Any]) -> dict[str, Any]:
    return name_call(text_of(told, "toolName"), object_of(told, "parameters"))


def _render_answer(event: HostEvent, answer: HookAnswer) -> HookOutput:
    if not isinstance(event, HostCall) or answer.verdict == "allow":
        return HookOutput(out=GO_ON)
    return HookOutput(out=_cancelled(answer.reason or NOT_DECIDED))


def _is_blocked(code: int, out: str) -> bool:
    return '"cancel":true' in out


EVENTS = (
    HookEvent("PreToolUse", 0, _cancelled(NOT_DECIDED)),
    HookEvent("PostToolUse", 0, GO_ON, quick=True),
    HookEvent("UserPromptSubmit", 0, GO_ON, quick=True),
)


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    return tuple(
        WantedFile(
            hook_folder(place, scope) / one.name,
            SCRIPT.format(command=command(one.name), refusal=one.fail_output),
            executable=True,
        )
        for one in EVENTS
    )


def hook_folder(place: Place, scope: Scope) -> Path:
    if scope == "project":
        return place.project / ".clinerules" / "hooks"
    return place.home / "Documents" / "Cline" / "Hooks"


def _canary(file: str, folder: str) -> tuple[str, dict[str, Any]]:
    return "PreToolUse", {
        "clineVersion": "0",
        "hookName": "PreToolUse",
        "taskId": CANARY_SESSION,
        "workspaceRoots": [folder],
        "preToolUse": {"toolName": "write_to_file", "parameters": {"path": file, "content": ""}},
    }


AGENT = Agent(
    name="cline",
    read_event=_read_event,
    render_answer=_render_answer,
    title="Cline",
    program="cline",
    events=EVENTS,
    wanted=_wanted,
    canary=_canary,
    levels=2,
    is_blocked=_is_blocked,
    wait=15,
    most_wait=15,
    condition="hooks are on in its settings, and not before",
    advice=("Turn hooks on in Cline's settings (Features); without that it does not run them.",),
)

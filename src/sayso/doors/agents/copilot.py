"""Copilot CLI and VS Code: one file of hooks for both, which speak differently.

Copilot CLI sends `preToolUse` with camelCase fields and reads a flat answer. VS Code sends `PreToolUse` with
snake_case fields, and reads the answer as Claude Code does. The payload says which of the two it is.
"""

from __future__ import annotations

from typing import Any

from sayso.doors.agents.agent import Agent, CommandFor, HookEvent, Place, Scope, Wanted, WantedFile
from sayso.doors.agents.answers import NOT_DECIDED, to_json
from sayso.doors.agents.payload import check_event, name_call, object_of, optional_text, refuse_event, text_of
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

VS_CODE = "PreToolUse"
KINDS = {
    "preToolUse": HostCall,
    "postToolUse": HostOutcome,
    "postToolUseFailure": HostOutcome,
    "userPromptSubmitted": HostMessage,
    "userPromptSubmit": HostMessage,
    "sessionEnd": HostSessionEnd,
}


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    named = optional_text(payload, "hook_event_name", "hookEventName")
    spelled = f"{named[:1].lower()}{named[1:]}"
    if spelled.startswith("userPromptSubmit") and event.startswith("userPromptSubmit"):
        spelled = event
    check_event({"hook_event_name": spelled}, event)
    folder = optional_text(payload, "cwd")
    where: dict[str, Any] = {
        "name": named or event,
        "session": optional_text(payload, "sessionId", "session_id") or f"in {folder}",
        "folder": folder,
    }
    kind = KINDS.get(event)
    if kind is HostCall:
        return HostCall(**where, **_tool(payload))
    if kind is HostOutcome:
        return HostOutcome(**where, **_tool(payload), ok=_succeeded(event, payload))
    if kind is HostMessage:
        return HostMessage(**where, text=optional_text(payload, "prompt"))
    if kind is HostSessionEnd:
        return HostSessionEnd(**where)
    raise refuse_event(event)


def _tool(payload: dict[str, Any]) -> dict[str, Any]:
    args = "toolArgs" if "toolArgs" in payload else "tool_input"
    return {
        **name_call(text_of(payload, "toolName", "tool_name"), object_of(payload, args)),
        "call_id": optional_text(payload, "toolUseId", "tool_use_id") or None,
    }


def _succeeded(event: str, payload: dict[str, Any]) -> bool:
    result = payload.get("toolResult")
    told = result.get("resultType", "success") if isinstance(result, dict) else "success"
    return event == "postToolUse" and told == "success"


def _render_answer(event: HostEvent, answer: HookAnswer) -> HookOutput:
    if not isinstance(event, HostCall):
        return HookOutput()
    said = {
        "permissionDecision": "allow" if answer.verdict == "allow" else "deny",
        "permissionDecisionReason": answer.reason or NOT_DECIDED,
    }
    if event.name == VS_CODE:
        return HookOutput(out=to_json({"hookSpecificOutput": {"hookEventName": VS_CODE, **said}}))
    return HookOutput(out=to_json(said))


def _is_blocked(code: int, out: str) -> bool:
    return code == 2 or '"permissionDecision":"deny"' in out


EVENTS = (
    HookEvent("preToolUse"),
    HookEvent("postToolUse", 0, quick=True),
    HookEvent("userPromptSubmitted", 0, quick=True),
    HookEvent("sessionEnd", 0, quick=True),
)


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    folder = place.project / ".github" if scope == "project" else place.home / ".copilot"
    hooks = {one.name: [_hook(command(one.name), one.seconds(seconds))] for one in EVENTS}
    text = to_json({"version": 1, "hooks": hooks})
    return (WantedFile(folder / "hooks" / "sayso.json", f"{text}\n"),)


def _hook(command: str, seconds: int) -> dict[str, Any]:
    return {"type": "command", "bash": command, "timeoutSec": seconds, "timeout": seconds}


def _canary(file: str, folder: str) -> tuple[str, dict[str, Any]]:
    return "preToolUse", {
        "sessionId": CANARY_SESSION,
        "timestamp": 0,
        "cwd": folder,
        "toolName": "create",
        "toolArgs": to_json({"path": file, "file_text": ""}),
    }


AGENT = Agent(
    name="copilot",
    read_event=_read_event,
    render_answer=_render_answer,
    title="Copilot (CLI and VS Code)",
    program="copilot",
    events=EVENTS,
    wanted=_wanted,
    canary=_canary,
    levels=2,
    is_blocked=_is_blocked,
    advice=("Copilot runs a call whose hook takes too long; Sayso answers before that, also with a no.",),
)

"""Cursor: one hook for each event, all with `failClosed`, and both spellings of every message.

Cursor may ask about one call twice, by `preToolUse` and by the event of its kind. Both are read into the same
call, so that it is asked once; and where a version sends only one of them, it is still asked.
"""

from __future__ import annotations

from typing import Any

from sayso.core.text.mcp_names import is_spelled_mcp
from sayso.doors.agents.agent import (
    Agent,
    CommandFor,
    HookEvent,
    Place,
    Scope,
    Wanted,
    WantedEntries,
    make_hook_entries,
)
from sayso.doors.agents.answers import NOT_DECIDED, to_json
from sayso.doors.agents.payload import (
    check_event,
    first_root,
    name_call,
    name_in_host,
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

SHELL, READ = "Shell", "Read"
FOLDERS = ("working_directory", "cwd")
BEFORE = ("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile")
AFTER = ("postToolUse", "postToolUseFailure", "afterShellExecution", "afterMCPExecution")


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    check_event(payload, event)
    root = first_root(payload, "workspace_roots")
    where: dict[str, Any] = {
        "name": event,
        "session": text_of(payload, "conversation_id", "session_id"),
        "folder": optional_text(payload, "cwd") or root,
        "workspace": root,
    }
    if event in BEFORE:
        return HostCall(**{**where, **_call(event, payload)}, twice=True)
    if event in AFTER:
        return HostOutcome(**{**where, **_call(event, payload)}, ok=event != "postToolUseFailure")
    if event == "beforeSubmitPrompt":
        return HostMessage(**where, text=optional_text(payload, "prompt"))
    if event == "sessionEnd":
        return HostSessionEnd(**where)
    raise refuse_event(event)


def _call(event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Return tool and arguments, the same for both events of a call."""
    if event.endswith("ShellExecution"):
        return {"tool": SHELL, "args": {"command": text_of(payload, "command")}}
    if event.endswith("MCPExecution"):
        tool = text_of(payload, "tool_name")
        named = tool if is_spelled_mcp(tool) else name_in_host("", tool)
        return {"tool": named, "args": object_of(payload, "tool_input")}
    if event == "beforeReadFile":
        return {"tool": READ, "args": {"file_path": text_of(payload, "file_path")}}
    tool, args = text_of(payload, "tool_name"), object_of(payload, "tool_input")
    if tool != SHELL:
        return name_call(tool, args)
    folder = optional_text(args, *FOLDERS)
    command = {name: value for name, value in args.items() if name not in FOLDERS}
    return {"tool": tool, "args": command, **({"folder": folder} if folder else {})}


def _render_answer(event: HostEvent, answer: HookAnswer) -> HookOutput:
    if isinstance(event, HostMessage):
        return HookOutput(out=to_json({"continue": True}))
    if not isinstance(event, HostCall):
        return HookOutput(out="{}")
    if answer.verdict == "allow":
        return HookOutput(out=to_json({"permission": "allow"}))
    return HookOutput(out=to_json(_denied(answer.reason or NOT_DECIDED)))


def _denied(reason: str) -> dict[str, str]:
    """Refuse in both spellings: 1.7 reads userMessage, 2.x user_message."""
    said = dict.fromkeys(("user_message", "agent_message", "userMessage", "agentMessage"), reason)
    return {"permission": "deny", **said}


def _is_blocked(code: int, out: str) -> bool:
    return code == 2 or '"permission":"deny"' in out


EVENTS = (
    *(HookEvent(name) for name in BEFORE),
    *(HookEvent(name, 0, "{}", quick=True) for name in AFTER),
    HookEvent("beforeSubmitPrompt", 0, to_json({"continue": True}), quick=True),
    HookEvent("sessionEnd", 0, "{}", quick=True),
)


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    entries = make_hook_entries(EVENTS, command, lambda one, line: _hook(one, line, seconds))
    folder = place.project if scope == "project" else place.home
    return (WantedEntries(folder / ".cursor" / "hooks.json", entries, {"version": 1}),)


def _hook(event: HookEvent, command: str, seconds: int) -> dict[str, Any]:
    closed = {"failClosed": True} if event.fail_code else {}
    return {"command": command, "timeout": event.seconds(seconds), **closed}


def _canary(file: str, folder: str) -> tuple[str, dict[str, Any]]:
    return "preToolUse", {
        "conversation_id": CANARY_SESSION,
        "hook_event_name": "preToolUse",
        "workspace_roots": [folder],
        "tool_name": "Write",
        "tool_input": {"file_path": file, "content": ""},
    }


AGENT = Agent(
    name="cursor",
    read_event=_read_event,
    render_answer=_render_answer,
    title="Cursor",
    program="cursor-agent",
    events=EVENTS,
    wanted=_wanted,
    canary=_canary,
    is_blocked=_is_blocked,
    advice=("Turn third-party hooks off in Cursor if Claude Code is gated too, or calls are asked twice.",),
)

"""Claude Code: PreToolUse decides, PermissionRequest answers its own prompt, the rest reports.

- A deny (exit 2) is final in every permission mode. An allow is not: Claude Code's own deny and ask rules
  still apply, and in plan mode nothing is said, so that its own limits hold. Nor is a question to the user
  answered by an allow.
- `defer` is not used: Claude Code ignores it outside `-p` and when it makes several calls at once, and the
  call then goes on.
"""

from __future__ import annotations

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
    to_json,
)
from sayso.doors.agents.claude_settings import find_claude_fault
from sayso.doors.agents.payload import optional_text, read_place, read_tool, refuse_event
from sayso.wire import (
    HookAnswer,
    HookOutput,
    HostCall,
    HostEvent,
    HostMessage,
    HostOutcome,
    HostSessionEnd,
)

FOR_THE_USER = ("AskUserQuestion", "ExitPlanMode")
"""Tools that are a question to the user: an allow would answer it."""


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    where = read_place(event, payload)
    if event in ("PreToolUse", "PermissionRequest"):
        return HostCall(
            **where,
            **read_tool(payload),
            prompts=event == "PermissionRequest",
            mode=optional_text(payload, "permission_mode"),
        )
    if event in ("PostToolUse", "PostToolUseFailure"):
        return HostOutcome(**where, **read_tool(payload), ok=event == "PostToolUse")
    if event == "UserPromptSubmit":
        text = drop_notices(optional_text(payload, "prompt"))
        return HostMessage(**where, text=text) if text else HostEvent(**where)
    if event == "SessionEnd":
        return HostSessionEnd(**where)
    raise refuse_event(event)


def drop_notices(prompt: str) -> str:
    """Return what the user typed.

    Claude Code reports the end of a background task as a prompt too. What its sub-agent says is not heard.
    """
    if not prompt.lstrip().startswith("<task-notification>"):
        return prompt
    return prompt.rpartition("</task-notification>")[2].strip()


def _render_answer(event: HostEvent, answer: HookAnswer) -> HookOutput:
    if isinstance(event, HostMessage):
        return show_announced(answer)
    if not isinstance(event, HostCall):
        return HookOutput()
    if event.prompts:
        return render_permission(answer)
    if answer.verdict == "allow":
        return HookOutput() if event.mode == "plan" or event.tool in FOR_THE_USER else _allow(answer)
    return refuse_by_exit(answer)


def _allow(answer: HookAnswer) -> HookOutput:
    said: dict[str, Any] = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": f"Sayso: {answer.reason}",
        }
    }
    if answer.announced:
        said["systemMessage"] = "\n".join(answer.announced)
    return HookOutput(out=to_json(said))


EVENTS = (
    HookEvent("PreToolUse", matcher="*"),
    HookEvent("PermissionRequest", 0, FAILED_PERMISSION, matcher="*"),
    HookEvent("PostToolUse", 0, matcher="*", quick=True),
    HookEvent("PostToolUseFailure", 0, matcher="*", quick=True),
    HookEvent("UserPromptSubmit", 0, MESSAGE_LOST, quick=True),
    HookEvent("SessionEnd", 0, quick=True),
)


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    entries = make_hook_entries(EVENTS, command, lambda one, line: _entry(one, line, seconds))
    return (WantedEntries(claude_settings_file(place, scope), entries, find_fault=find_claude_fault),)


def claude_settings_file(place: Place, scope: Scope) -> Path:
    """Return the settings file; a project's is the one that is not committed."""
    if scope == "project":
        return place.project / ".claude" / "settings.local.json"
    return Path(place.variables.get("CLAUDE_CONFIG_DIR") or place.home / ".claude") / "settings.json"


def _entry(event: HookEvent, command: str, seconds: int) -> dict[str, Any]:
    hook: dict[str, Any] = {"type": "command", "command": command, "timeout": event.seconds(seconds)}
    if event.fail_code:
        hook["onFailure"] = "block"  # since 2.1.295; earlier versions do not read it
    matcher = {} if event.matcher is None else {"matcher": event.matcher}
    return {**matcher, "hooks": [hook]}


AGENT = Agent(
    name="claude",
    read_event=_read_event,
    render_answer=_render_answer,
    title="Claude Code",
    program="claude",
    events=EVENTS,
    wanted=_wanted,
    canary=canary_of("PreToolUse", "Write", permission_mode="default"),
)

"""Claude Code: PreToolUse decides, PermissionRequest answers its own prompt, the rest reports.

- A deny is final in every permission mode. It is said in JSON, which Claude Code shows without the command
  line of the hook; but other hosts read these settings, too, so a payload with anything that Claude Code does
  not send is denied by exit code 2.
- An allow is not final: Claude Code's own deny and ask rules still apply, and in plan mode nothing is said,
  so that its own limits hold. Nor is a question to the user answered by an allow.
- `defer` is not used: outside `-p` Claude Code ignores it and runs the call (seen with 2.1.325), and the
  payloads of both are alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sayso.doors.agents.agent import (
    NOWHERE,
    Agent,
    CommandFor,
    Headless,
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
    NOT_DECIDED,
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
FIELDS = frozenset((
    "session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "effort", "scratchpad_dir",
    "hook_event_name", "tool_name", "tool_input", "tool_use_id", "agent_id", "agent_type",
    "mcp_server",
))  # fmt: skip
"""What Claude Code sends before a tool runs."""


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    where = read_place(event, payload)
    if event in ("PreToolUse", "PermissionRequest"):
        return HostCall(
            **where,
            **read_tool(payload),
            prompts=event == "PermissionRequest",
            mode=optional_text(payload, "permission_mode"),
            takes_json="permission_mode" in payload and payload.keys() <= FIELDS,
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
    if event.takes_json:
        return HookOutput(out=to_json(_decision("deny", answer.reason or NOT_DECIDED)))
    return refuse_by_exit(answer)


def _decision(decision: str, reason: str) -> dict[str, Any]:
    said = {"permissionDecision": decision, "permissionDecisionReason": f"Sayso: {reason}"}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}


def _is_blocked(code: int, out: str) -> bool:
    return code == 2 or '"permissionDecision":"deny"' in out


def _allow(answer: HookAnswer) -> HookOutput:
    said = _decision("allow", answer.reason)
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


def _headless(message: str) -> Headless:
    """Claude Code runs the hook for a message before it asks a model; here there is none to ask."""
    offline = {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": NOWHERE,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDECODE": "",
        "DISABLE_AUTOUPDATER": "1",
    }
    return Headless(("-p", message, "--max-turns", "1"), offline)


AGENT = Agent(
    name="claude",
    read_event=_read_event,
    render_answer=_render_answer,
    title="Claude Code",
    program="claude",
    events=EVENTS,
    wanted=_wanted,
    canary=canary_of("PreToolUse", "Write", permission_mode="default"),
    is_blocked=_is_blocked,
    headless=_headless,
)

"""Gemini CLI: BeforeTool denies or allows. It never says `ask`, which hangs a run without a terminal.

Times are in milliseconds, and calls have no id.
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
from sayso.doors.agents.answers import MESSAGE_LOST, refuse_by_exit, show_announced, to_json
from sayso.doors.agents.payload import (
    folder_of_call,
    name_in_host,
    optional_text,
    read_place,
    read_tool,
    refuse_event,
)
from sayso.wire import (
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
    where = read_place(event, payload)
    if event in ("BeforeTool", "AfterTool"):
        tool = read_tool(payload) | _named_mcp_tool(payload)
        if tool["tool"] == SHELL:
            where["folder"] = folder_of_call(where["folder"], tool["args"], "dir_path")
        if event == "BeforeTool":
            return HostCall(**where, **tool)
        return HostOutcome(**where, **tool, ok=not _failed(payload.get("tool_response")))
    if event == "BeforeAgent":
        return HostMessage(**where, text=optional_text(payload, "prompt"))
    if event == "SessionEnd":
        return HostSessionEnd(**where)
    raise refuse_event(event)


def _named_mcp_tool(payload: dict[str, Any]) -> dict[str, str]:
    """Return the tool's name where Gemini CLI says beside the call which tool of which MCP server it is."""
    context = payload.get("mcp_context")
    if not isinstance(context, dict):
        return {}
    server, tool = optional_text(context, "server_name"), optional_text(context, "tool_name")
    return {"tool": name_in_host(server, tool)} if server and tool else {}


def _failed(response: object) -> bool:
    return isinstance(response, dict) and bool(response.get("error"))


def _render_answer(event: HostEvent, answer: HookAnswer) -> HookOutput:
    if isinstance(event, HostMessage):
        return show_announced(answer)
    if not isinstance(event, HostCall):
        return HookOutput()
    if answer.verdict != "allow":
        return refuse_by_exit(answer)
    shown = {"systemMessage": "\n".join(answer.announced)} if answer.announced else {}
    return HookOutput(out=to_json({"decision": "allow", **shown}))


EVENTS = (
    HookEvent("BeforeTool"),
    HookEvent("AfterTool", 0, quick=True),
    HookEvent("BeforeAgent", 0, MESSAGE_LOST, quick=True),
    HookEvent("SessionEnd", 0, quick=True),
)


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    entries = make_hook_entries(EVENTS, command, lambda one, line: {"hooks": [_hook(one, line, seconds)]})
    return (WantedEntries(gemini_settings_file(place, scope), entries, comments=True),)


def _hook(event: HookEvent, command: str, seconds: int) -> dict[str, Any]:
    milliseconds = 1_000 * event.seconds(seconds)
    return {"name": "sayso", "type": "command", "command": command, "timeout": milliseconds}


def gemini_settings_file(place: Place, scope: Scope) -> Path:
    home = Path(place.variables.get("GEMINI_CLI_HOME") or place.home)
    return (place.project if scope == "project" else home) / ".gemini" / "settings.json"


AGENT = Agent(
    name="gemini",
    read_event=_read_event,
    render_answer=_render_answer,
    title="Gemini CLI",
    program="gemini",
    events=EVENTS,
    wanted=_wanted,
    canary=canary_of("BeforeTool", "write_file"),
)

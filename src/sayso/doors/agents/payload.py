"""Reading a host's payload: every field has its type, or the payload is refused.

A patch is read with the files it changes, so that each of them is judged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sayso.core.digest import parse_json
from sayso.core.errors import MalformedRequest
from sayso.core.text.mcp_names import clean_name, name_mcp_tool
from sayso.reading.paths.finding.path_arguments import read_patches_in

PATCH = "apply_patch"
MCP_CALLERS = {
    "use_mcp_tool": ("server_name", "tool_name", "arguments"),
    "CallMcpTool": ("server", "toolName", "arguments"),
    "call_mcp_tool": ("server", "toolName", "arguments"),
}
"""Tools of hosts that call a tool of an MCP server: their arguments with server, tool and its arguments."""


def text_of(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is there; refuse a payload without one, or with no text in it."""
    found = optional_text(payload, *names)
    if not found:
        raise MalformedRequest(f"the payload has no {' or '.join(names)}")
    return found


def optional_text(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is there and not null; empty without one."""
    for name in names:
        value = payload.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise MalformedRequest(f"{name} in the payload is not a text")
        return value
    return ""


def object_of(payload: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an object, which some hosts send as JSON in a text."""
    value = payload.get(name)
    if isinstance(value, str):
        value = parse_json(value)
    if not isinstance(value, dict):
        raise MalformedRequest(f"{name} in the payload is not an object")
    return value


def read_place(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Read the event's name, session, folder and sub-agent, as Claude Code and its like name them."""
    check_event(payload, event)
    return {
        "name": event,
        "session": text_of(payload, "session_id"),
        "folder": optional_text(payload, "cwd"),
        "subagent": _read_subagent(payload),
    }


def _read_subagent(payload: Mapping[str, Any]) -> str:
    """Return the sub-agent's name: the payload has its id only inside one."""
    if not optional_text(payload, "agent_id"):
        return ""
    return optional_text(payload, "agent_type") or "unnamed"


def read_tool(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Read tool, arguments and id of a call, as Claude Code and its like name them."""
    return {
        **name_call(text_of(payload, "tool_name"), object_of(payload, "tool_input")),
        "call_id": optional_text(payload, "tool_use_id") or None,
    }


def name_call(tool: str, args: dict[str, Any]) -> dict[str, Any]:
    """Return tool and arguments; those of a patch with the files it changes, for people to see.

    A tool of an MCP server has its canonical name and its own arguments, whichever tool of the host calls it.
    """
    if tool in MCP_CALLERS:
        return _name_mcp_call(args, *MCP_CALLERS[tool])
    if tool == PATCH:
        files = (file.path for _, found in read_patches_in(args) for file in found.files)
        args = {**args, "paths": list(dict.fromkeys(files))}
    return {"tool": tool, "args": args}


def _name_mcp_call(args: Mapping[str, Any], server: str, tool: str, arguments: str) -> dict[str, Any]:
    given = args.get(arguments)
    return {
        "tool": name_in_host(optional_text(args, server), text_of(args, tool)),
        "args": {} if given is None or given == "" else object_of(args, arguments),
    }


def name_in_host(server: str, tool: str) -> str:
    """Return the name of a tool of an MCP server that the host names, if it does."""
    return name_mcp_tool(clean_name(server) if server else "", tool)


def first_root(payload: Mapping[str, Any], name: str) -> str:
    """Return the first of the workspace's folders; empty if there is none."""
    roots = payload.get(name)
    first = roots[0] if isinstance(roots, list) and roots else ""
    return first if isinstance(first, str) else ""


def folder_of_call(folder: str, args: Mapping[str, Any], name: str) -> str:
    """Return where a call runs: the folder that it names itself in this argument, else the host's."""
    named = optional_text(args, name)
    return os.path.normpath(os.path.join(folder, named)) if named else folder  # noqa: PTH118  links stay


def check_event(payload: Mapping[str, Any], event: str) -> None:
    """Refuse a payload that names another event than the one it was registered for."""
    named = optional_text(payload, "hook_event_name", "hookEventName", "hookName")
    if named and named != event:
        raise MalformedRequest(f"this payload is of the event {named!r}, not {event!r}")


def refuse_event(event: str) -> MalformedRequest:
    return MalformedRequest(f"there is no hook for the event {event!r}")

"""Events between the gateway and the service: a call before it runs, its end, and the end of the client.

- The answer names the call that it allows. Anything else is not an allow.
- The tool is `mcp__SERVER__TOOL`. The server's name is the operator's, from the gateway's command line; what
  the server says of itself, its annotations too, is never read.
"""

from __future__ import annotations

import re
from typing import Any

from sayso.core.errors import MalformedRequest
from sayso.core.text.mcp_names import name_mcp_tool
from sayso.wire import (
    HookAnswer,
    HookDialect,
    HookOutput,
    HostCall,
    HostEvent,
    HostOutcome,
    HostSessionEnd,
    is_canary_message,
)

CALL, END, CLOSE = "call", "end", "close"


def spell_allow(call: str) -> str:
    return f"allow {call}"


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    where: dict[str, Any] = {
        "name": event,
        "session": _text(payload, "session"),
        "folder": _text(payload, "folder"),
    }
    if event == CLOSE:
        return HostSessionEnd(**where)
    if event not in (CALL, END):
        raise MalformedRequest(f"the gateway has no event {event!r}")
    if is_canary_message(
        _text(payload, "tool")
    ):  # `sayso doctor` asks: a session of its own, and a word for it
        where["session"] = payload["tool"]
    arguments = payload.get("arguments")
    if not isinstance(arguments, dict):
        raise MalformedRequest("arguments in the payload is not an object")
    what: dict[str, Any] = {
        "tool": name_mcp_tool(_text(payload, "server"), _text(payload, "tool")),
        "args": arguments,
        "call_id": _text(payload, "id"),
    }
    if event == CALL:
        return HostCall(**where, **what, schema=_digest(payload))
    ok = payload.get("ok", False)
    return HostOutcome(**where, **what, ok=None if ok is None else ok is True)


def _digest(payload: dict[str, Any]) -> str:
    """Return the digest of the tool's schema, if there is one."""
    found = payload.get("schema", "")
    if not isinstance(found, str) or re.fullmatch(r"(?:[0-9a-f]{64})?", found) is None:
        raise MalformedRequest("schema in the payload is not a digest")
    return found


def _text(payload: dict[str, Any], name: str) -> str:
    value = payload.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedRequest(f"{name} in the payload is not a text")
    return value


def _render_answer(event: HostEvent, answer: HookAnswer) -> HookOutput:
    if not isinstance(event, HostCall):
        return HookOutput()
    if answer.verdict == "allow" and event.call_id is not None:
        return HookOutput(out=spell_allow(event.call_id))
    return HookOutput(2, err=answer.reason)


DIALECT = HookDialect(name="mcp", read_event=_read_event, render_answer=_render_answer, door="mcp")

"""Shared by both ends of HTTP: the shapes of a call, the names of headers and of the socket."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from sayso.core.decision import Offer
from sayso.gate.ledger.workflows import RunNote

SOCKET_HOST = "sayso"
"""The name that clients call the service by over its Unix socket."""
KEY_HEADER = "Idempotency-Key"
SESSION_HEADER = "X-Sayso-Session"
TRUSTED_PATH = "/trusted/v1/messages"
SURFACES_PATH = "/surfaces/v1"
BROWSER_COOKIE = "sayso_browser"
SERVER_HEADER = "SAYSO_HEADER_"
"""How variables begin that give the MCP gateway a header for a server at an address: `Name: value`."""


class RunnableCall(msgspec.Struct, frozen=True):
    """The call to run, and its folder; a person may have edited it."""

    tool: str
    args: dict[str, Any]
    command: str | None = None
    folder: str = ""
    """The real working folder that was approved; empty if none was known."""


class OperationRuling(msgspec.Struct, frozen=True):
    """The decision about one operation of a call."""

    operation: str
    category: str
    risk: str
    weight: str
    verdict: str
    rule: str
    reason: str


class CallView(msgspec.Struct, frozen=True):
    """The state of a call. Only `allowed` means: run `call` now, once; `fence` is the number to end it by."""

    operation_id: str
    status: str
    rule: str
    reason: str
    tool: str = ""
    announce: str | None = None
    question: str | None = None
    fence: int = 0
    result: Any | msgspec.UnsetType = msgspec.UNSET
    """What it returned, as long as that is kept."""
    unkept: str | None = None
    """Why what it returned is not kept."""
    call: RunnableCall | None = None
    wanted: RunnableCall | None = None
    """What trying it again, or a replay, would run. That it is told allows nothing."""
    digest: str = ""
    operation: str = ""
    """The riskiest of what is asked, or of what the call does."""
    risk: str = ""
    offers: tuple[Offer, ...] = ()
    answered: bool = False
    """Its question is closed: a retry tells what came of it."""
    approved: bool = False
    """It was allowed and has not started: a retry starts it, while the approval lasts."""
    announced: tuple[str, ...] = ()
    """With an outcome: what to tell the user of the consent that ended by it."""
    cleared: tuple[str, ...] = ()
    verdict: str = ""
    operations: tuple[OperationRuling, ...] = ()
    """What was decided of each operation; nothing where the call is not gated by itself."""
    schema: str = ""
    state: str | None = None
    workflow: str | None = None
    session: str = ""
    note: RunNote | None = None
    """Of a run that waits: how far it has come."""


class HostEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a coding agent, as its file reads the host's payload. Of itself it asks for nothing."""

    name: str
    session: str
    """The host's name for its session."""
    folder: str = ""
    workspace: str = ""
    subagent: str = ""
    """The sub-agent that acts, as the host names it; empty for the agent the user talks to."""


class HostCall(HostEvent, frozen=True, kw_only=True):
    """A tool is about to run. `prompts`: the host would show its own prompt now."""

    tool: str
    args: dict[str, Any]
    call_id: str | None = None
    prompts: bool = False
    twice: bool = False
    """The host may ask about one call by two events."""
    mode: str = ""
    """The host's own permission mode."""
    takes_json: bool = False
    """The host is certainly one that takes a deny in JSON for a deny."""
    schema: str = ""
    """A digest of the tool's schema, where the host knows one: what is approved is approved for it."""


class HostOutcome(HostEvent, frozen=True, kw_only=True):
    """A tool ran."""

    tool: str
    args: dict[str, Any]
    call_id: str | None = None
    ok: bool | None = True
    """None if nobody can say how it ended."""


class HostMessage(HostEvent, frozen=True, kw_only=True):
    """The user sent a message, says the host."""

    text: str


class HostSessionEnd(HostEvent, frozen=True, kw_only=True):
    """The host's session is over."""


class HookAnswer(msgspec.Struct, frozen=True):
    """The decision for a host. Only `allow` lets the call run; `none` leaves it to the host's own rules."""

    verdict: Literal["allow", "deny", "none"]
    reason: str = ""
    announced: tuple[str, ...] = ()
    """Lines for the user."""


CANARY_SESSION = "sayso-doctor"
"""The name, or the beginning of it, of the session of a call that only tests whether the gate blocks."""


def canary_word(session: str) -> str:
    """Return what the service adds to the reason when it blocks a canary: proof that it decided this one."""
    return f"(Sayso decided this for {session})"


def is_canary_message(text: str) -> bool:
    """Return whether this is the name of a canary's session: sent as a message, it proves that hooks run."""
    return re.fullmatch(rf"{CANARY_SESSION}-[0-9a-f]{{16}}", text) is not None


def heard_word(session: str) -> str:
    """Return what the service adds if the agent's own program has sent the session's name as a message."""
    return f"(and has heard of {session} from the program)"


class HookOutput(msgspec.Struct, frozen=True):
    """What the hook's process prints, and how it ends."""

    code: Literal[0, 2] = 0
    out: str = ""
    err: str = ""


class HookDialect(msgspec.Struct, frozen=True):
    """The dialect of one coding agent and its hooks, or of the MCP gateway.

    `read_event` takes the name of the event and the host's payload, and raises `MalformedRequest` for what is
    not this agent's. `render_answer` gives the decision in the host's words.
    """

    name: str
    read_event: Callable[[str, dict[str, Any]], HostEvent]
    render_answer: Callable[[HostEvent, HookAnswer], HookOutput]
    door: str = "hook"
    """What people see the call came through."""

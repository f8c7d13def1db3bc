"""Shared by both ends of HTTP: the shapes of a call, the names of headers and of the socket."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.core.decision import Offer
from sayso.gate.ledger.workflows import RunNote

SOCKET_HOST = "sayso"
"""The name that clients call the service by over its Unix socket."""
KEY_HEADER = "Idempotency-Key"
SESSION_HEADER = "X-Sayso-Session"
TRUSTED_PATH = "/trusted/v1/messages"


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

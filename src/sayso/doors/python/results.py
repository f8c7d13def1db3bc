"""What a caller gets to see: the five results of a run, and the errors of a gated call outside one."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sayso.core.decision import Offer
from sayso.core.errors import SaysoError
from sayso.core.model import Risk

Status = Literal["ok", "denied", "blocked", "timeout", "error"]


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run ended. `value` is what the function returned; for a repeated retry, its written form."""

    status: Status
    value: Any = None
    operation_id: str | None = None
    reason: str | None = None
    retry_with: str | None = None
    ran: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def plain(self) -> dict[str, Any]:
        """The same as plain values, for any protocol."""
        bare = msgspec.structs.replace(self, value=None)
        told: dict[str, Any] = msgspec.to_builtins(bare)
        told["status"] = self.status
        return told | ({"value": written(self.value)} if self.status == "ok" else {})


def written(value: object) -> Any:
    """A value as plain values; what has no such form is told by the name of its type."""
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=lambda odd: f"<{type(odd).__name__}>")
    except (TypeError, ValueError, OverflowError, RecursionError):
        return f"<{type(value).__name__}>"


def encoded(value: object) -> bytes:
    """The written form as bytes, whatever the value is: that the call has run must get into the ledger."""
    try:
        return msgspec.json.encode(written(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return msgspec.json.encode(f"<{type(value).__name__}>")


class ConsentRequired(SaysoError):
    """A person has to approve this call first. It was not run; the question is open."""

    code = "consent_required"

    def __init__(
        self,
        operation: str,
        reason: str,
        risk: Risk,
        digest: str,
        offers: tuple[Offer, ...],
        question: str | None,
        operation_id: str,
    ) -> None:
        super().__init__(
            f"{operation} ({risk.word} risk) needs approval: {reason}",
            hint="once a person has approved it, make the same call again",
        )
        self.operation = operation
        self.reason = reason
        self.risk = risk
        self.digest = digest
        self.offers = offers
        self.question = question
        self.operation_id = operation_id


class ConsentDenied(SaysoError):
    """The call may not run: the policy blocks it, a person denied it, or nobody could be asked."""

    code = "consent_denied"

    def __init__(self, operation: str, reason: str, rule: str) -> None:
        super().__init__(f"{operation} may not run: {reason}")
        self.operation = operation
        self.reason = reason
        self.rule = rule

    @property
    def blocked(self) -> bool:
        return self.rule in ("blocked", "trusted_channel")


class ConsentTimeout(ConsentRequired):
    """Nobody answered while the call waited. The question stays open."""

    code = "consent_timeout"


class Ambiguous(SaysoError):
    """Raised by a tool that cannot say whether it did its work. The call is not run again by itself."""

    code = "ambiguous"

"""Results for callers: the five results of a run, and the errors of a gated call outside one."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sayso.core.decision import Offer
from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.core.rulebook import BLOCKING
from sayso.doors.python import words
from sayso.doors.python.values.plain import NotPlain, write_result
from sayso.store.contract import StoreError

Status = Literal["ok", "denied", "blocked", "timeout", "error"]


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of a run. `value` is the very object that the function returned.

    Who made the same call in this process before it ended gets that object too. Whoever comes later, or from
    another process, gets its JSON form; if there is none, `reason` says why. `kept`: whether there is
    one: never of a run that returned nothing, because it failed or did not run.
    """

    status: Status
    value: Any = None
    operation_id: str | None = None
    reason: str | None = None
    retry_with: str | None = None
    ran: tuple[str, ...] = ()
    kept: bool = False

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def plain(self) -> dict[str, Any]:
        """The same as plain values, for any protocol."""
        bare = msgspec.structs.replace(self, value=None)
        told: dict[str, Any] = msgspec.to_builtins(bare)
        told["status"] = self.status
        told.pop("kept", None)
        if self.status != "ok":
            return told
        if not self.kept:
            told["kept"] = False
            if self.value is None:
                return told
        try:
            return told | {"value": write_result(self.value)}
        except NotPlain as error:
            return told | {"reason": words.not_passed_on(str(error))}


class EndUnrecorded(StoreError):
    """The call ran, or part of it did, but the store could not record how it ended."""

    code = "end_unrecorded"

    def __init__(self, call: str, why: str) -> None:
        super().__init__(words.end_unrecorded(call, why), hint=words.END_UNRECORDED)


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
        return self.rule in BLOCKING


class ConsentTimeout(ConsentRequired):
    """Nobody answered while the call waited. The question stays open."""

    code = "consent_timeout"


class Ambiguous(SaysoError):
    """Raised by a tool that cannot say whether it did its work. The call is not run again by itself."""

    code = "ambiguous"

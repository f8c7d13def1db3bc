"""One tree of errors. A "no" is a value, never an exception; these are for what is broken or malformed."""

from __future__ import annotations


class SaysoError(Exception):
    """Something is wrong that a person can fix: what happened, a stable code, and what to do about it."""

    code = "error"
    advice: str | None = None
    """What to do about errors of this kind, where nothing better is known."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.advice

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class MalformedRequest(SaysoError):
    """A request that cannot be decided because it does not say one clear thing."""

    code = "malformed_request"


class NotCanonical(MalformedRequest):
    """A value that has no single canonical form, and so cannot be bound to an approval."""

    code = "not_canonical"


class UnknownMode(MalformedRequest, ValueError):
    """A word that is none of the three approval modes."""

    code = "unknown_mode"


class ApprovalsNeeded(SaysoError):
    """Others have to approve this, as the policy says, or in another way than this."""

    code = "approvals_needed"


class UnknownAnswer(SaysoError):
    """An answer that the question did not offer. It allows nothing."""

    code = "unknown_answer"


class NotSeen(SaysoError):
    """A yes above moderate risk from a view that did not show the whole call. The question stays open."""

    code = "not_seen"


class LeftOpen(SaysoError):
    """Somebody was asked for a word and gave another. Nothing was answered; the question stays open."""

    code = "left_open"


class PolicyError(SaysoError):
    """A policy that cannot be used. The one in force before stays in force."""

    code = "policy"

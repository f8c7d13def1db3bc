"""Errors as callers get them: RFC 9457 problems, with our own codes and hints, and nothing of the inside."""

from __future__ import annotations

import logging

import msgspec
from starlette.responses import Response

from sayso.core.audit.entry import AuditError
from sayso.core.errors import (
    ApprovalsNeeded,
    MalformedRequest,
    NotCanonical,
    NotSeen,
    PolicyError,
    SaysoError,
    UnknownAnswer,
)
from sayso.core.ledger import NotNow
from sayso.core.proposals.proposal import ProposalRefused
from sayso.core.signed_messages import BadMessage
from sayso.gate.audit.read import UnknownEntry
from sayso.gate.call_rows import KeyReused, TamperedCall, UnknownCall
from sayso.gate.deliveries.answers import AnswerRefused
from sayso.gate.gate import PolicyMoved, TamperedSession, UnknownSession
from sayso.gate.ledger.workflows import BeyondPolicy
from sayso.gate.people.delegations import DelegationRefused, UnknownDelegation
from sayso.gate.people.passkey_sign_in import SignInRefused
from sayso.gate.people.passkeys import PasskeysVoid, ProofNeeded, UnknownPasskey
from sayso.gate.people.provider_sign_in import NotOnTeam
from sayso.gate.people.tokens import UnknownToken
from sayso.gate.policy_acts.apply import CannotApply
from sayso.gate.questions.answer import EditRefused
from sayso.gate.questions.ratings import NotAnswered
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.questions.team.quorum import NotApprover
from sayso.gate.rows.tampering import Tampered
from sayso.gate.rows.webauthn import BadProof
from sayso.gate.sessions.allowance import GrantRefused
from sayso.gate.sessions.handoff import NotAgreed
from sayso.gate.sessions.operator_grants import TamperedGrant, UnknownGrant
from sayso.gate.sessions.reopen import OtherSession
from sayso.gate.trusted.receive import AlreadyReceived, MessageRefused, MessageUnreadable
from sayso.gate.trusted.settings_file import TrustedRefused
from sayso.gate.upkeep.review import UnknownDomain
from sayso.store.contract import FateUnknown, StoreBusy, StoreError

log = logging.getLogger("sayso")

STATUSES: tuple[tuple[type[SaysoError], int], ...] = (
    (UnknownCall, 404),
    (UnknownDomain, 404),
    (UnknownEntry, 404),
    (UnknownGrant, 404),
    (UnknownQuestion, 404),
    (UnknownSession, 404),
    (NotAgreed, 409),
    (UnknownPasskey, 404),
    (UnknownToken, 404),
    (BadProof, 403),
    (ProofNeeded, 403),
    (NotApprover, 403),
    (ApprovalsNeeded, 409),
    (DelegationRefused, 409),
    (UnknownDelegation, 404),
    (NotAnswered, 409),
    (SignInRefused, 403),
    (NotOnTeam, 403),
    (AuditError, 409),
    (EditRefused, 409),
    (GrantRefused, 409),
    (KeyReused, 409),
    (NotNow, 409),
    (PolicyMoved, 409),
    (CannotApply, 409),
    (NotSeen, 409),
    (OtherSession, 409),
    (PasskeysVoid, 409),
    (TamperedCall, 409),
    (TamperedGrant, 409),
    (TamperedSession, 409),
    (Tampered, 409),
    (ProposalRefused, 409),
    (AlreadyReceived, 409),
    (MessageUnreadable, 400),
    (MessageRefused, 401),
    (AnswerRefused, 403),
    (BadMessage, 401),
    (TrustedRefused, 404),
    (StoreBusy, 503),
    (StoreError, 503),
    (MalformedRequest, 400),
    (NotCanonical, 400),
    (PolicyError, 422),
    (BeyondPolicy, 422),
    (UnknownAnswer, 409),
    (SaysoError, 400),
)


class Problem(msgspec.Struct, frozen=True):
    """A problem, as RFC 9457 defines it. `code` is ours, `hint` says what to do."""

    type: str
    title: str
    status: int
    code: str
    detail: str = ""
    hint: str = ""


HINTS = {
    "forbidden": "use a token of a role that may: `sayso token new ROLE NAME`",
    "foreign_host": "use the address that `sayso serve` prints, or name yours with --origin",
    "foreign_origin": "do it on the page itself",
    "internal": "the log of the service says more; try again",
    "left": "ask again, and stay until it is answered",
    "not_allowed": "GET /openapi.json lists what can be done here",
    "not_assured": "`sayso token new host NAME --assured` makes a token whose user's word counts",
    "sign_in_again": "sign in with a new link: `sayso link`",
    "too_large": "send less",
    "too_many": "wait as long as Retry-After says, then send it again",
    "too_slow": "send it again",
    "unauthorized": "an operator makes a new one: `sayso token new ROLE NAME`",
}
"""What to do about a refusal of this code, where it does not say so itself."""
DESCRIBED = "GET /openapi.json describes what can be sent"


class RequestRefused(SaysoError):
    """The service itself says no, before the gate is asked."""

    code = "refused"

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str | None = None,
        after: int | None = None,
        uri: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint or HINTS.get(code, DESCRIBED))
        self.status = status
        self.code = code
        self.after = after
        """Seconds until it is worth trying again."""
        self.uri = uri
        """What a standard calls this problem, where one does."""


def problem_response(error: SaysoError) -> Response:
    """The answer to a request that failed with this error."""
    status = error.status if isinstance(error, RequestRefused) else _status(error)
    detail, hint = _words_for_callers(error)
    told = Problem(
        type=getattr(error, "uri", None) or f"urn:sayso:problem:{error.code}",
        title=error.code.replace("_", " "),
        status=status,
        code=error.code,
        detail=detail,
        hint=hint or DESCRIBED,
    )
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = str(getattr(error, "after", None) or 1)
    return Response(msgspec.json.encode(told), status, headers, media_type="application/problem+json")


def _words_for_callers(error: SaysoError) -> tuple[str, str | None]:
    """Return what is wrong, and what to do. Where the store is, and what its system says, is for the log."""
    if not isinstance(error, StoreError):
        return error.message, error.hint
    log.warning("a request failed: %s", error.message)
    if isinstance(error, StoreBusy):
        return "the store is busy", "try again"
    if isinstance(error, FateUnknown):
        return "the store was lost in the middle of this, and nobody knows whether it was kept", error.hint
    return "the store cannot do this now", "GET /healthz says whether it can be written; the log says more"


def _status(error: SaysoError) -> int:
    return next(status for kind, status in STATUSES if isinstance(error, kind))

"""Shapes of the operator's endpoints, for the page, the OpenAPI description and clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from sayso.core.model import Piece
from sayso.gate.figures.recorded_decision import Consent
from sayso.gate.figures.story import StoryStep
from sayso.gate.questions.editable import EditableArguments
from sayso.gate.questions.team.quorum import ApprovalProgress
from sayso.gate.rows.webauthn import Proof
from sayso.gate.sessions.operator_grants import ListedGrant
from sayso.wire import OperationRuling


class ItemView(msgspec.Struct, frozen=True):
    """One operation of a question, answered by its id."""

    id: str
    operation: str
    risk: str
    category: str
    why: str
    """Why it is asked."""
    does: str | None = None
    """What it does: as was found in the call, as the policy says, or as its declaration says."""
    declared: bool = False
    """Whether only the declaration says what it does: those are the program's words."""


class OfferView(msgspec.Struct, frozen=True):
    """An answer that can be given, what it would grant, and what of the last calls it would have covered."""

    answer: str
    words: str
    would_have_covered: int = 0
    of_last: int = 0


class QuestionDetails(msgspec.Struct, frozen=True):
    """A question with all a person needs to decide. Text of the agent is data, shown escaped."""

    id: str
    state: str
    session: str
    agent: str
    turn: int
    title: str
    """What would run, in a line: it tells questions apart in a list, and shows not all of the call."""
    sentence: bool
    """Whether that is the policy's own title, and not the call's command or arguments once more."""
    message: str | None
    """What the user last said in the session, if a host told it."""
    risk: str
    tool: str
    command: str | None
    arguments: Mapping[str, Any]
    target: str | None
    folder: str
    world: str | None
    """The state of the world the call would meet, if its tool tells."""
    text: str
    why: str
    rule: str
    items: tuple[ItemView, ...]
    offers: tuple[OfferView, ...]
    bundle: str | None
    later: tuple[str, ...]
    digest: str
    opened_at: float
    expires_at: float
    approval_lasts: float
    """For how many seconds after a yes the agent can start the call."""
    waiting: bool | None
    """Whether the agent still waits for the answer; null if that is not known.

    Who waits does so in one process: this service, where its connection tells, another on the same store, or
    the agent's own. False: it did wait here, and left at `left_at`.
    """
    signed: bool
    """Whether an answer that allows has to be signed by a passkey."""
    door: str = ""
    """Which way the call came in; `server` is the one behind it, if there is one."""
    server: str = ""
    workflow: str | None = None
    left_at: float | None = None
    complete: bool = False
    """Whether `text` shows all of the call. If not, show `arguments` and the rest before a yes."""
    because: tuple[Piece, ...] = ()
    """The parts of the call that made it what is asked, word for word, as far as what read it says so."""
    editing: EditableArguments | None = None
    """What can be edited before it is allowed; null if nothing can."""
    answer: str | None = None
    by: str | None = None
    reason: str | None = None
    closed_at: float | None = None
    approvals: ApprovalProgress | None = None
    """How many people have approved, and whose approvals are missing; null where one answer is enough."""


class AnswerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer, one for each item, or the arguments the call shall have instead (`answer` is "edit")."""

    answer: str | None = None
    items: Mapping[str, str] | None = None
    edited: Mapping[str, Any] | None = None
    """All arguments the call shall have; those it had, if only its command is edited."""
    command: str | None = None
    """The command line it shall have, where it has one; if not given, it stays as it is."""
    reason: str | None = None
    digest: str | None = None
    """The digest of the call that the person was shown, whole: an answer to anything else is refused.

    Above moderate risk a yes needs it.
    """
    edited_digest: str | None = None
    """The digest of the edited call that the person was shown: an edit to anything else is refused.

    An edit that raises the risk above moderate needs it, or a proof, which names it too.
    """
    proof: Proof | None = None
    """A passkey's signature over this answer to this question about that digest."""
    break_glass: bool = False
    """Allow alone, in an emergency, what others have to approve too. It needs a reason, and alarms."""


class EditBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All arguments the call shall have instead."""

    edited: Mapping[str, Any]


class EditPreview(msgspec.Struct, frozen=True):
    """An edited call as the policy would decide it now. Nothing came of it yet."""

    digest: str
    denied: bool
    """Whether it would be denied; then nobody can allow it."""
    risk: str
    why: str
    rule: str
    command: str | None
    arguments: Mapping[str, Any]
    target: str | None
    operations: tuple[str, ...]
    because: tuple[Piece, ...]
    signed: bool
    """Whether allowing it has to be signed by a passkey."""
    title: str
    """The edited call in one line."""


class AnswerResult(msgspec.Struct, frozen=True):
    """The question after the answer, and whether this answer counted."""

    question: str
    state: str
    answer: str | None
    by: str | None
    at: float | None
    yours: bool
    missing: str | None = None
    """Whose approvals the question still waits for, if this answer was one of several."""


class SessionView(msgspec.Struct, frozen=True):
    id: str
    agent: str
    owner: str
    user: str
    workspace: str
    parent: str | None
    opened_at: float
    turn: int
    task: str | None
    phase: str | None
    stopped: bool
    tampered: bool
    questions: int
    presence: str
    """What is known of its program: `working` (it keeps a call's lease), `silent` (it holds a call, and was
    not heard from for 30 seconds), `waiting` (for an answer, here), or `unknown`: it may have ended."""
    last_seen: float | None
    """When it last did something that was recorded, or sent a heartbeat; null if that is too far back."""
    opened_by: str
    """The name of the token that opened it; empty for a program in its own process."""
    grants: tuple[ListedGrant, ...]


class HistoryEntry(msgspec.Struct, frozen=True):
    """One call of the past: a line of the history, placed where it was first decided.

    `verdict`, `rule` and `reason` are of that decision; `state` is the call's state now.
    """

    seq: int
    stream: str
    at: float
    event: str
    session: str
    agent: str
    operations: tuple[str, ...]
    tool: str
    verdict: str
    rule: str
    reason: str
    risk: str
    digest: str
    question: str | None = None
    answer: str | None = None
    by: str | None = None
    call: Mapping[str, Any] | None = None
    """What ran, or would have run, while it is kept; after an edit, as it was edited."""
    title: str = ""
    """The same in a line."""
    state: str = ""
    """pending, allowed, ran_out, taken_back, denied, expired, cancelled, running, waiting, succeeded, failed
    or ambiguous."""
    steps: tuple[StoryStep, ...] = ()
    """What happened to it, in order."""
    edited_digest: str | None = None
    """The digest of the call as it was edited; `digest` is that of the call as it was asked for."""


class CheckTrace(msgspec.Struct, frozen=True):
    """One check of an operation: whether it decided, and what it said or why it did not."""

    rule: str
    spoke: bool
    why: str


class OperationTrace(msgspec.Struct, frozen=True):
    """Every check that one operation passed, up to the one that decided."""

    operation: str
    tier: str
    risk: str
    weight: str
    checks: tuple[CheckTrace, ...]


class FreshDecision(msgspec.Struct, frozen=True):
    """The same call decided again as of now, check by check. Nothing came of it."""

    verdict: str
    rule: str
    reason: str
    policy: str
    """The digest of the policy in force now."""
    trace: tuple[OperationTrace, ...]


class DecisionRecord(msgspec.Struct, frozen=True):
    """A decision of the past as it was recorded; and the same call decided again now, which is another."""

    decision: HistoryEntry
    origin: str
    policy: str
    """The digest of the policy it was decided under."""
    operations: tuple[OperationRuling, ...]
    """How each operation was decided then; empty if that is no longer kept."""
    grants: tuple[Consent, ...]
    """The grants that were used."""
    call: str | None
    """The call's name in the ledger."""
    state: str | None
    """Where that call stands now."""
    because: tuple[Piece, ...] = ()
    again: FreshDecision | None = None
    again_not: str | None = None
    """Why it cannot be decided again, if it cannot."""


class LastUse(msgspec.Struct, frozen=True):
    """When an operation was last part of a call that was allowed, asked about, or refused."""

    allowed_at: float | None = None
    asked_at: float | None = None
    refused_at: float | None = None


class DomainView(msgspec.Struct, frozen=True):
    """One row of the policy's matrix. Dates are seconds since 1970."""

    name: str
    trust_level: str | None
    autonomous: tuple[str, ...]
    requires_approval: tuple[str, ...]
    blocked: tuple[str, ...]
    trusted_channel_required: tuple[str, ...]
    reviewed_at: float | None
    decays_at: float | None
    decayed: bool


class PolicyView(msgspec.Struct, frozen=True):
    digest: str
    mode: str
    settings: Mapping[str, Any]
    domains: tuple[DomainView, ...]
    operations: Mapping[str, Mapping[str, Any]]
    uses: Mapping[str, LastUse]
    """The last use of each operation, as far back as the trail still says; those never used are left out."""


class AuditState(msgspec.Struct, frozen=True):
    """The length of the trail, and how far it is signed."""

    entries: int
    newest_at: float | None
    checkpoint_size: int
    checkpoint_at: float | None
    streams: tuple[str, ...]


class AuditVerification(msgspec.Struct, frozen=True):
    """The result of verifying. `tampering` says how often the trail reports tampering with rows, if it does.

    A trail that is `clean` was not changed itself.
    """

    clean: bool
    entries: int
    findings: tuple[str, ...]
    tampering: str | None = None


EventKind = Literal[
    "question", "answer", "grant", "session", "run", "decision", "policy", "waiting", "hello", "ping"
]


class LiveEvent(msgspec.Struct, frozen=True):
    """One event of the live stream: something changed, and what to read again.

    `hello` comes first, and whenever events were missed: read everything again. `session`: its turn, task or
    consent changed, and questions of it may be closed. `decision`: something was allowed or denied unasked.
    `waiting`: somebody began or ceased to wait for that question. `ping`: nothing happened, and the service
    is there; it says so every `every` seconds at the latest.
    """

    kind: EventKind
    id: str = ""
    session: str = ""
    every: float | msgspec.UnsetType = msgspec.UNSET
    """In a `hello` or a `ping`: so many seconds without a word is one heartbeat missed."""

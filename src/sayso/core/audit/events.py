"""The events of the audit trail: the one list of them, with everything that is known of each.

- Each event is a class. Its docstring says when it is written, and is its row in docs/audit.md.
- Its fields are the details of its entry. A field that is not set is left out of the entry.
- `decides` is the verdict that an entry of this event records, if it records a decision.
- `topic` is what live listeners are told about, and `subject` the field that names what changed; without a
  subject it is the entry's session.
- `sign_of_life`: the agent or its host did something. Other entries are written by people, or by time.
- `ends_consent`: grants of the session may have ended with this entry.
- `follows_seal`: this entry may follow SEALED, which otherwise ends a stream.

Nothing else lists events by name: what counts, shows or watches entries goes by these classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from sayso.core.decision import Decision
from sayso.core.model import Verdict
from sayso.core.rulebook import USER_INITIATED, WORKFLOW_START

Topic = Literal["question", "answer", "grant", "session", "run", "decision", "policy"]
Text: TypeAlias = str | UnsetType
"""A detail that some entries of an event leave out."""


class AuditEvent(msgspec.Struct, frozen=True):
    """Something that the audit trail records."""

    event: ClassVar[str]
    decides: ClassVar[Verdict | None] = None
    topic: ClassVar[Topic | None] = None
    subject: ClassVar[str] = ""
    sign_of_life: ClassVar[bool] = True
    ends_consent: ClassVar[bool] = False
    follows_seal: ClassVar[bool] = False


# --- decisions ---


class DecisionEvent(AuditEvent, frozen=True):
    """What every entry about a decision says. `again`: it continues a story that has begun.

    `facts` is what the decision rested on besides the policy (`core/deciding/facts.py`), so that it can be
    made again under another one.
    """

    topic: ClassVar[Topic | None] = "decision"
    rule_of_its_own: ClassVar[str | None] = None
    """An allow by this rule that used no grant is recorded as this event."""

    digest: str
    tool: str
    origin: str
    verdict: str
    rule: str
    reason: str
    risk: str
    grants: tuple[str, ...]
    policy: str
    notice: Text = UNSET
    question: Text = UNSET
    task: Text = UNSET
    bundle: Text = UNSET
    call: Text = UNSET
    again: bool | UnsetType = UNSET
    facts: Text = UNSET


class Decided(DecisionEvent, frozen=True):
    """a call was allowed"""

    event, decides = "DECIDED", Verdict.ALLOW


class Asked(DecisionEvent, frozen=True):
    """a person has to be asked; names the question and its task"""

    event, decides, topic, subject = "ASKED", Verdict.ASK, "question", "question"


class Blocked(DecisionEvent, frozen=True):
    """a call was denied"""

    event, decides = "BLOCKED", Verdict.DENY


class UserInitiated(AuditEvent, frozen=True):
    """the user started something themselves"""

    event = "USER_INITIATED"


class UserInitiatedCovered(DecisionEvent, frozen=True):
    """a call was allowed because it is part of that"""

    event, decides, rule_of_its_own = "USER_INITIATED_COVERED", Verdict.ALLOW, USER_INITIATED.name


class WorkflowBypass(DecisionEvent, frozen=True):
    """a workflow of low weight was started without asking"""

    event, decides, rule_of_its_own = "WORKFLOW_AUTO_BYPASS_LOW_WEIGHT", Verdict.ALLOW, WORKFLOW_START.name


# --- questions ---


class Shown(AuditEvent, frozen=True):
    """a question was put in the conversation"""

    event = "SHOWN"
    question: str


class Answered(AuditEvent, frozen=True):
    """somebody answered; names question, answer, person, grants and the policy it was answered under. With
    `proof` if it was signed by a passkey, `signed: false` if the page would have required a signature"""

    event, topic, subject, sign_of_life = "ANSWERED", "answer", "question", False
    question: str
    answer: str
    by: str
    digest: Text = UNSET
    reason: Text = UNSET
    grants: tuple[str, ...] | UnsetType = UNSET
    policy: Text = UNSET
    bundle: Text = UNSET
    edited: Text = UNSET
    proof: Mapping[str, str] | UnsetType = UNSET
    signed: bool | UnsetType = UNSET
    approvals: tuple[str, ...] | UnsetType = UNSET


class Approved(AuditEvent, frozen=True):
    """one of several people who have to approve did so; says who, by which id, and what is missing"""

    event, topic, subject, sign_of_life = "APPROVED", "question", "question", False
    question: str
    person: str
    identity: str
    digest: str
    missing: str
    by: str
    proof: Mapping[str, str] | UnsetType = UNSET
    signed: bool | UnsetType = UNSET


class ApprovalRefused(AuditEvent, frozen=True):
    """somebody answered whose approval does not count: not one of those named, or the one who asked"""

    event, subject, sign_of_life = "APPROVAL_REFUSED", "question", False
    question: str
    answer: str
    by: str
    identity: str
    why: str


class GlassBroken(AuditEvent, frozen=True):
    """one person allowed alone, in an emergency, what more have to approve; with the reason they wrote"""

    event, subject, sign_of_life = "GLASS_BROKEN", "question", False
    question: str
    person: str
    identity: str
    digest: str
    reason: str
    missing: str
    notice: Text = UNSET


class Delegated(AuditEvent, frozen=True):
    """somebody lets another approve for them, up to a risk, until a time"""

    event, subject = "DELEGATED", "delegation"
    delegation: str
    giver: str
    to: str
    until: float
    domain: str
    highest: str
    by: str


class DelegationEnded(AuditEvent, frozen=True):
    """a delegation was ended before its time"""

    event, subject = "DELEGATION_ENDED", "delegation"
    delegation: str
    giver: str
    to: str
    by: str


class Rated(AuditEvent, frozen=True):
    """somebody who was asked said whether the question was clear"""

    event, subject, sign_of_life = "RATED", "question", False
    question: str
    clear: bool
    by: str


class SurfaceAnswerRefused(AuditEvent, frozen=True):
    """an answer from a surface did not count, and why; and how many more went unrecorded"""

    event, sign_of_life = "ANSWER_REFUSED", False
    question: str
    answer: str
    by: str
    surface: str
    why: str
    unrecorded: int | UnsetType = UNSET


class Cancelled(AuditEvent, frozen=True):
    """a question was withdrawn, because nobody could answer it"""

    event, topic, subject = "CANCELLED", "answer", "question"
    question: str
    why: str


class Expired(AuditEvent, frozen=True):
    """nobody answered in time"""

    event, topic, subject, sign_of_life = "EXPIRED", "answer", "question", False
    question: str


# --- consent ---


class Granted(AuditEvent, frozen=True):
    """consent that outlasts a call was given: by an answer (`always`, 15 minutes, for the task, remembered),
    by the operator directly, or by the user's words"""

    event, topic, subject, sign_of_life = "GRANTED", "grant", "grant", False
    grant: str
    kind: str
    risk: str
    by: Text = UNSET
    seconds: int | UnsetType = UNSET
    uses: int | UnsetType | None = UNSET
    policy: Text = UNSET
    question: Text = UNSET
    workflow: str | UnsetType | None = UNSET


class Revoked(AuditEvent, frozen=True):
    """a grant was revoked"""

    event, topic, subject, sign_of_life = "REVOKED", "grant", "grant", False
    by: str
    grant: Text = UNSET
    kind: Text = UNSET
    call: Text = UNSET
    name: Text = UNSET
    """What was named, where no grant and no call ended with it."""


class Cleared(AuditEvent, frozen=True):
    """consent ended with a stop, a task, a switch, or because the operator ended all of it"""

    event, topic, sign_of_life, ends_consent = "CLEARED", "session", False, True
    cleared: tuple[str, ...] | UnsetType = UNSET
    announced: tuple[str, ...] | UnsetType = UNSET
    why: Text = UNSET
    by: Text = UNSET
    questions: int | UnsetType = UNSET


# --- calls in the ledger ---


class CallEvent(AuditEvent, frozen=True):
    """A step in the life of a call."""

    topic, subject = "run", "call"
    call: str


class DigestedCallEvent(CallEvent, frozen=True):
    """The same, with the digest of what runs."""

    digest: str


class Started(DigestedCallEvent, frozen=True):
    """a call began that needs no consent by itself"""

    event = "STARTED"
    tool: str


class Entered(DigestedCallEvent, frozen=True):
    """a call began that until then could have been given back"""

    event = "ENTERED"


class Released(DigestedCallEvent, frozen=True):
    """a call was given back before it began; what it had used can be used again"""

    event = "RELEASED"
    grants: tuple[str, ...]


class Parked(DigestedCallEvent, frozen=True):
    """a call waits for the answer to a question, without a lease"""

    event = "PARKED"
    question: str


class CallResumed(DigestedCallEvent, frozen=True):
    """somebody continues a parked call"""

    event = "RESUMED"
    question: str
    holder: str


class Executed(DigestedCallEvent, frozen=True):
    """a call ended; says how"""

    event, ends_consent = "EXECUTED", True
    state: str
    rule: Text = UNSET
    claimed: bool | UnsetType = UNSET


class CallAmbiguous(CallEvent, frozen=True):
    """the process that ran a call is gone, and nobody knows how the call ended"""

    event, sign_of_life = "AMBIGUOUS", False


class Resolved(CallEvent, frozen=True):
    """the operator said how such a call ended"""

    event, sign_of_life = "RESOLVED", False
    by: str
    state: str


# --- sessions and the conversation ---


class SessionEvent(AuditEvent, frozen=True):
    """Something that changed a session."""

    topic = "session"


class SessionOpened(SessionEvent, frozen=True):
    """a session began"""

    event = "SESSION_OPENED"
    owner: str
    user: str
    workspace: str
    parent: str


class SessionEnded(SessionEvent, frozen=True):
    """a session ended; names the operator if it was one"""

    event, ends_consent = "SESSION_ENDED", True
    by: Text = UNSET


class SessionStopped(SessionEvent, frozen=True):
    """somebody stopped a session other than by a message in it: who, and what that cleared"""

    event, sign_of_life, ends_consent = "STOPPED", False, True
    by: str
    cleared: tuple[str, ...]


class GoesOn(SessionEvent, frozen=True):
    """the operator let a stopped session continue"""

    event, sign_of_life = "GOES_ON", False
    by: str


class MessageHeard(SessionEvent, frozen=True):
    """a message of the user was received; its kind, not its words"""

    event, ends_consent = "HEARD", True
    kind: str
    turn: int
    cleared: tuple[str, ...]
    why: Text = UNSET


class Claimed(AuditEvent, frozen=True):
    """a message that was not assured would loosen something; names the question whether the user wrote it, if
    one was opened"""

    event = "CLAIMED"
    kind: str
    question: str
    notice: Text = UNSET


class PlanShown(SessionEvent, frozen=True):
    """a plan was put to the user"""

    event = "PLAN_SHOWN"
    cleared: tuple[str, ...]
    announced: tuple[str, ...]
    why: Text = UNSET


class TaskBegun(SessionEvent, frozen=True):
    """a task began"""

    event, ends_consent = "TASK", True
    cleared: tuple[str, ...]
    announced: tuple[str, ...]
    why: Text = UNSET


class HandoffAsked(AuditEvent, frozen=True):
    """the user was asked whether to keep the allowlist, or to load a kept one"""

    event = "HANDOFF_ASKED"
    way: str


class HandoffSaved(AuditEvent, frozen=True):
    """the allowlist was kept for the next context"""

    event = "HANDOFF_SAVED"
    commands: int


class HandoffTaken(SessionEvent, frozen=True):
    """a kept allowlist was loaded"""

    event = "HANDOFF_TAKEN"
    commands: int


# --- people ---


class TokenIssued(AuditEvent, frozen=True):
    """somebody got a token for the service, in a role; says whether a host's word for its user is assured"""

    event = "TOKEN_ISSUED"
    token: str
    role: str
    name: str
    by: str
    assured: bool
    rate: float | None = None


class TokenRevoked(AuditEvent, frozen=True):
    """a token was revoked"""

    event, subject = "TOKEN_REVOKED", "token"
    token: str
    by: str


class LinkMade(AuditEvent, frozen=True):
    """a link to sign in was made at a terminal; says by whom if it is for somebody else"""

    event = "LINK_MADE"
    name: str
    by: Text = UNSET


class SignedIn(AuditEvent, frozen=True):
    """a browser signed in; says whether by link, passkey or provider (then with the id that it proved)"""

    event = "SIGNED_IN"
    name: str
    by: str
    passkey: Text = UNSET
    identity: Text = UNSET


class SignedOut(AuditEvent, frozen=True):
    """a browser signed out"""

    event, subject = "SIGNED_OUT", "name"
    name: str


class PasskeyAdded(AuditEvent, frozen=True):
    """an operator registered a passkey; holds its public key"""

    event = "PASSKEY_ADDED"
    passkey: str
    user: str
    name: str
    credential: str
    key: str
    place: str
    public_key: str


class PasskeyRemoved(AuditEvent, frozen=True):
    """a passkey was removed"""

    event = "PASSKEY_REMOVED"
    by: str
    why: Text = UNSET
    passkey: Text = UNSET
    user: Text = UNSET
    name: Text = UNSET
    credential: Text = UNSET
    key: Text = UNSET


class PasskeysRequired(AuditEvent, frozen=True):
    """the operator chose which answers have to be signed"""

    event = "PASSKEYS_REQUIRED"
    require: str
    was: str
    by: str


class ProofRefused(AuditEvent, frozen=True):
    """an answer came with a signature that did not hold"""

    event = "PROOF_REFUSED"
    question: str
    answer: str
    by: str
    why: str


# --- the trusted channel ---


class TrustedMessageReceived(AuditEvent, frozen=True):
    """a signed message arrived through the trusted channel; names its id and the call it became"""

    event, subject = "TRUSTED_RECEIVED", "call"
    message: str
    call: str


class TrustedMessageRefused(AuditEvent, frozen=True):
    """a message to the trusted channel did not count: why, from where, and how many more went unrecorded;
    of a proposal that was not filed, the `reason`, and the `root` and `path` that it was for"""

    event, sign_of_life = "TRUSTED_REFUSED", False
    why: str
    source: str
    message: str
    body: str
    unrecorded: int | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    root: str | UnsetType = UNSET
    path: str | UnsetType = UNSET


class ProposalChanged(AuditEvent, frozen=True):
    """a proposal was filed, approved, rejected, withdrawn, applied, undone or settled, or it failed. With
    `proof` and the `digest` of the proposal if a passkey signed it, `signed: false` if the page would have
    required that"""

    event, topic, subject, sign_of_life = "PROPOSAL", "policy", "proposal", False
    proposal: str
    state: str
    by: str
    origin: str
    root: str
    path: str
    before: str
    after: str
    why: str = ""
    digest: Text = UNSET
    proof: Mapping[str, str] | UnsetType = UNSET
    signed: bool | UnsetType = UNSET


class ProposalNotFiled(AuditEvent, frozen=True):
    """an operator's proposal was refused, and why; the trusted channel's refusals are TRUSTED_REFUSED"""

    event, topic, sign_of_life = "PROPOSAL_REFUSED", "policy", False
    by: str
    origin: str
    root: str
    why: str


# --- the gate, the store and the trail itself ---


class PolicyChanged(AuditEvent, frozen=True):
    """another policy came into force: a gate that decides was opened under it, its file was tightened, or the
    operator applied it; with `why`, and `by` whom if a person did. With `proof` and the digest of what was
    `shown` if a passkey signed it, `signed: false` if the page would have required that"""

    event, topic, subject = "POLICY", "policy", "digest"
    digest: str
    why: Text = UNSET
    by: Text = UNSET
    shown: Text = UNSET
    proof: Mapping[str, str] | UnsetType = UNSET
    signed: bool | UnsetType = UNSET


class PolicyAlerted(AuditEvent, frozen=True):
    """the policy file was refused, loosens what is in force, or is not the one that is locked"""

    event, topic, subject, sign_of_life = "POLICY_ALERT", "policy", "digest", False
    digest: str
    notice: str


class PolicyLocked(AuditEvent, frozen=True):
    """the operator locked the policy file, or unlocked it; names the digest of the text that is pinned"""

    event, topic, subject, sign_of_life = "POLICY_LOCK", "policy", "digest", False
    digest: str
    locked: bool
    by: str
    how: str


class DomainReviewed(AuditEvent, frozen=True):
    """the operator reviewed a domain: its autonomous permissions hold for another interval. With `proof` and
    the `digest` of what was shown if a passkey signed it, `signed: false` if the page would have required
    that"""

    event, topic, subject, sign_of_life = "REVIEWED", "policy", "domain", False
    domain: str
    by: str
    policy: str
    digest: Text = UNSET
    proof: Mapping[str, str] | UnsetType = UNSET
    signed: bool | UnsetType = UNSET


class DecayNear(AuditEvent, frozen=True):
    """the autonomous permissions of a domain decay within three days, unless it is reviewed: said once"""

    event, topic, subject, sign_of_life = "DECAY_NEAR", "policy", "domain", False
    domain: str
    decays_at: float
    policy: str
    notice: str


class ClockTrusted(AuditEvent, frozen=True):
    """the operator said that the clock is right; only this entry may go back in time"""

    event = "CLOCK"
    by: str
    was: float | None
    now: float


class EpochBegun(AuditEvent, frozen=True):
    """the store was restored from a backup, or copied: all earlier grants are void"""

    event, follows_seal = "EPOCH", True
    epoch: int
    why: str
    by: Text = UNSET


class TamperingFound(SessionEvent, frozen=True):
    """a row was tampered with; what it would have granted does not count"""

    event, sign_of_life = "TAMPERED", False
    finding: Text = UNSET
    findings: tuple[str, ...] | UnsetType = UNSET
    found: int | UnsetType = UNSET


class Sealed(AuditEvent, frozen=True):
    """the store is being moved: nothing more is written here"""

    event = "SEALED"
    to: str
    by: str


class Unsealed(AuditEvent, frozen=True):
    """a move was given up, and the store continues where it was"""

    event, follows_seal = "UNSEALED", True
    to: str
    by: str


class StreamEnd(msgspec.Struct, frozen=True):
    """How far a stream had come when it was joined: number of entries, and the root of its tree in hex."""

    root: str
    size: int


class StreamBegun(AuditEvent, frozen=True):
    """a service began a stream of its own"""

    event = "STREAM_BEGUN"
    stream: str


class Joined(AuditEvent, frozen=True):
    """how far other streams have come"""

    event = "JOINED"
    streams: Mapping[str, StreamEnd]


class Pruned(AuditEvent, frozen=True):
    """bodies of old entries were dropped"""

    event = "PRUNED"
    through: int
    by: str


class Erased(AuditEvent, frozen=True):
    """a sensitive value was erased"""

    event = "ERASED"
    entry: int
    name: str
    by: str


def _find_events(kind: type[AuditEvent]) -> Iterator[type[AuditEvent]]:
    """This class, if it is an event and not a group of them, and every event below it."""
    if "event" in vars(kind):
        yield kind
    for below in kind.__subclasses__():
        yield from _find_events(below)


EVENTS: Mapping[str, type[AuditEvent]] = {kind.event: kind for kind in _find_events(AuditEvent)}
DECISIONS: Mapping[str, Verdict] = {
    name: kind.decides for name, kind in EVENTS.items() if kind.decides is not None
}
"""The events that record a decision, and what was decided."""

_ALLOW = Verdict.ALLOW
_BY_VERDICT: Mapping[Verdict, type[DecisionEvent]] = {
    Verdict.ASK: Asked,
    Verdict.DENY: Blocked,
}
BY_RULE: Mapping[str, type[DecisionEvent]] = {
    kind.rule_of_its_own: kind for kind in DecisionEvent.__subclasses__() if kind.rule_of_its_own is not None
}
"""The events of allows that used no grant, where the rule has an event of its own."""


def event_of(decision: Decision) -> type[DecisionEvent]:
    """Return the event under which this decision is recorded."""
    if decision.verdict is not _ALLOW:
        return _BY_VERDICT[decision.verdict]
    return Decided if decision.grants else BY_RULE.get(decision.rule, Decided)


_NO_DETAILS = dict.fromkeys(DecisionEvent.__struct_fields__[:9], "") | {"grants": ()}


def read_decision(details: Mapping[str, Any]) -> DecisionEvent:
    """Read the details of a decision's entry. What is missing, or of another type, is left empty."""
    try:
        return msgspec.convert({**_NO_DETAILS, **details}, DecisionEvent)
    except msgspec.ValidationError:
        return msgspec.convert(_NO_DETAILS, DecisionEvent)

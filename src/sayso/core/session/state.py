"""A session's state, and all else that deciding may look at, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import msgspec

from sayso.core.decision import Question
from sayso.core.grants import GrantKey, HeldGrant
from sayso.core.model import Assurance, Risk
from sayso.core.session.plan_text import PlanText

RETRIES = 3


class Task(msgspec.Struct, frozen=True):
    """The piece of work a conversation is on. `active` is the turn of its last allowed call.

    `consented` names the categories consented to and `ran` those of allowed calls, to tell what is asked for
    the first time; grants decide.
    """

    id: str
    name: str
    began: int
    active: int
    phase: str = "planning"
    plan_turn: int | None = None
    deviations: int = 0
    consented: tuple[str, ...] = ()
    unconfirmed: bool = False
    ran: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """A plan of `turn`, last put to the user in `since`. Until accepted it grants nothing.

    `shown` means that the user saw Sayso's rendering of it; before that, a yes does not count.
    """

    id: str
    text: PlanText
    turn: int
    since: int
    accepted: bool = False
    started: bool = False
    shown: bool = False
    done: tuple[tuple[str, str], ...] = ()


class Suspension(msgspec.Struct, frozen=True):
    """A category after a failure of the call with this digest, which may be retried `left` more times.

    This only counts. What lets the call run again is a grant of kind "retry", one for each failure.
    """

    digest: str
    left: int = RETRIES


class Denial(msgspec.Struct, frozen=True):
    turn: int
    at: float


class Sending(msgspec.Struct, frozen=True):
    operation: str
    at: float


class PendingPrompt(msgspec.Struct, frozen=True):
    """A question of Sayso's own in the conversation, waiting for the very next message.

    `question` or `plan` names what it is about; a yes to it approves no other.
    Of "which one do you mean?", `questions` are the ones numbered and
    `says` the yes or no it was asked for; of several asked one after the other, those still to come.
    `again` means that a hesitant yes was asked back already, `once` that it was for one call only.
    """

    about: str
    turn: int
    question: str | None = None
    plan: str | None = None
    questions: tuple[str, ...] = ()
    says: str | None = None
    again: bool = False
    once: bool = False


class SessionHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a session in one piece.

    `slash` and `imperatives` are what this turn's message allows; `ceiling` how far a message of its
    assurance may loosen. `shelved` is the plan under way while a newer one waits for an answer. `shown` says
    in which turn a question was last put in the conversation, and `outdated_turn` is the last of these turns
    whose questions are not all open any more. `unentered` names the calls that were started
    but not entered yet, with the grants that each of them used and may give back. `clearings` counts how
    often all consent ended at once, so that what was allowed before can be told from what was allowed since.
    `revocations` counts how often consent was taken back by name, and `taken_back` are the last of these
    names, kept for calls under way: one that is older than they are carries nothing.
    """

    id: str = "session"
    agent: str = "agent"
    workspace: str = ""
    turn: int = 0
    heard_at: float | None = None
    slash: str | None = None
    slash_calls: int = 0
    imperatives: tuple[str, ...] = ()
    ceiling: Risk = Risk.HIGH
    stopped: Assurance | None = None
    task: Task | None = None
    tasks: int = 0
    plan: Plan | None = None
    shelved: Plan | None = None
    plans: int = 0
    pending: PendingPrompt | None = None
    suspended: Mapping[str, Suspension] = {}
    shown: Mapping[str, int] = {}
    outdated_turn: int | None = None
    granted: int = 0
    asked: int = 0
    unentered: Mapping[str, tuple[str, ...]] = {}
    clearings: int = 0
    rooted: bool = False
    """Whether the workspace was there, as seen from the gate, when the session was opened."""
    flood_told_at: float | None = None
    """When the operator was last told that this session asks too much."""
    revocations: int = 0
    taken_back: tuple[str, ...] = ()

    @property
    def plan_under_way(self) -> Plan | None:
        """The accepted plan, also while a newer one waits for an answer."""
        return self.plan if self.plan is not None and self.plan.accepted else self.shelved


class CallUnderWay(msgspec.Struct, frozen=True):
    """A call that was started and has not ended. `question` is what it waits for, if it is parked.

    One whose row cannot be believed has no tool: nobody can tell what it is.
    """

    call: str
    tool: str | None = None
    workflow: str | None = None
    command: str | None = None
    operations: tuple[str, ...] = ()
    question: str | None = None


class Session(SessionHead, frozen=True):
    """One run of one agent for one user, with its rows; or with those that one decision needs."""

    grants: Mapping[GrantKey, tuple[HeldGrant, ...]] = {}
    denials: Mapping[str, Denial] = {}
    questions: Mapping[str, Question] = {}
    sent: Mapping[GrantKey, tuple[Sending, ...]] = {}
    under_way: Mapping[str, CallUnderWay] = {}
    """The calls under way whose consent has not been taken back."""

    @property
    def all_grants(self) -> tuple[HeldGrant, ...]:
        """Every grant of the session, in the order given."""
        return tuple(chain.from_iterable(self.grants.values()))


class OuterCall(msgspec.Struct, frozen=True):
    """The outer call a nested one runs in: what was granted there, at which risk, up to which weight.

    `grants` and `clearings` say what that consent rests on; it is gone with any of these. What was taken back
    by name after the first `revocations` of the session, it does not carry, nor what the policy was tightened
    for since it was decided. Where several outer calls are open, this is what they come to, and `parts` are
    the calls.
    """

    granted: Mapping[str, Risk]
    weight: Risk
    grants: tuple[str, ...] = ()
    clearings: int = 0
    revocations: int = 0
    parts: tuple[OuterCall, ...] = ()
    decided_at: float | None = None


class Run(msgspec.Struct, frozen=True):
    """The workflow run a call is part of; `alive` while its lease is.

    What was taken back by name after the first `revocations` of the session, it does not carry.
    """

    id: str
    workflow: str
    alive: bool = True
    revocations: int | None = None


class Click(msgspec.Struct, frozen=True):
    """The moment a user started something: how often consent had been cleared and taken back by then."""

    clearings: int = 0
    revocations: int = 0


class Scope(msgspec.Struct, frozen=True):
    """Where in the program a call is made. Set by the gate from the running code, never by a request."""

    user_initiated: str | None = None
    click: Click = Click()
    outer: OuterCall | None = None
    reducers: Mapping[str, Risk] = {}
    run: Run | None = None
    individual: bool = False


class View(msgspec.Struct, frozen=True):
    """All that deciding may look at besides the request and the policy."""

    session: Session
    scope: Scope = Scope()
    reviews: Mapping[str, float] = {}
    """When each domain was last reviewed; for operations never reviewed, when the store first saw them."""
    notices: bool = False
    time_trusted: bool = True
    parent_stopped: bool = False


def join_outers(outers: Sequence[OuterCall]) -> OuterCall | None:
    """Join several outer calls into one; None if there is none."""
    if len(outers) < 2:
        return outers[0] if outers else None
    risks: dict[str, Risk] = {}
    for outer in outers:
        for name, risk in outer.granted.items():
            risks[name] = max(risk, risks.get(name, risk))
    return OuterCall(risks, max(outer.weight for outer in outers), parts=tuple(outers))

"""Effects: the changes of a decision or event, as data. Nothing has happened until all are applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET, UnsetType

from sayso.core.grants import Grant, GrantKey

if TYPE_CHECKING:
    from sayso.core.decision import Question
    from sayso.core.model import Assurance, Risk
    from sayso.core.session import Denial, PendingPrompt, Plan, Suspension, Task

ClearReach = Literal["task", "all_but_allowlist", "allowlist", "everything"]


class Effect(msgspec.Struct, frozen=True):
    """One change. Equal effects of one decision count once."""


class GrantAdded(Effect, frozen=True):
    grant: Grant


class GrantUsed(Effect, frozen=True):
    """One use of a grant, or one more count of an allowlist entry."""

    key: GrantKey
    grant: str


class UseReturned(Effect, frozen=True):
    """One use of a grant given back: the call it was for was not entered."""

    key: GrantKey
    grant: str


class GrantRevoked(Effect, frozen=True):
    key: GrantKey
    grant: str


class ConsentTakenBack(Effect, frozen=True):
    """What was named was taken back here, and is to be taken back in the sessions below as well.

    `missing` are the parts of the name that meant nothing here.
    """

    name: str
    missing: tuple[str, ...] = ()


class Withheld(Effect, frozen=True):
    """A refusal took consent back here, and is to do so in the sessions below as well.

    One that forbids takes off what holds a forbidden word; any other takes back what the last yes gave.
    """

    forbidden: tuple[str, ...] = ()
    forbids: bool = False


class CallEnded(Effect, frozen=True):
    """A call that is under way lost the consent it was started with: it does not go on."""

    call: str


class ConsentCleared(Effect, frozen=True):
    """Consent that ended at once, and why."""

    reach: ClearReach
    why: str


class CallRefused(Effect, frozen=True):
    """A person denied this call; it is not asked again in this turn."""

    digest: str
    turn: int
    at: float


class QuestionOpened(Effect, frozen=True):
    question: Question


class QuestionShown(Effect, frozen=True):
    """The question was put in the conversation in this turn."""

    question: str
    turn: int


class QuestionClosed(Effect, frozen=True):
    question: str
    answer: str


class QuestionWithdrawn(Effect, frozen=True):
    """A question that is no longer of interest, unanswered."""

    question: str


class SlashUsed(Effect, frozen=True):
    """One more call ran on this turn's slash command."""


class CategorySuspended(Effect, frozen=True):
    """An operation of this category failed; `left` is how often the identical call may still be retried."""

    category: str
    digest: str
    left: int = 0


class RetriesEnded(Effect, frozen=True):
    """Nobody can say how a run of this call ended: it is not run again unasked."""

    digest: str


class SuspensionLifted(Effect, frozen=True):
    """A category is no longer suspended."""

    category: str


class ContentSent(Effect, frozen=True):
    """This content went out by this operation: the same content by another one is a fan-out."""

    domain: str
    content: str
    operation: str
    at: float


class TaskActive(Effect, frozen=True):
    """A call of these categories was allowed in the task in this turn."""

    turn: int
    phase: str | None = None
    categories: tuple[str, ...] = ()


class PlanDeviated(Effect, frozen=True):
    """A call that the plan under way, suspended or not, does not name had to be asked: that plan ends."""


class PlanStarted(Effect, frozen=True):
    """The first call ran on the plan's consent."""


class PlanEnded(Effect, frozen=True):
    """The consent of the plan under way is over; without one, the plan that waits is refused."""

    why: str


class Noticed(Effect, frozen=True):
    """A notice to the operator's one destination; the call runs only once it is queued."""

    text: str


class Alerted(Effect, frozen=True):
    """Something was attempted that never runs; the operator is told."""

    text: str


class AllowlistHandedOff(Effect, frozen=True):
    """The user said yes to keeping the allowlist ("save") or to loading one ("load"), as it was shown."""

    way: str
    shown: str


class MessageClaimed(Effect, frozen=True):
    """A message that a hook only claims would loosen something: the operator is asked whether it was said."""

    text: str
    kind: str


class SessionChanged(Effect, frozen=True, kw_only=True):
    """New values for fields of the session that no effect of their own changes; what is unset stays."""

    turn: int | UnsetType = UNSET
    heard_at: float | UnsetType | None = UNSET
    slash: str | UnsetType | None = UNSET
    slash_calls: int | UnsetType = UNSET
    imperatives: tuple[str, ...] | UnsetType = UNSET
    ceiling: Risk | UnsetType = UNSET
    stopped: Assurance | UnsetType | None = UNSET
    task: Task | UnsetType | None = UNSET
    tasks: int | UnsetType = UNSET
    plan: Plan | UnsetType | None = UNSET
    shelved: Plan | UnsetType | None = UNSET
    plans: int | UnsetType = UNSET
    pending: PendingPrompt | UnsetType | None = UNSET
    suspended: Mapping[str, Suspension] | UnsetType = UNSET
    unentered: Mapping[str, tuple[str, ...]] | UnsetType = UNSET
    denials: Mapping[str, Denial] | UnsetType = UNSET
    flood_told_at: float | UnsetType | None = UNSET

    @property
    def fields(self) -> Mapping[str, object]:
        """The new values by the names of their fields."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not UNSET}

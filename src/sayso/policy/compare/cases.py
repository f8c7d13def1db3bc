"""The situations in which two policies are compared: whatever a decision can depend on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal

import msgspec

from sayso.core.durations import DAY
from sayso.core.grants import Grant, GrantKind, HeldGrant, Pins
from sayso.core.model import Mode, Origin, Risk, Tier
from sayso.core.policy import NEVER_REVIEWED, Entry, Policy
from sayso.core.session import OuterCall, Run, Scope, Sending, Session, Task, View
from sayso.policy.probe import PROBE

SOON = 60.0
CONTENT = "content"
NOT_CHOSEN = "not chosen"
NO_VALUE = "none"
BY_OWN_ROW = " by its own row alone"


class Case(msgspec.Struct, frozen=True):
    """One situation, in words. What makes no difference for an operation is the same in all of its cases."""

    mode: str
    declared: str
    origin: str
    confidence: str
    review: str
    reading: str
    consent: str


class Pair(msgspec.Struct, frozen=True):
    """One operation in both policies."""

    name: str
    before: Policy
    after: Policy
    first: Entry
    second: Entry

    @property
    def policies(self) -> tuple[Policy, Policy]:
        return self.before, self.after

    @property
    def entries(self) -> tuple[Entry, Entry]:
        return self.first, self.second


def enumerate_cases(pair: Pair) -> Iterator[Case]:
    """Every situation in which the two policies could decide differently about this operation."""
    dimensions = (
        possible_modes,
        possible_risks,
        possible_origins,
        possible_confidences,
        possible_reviews,
        possible_readings,
        possible_consents,
    )
    for values in itertools.product(*(dimension(pair) for dimension in dimensions)):
        yield Case(*values)


def possible_modes(pair: Pair) -> list[str]:
    """Each mode a user may choose; and each policy's own, where those differ."""
    own = [NOT_CHOSEN] if pair.before.mode is not pair.after.mode else []
    return own + [mode.value for mode in Mode]


def possible_risks(pair: Pair) -> list[str]:
    """Return the declared risks to compare: any, or none where the policy fixes the risk."""
    fixed = all(entry.risk is not None for entry in pair.entries)
    return [NO_VALUE] if fixed else [NO_VALUE, *(risk.word for risk in Risk)]


def possible_origins(pair: Pair) -> list[str]:
    marked = any(entry.trusted_channel for entry in pair.entries)
    return [Origin.AGENT.value, Origin.TRUSTED_CHANNEL.value] if marked else [Origin.AGENT.value]


def possible_confidences(pair: Pair) -> list[str]:
    """None, full, and each threshold: between those nothing changes."""
    if not any(entry.confidence_bypass for entry in pair.entries):
        return ["0"]
    thresholds = {policy.settings.confidence_threshold for policy in pair.policies}
    return [f"{value:g}" for value in sorted({0.0, *thresholds, 1.0})]


def possible_reviews(pair: Pair) -> list[str]:
    """Return ages of a review in days: now, when the interval from each written date ends, never."""
    if all(entry.tier is not Tier.AUTONOMOUS for entry in pair.entries):
        return ["0"]
    days = {policy.decay.review_interval_days for policy in pair.policies}
    dates = _written_dates(pair) or [0.0]
    ends = {each - (max(dates) - date) / DAY for each in days for date in dates}
    return [f"{value:.12g}" for value in sorted({0.0, *(end for end in ends if end > 0)})] + ["never"]


def possible_readings(pair: Pair) -> list[str]:
    """Return the risks that reading the actual call may raise to, where it matters by its own row as well."""
    read = [Risk.MODERATE.word, Risk.HIGH.word]
    own = [f"{word}{BY_OWN_ROW}" for word in read] if any(one.accepted for one in pair.entries) else []
    return [NO_VALUE, *read, *own]


def possible_consents(pair: Pair) -> list[str]:
    """Nothing, and each kind of consent that could cover it."""
    kinds = [NO_VALUE, "operation", "command", "tool", "order", "outer"]
    kinds += [f"category {name}" for name in dict.fromkeys(entry.category for entry in pair.entries)]
    kinds += [f"slash {name}" for name in _declarations_naming(pair, "slash_commands")]
    kinds += [f"run {name}" for name in _declarations_naming(pair, "workflows")]
    return kinds + (["sent"] if any(entry.fan_out for entry in pair.entries) else [])


def decision_time(pair: Pair, case: Case) -> float:
    """When it is decided: after every date written in the two files, by the days of the case."""
    days = 0.0 if case.review == "never" else float(case.review)
    return max(_written_dates(pair), default=0.0) + days * DAY


def _written_dates(pair: Pair) -> list[float]:
    written = (entry.last_reviewed for entry in pair.entries)
    return [at for at in written if at is not None and at != NEVER_REVIEWED]


def view_for_case(policy: Policy, pair: Pair, case: Case) -> View:
    """Everything besides request and policy as it stands in this case."""
    now = decision_time(pair, case)
    kind, _, value = case.consent.partition(" ")
    session = _session_with_consent(policy, pair, kind, value, now)
    return View(
        session,
        scope=_scope_for_consent(kind, value),
        reviews=_reviews_for_case(pair, case, now),
        notices=True,
    )


def _reviews_for_case(pair: Pair, case: Case, now: float) -> dict[str, float]:
    """Dates written in the files speak for themselves; without any, the store's review does."""
    written = any(entry.last_reviewed is not None for entry in pair.entries)
    if case.review == "never" or (written and case.review != "0"):
        return {}
    return {pair.name.partition(".")[0]: now - float(case.review) * DAY}


def _scope_for_consent(kind: str, value: str) -> Scope:
    if kind == "outer":
        return Scope(outer=OuterCall(granted={}, weight=Risk.MODERATE))
    return Scope(run=Run("run", value)) if kind == "run" else Scope()


def _session_with_consent(policy: Policy, pair: Pair, kind: str, value: str, now: float) -> Session:
    """A session in which one consent of this kind was given, as widely as that kind can be."""
    match kind:
        case "operation":
            return _session_with_grant(Session(), "operation", pair.name, now)
        case "command":
            return _session_with_grant(Session(), "command", PROBE, now)
        case "tool":
            return _session_with_grant(
                Session(), "tool", PROBE, now, Pins(operations=(pair.name,), arguments=PROBE)
            )
        case "category":
            return _session_with_grant(
                Session(task=Task("task", "task", 0, 0), tasks=1), "category", value, now
            )
        case "run":
            declared = policy.workflows[value].operations if value in policy.workflows else ()
            return _session_with_grant(Session(), "run", "run", now, Pins(operations=declared))
        case "slash":
            return Session(turn=1, heard_at=now, slash=value)
        case "order":
            return Session(turn=1, heard_at=now, imperatives=(PROBE,))
        case "sent":
            key = (pair.name.partition(".")[0], CONTENT)
            return Session(sent={key: (Sending("another.operation", now),)})
        case _:
            return Session()


def _session_with_grant(
    session: Session, kind: GrantKind, value: str, now: float, pins: Pins | None = None
) -> Session:
    ends_with: Literal["session", "task", "run"] = _ENDS_WITH.get(kind, "session")
    grant = Grant(
        id="grant",
        kind=kind,
        value=value,
        risk=Risk.HIGH,
        expires_at=now + SOON,
        session=session.id,
        pins=pins or Pins(),
        ends_with=ends_with,
        bound_to=None if ends_with == "session" else ends_with,
        given_at=now,
    )
    return msgspec.structs.replace(session, grants={grant.key: (HeldGrant(grant),)})


_ENDS_WITH: dict[str, Literal["task", "run"]] = {"category": "task", "run": "run"}


def _declarations_naming(pair: Pair, kind: str) -> list[str]:
    """The slash commands or workflows that name the operation in either policy."""
    return list(
        dict.fromkeys(
            name
            for policy in pair.policies
            for name, entry in getattr(policy, kind).items()
            if pair.name in entry.operations
        )
    )

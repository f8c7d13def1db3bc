"""The situations in which two policies are compared: whatever a decision can depend on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from sayso.core.grants import Grant, Held, Kind, Pins
from sayso.core.model import Mode, Origin, Risk, Tier
from sayso.core.policy import DAY, NEVER_REVIEWED, Entry, Policy, with_mode
from sayso.core.session import Outer, Run, Scope, Sending, Session, Task, View

SOON = 60.0
CONTENT = "content"
NOT_CHOSEN = "not chosen"
NO_CONSENT = "none"


class Case(msgspec.Struct, frozen=True):
    """One situation, in words. What makes no difference for an operation is the same in all of its cases."""

    mode: str
    declared: str
    origin: str
    confidence: str
    review: str
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


def cases(pair: Pair) -> Iterator[Case]:
    """Every situation in which the two policies could decide differently about this operation."""
    dimensions = (modes(pair), risks(pair), origins(pair), confidences(pair), reviews(pair), consents(pair))
    for values in itertools.product(*dimensions):
        yield Case(*values)


def modes(pair: Pair) -> list[str]:
    """Each mode a user may choose; and each policy's own, where those differ."""
    own = [NOT_CHOSEN] if pair.before.mode is not pair.after.mode else []
    return own + [mode.value for mode in Mode]


def risks(pair: Pair) -> list[str]:
    """What a declaration says counts only where a policy does not fix the risk itself."""
    fixed = all(entry.risk is not None for entry in pair.entries)
    return ["none"] if fixed else ["none", *(risk.word for risk in Risk)]


def origins(pair: Pair) -> list[str]:
    marked = any(entry.trusted_channel for entry in pair.entries)
    return [Origin.AGENT.value, Origin.TRUSTED_CHANNEL.value] if marked else [Origin.AGENT.value]


def confidences(pair: Pair) -> list[str]:
    """None, full, and each threshold: between those nothing changes."""
    if not any(entry.confidence_bypass for entry in pair.entries):
        return ["0"]
    thresholds = {policy.settings.confidence_threshold for policy in pair.policies}
    return [f"{value:g}" for value in sorted({0.0, *thresholds, 1.0})]


def reviews(pair: Pair) -> list[str]:
    """How many days ago the domain was reviewed: right now, at the end of each interval, never."""
    if all(entry.tier is not Tier.AUTONOMOUS for entry in pair.entries):
        return ["0"]
    days = {policy.decay.review_interval_days for policy in pair.policies}
    return [f"{value:g}" for value in sorted({0.0, *days})] + ["never"]


def consents(pair: Pair) -> list[str]:
    """Nothing, and each kind of consent that could cover it."""
    kinds = [NO_CONSENT, "operation", "command", "tool", "order", "outer"]
    kinds += [f"category {name}" for name in dict.fromkeys(entry.category for entry in pair.entries)]
    kinds += [f"slash {name}" for name in _naming(pair, "slash_commands")]
    kinds += [f"run {name}" for name in _naming(pair, "workflows")]
    return kinds + (["sent"] if any(entry.fan_out for entry in pair.entries) else [])


def policy_in(policy: Policy, case: Case) -> Policy:
    return policy if case.mode == NOT_CHOSEN else with_mode(policy, Mode(case.mode))


def moment(pair: Pair, case: Case) -> float:
    """When it is decided: after every date written in the two files, by the days of the case."""
    written = [
        entry.last_reviewed for entry in pair.entries if entry.last_reviewed not in (None, NEVER_REVIEWED)
    ]
    days = 0.0 if case.review == "never" else float(case.review)
    return max([at for at in written if at is not None], default=0.0) + days * DAY


def view_in(policy: Policy, pair: Pair, case: Case) -> View:
    """Everything besides request and policy as it stands in this case."""
    now = moment(pair, case)
    kind, _, value = case.consent.partition(" ")
    session = _SESSIONS.get(kind, _granted)(pair, kind, value, now)
    operations = policy.workflows[value].operations if kind == "run" and value in policy.workflows else ()
    if kind == "run":
        session = _with_grant(session, "run", "run", now, Pins(operations=operations))
    return View(session, scope=_scope(kind, value), reviews=_reviews(pair, case, now), notices=True)


def _reviews(pair: Pair, case: Case, now: float) -> dict[str, float]:
    """Dates written in the files speak for themselves; without any, the store's review does."""
    written = any(entry.last_reviewed is not None for entry in pair.entries)
    if case.review == "never" or (written and case.review != "0"):
        return {}
    return {pair.name.partition(".")[0]: now - float(case.review) * DAY}


def _scope(kind: str, value: str) -> Scope:
    if kind == "outer":
        return Scope(outer=Outer(granted={}, weight=Risk.MODERATE))
    return Scope(run=Run("run", value)) if kind == "run" else Scope()


def _plain(pair: Pair, kind: str, value: str, now: float) -> Session:
    return Session()


def _granted(pair: Pair, kind: str, value: str, now: float) -> Session:
    wanted: dict[str, tuple[Kind, str]] = {
        "operation": ("operation", pair.name),
        "command": ("command", "probe"),
        "tool": ("tool", "probe"),
        "category": ("category", value),
    }
    task = Task("task", "task", 0, 0) if kind == "category" else None
    return _with_grant(
        Session(task=task, tasks=1 if task else 0), *wanted[kind], now, Pins(arguments="probe")
    )


def _with_grant(session: Session, kind: Kind, value: str, now: float, pins: Pins) -> Session:
    grant = Grant("grant", kind, value, Risk.HIGH, now + SOON, session.id, pins)
    return msgspec.structs.replace(session, grants={**session.grants, grant.key: (Held(grant),)})


def _slash(pair: Pair, kind: str, value: str, now: float) -> Session:
    return Session(turn=1, heard_at=now, slash=value)


def _ordered(pair: Pair, kind: str, value: str, now: float) -> Session:
    return Session(turn=1, heard_at=now, imperatives=("probe",))


def _sent(pair: Pair, kind: str, value: str, now: float) -> Session:
    key = (pair.name.partition(".")[0], CONTENT)
    return Session(sent={key: (Sending("another.operation", now),)})


_SESSIONS = {
    "none": _plain,
    "outer": _plain,
    "run": _plain,
    "slash": _slash,
    "order": _ordered,
    "sent": _sent,
}


def _naming(pair: Pair, kind: str) -> list[str]:
    """The slash commands or workflows that name the operation in either policy."""
    return list(
        dict.fromkeys(
            name
            for policy in pair.policies
            for name, entry in getattr(policy, kind).items()
            if pair.name in entry.operations
        )
    )

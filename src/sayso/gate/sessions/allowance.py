"""The operator's own grants: never more than the policy would let anybody grant."""

from __future__ import annotations

import math

import msgspec

from sayso.core.durations import DAY, MINUTE
from sayso.core.errors import SaysoError
from sayso.core.grants import Grant, GrantKind, Pins
from sayso.core.model import Mode, Risk, Tier, check_name, trim_command
from sayso.core.policy import Entry, Policy
from sayso.core.session import Session
from sayso.core.session.numbering import new_grant
from sayso.core.text.unmask import undisguised

LONGEST_MINUTES = int(DAY // MINUTE)
NO_PINS = Pins()


class GrantRefused(SaysoError):
    """A grant that would be wider than the policy allows, or would serve nothing."""

    code = "grant_refused"


class GrantWish(msgspec.Struct, frozen=True):
    """A grant as the operator asks for it: exactly one of operation, category and command."""

    operation: str | None
    category: str | None
    command: str | None
    risk: Risk | None
    minutes: float
    uses: int | None
    pins: Pins


def build_grant(wish: GrantWish, policy: Policy, session: Session, now: float, by: str) -> Grant:
    """The grant this wish makes, if the policy permits it."""
    _check_shape(wish)
    if policy.mode is Mode.PARANOID:
        raise GrantRefused("mode paranoid asks before every call, whatever was granted")
    kind, value, risk = _select(wish, policy, session)
    task = session.task.id if kind == "category" and session.task is not None else None
    grant = Grant(
        id="",
        kind=kind,
        value=value,
        risk=risk,
        expires_at=now + wish.minutes * MINUTE,
        session=session.id,
        pins=_with_workspace_pin(wish.pins, session),
        uses=wish.uses,
        ends_with="task" if task else "session",
        bound_to=task,
        source="allowlist" if kind == "command" else "explicit",
        given_by=by,
    )
    return new_grant(grant, session, policy, now)


def _check_shape(wish: GrantWish) -> None:
    if sum(one is not None for one in (wish.operation, wish.category, wish.command)) != 1:
        raise GrantRefused("name one thing to grant", hint="an operation, a category or a command")
    if not math.isfinite(wish.minutes) or not 0 < wish.minutes <= LONGEST_MINUTES:
        raise GrantRefused(
            f"a grant cannot last {wish.minutes:g} minutes",
            hint=f"more than 0, at most {LONGEST_MINUTES} (24 hours)",
        )
    if wish.uses is not None and wish.uses < 1:
        raise GrantRefused(f"a grant for {wish.uses} uses is none", hint="1 or more, or leave it out")


def _select(wish: GrantWish, policy: Policy, session: Session) -> tuple[GrantKind, str, Risk]:
    if wish.operation is not None:
        return "operation", wish.operation, _operation_risk(wish, wish.operation, policy)
    if wish.category is not None:
        return "category", wish.category, _category_risk(wish, wish.category, policy, session)
    command = trim_command(wish.command or "")
    if not command or not undisguised(command):
        raise GrantRefused(
            "the command is empty, or holds hidden or look-alike characters", hint="type it out"
        )
    # Written out word for word it wins over risk, as it does when the user says it in the conversation.
    return "command", command, Risk.HIGH if wish.risk is None else wish.risk


def _operation_risk(wish: GrantWish, name: str, policy: Policy) -> Risk:
    check_name(name)
    entry = policy.entry(name)
    _check_entry(entry, policy)
    least = Risk.MODERATE if entry.floor is None else entry.floor
    risk = least if wish.risk is None else wish.risk
    if risk < least:
        raise GrantRefused(f"{name} is of {least.word} risk; a grant at {risk.word} would not cover it")
    if risk >= Risk.HIGH and wish.uses != 1 and policy.settings.risky_grants != "standing":
        raise GrantRefused(
            "at high risk a grant is for one use only",
            hint="give it for 1 use, or approve the call when asked",
        )
    return risk


def _check_entry(entry: Entry, policy: Policy) -> None:
    """Refuse what no grant may override."""
    if entry.tier is Tier.BLOCKED or (entry.tier is None and policy.settings.unlisted == "block"):
        raise GrantRefused(f"{entry.name} is blocked by the policy: no grant allows it")
    if entry.trusted_channel:
        raise GrantRefused(f"{entry.name} is for the trusted channel alone: no grant allows it")
    if entry.asks_always(Risk.MODERATE if entry.floor is None else entry.floor):
        raise GrantRefused(f"the policy asks for {entry.name} every time: a grant would not be used")


def _category_risk(wish: GrantWish, category: str, policy: Policy, session: Session) -> Risk:
    """Task consent, as an answer "for this task" would give it: high risk is never part of it."""
    if session.task is None:
        raise GrantRefused("a category is granted for a task, and there is none", hint="grant an operation")
    inside = [entry for entry in policy.table.values() if entry.category == category]
    if not inside:
        known = ", ".join(policy.categories)
        raise GrantRefused(f"the policy knows no category {category!r}", hint=f"known are: {known}")
    if all(entry.tier is Tier.BLOCKED or entry.trusted_channel for entry in inside):
        raise GrantRefused(f"everything in {category} is blocked by the policy: no grant allows it")
    risk = Risk.MODERATE if wish.risk is None else wish.risk
    if risk >= Risk.HIGH:
        raise GrantRefused("consent for a task never covers high risk", hint="grant the operation for 1 use")
    return risk


def _with_workspace_pin(pins: Pins, session: Session) -> Pins:
    """Bound to the session's workspace, unless another is named."""
    if pins.workspace is not None:
        return pins
    return msgspec.structs.replace(pins, workspace=session.workspace)

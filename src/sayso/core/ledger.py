"""The ledger's states: how one call goes from asked to ended, and why it can run only once.

A start takes a lease and a fencing number one higher than the last. Whoever holds that number may say how
this start ended; a holder that dies lets its lease run out, and then nobody can say: the call is ambiguous
and is never run again by itself.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.core.errors import SaysoError

LEASE = 30.0
BEATEN = 120.0
"""The longest lease that heartbeats keep. A longer one only says when its holder is given up."""

State = Literal[
    "pending",
    "allowed",
    "running",
    "waiting",
    "succeeded",
    "failed",
    "ambiguous",
    "denied",
    "expired",
    "cancelled",
]

NEXT: dict[State, frozenset[State]] = {
    "pending": frozenset({"allowed", "denied", "expired", "cancelled"}),
    "allowed": frozenset({"running", "pending", "expired", "cancelled"}),
    "running": frozenset({"succeeded", "failed", "ambiguous", "waiting", "allowed"}),
    "waiting": frozenset({"running", "failed", "denied", "expired", "cancelled", "ambiguous"}),
    "ambiguous": frozenset({"succeeded", "failed"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
    "denied": frozenset(),
    "expired": frozenset(),
    "cancelled": frozenset(),
}
"""What may follow. Only its holder takes a call back from running to allowed, before it entered the tool."""

IN_PROGRESS = ("running", "waiting")
"""Somebody runs the call now, or waits in it for a person."""
ENDED = frozenset(state for state, following in NEXT.items() if not following)


class NotNow(SaysoError):
    """The call is not in a state in which this can be done, or somebody else holds it."""

    code = "ledger"


class Standing(msgspec.Struct, frozen=True):
    """Where a call stands."""

    state: State
    fence: int = 0
    holder: str | None = None
    lease_until: float | None = None


def move(standing: Standing, to: State) -> Standing:
    """The same call in another state; without a lease, which only a start gives."""
    if to not in NEXT[standing.state]:
        raise NotNow(f"a call that is {standing.state} cannot become {to}")
    return Standing(to, standing.fence)


def start(standing: Standing, holder: str, now: float, lease: float = LEASE) -> Standing:
    """Take the call and run it. Of any number that try, the store lets one succeed."""
    if standing.state not in ("allowed", "waiting"):
        raise NotNow(f"a call that is {standing.state} cannot be started")
    return Standing("running", standing.fence + 1, holder, now + lease)


def beat(standing: Standing, fence: int, now: float, lease: float = LEASE) -> Standing:
    """The holder is alive."""
    held(standing, fence)
    return msgspec.structs.replace(standing, lease_until=now + lease)


def finish(standing: Standing, fence: int, to: State) -> Standing:
    """The holder says how it ended; also after its lease, as long as nobody else has said it."""
    if standing.state == "ambiguous" and standing.fence == fence:
        return move(standing, to)
    held(standing, fence)
    return move(standing, to)


def release(standing: Standing, fence: int) -> Standing:
    """The holder gives the call back; it can be started again by whoever is allowed to then."""
    held(standing, fence)
    return move(standing, "allowed")


def park(standing: Standing, fence: int) -> Standing:
    """The holder waits for a person: without a lease, so it may take as long as it takes."""
    held(standing, fence)
    return move(standing, "waiting")


def resume(standing: Standing, holder: str, now: float, lease: float = LEASE) -> Standing:
    """Go on with a parked call, under a new number: what the one who parked it says counts no more."""
    if standing.state != "waiting":
        raise NotNow(f"a call that is {standing.state} is not parked")
    return start(standing, holder, now, lease)


def lapse(standing: Standing, now: float) -> Standing:
    """A running call whose lease has run out is ambiguous: nobody can say what happened."""
    if standing.state != "running" or standing.lease_until is None or now < standing.lease_until:
        return standing
    return Standing("ambiguous", standing.fence)


def resolve(standing: Standing, to: State) -> Standing:
    """The operator, or the tool's own reconciliation, says what happened to an ambiguous call."""
    if standing.state != "ambiguous" or to not in ("succeeded", "failed"):
        raise NotNow(f"a call that is {standing.state} cannot be resolved as {to}")
    return move(standing, to)


def held(standing: Standing, fence: int) -> None:
    """Refuse whoever does not hold the call."""
    if standing.state != "running" or standing.fence != fence:
        raise NotNow("this start of the call is over", hint="somebody else started or ended it since")

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
LONGEST_KEY = 200
"""How many characters the key of a call or a session has at most."""
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

STATES: tuple[State, ...] = tuple(NEXT)
ENDED = frozenset(state for state, following in NEXT.items() if not following)
NOT_OVER = tuple(state for state in STATES if state not in ENDED)
NOT_STARTED: tuple[State, ...] = ("pending", "allowed")
IN_PROGRESS: tuple[State, ...] = ("running", "waiting")
"""Somebody runs the call now, or waits in it for a person."""
AWAITING: tuple[State, ...] = ("pending", "waiting")
"""The call, or one inside it, waits for a person."""
RESOLUTIONS: tuple[State, ...] = ("succeeded", "failed")
"""How an ambiguous call can be resolved."""
OUTCOMES: tuple[State, ...] = (*RESOLUTIONS, "ambiguous")
"""How a run can end."""


class NotNow(SaysoError):
    """The call is not in a state in which this can be done, or somebody else holds it."""

    code = "ledger"

    @classmethod
    def of_lost_start(cls) -> NotNow:
        """The error for whoever held an earlier start of the call."""
        return cls("this start of the call is over", hint="somebody else started or ended it since")


def read_state(text: str) -> State:
    """A stored word as the state it is."""
    if text not in NEXT:
        raise NotNow(f"{text!r} is not a state of a call")
    return text


class CallStanding(msgspec.Struct, frozen=True):
    """The state of a call in the ledger."""

    state: State
    fence: int = 0
    holder: str | None = None
    lease_until: float | None = None


def move_to_state(standing: CallStanding, to: State) -> CallStanding:
    """The same call in another state; without a lease, which only a start gives."""
    if to not in NEXT[standing.state]:
        raise NotNow(f"a call that is {standing.state} cannot become {to}")
    return CallStanding(to, standing.fence)


def start_running(standing: CallStanding, holder: str, now: float, lease: float = LEASE) -> CallStanding:
    """Take the call and run it. Of any number that try, the store lets one succeed."""
    if standing.state not in ("allowed", "waiting"):
        raise NotNow(f"a call that is {standing.state} cannot be started")
    return CallStanding("running", standing.fence + 1, holder, now + lease)


def renew_lease(standing: CallStanding, fence: int, now: float, lease: float = LEASE) -> CallStanding:
    """The holder is alive."""
    check_holder(standing, fence)
    return msgspec.structs.replace(standing, lease_until=now + lease)


def finish_running(standing: CallStanding, fence: int, to: State) -> CallStanding:
    """The holder says how it ended; also after its lease, as long as nobody else has said it."""
    if standing.state == "ambiguous" and standing.fence == fence:
        return move_to_state(standing, to)
    check_holder(standing, fence)
    return move_to_state(standing, to)


def release_running(standing: CallStanding, fence: int) -> CallStanding:
    """The holder gives the call back; it can be started again by whoever is allowed to then."""
    check_holder(standing, fence)
    return move_to_state(standing, "allowed")


def park_running(standing: CallStanding, fence: int) -> CallStanding:
    """The holder waits for a person: without a lease, so it may take as long as it takes."""
    check_holder(standing, fence)
    return move_to_state(standing, "waiting")


def resume_parked(standing: CallStanding, holder: str, now: float, lease: float = LEASE) -> CallStanding:
    """Go on with a parked call, under a new number: what the one who parked it says counts no more."""
    if standing.state != "waiting":
        raise NotNow(f"a call that is {standing.state} is not parked")
    return start_running(standing, holder, now, lease)


def expire_lease(standing: CallStanding, now: float) -> CallStanding:
    """A running call whose lease has run out is ambiguous: nobody can say what happened."""
    if standing.state != "running" or standing.lease_until is None or now < standing.lease_until:
        return standing
    return CallStanding("ambiguous", standing.fence)


def resolve_ambiguous(standing: CallStanding, to: State) -> CallStanding:
    """The operator, or the tool's own reconciliation, says what happened to an ambiguous call."""
    if standing.state != "ambiguous" or to not in RESOLUTIONS:
        raise NotNow(f"a call that is {standing.state} cannot be resolved as {to}")
    return move_to_state(standing, to)


def reopen_failed(standing: CallStanding) -> CallStanding:
    """A run that failed is tried again, where it stopped; it is asked for like a new one."""
    if standing.state != "failed":
        raise NotNow(f"a run that is {standing.state} has not failed")
    return CallStanding("pending", standing.fence)


def check_holder(standing: CallStanding, fence: int) -> None:
    """Refuse whoever does not hold the call."""
    if standing.state != "running" or standing.fence != fence:
        raise NotNow.of_lost_start()

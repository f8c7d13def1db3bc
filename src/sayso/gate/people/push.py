"""Browsers that are told of questions while their page is closed: where each is reached, and with which key.

- All of them are one sealed value. A subscription belongs to one signed-in browser and counts only while that
  browser is signed in.
- Every change drops the subscriptions of browsers that signed out meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate, act_under_current_policy, current_gate, writing
from sayso.gate.people.browsers import Browser, browser_key, find_browser_by_key
from sayso.gate.sealed_values import find_value, lock_values, value_name, write_value
from sayso.store.contract import Reader, Writer

MOST_BROWSERS = 50
PLACE = value_name("push", "browsers")


class PushRefused(SaysoError):
    """A browser cannot be told of questions."""

    code = "push_refused"


class PushSubscription(msgspec.Struct, frozen=True):
    """One browser at its push service: the address there, its public key and a secret both ends know.

    `browser` names the sign-in it belongs to.
    """

    browser: str
    endpoint: str
    p256dh: str
    auth: str


class _Subscriptions(msgspec.Struct, frozen=True):
    every: tuple[PushSubscription, ...] = ()


def subscribe(gate: Gate, secret: str, endpoint: str, p256dh: str, auth: str) -> PushSubscription:
    """Tell this signed-in browser of questions from now on. A subscription that it had before is replaced."""
    made = PushSubscription(browser_key(secret), endpoint, p256dh, auth)
    gate = current_gate(gate)
    with writing(gate) as tx:
        lock_values(tx, "push")
        others = [
            one for one in _live(gate, tx) if one.browser != made.browser and one.endpoint != made.endpoint
        ]
        if find_browser_by_key(gate, tx, made.browser) is None:
            raise PushRefused("nobody is signed in here", hint="`sayso link` makes a link")
        if len(others) >= MOST_BROWSERS:
            raise PushRefused(f"{MOST_BROWSERS} browsers are notified already", hint="sign one of them out")
        _write(gate, tx, [*others, made])
    return made


def unsubscribe(gate: Gate, browser: str, endpoint: str | None = None) -> None:
    """Tell this browser no more; with an endpoint, only if it is still reached there."""
    with gate.store.read() as look:
        if not any(one.browser == browser for one in _load(gate, look)):
            return
    gate = current_gate(gate)
    with writing(gate) as tx:
        lock_values(tx, "push")
        kept = [
            one
            for one in _live(gate, tx)
            if one.browser != browser or (endpoint is not None and one.endpoint != endpoint)
        ]
        _write(gate, tx, kept)


def live_subscriptions(gate: Gate) -> Sequence[PushSubscription]:
    """Return the subscriptions of the browsers that are signed in now."""

    def find(now: Gate) -> Sequence[PushSubscription]:
        with now.store.read() as tx:
            return _live(now, tx)

    return act_under_current_policy(current_gate(gate), find)


def find_subscriber(gate: Gate, subscription: PushSubscription) -> Browser | None:
    """Return whose browser it is; None if it is not signed in any more."""

    def find(now: Gate) -> Browser | None:
        with now.store.read() as tx:
            return find_browser_by_key(now, tx, subscription.browser)

    return act_under_current_policy(current_gate(gate), find)


def _load(gate: Gate, tx: Reader) -> tuple[PushSubscription, ...]:
    kept = find_value(gate, tx, PLACE, _Subscriptions)
    return () if kept is None else kept.every


def _live(gate: Gate, tx: Reader) -> list[PushSubscription]:
    return [one for one in _load(gate, tx) if find_browser_by_key(gate, tx, one.browser) is not None]


def _write(gate: Gate, tx: Writer, every: Sequence[PushSubscription]) -> None:
    write_value(gate, tx, PLACE, _Subscriptions(tuple(every)))

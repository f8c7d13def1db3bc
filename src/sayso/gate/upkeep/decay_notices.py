"""Notices before autonomous permissions decay: one for each domain and each date, three days ahead.

- The notice is an entry of the trail. Whoever shows notices shows its text; the page and `sayso inbox` say
  the same as long as it is true.
- One transaction at a time looks whether it was given: of several services one gives it.
- While the clock is not trusted none is given: then everything autonomous counts as decayed already.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.audit import events
from sayso.core.durations import DAY
from sayso.gate import words
from sayso.gate.gate import Gate, load_reviews, time_trusted, writing
from sayso.gate.rows.journal import record
from sayso.gate.sealed_values import find_value, lock_values, value_name, write_value
from sayso.gate.upkeep.review import find_decay
from sayso.store.contract import Reader

AHEAD = 3 * DAY


class NearDecay(msgspec.Struct, frozen=True):
    """A domain whose autonomous permissions decay soon, and when."""

    domain: str
    decays_at: float
    notice: str


class _Given(msgspec.Struct, frozen=True):
    decays_at: float


def find_near_decays(gate: Gate) -> list[NearDecay]:
    """Return the domains that decay within three days, those that decay first first."""
    with gate.store.read() as tx:
        return sorted(_find_near(gate, tx), key=lambda one: (one.decays_at, one.domain))


def give_decay_notices(gate: Gate) -> list[NearDecay]:
    """Record the notices that are due and were not given yet; those that were given now."""
    if not find_near_decays(gate):
        return []
    given: list[NearDecay] = []
    with writing(gate) as tx:
        lock_values(tx, "decay-notice")
        for one in _find_near(gate, tx):
            name = value_name("decay-notice", one.domain)
            before = find_value(gate, tx, name, _Given)
            if before is not None and before.decays_at == one.decays_at:
                continue
            write_value(gate, tx, name, _Given(one.decays_at))
            said = events.DecayNear(one.domain, one.decays_at, gate.policy.digest, one.notice)
            record(tx, said, stream=gate.stream)
            given.append(one)
    return given


def _find_near(gate: Gate, tx: Reader) -> Iterator[NearDecay]:
    if not time_trusted(gate, tx):
        return
    reviews = load_reviews(gate, tx, [row.name for row in tx.reviews()])
    for name, domain in gate.policy.domains.items():
        decay = find_decay(gate.policy, name, domain, reviews, tx.now)
        if decay.decayed or decay.decays_at is None or decay.decays_at - tx.now > AHEAD:
            continue
        yield NearDecay(name, decay.decays_at, words.decay_notice(name, decay.decays_at - tx.now))

"""The team for people to read: who is who, what has to be approved, who stands in, who broke the glass."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import msgspec

from sayso.core.audit import events
from sayso.core.team import Delegation, Person
from sayso.gate.gate import Gate
from sayso.gate.people.delegations import load_delegations
from sayso.gate.summaries.add_up import find_through
from sayso.gate.summaries.decisions import BROKEN_GLASS, entries_found, read_tail
from sayso.gate.summaries.source import SourceSummaries
from sayso.policy.compare.team_changes import describe_rule

MOST = 1_000


class TeamView(msgspec.Struct, frozen=True):
    people: Mapping[str, Person]
    rules: tuple[str, ...]
    break_glass: tuple[str, ...]
    delegations: tuple[Delegation, ...]


class BrokenGlass(msgspec.Struct, frozen=True):
    """A call that one person allowed alone, and the reason they wrote."""

    at: float
    question: str
    person: str
    identity: str
    reason: str
    operations: tuple[str, ...]


class _Details(msgspec.Struct, frozen=True):
    question: str
    person: str
    identity: str
    reason: str


class _Entry(msgspec.Struct, frozen=True):
    details: _Details
    operations: tuple[str, ...] = ()


_decode = msgspec.json.Decoder(_Entry).decode


def load_team_view(gate: Gate) -> TeamView:
    """Return the team of this gate's policy."""
    team = gate.policy.team
    with gate.store.read() as tx:
        delegations = load_delegations(gate, tx, team)
    return TeamView(team.people, tuple(map(describe_rule, team.approvals)), team.break_glass, delegations)


def find_broken_glass(gate: Gate) -> list[BrokenGlass]:
    """Return every time the glass was broken that the trail still tells of, newest first."""
    found: list[BrokenGlass] = []
    with gate.store.read() as tx:
        for stream in tx.streams():
            stored = SourceSummaries(stream, tx)
            known = entries_found(tx, stored, BROKEN_GLASS)
            newer = read_tail(tx, stream, find_through(stored).entry)
            found += [
                _read_entry(at, body)
                for _, body, _, _, at, event, _ in chain(known, newer)
                if event == events.GlassBroken.event and body is not None
            ]
    return sorted(found, key=lambda one: -one.at)[:MOST]


def _read_entry(at: float, body: bytes) -> BrokenGlass:
    said = _decode(body)
    return BrokenGlass(at, **msgspec.structs.asdict(said.details), operations=said.operations)

"""Statistics, last uses and pages of the history in a long trail, against the same in a short one.

Both trails were added up, as they are whenever they are signed, and each store is opened afresh before it is
measured, as a new process would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

from bench.durable import DOMAINS, on_disk
from bench.measure import Race, Row, Side, Watch, race
from bench.world import make_world
from sayso.core.audit.events import Asked, Blocked, Decided, DecisionEvent
from sayso.core.durations import DAY
from sayso.gate.figures.charts import compute_figures_and_charts
from sayso.gate.figures.figures import compute_figures
from sayso.gate.figures.last_uses import load_last_uses
from sayso.gate.figures.stories import StoryFilter, find_stories
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import make_key
from sayso.gate.summaries.add_up import add_up
from sayso.store.sqlite.store import SqliteStore

FEW, MANY = 10_000, 1_000_000
PAGES = 200
"""In how many transactions the decisions are written, on both sides, so that both have as many hours."""
STORIES = 5
"""As many of each kind as the short trail has."""
ROUNDS = 50
TIMES_FEW = 2.0
SESSIONS, AGENTS = 100, 20
BEGAN, ENDED = 1_800_000_000.0, 1_800_000_000.0 + 6 * DAY
KEY = make_key("bench")


def figures_of_long_trails(watch: Watch) -> list[Row]:
    """The same reads on both."""
    with on_disk() as folder:
        for name, size in (("few", FEW), ("many", MANY)):
            _fill(folder / name, size, watch)
        with _opened(folder / "few", ENDED) as few, _opened(folder / "many", ENDED) as many:
            return [
                _row(what, race(what, _side(read, many), _side(read, few), ROUNDS, watch))
                for what, read in READS.items()
            ]


READS: dict[str, Callable[[Gate], object]] = {
    "statistics of a week": lambda gate: compute_figures_and_charts(gate, since=BEGAN),
    "statistics of all time": compute_figures,
    "last uses of operations": load_last_uses,
    "history of a session": lambda gate: find_stories(gate, StoryFilter(session="s_7"), limit=STORIES),
    "history by verdict": lambda gate: find_stories(
        gate, StoryFilter(verdict="deny", agent="agent 3"), limit=STORIES
    ),
    "history that finds nothing": lambda gate: find_stories(gate, StoryFilter(rule="none", risk="high")),
}


def _fill(place: Path, size: int, watch: Watch) -> None:
    """Decisions spread over six days, one in a hundred of them asked, one denied."""
    place.mkdir()
    clock = [BEGAN]
    store = SqliteStore(place / "sayso.db", clock=lambda: clock[0])
    gate = open_gate(make_world(DOMAINS).policy, store, key=KEY, marks=place)
    page = size // PAGES
    for start in range(0, size, page):
        write_decisions(gate, start, start + page)
        clock[0] += (ENDED - BEGAN) / PAGES
        watch(f"{size:,} decisions (writing them first)", start // page + 1, PAGES)
    add_up(gate, most=None, progress=lambda done: watch("adding them up", done, size))
    store.close()


def write_decisions(gate: Gate, first: int, last: int) -> None:
    """Write the entries of these decisions in one transaction, as if they had been made."""
    with gate.store.write(durable=False) as tx:
        for n in range(first, last):
            operations = (f"domain{n % DOMAINS:04}.label",)
            session, agent = f"s_{n % SESSIONS}", f"agent {n % AGENTS}"
            record(tx, _decision(n), session=session, agent=agent, operations=operations)


def _decision(number: int) -> DecisionEvent:
    """What an entry says; every kind of decision comes up for every session and agent."""
    turn = number // SESSIONS % 100
    kind, verdict = {0: (Asked, "ask"), 1: (Blocked, "deny")}.get(turn, (Decided, "allow"))
    return msgspec.convert(
        {
            "digest": sha256(b"call %d" % number).hexdigest(),
            "tool": "label",
            "origin": "agent",
            "verdict": verdict,
            "rule": "autonomous",
            "reason": "the policy lists it",
            "risk": "medium",
            "grants": (),
            "policy": "",
        },
        kind,
    )


@contextmanager
def _opened(place: Path, now: float) -> Iterator[Gate]:
    store = SqliteStore(place / "sayso.db", clock=lambda: now)
    try:
        yield open_gate(make_world(DOMAINS).policy, store, key=KEY, marks=place)
    finally:
        store.close()


def _side(read: Callable[[Gate], object], gate: Gate) -> Side:
    return Side(lambda _: read(gate), (None,))


def _row(what: str, result: Race) -> Row:
    ratio = result.left.median / result.right.median
    return Row(
        what=f"{what}, {MANY:,}",
        against=f"the same with {FEW:,}",
        ours=result.left.median / 1e6,
        theirs=result.right.median / 1e6,
        unit=" ms",
        ratio=ratio,
        aim=f"≤ {TIMES_FEW:g}×",
        met=ratio <= TIMES_FEW,
        spread=(result.left.spread, result.right.spread),
    )

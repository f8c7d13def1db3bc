"""Whatever is done with a gate, the figures are what a plain count of all entries and questions comes to."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from statistics import median

import pytest

from sayso.core.audit.entry import read_entry
from sayso.core.audit.events import DECISIONS
from sayso.core.model import Verdict
from sayso.core.rulebook import SPARING
from sayso.gate.audit.prune import prune_audit
from sayso.gate.audit.verify import verify_audit
from sayso.gate.figures.figures import compute_figures
from sayso.gate.figures.last_uses import load_last_uses
from sayso.gate.figures.stories import StoryFilter, find_stories
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.gate.summaries.add_up import add_up
from sayso.policy import load_preset
from sayso.store.contract import EntryRow, QuestionRow, Store
from sayso.store.memory.store import MemoryStore
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.property.acts import Side
from tests.property.test_stores_agree import NAMES, TIMES
from tests.support.gates import Clock
from tests.support.postgres_place import new_schema

LIVES, LIVES_ON_POSTGRES = (300, 30) if os.environ.get("SAYSO_ALL") else (12, 3)
STEPS = 120
KEY = make_key("totals")
WISHES = ("add up", "add up", "pass", "pass", "prune")
FIELDS = {Verdict.ALLOW: "allowed_at", Verdict.ASK: "asked_at", Verdict.DENY: "refused_at"}


def recount(gate: Gate) -> dict[str, object]:
    """The figures, counted one by one."""
    with gate.store.read() as tx:
        questions, entries, now = list(tx.every(QuestionRow)), list(tx.every(EntryRow)), tx.now
    decided = [row for row in entries if row.event in DECISIONS]
    read = [read_entry(row.body) for row in decided if row.body is not None]
    verdicts = Counter(DECISIONS[one.event] for one in read)
    spared = [one for one in read if DECISIONS[one.event] is Verdict.ALLOW and one.details["rule"] in SPARING]
    times = [row.closed_at - row.opened_at for row in questions if row.state == "answered" and row.closed_at]
    unanswered = [row for row in questions if row.state != "answered"]
    return {
        "decisions": len(read),
        "allowed": verdicts[Verdict.ALLOW],
        "asked": verdicts[Verdict.ASK],
        "denied": verdicts[Verdict.DENY],
        "avoided": len(spared),
        "prompts": len(questions),
        "answers": len(times),
        "answers_too_fast": sum(time < 1 for time in times),
        "median_time_to_answer": pytest.approx(median(times), rel=0.01) if times else None,
        "expired": sum(
            row.state == "expired" or (row.closed_at or now) >= row.expires_at for row in unanswered
        ),
        "pruned": len(decided) - len(read),
    }


def recount_uses(gate: Gate) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with gate.store.read() as tx:
        for row in tx.every(EntryRow):
            if row.event in DECISIONS and row.body is not None:
                for name in read_entry(row.body).operations:
                    uses = found.setdefault(name, {})
                    field = FIELDS[DECISIONS[row.event]]
                    uses[field] = max(row.at, uses.get(field, 0.0))
    return found


def all_stories(gate: Gate, wanted: StoryFilter) -> list[int]:
    found, before = [], None
    while True:
        page = find_stories(gate, wanted, before=before, limit=20)
        found += [story.row.seq for story in page.stories]
        before = page.before
        if before is None:
            return found


def check(gate: Gate) -> None:
    found = compute_figures(gate)
    assert {name: getattr(found, name) for name in recount(gate)} == recount(gate)
    uses = {
        name: {field: at for field in FIELDS.values() if (at := getattr(use, field)) is not None}
        for name, use in load_last_uses(gate).items()
    }
    assert uses == recount_uses(gate)
    every = find_stories(gate, StoryFilter(), limit=10_000).stories
    for session in {story.said.session for story in every}:
        wanted = [story.row.seq for story in every if story.said.session == session]
        assert all_stories(gate, StoryFilter(session=session)) == wanted
    for rule in {story.decision.rule for story in every}:
        wanted = [story.row.seq for story in every if story.decision.rule == rule]
        assert all_stories(gate, StoryFilter(rule=rule)) == wanted
    assert [one for report in verify_audit(gate).reports for one in report.findings] == []


def live(store: Store, clock: Clock | None, seed: int) -> None:
    made = Random(seed)
    gate = open_gate(load_preset("chat"), store, key=KEY)
    side = Side(gate)
    side.do(("open", 0, 0))
    for _ in range(STEPS):
        name = made.choice((*NAMES, *WISHES, *WISHES))
        if name == "add up":
            add_up(gate, most=made.choice((1, 30, None)), least=made.choice((1, 5, 20)))
        elif name == "pass":
            if clock is not None:
                clock.now += made.choice(TIMES)
        elif name == "prune":
            with gate.store.read() as tx:
                newest = tx.head("main")
            if newest is not None and made.random() < 0.2:
                prune_audit(gate, made.randrange(1, newest.seq + 1))
        else:
            side.do((name, made.randrange(31), made.randrange(31)))
    check(gate)
    add_up(gate, most=None, least=1)
    check(gate)


@pytest.mark.parametrize("seed", range(LIVES))
def test_totals_are_what_a_recount_comes_to(seed: int) -> None:
    for kind in ("memory", "sqlite"):
        clock = Clock()
        if kind == "memory":
            live(MemoryStore(clock=clock), clock, seed)
            continue
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(SqliteStore(Path(folder) / "store.db", clock=clock)) as file,
        ):
            live(file, clock, seed)


@pytest.mark.parametrize("seed", range(LIVES_ON_POSTGRES))
def test_totals_are_what_a_recount_comes_to_on_postgres(postgres_server: str, seed: int) -> None:
    with closing(PostgresStore(new_schema(postgres_server))) as store:
        live(store, None, seed)

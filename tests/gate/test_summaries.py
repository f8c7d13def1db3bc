"""Summaries say what the rows say that they were added up from, however and whenever that was done."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace

from sayso.core.audit.entry import MAIN
from sayso.core.audit.events import Decided, Sealed
from sayso.doors.sayso import Sayso
from sayso.gate.audit.operator_transaction import sign_off
from sayso.gate.audit.prune import prune_audit
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.figures.charts import compute_figures_and_charts
from sayso.gate.figures.figures import compute_figures
from sayso.gate.figures.last_uses import load_last_uses
from sayso.gate.figures.stories import StoryFilter, StoryPage, find_stories
from sayso.gate.gate import Gate
from sayso.gate.rows import sealed_store
from sayso.gate.rows.journal import record
from sayso.gate.sessions.sessions import open_session
from sayso.gate.summaries import add_up as adding
from sayso.gate.summaries.add_up import add_up, find_through, recount
from sayso.gate.summaries.shapes import QUESTIONS
from sayso.gate.summaries.source import SourceSummaries, UnreadableSummary
from sayso.store.contract import SummaryRow, Writer
from tests.support.answers import answer_question
from tests.support.asking import edit, push
from tests.support.gates import Clock

ALLOWED = Decided("digest", "tool", "agent", "allow", "autonomous", "reason", "low", (), "policy")


def live(gate: Gate, clock: Clock, sessions: int = 3, rounds: int = 4) -> list[str]:
    """Sessions in which calls are asked, answered, denied and left alone, over several hours."""
    opened = [open_session(gate, agent=f"agent {n}", owner="host") for n in range(sessions)]
    for n in range(rounds):
        for session in opened:
            asked = authorize(gate, edit(session, f"{n}.py")).question
            clock.now += 20
            if asked is not None and n % 3:
                answer_question(gate, asked.id, "once" if n % 2 else "deny", by="ana")
                authorize(gate, edit(session, f"{n}.py"))
            authorize(gate, push(session))
        clock.now += 2_900
    return opened


def stored(gate: Gate) -> list[SummaryRow]:
    with gate.store.read() as tx:
        return list(tx.every(SummaryRow))


def findings(gate: Gate) -> list[str]:
    return [one.text for report in verify_audit(gate).reports for one in report.findings]


def every_page(gate: Gate, wanted: StoryFilter) -> list[tuple[str, int]]:
    found, before = [], None
    while True:
        page: StoryPage = find_stories(gate, wanted, before=before, limit=2)
        found += [(story.row.stream, story.row.seq) for story in page.stories]
        before = page.before
        if before is None:
            return found


def everything(gate: Gate, sessions: list[str], since: float) -> list[object]:
    """All that is read from summaries."""
    filters = (
        StoryFilter(),
        StoryFilter(session=sessions[0]),
        StoryFilter(agent="agent 1"),
        StoryFilter(domain="git"),
        StoryFilter(risk="high", session=sessions[1]),
        StoryFilter(verdict="deny"),
        StoryFilter(verdict="allow", domain="files"),
        StoryFilter(verdict="ask", rule="approved_call"),
        StoryFilter(text="2.py", session=sessions[2]),
        StoryFilter(session="nobody"),
    )
    return [
        compute_figures_and_charts(gate),
        compute_figures_and_charts(gate, since=since),
        *(compute_figures(gate, session=session, since=since) for session in sessions),
        load_last_uses(gate),
        *(every_page(gate, wanted) for wanted in filters),
    ]


@pytest.mark.parametrize("step", [1, 2, 7, 1_000])
def test_what_was_added_up_in_any_steps_reads_as_if_nothing_had_been(
    gate: Gate, clock: Clock, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    sessions = live(gate, clock)
    middle = clock.now
    before = everything(gate, sessions, middle - 5_000)
    monkeypatch.setattr(adding, "ADDED_AT_ONCE", step)
    assert add_up(gate, least=1) > 20
    assert {row.source for row in stored(gate)} >= {MAIN}
    assert everything(gate, sessions, middle - 5_000) == before
    assert findings(gate) == []
    clock.now += 3 * 86_400
    sessions = live(gate, clock)
    before = everything(gate, sessions, middle)
    add_up(gate, least=1)
    assert {row.source for row in stored(gate)} == {MAIN, QUESTIONS}
    assert everything(gate, sessions, middle) == before
    assert findings(gate) == []


def test_every_stream_is_added_up_for_itself(gate: Gate, clock: Clock) -> None:
    sessions = live(gate, clock)
    with gate.store.write() as tx:
        for seconds in (1, 2):
            event = replace(ALLOWED, digest=f"call {seconds}")
            record(tx, event, session=sessions[0], agent="x", operations=("git.push",), stream="another")
    before = everything(gate, sessions, 0.0)
    add_up(gate, least=1)
    assert {row.source for row in stored(gate)} == {MAIN, "another"}
    assert everything(gate, sessions, 0.0) == before


def test_signing_the_trail_adds_it_up_once_enough_is_new(gate: Gate, clock: Clock) -> None:
    live(gate, clock)
    sign_off(gate)
    assert stored(gate) == []
    with gate.store.write() as tx:
        for n in range(600):
            record(tx, replace(ALLOWED, digest=f"{n}"), operations=("git.push",))
    sign_off(gate)
    assert {row.source for row in stored(gate)} == {MAIN}


@pytest.mark.parametrize("kind", ["decided/3600", "uses", "found", "seen", "through"])
@pytest.mark.parametrize("body", [b'{"entry":3}', b"{}", b"nonsense"])
def test_a_total_changed_outside_sayso_is_found_and_mended(
    gate: Gate, clock: Clock, kind: str, body: bytes
) -> None:
    sessions = live(gate, clock)
    before = everything(gate, sessions, 0.0)
    add_up(gate, least=1)
    row = next(row for row in stored(gate) if row.kind == kind)
    with gate.store.write() as tx:
        tx.put_summaries([replace(row, body=body)])
    assert any("added up from stream main was changed outside Sayso" in text for text in findings(gate))
    recount(gate)
    assert findings(gate) == []
    assert everything(gate, sessions, 0.0) == before


def test_a_total_that_was_deleted_is_found(gate: Gate, clock: Clock) -> None:
    live(gate, clock)
    add_up(gate, least=1)
    rows = stored(gate)
    with gate.store.write() as tx:
        tx.drop_summaries(MAIN)
        tx.put_summaries(rows[1:])
    assert any("sayso audit recount" in text for text in findings(gate))


def test_totals_of_questions_changed_outside_sayso_are_found(gate: Gate, clock: Clock) -> None:
    live(gate, clock)
    clock.now += 3 * 86_400
    add_up(gate, least=1)
    row = next(row for row in stored(gate) if row.kind == "asked/3600")
    with gate.store.write() as tx:
        tx.put_summaries([replace(row, body=b"{}")])
    assert any("added up from the questions" in text for text in findings(gate))


def test_pruning_takes_what_was_added_up_from_the_bodies(gate: Gate, clock: Clock) -> None:
    sessions = live(gate, clock)
    add_up(gate, least=1)
    clock.now += 4_000
    with gate.store.read() as tx:
        newest = tx.head(MAIN)
        assert newest is not None
    prune_audit(gate, newest.seq - 5)
    after = everything(gate, sessions, 0.0)
    assert compute_figures(gate).pruned > 5
    recount(gate)
    assert everything(gate, sessions, 0.0) == after
    assert findings(gate) == []


def test_a_step_worked_out_before_a_prune_is_not_stored_after_it(
    gate: Gate, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(gate, clock)
    monkeypatch.setattr(adding, "ADDED_AT_ONCE", 10)
    add_up(gate, most=10, least=1)
    others = SummaryRow(MAIN, "through", "", 0, b'{"entry":10,"question":"","step":"of others"}')

    def others_were_first(tx: Writer, source: str) -> bool:
        tx.drop_summaries(MAIN)
        tx.put_summaries([others])
        return True

    with monkeypatch.context() as patch:
        patch.setattr(adding, "_may_store", others_were_first)
        add_up(gate, most=1, least=1)
    assert stored(gate) == [others]


def test_nothing_is_added_up_in_a_store_that_is_being_moved(gate: Gate, clock: Clock) -> None:
    live(gate, clock)
    with gate.store.write() as tx:
        record(tx, Sealed("elsewhere", "ana"))
    assert add_up(gate, least=1) == 0
    assert stored(gate) == []


def test_an_unreadable_summary_is_told_with_what_to_do(gate: Gate, clock: Clock) -> None:
    live(gate, clock)
    add_up(gate, least=1)
    row = next(row for row in stored(gate) if row.kind == "through")
    with gate.store.write() as tx:
        tx.put_summaries([replace(row, body=b"nonsense")])
    with pytest.raises(UnreadableSummary, match="changed outside Sayso"):
        compute_figures(gate)
    sign_off(gate)  # which is only told that nothing was added up
    session = open_session(gate, agent="tester", owner="host")
    assert authorize(gate, push(session)).question is not None


def test_a_page_of_a_filtered_history_reads_few_entries_however_long_it_is(gate: Gate) -> None:
    with gate.store.write() as tx:
        for n in range(2_500):
            record(tx, replace(ALLOWED, digest=f"{n}"), session=f"s{n % 500}", operations=("git.push",))
    add_up(gate, least=1)
    found = every_page(gate, StoryFilter(session="s7"))
    assert len(found) == 5
    assert all(one > other for (_, one), (_, other) in pairwise(found))


def test_a_program_that_never_signs_leaves_few_entries_to_whoever_reads_figures(gate: Gate) -> None:
    session, last = Sayso(gate).session(agent="tester").id, 0
    for _ in range(25):
        with gate.store.write() as tx:
            for _ in range(130):
                last = record(tx, ALLOWED, session=session, operations=("git.push",))
        with gate.store.read() as tx:
            assert not list(tx.checkpoints(limit=1))
            assert last - find_through(SourceSummaries(MAIN, tx)).entry < 1_000 + 130
    assert last > 3_000
    assert findings(gate) == []


def test_a_call_is_decided_though_the_trail_cannot_be_added_up(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_store, "MANY_ENTRIES", 10)
    session = Sayso(gate).session(agent="tester").id
    add_up(gate, least=1)
    row = next(row for row in stored(gate) if row.kind == "through")
    with gate.store.write() as tx:
        tx.put_summaries([replace(row, body=b"nonsense")])
    for n in range(20):
        assert authorize(gate, edit(session, f"{n}.py")).question is not None

"""Lists of what may be many: in pages, whole, and no row written by hand hides from them what is granted."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.model import Operation, Request, Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, UnknownSession
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.ledger.workflows import list_workflow_runs, reconcile_runs
from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.operator_grants import (
    ListedGrant,
    give_grant,
    list_grants,
    list_grants_page,
    revoke_grant,
)
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.store.contract import UNKNOWN_EXPIRY, SpendRow
from tests.support.gates import Clock


def opened(gate: Gate, owner: str = "host") -> str:
    return open_session(gate, agent="tester", owner=owner)


def edit(session: str) -> Request:
    return make_request(make_call("edit", {"path": "a.py"}), [Operation("files.edit")], session=session)


def weekly(session: str, week: int = 1) -> Request:
    call = make_call("workflow:weekly", {"week": week})
    return make_request(call, [Operation("files.edit")], session=session, workflow="weekly")


def running(gate: Gate, session: str) -> str:
    """A run of a workflow that somebody allowed and holds."""
    asked = start_call(gate, weekly(session), holder="one")
    assert asked.question is not None
    assert answer_question(gate, asked.question, "once", by="ana").yours
    assert retry_call(gate, asked.call, holder="one").runs
    return asked.call


def pages(gate: Gate, limit: int, **more: str) -> list[list[ListedGrant]]:
    found: list[list[ListedGrant]] = []
    after, goes_on = "", True
    while goes_on:
        page, goes_on = list_grants_page(gate, after=after, limit=limit, **more)
        found.append(page)
        after = page[-1].id if page else ""
    return found


def test_grants_come_in_pages_the_first_to_end_first_and_no_page_is_empty(gate: Gate) -> None:
    ends = [40, 10, 30, 10, 20, 50]
    given = [give_grant(gate, opened(gate), by="ana", operation="files.edit", minutes=end) for end in ends]
    expected = [grant.id for grant in sorted(given, key=lambda grant: (grant.expires_at, grant.id))]
    found = pages(gate, 2)
    assert [len(page) for page in found] == [2, 2, 2]
    assert [one.id for page in found for one in page] == expected
    assert [one.id for one in list_grants(gate)] == expected


def test_what_is_over_is_passed_over_and_the_page_is_filled_all_the_same(gate: Gate, clock: Clock) -> None:
    session = opened(gate)
    given = [give_grant(gate, session, by="ana", command=f"make {n}", minutes=n + 1) for n in range(6)]
    for grant in given[1:4]:
        revoke_grant(gate, grant.id, by="ana")
    clock.now += 60
    found, more = list_grants_page(gate, limit=2)
    assert ([one.id for one in found], more) == ([given[4].id, given[5].id], False)
    assert [one.id for one in list_grants_page(gate, after=given[0].id, limit=1)[0]] == [given[4].id]


def test_a_page_is_of_one_session_or_of_the_sessions_of_one_owner(gate: Gate) -> None:
    mine, other = opened(gate), opened(gate, "somebody")
    given = {name: give_grant(gate, name, by="ana", operation="files.edit").id for name in (mine, other)}
    assert [one.id for one in list_grants_page(gate, session=other)[0]] == [given[other]]
    assert [one.id for one in list_grants_page(gate, owner="host")[0]] == [given[mine]]
    close_session(gate, other)
    assert [one.id for one in list_grants_page(gate)[0]] == [given[mine]]
    with pytest.raises(UnknownSession):
        list_grants_page(gate, session=other)


def allowed(gate: Gate, session: str) -> bool:
    return authorize(gate, edit(session)).decision.verdict is Verdict.ALLOW


def test_a_revocation_written_by_hand_hides_no_grant_that_still_serves(gate: Gate) -> None:
    session = opened(gate)
    grant = give_grant(gate, session, by="ana", operation="files.edit")
    with gate.store.write() as tx:
        tx.add_spend(SpendRow(grant.id, 9, session, "revoke", None, tx.now))
    assert allowed(gate, session)
    assert [one.id for one in list_grants(gate)] == [grant.id]


def moved(folder: Path, end: float) -> None:
    """Somebody writes another end beside every grant."""
    with closing(sqlite3.connect(folder / "s.db")) as file, file:
        file.execute("UPDATE grants SET expires_at = ?", (end,))


on_a_file = pytest.mark.parametrize("gate", ["sqlite"], indirect=True)


@on_a_file
@pytest.mark.parametrize("end", [1.0, 4e9])
def test_a_grant_whose_end_was_moved_by_hand_grants_nothing(gate: Gate, tmp_path: Path, end: float) -> None:
    session = opened(gate)
    give_grant(gate, session, by="ana", operation="files.edit")
    assert allowed(gate, session)
    moved(tmp_path, end)
    assert list_grants(gate) == []
    assert not allowed(gate, session)


@on_a_file
def test_a_grant_from_before_its_end_was_kept_beside_it_serves_and_is_listed_until_it_ends(
    gate: Gate, clock: Clock, tmp_path: Path
) -> None:
    session = opened(gate)
    grant = give_grant(gate, session, by="ana", operation="files.edit")
    moved(tmp_path, UNKNOWN_EXPIRY)
    assert [one.id for one in list_grants(gate)] == [grant.id]
    assert allowed(gate, session)
    clock.now = grant.expires_at
    assert list_grants(gate) == []


def test_runs_are_listed_and_no_other_call_under_way(gate: Gate) -> None:
    session = opened(gate)
    start_call(gate, edit(session), holder="one")
    run = running(gate, session)
    asked = start_call(gate, weekly(session, week=2), holder="one").call
    assert [(one.run, one.state) for one in list_workflow_runs(gate)] == [
        (run, "running"),
        (asked, "pending"),
    ]
    assert list_workflow_runs(gate, opened(gate)) == []


def while_somebody_writes(gate: Gate) -> int:
    """What reconcile says in another thread while this one has the store to itself."""
    with ThreadPoolExecutor() as pool, gate.store.write():
        return pool.submit(reconcile_runs, gate).result()


def test_reconcile_keeps_nobody_from_writing_while_every_run_is_alive(gate: Gate) -> None:
    give_grant(gate, opened(gate), by="ana", operation="files.edit")
    running(gate, opened(gate))
    assert while_somebody_writes(gate) == 0
    assert [one.kind for one in list_grants(gate)] == ["operation", "run"]


def test_reconcile_ends_the_grants_of_dead_runs_once_and_no_others(gate: Gate, clock: Clock) -> None:
    kept = give_grant(gate, opened(gate), by="ana", operation="files.edit")
    dead = [running(gate, opened(gate)) for _ in range(3)]
    clock.now += 31
    alive = running(gate, opened(gate))
    assert reconcile_runs(gate) == 3
    assert {one.value for one in list_grants(gate)} == {kept.value, alive}
    assert not {one.value for one in list_grants(gate)} & set(dead)
    assert while_somebody_writes(gate) == 0


def test_reconcile_leaves_a_session_that_has_ended_and_a_grant_that_has_expired(
    gate: Gate, clock: Clock
) -> None:
    session = opened(gate)
    running(gate, session)
    running(gate, opened(gate))
    close_session(gate, session)
    clock.now += 25 * 3_600
    assert (reconcile_runs(gate), list_grants(gate)) == (0, [])

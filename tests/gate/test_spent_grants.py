"""Grants that are over are not read for what is live. Where they still count, they are found all the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from sayso.core.model import Operation, Request, Risk
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, load_open_session
from sayso.gate.ledger.lease import park_call, unpark_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.rows.sessions import RowSelection
from sayso.gate.sessions.handoff import ask_to_load_handoff, ask_to_save_handoff
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import (
    clear_allowlist,
    give_grant,
    list_grants,
    revoke_grant,
)
from sayso.gate.sessions.sessions import open_session
from sayso.gate.words import changed_or_deleted, changed_or_void, deleted_outside
from sayso.policy import load_preset, load_text
from sayso.store.contract import CallRow
from sayso.store.sqlite.store import SqliteStore
from tests.gate.calling import answered, approved
from tests.support.asking import asked, edit, rule
from tests.support.gates import KEY, Clock

COMMAND = "touch a.py"


def touch(session: str) -> Request:
    call = make_call("shell", {}, command=COMMAND, target="a.py")
    return make_request(call, [Operation("files.edit")], session=session)


def fail(gate: Gate, request: Request) -> None:
    """Run a call that is allowed, and fails."""
    started = start_call(gate, request, holder="one")
    assert started.state == "running"
    end_call(gate, started.call, started.fence, "failed")


def use_once(gate: Gate, session: str) -> str:
    """Use up a standing consent for one run, which fails; a free retry stems from it. The grant's name."""
    given = give_grant(gate, session, command=COMMAND, uses=1, risk=Risk.MODERATE, by="ana")
    fail(gate, touch(session))
    assert [one.kind for one in list_grants(gate, session)] == ["retry"]
    return given.id


def test_a_free_retry_ends_with_the_grant_it_stems_from_though_that_is_used_up(
    gate: Gate, session: str
) -> None:
    given = use_once(gate, session)
    revoke_grant(gate, given, "ana")
    assert start_call(gate, touch(session), holder="one").state == "pending"


@pytest.mark.parametrize("how", ["the operator", "the user"])
def test_a_free_retry_ends_with_the_allowlist_that_it_stems_from(gate: Gate, session: str, how: str) -> None:
    use_once(gate, session)
    if how == "the operator":
        clear_allowlist(gate, session, "ana")
    else:
        record_message(gate, session, "clear session allowlist")
    assert start_call(gate, touch(session), holder="one").state == "pending"


def running_on_a_wide_answer(gate: Gate, session: str) -> tuple[Attempt, dict[str, str]]:
    """A call that runs on an approval that is used up; and by kind what its answer gave."""
    attempt = approved(gate, session, "always")
    given: dict[str, str] = {one.kind: one.id for one in list_grants(gate, session)}
    started = retry_call(gate, attempt.call, holder="one")
    assert started.state == "running"
    forget_used_up(gate, session, given["call"])
    return started, given


def forget_used_up(gate: Gate, session: str, grant: str) -> None:
    """Do something else, with which the session forgets what is used up by now."""
    answered(gate, start_call(gate, edit(session, operation="files.delete"), holder="one"), "deny")
    with gate.store.read() as tx:
        assert grant not in load_open_session(gate, tx, session, RowSelection()).kept.spent


def row_of(gate: Gate, call: str) -> CallRow:
    with gate.store.read() as tx:
        row = tx.call(call)
    assert row is not None
    return row


def put_row(gate: Gate, row: CallRow) -> None:
    """Put this row in its place by hand."""
    with gate.store.write() as tx:
        tx.put_call(row)


def goes_on(gate: Gate, session: str, started: Attempt) -> bool:
    question = asked(gate, edit(session, "other.py", operation="files.delete"))
    park_call(gate, started.call, started.fence, question)
    return unpark_call(gate, started.call, holder="two", fence=started.fence).runs


def test_a_call_goes_on_while_the_answer_that_it_runs_on_stands(gate: Gate, session: str) -> None:
    started, _ = running_on_a_wide_answer(gate, session)
    assert goes_on(gate, session, started)


@pytest.mark.parametrize("taken_back", ["operation", "call"])
def test_a_call_does_not_go_on_once_the_answer_that_it_runs_on_is_taken_back(
    gate: Gate, session: str, taken_back: str
) -> None:
    started, given = running_on_a_wide_answer(gate, session)
    revoke_grant(gate, given[taken_back], "ana")
    assert not goes_on(gate, session, started)


def test_a_call_on_a_wide_grant_does_not_go_on_once_the_used_approval_beside_it_is_taken_back(
    gate: Gate, session: str
) -> None:
    first, given = running_on_a_wide_answer(gate, session)
    end_call(gate, first.call, first.fence, "succeeded")
    started = start_call(gate, edit(session), holder="one")
    assert started.record.decision.rule == "operation_grant"
    revoke_grant(gate, given["call"], "ana")
    assert not goes_on(gate, session, started)


def test_a_call_whose_row_was_put_back_while_its_answer_was_taken_back_does_not_go_on(
    gate: Gate, session: str
) -> None:
    """The older row does not say what the call was started with; later the newer one is put back as well."""
    attempt = approved(gate, session, "always")
    given = {one.kind: one.id for one in list_grants(gate, session)}
    before = row_of(gate, attempt.call)
    started = retry_call(gate, attempt.call, holder="one")
    now = row_of(gate, attempt.call)
    forget_used_up(gate, session, given["call"])
    put_row(gate, before)
    revoke_grant(gate, given["operation"], "ana")
    put_row(gate, now)
    assert not goes_on(gate, session, started)


def scribble(session: str, name: str) -> Request:
    call = make_call("scribbler", {"path": name}, target=name)
    return make_request(call, [Operation("files.edit")], session=session)


def test_a_tool_is_known_by_what_it_was_approved_for_though_that_is_over(gate: Gate, session: str) -> None:
    attempt = start_call(gate, scribble(session, "a.py"), holder="one")
    answered(gate, attempt)
    started = retry_call(gate, attempt.call, holder="one")
    end_call(gate, started.call, started.fence, "succeeded")
    give_grant(gate, session, operation="files.edit", by="ana")
    record_message(gate, session, "revoke consent for: scribbler")
    assert list_grants(gate, session) == []


@pytest.mark.parametrize("later", [True, False])
def test_a_no_takes_a_saved_list_back_only_if_its_yes_was_the_last_used_or_not(
    gate: Gate, clock: Clock, later: bool
) -> None:
    session = open_session(gate, agent="tester", owner="host", user="ana")
    record_message(gate, session, "Grant standing consent for: git push")
    ask_to_save_handoff(gate, session)
    record_message(gate, session, "yes")
    if later:
        clock.now += 1
        attempt = approved(gate, session)
        started = retry_call(gate, attempt.call, holder="one")
        end_call(gate, started.call, started.fence, "succeeded")
    record_message(gate, session, "no")
    after = open_session(gate, agent="tester", owner="host", user="ana")
    assert (ask_to_load_handoff(gate, after) is not None) is later


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def stored(file: Path, clock: Clock) -> Iterator[Gate]:
    with closing(SqliteStore(file, clock=clock)) as store:
        yield open_gate(load_preset("chat"), store, key=KEY)


def write_by_hand(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(statement).rowcount == 1


def findings(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        bodies = [row.body or b"" for row in tx.entries("main", limit=10_000) if row.event == "TAMPERED"]
    return [msgspec.json.decode(body)["details"]["finding"] for body in bodies]


@pytest.mark.parametrize("answer", ["once", "deny"])
@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ("UPDATE grants SET body = CAST(replace(body, 'edit', 'move') AS BLOB)", [changed_or_void]),
        ("UPDATE grants SET session = 'other'", []),
        ("DELETE FROM grants", []),
    ],
)
def test_whoever_answers_finds_a_live_grant_that_was_changed_or_taken_away(
    stored: Gate, file: Path, answer: str, change: str, seen: list[Callable[[str], str]]
) -> None:
    session = open_session(stored, agent="tester", owner="host")
    given = give_grant(stored, session, operation="files.edit", by="ana")
    question = start_call(stored, edit(session, operation="files.delete"), holder="one")
    write_by_hand(file, change)
    answered(stored, question, answer)
    name = f"grant {given.id}"
    assert findings(stored) == [*(one(name) for one in seen), deleted_outside(name)]
    assert given.id not in [one.id for one in list_grants(stored, session)]


def test_a_question_deleted_by_hand_makes_no_room_for_another(stored: Gate, file: Path) -> None:
    few = open_gate(load_text("extends: [chat]\nsettings: {questions_per_hour: 2}\n"), stored.store, key=KEY)
    session = open_session(few, agent="tester", owner="host")
    first = asked(few, edit(session, "a.py"))
    asked(few, edit(session, "b.py"))
    write_by_hand(file, f"DELETE FROM questions WHERE id = '{first}'")  # noqa: S608  an id of our own
    assert rule(few, edit(session, "c.py")) == "flooding"
    assert findings(few) == [changed_or_deleted(f"question {first}")]


def test_a_question_made_older_by_hand_makes_no_room_for_another(stored: Gate, file: Path) -> None:
    few = open_gate(load_text("extends: [chat]\nsettings: {questions_per_hour: 2}\n"), stored.store, key=KEY)
    session = open_session(few, agent="tester", owner="host")
    first = asked(few, edit(session, "a.py"))
    asked(few, edit(session, "b.py"))
    write_by_hand(file, f"UPDATE questions SET opened_at = 0.0 WHERE id = '{first}'")  # noqa: S608  the same
    assert rule(few, edit(session, "c.py")) == "flooding"
    assert findings(few) == [changed_or_deleted(f"question {first}")]

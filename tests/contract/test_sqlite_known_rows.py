"""Rows that a transaction goes on with from the one before: only while nobody else has committed anything."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from sayso.store.contract import Batch, CallRow, StoreError
from sayso.store.sql.known import FEW_GRANTS, MOST_KEPT
from sayso.store.sqlite.store import SqliteStore
from tests.contract import rows

NAME = "s1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """A store whose last transaction wrote a session, a call, an entry and a value."""
    made = SqliteStore(path)
    with made.write() as tx:
        tx.put_session(rows.session(NAME, workspace="/before"))
        tx.put_call(rows.call("c1", session=NAME, state="pending"))
        tx.add_entry(rows.entry(1))
        tx.set_meta("fact", "before")
    yield made
    made.close()


def look(store: SqliteStore) -> tuple[object, ...]:
    """What a transaction that writes finds of all that."""
    with store.write() as tx:
        session, call, head = tx.session(NAME), tx.call("c1"), tx.head("main")
        assert session is not None
        assert call is not None
        assert head is not None
        return session.workspace, call.state, head.seq, tx.meta("fact")


BEFORE = ("/before", "pending", 1, "before")
AFTER = ("/after", "denied", 2, "after")


def change_through(store: SqliteStore) -> None:
    with store.write() as tx:
        session, call = tx.session(NAME), tx.call("c1")
        assert session is not None
        assert call is not None
        tx.change_session(rows.session(NAME, workspace="/after"))
        assert tx.move_call(
            rows.call("c1", session=NAME, state="denied"), states=["pending"], fence=call.fence
        )
        tx.add_entry(rows.entry(2))
        tx.set_meta("fact", "after")


def by_another_store(path: Path) -> None:
    with closing(SqliteStore(path)) as other:
        change_through(other)


def by_hand(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sessions SET workspace = '/after'")
        connection.execute("UPDATE calls SET state = 'denied'")
        connection.execute(
            "INSERT INTO entries SELECT place + 1, at, event, session, prev, x'02', body FROM entries"
        )
        connection.execute("UPDATE meta SET value = 'after' WHERE name = 'fact'")


@pytest.mark.parametrize("change", [by_another_store, by_hand])
def test_what_others_commit_is_read_again(
    path: Path, store: SqliteStore, change: Callable[[Path], None]
) -> None:
    assert look(store) == BEFORE
    change(path)
    assert look(store) == AFTER


def fail_after_writing(place: SqliteStore | Batch) -> None:
    with place.write() as tx:
        tx.put_session(rows.session(NAME, workspace="/undone"))
        tx.set_meta("fact", "undone")
        raise RuntimeError


def take_number_twice(store: SqliteStore) -> None:
    with store.write() as tx:
        tx.put_session(rows.session(NAME, workspace="/undone"))
        tx.add_entry(rows.entry(1))


def test_what_is_undone_was_never_known(store: SqliteStore) -> None:
    with pytest.raises(RuntimeError):
        fail_after_writing(store)
    assert look(store) == BEFORE


def test_what_fails_halfway_was_never_known(store: SqliteStore) -> None:
    with pytest.raises(StoreError):
        take_number_twice(store)
    assert look(store) == BEFORE


def test_a_part_of_a_batch_that_is_undone_was_never_known(store: SqliteStore) -> None:
    with store.batch() as batch:
        with pytest.raises(RuntimeError):
            fail_after_writing(batch)
        with batch.write() as tx:
            tx.set_meta("fact", "after")
    assert look(store) == (*BEFORE[:3], "after")


def test_what_this_store_commits_is_known_as_it_was_written(store: SqliteStore) -> None:
    change_through(store)
    assert look(store) == AFTER
    with store.read() as tx:
        assert tx.session(NAME) == rows.session(NAME, workspace="/after")


def test_rows_that_do_not_change_are_read_once(
    store: SqliteStore,
) -> None:
    ran: list[str] = []
    assert look(store) == BEFORE
    with store.write() as tx:
        tx.set_meta("other", "value")
        connection = vars(tx)["_connection"].connection
    connection.set_trace_callback(ran.append)
    assert look(store)[:3] == BEFORE[:3]
    connection.set_trace_callback(None)
    assert [
        one for one in ran if "FROM sessions" in one or "FROM calls" in one or "FROM entries" in one
    ] == []


@pytest.mark.parametrize("name", [one for one in CallRow.__struct_fields__ if one != "id"])
def test_a_known_call_that_moves_is_stored_with_whatever_is_new_in_it(store: SqliteStore, name: str) -> None:
    other = replace(rows.FULL_CALL, session="s2", tool="mail", at=rows.FULL_CALL.at + 1)
    fields = {one: getattr(other, one) for one in (name, "state")}
    moves = [rows.call("c1"), rows.call("c1", **fields), rows.call("c1")]
    with store.write() as tx:
        tx.put_call(moves[0])
    for known, row in pairwise(moves):
        with store.write() as tx:
            assert tx.call("c1") == known
            assert tx.move_call(row, states=[known.state], fence=known.fence)
        with store.read() as looking:
            assert looking.call("c1") == row


def move_behind_its_back(store: SqliteStore) -> None:
    with store.write() as tx:
        assert tx.call("c1") is not None
        vars(tx)["_connection"].connection.execute("UPDATE calls SET state = 'denied'")
        tx.move_call(rows.call("c1", state="failed"), states=["pending"], fence=rows.CALL.fence)


def test_a_known_call_that_is_not_stored_as_it_was_read_is_not_moved(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="is not as it was read"):
        move_behind_its_back(store)
    with store.read() as looking:
        assert looking.call("c1") == rows.call("c1", session=NAME, state="pending")


def test_of_many_rows_none_are_kept(store: SqliteStore) -> None:
    with store.write() as tx:
        for number in range(MOST_KEPT + 1):
            tx.put_session(rows.session(f"more{number}"))
    with store.write() as tx:
        assert vars(tx)["_known"].sessions == {}
    assert look(store) == BEFORE


# --- the grants and open questions of a session ---

PAY = ("operation", "pay")


def look_at_consent(store: SqliteStore) -> tuple[list[str], str | None]:
    """The grants to pay, and the open question about this call, as a transaction that writes finds them."""
    with store.write() as tx:
        found = tx.open_question(NAME, "digest")
        return [row.id for row in tx.grants(NAME, [PAY])], None if found is None else found.id


def give(store: SqliteStore | Batch, grant: str, question: str | None = None) -> None:
    with store.write() as tx:
        tx.add_grant(rows.grant(grant, session=NAME, kind=PAY[0], value=PAY[1]))
        tx.add_grant(rows.grant(f"{grant}-other", session=NAME, kind="operation", value="other"))
        if question is not None:
            tx.add_question(rows.question(question, session=NAME, digest="digest"))


def test_grants_and_questions_of_this_store_are_known_at_once(store: SqliteStore) -> None:
    assert look_at_consent(store) == ([], None)
    give(store, "g1", "q1")
    assert look_at_consent(store) == (["g1"], "q1")
    with store.write() as tx:
        assert tx.close_question(rows.question("q1", session=NAME, digest="digest", state="answered"))
    assert look_at_consent(store) == (["g1"], None)


def test_grants_and_questions_of_others_are_found(path: Path, store: SqliteStore) -> None:
    assert look_at_consent(store) == ([], None)
    with closing(SqliteStore(path)) as other:
        give(other, "g1", "q1")
    assert look_at_consent(store) == (["g1"], "q1")


def test_a_grant_and_a_question_that_are_undone_were_never_known(store: SqliteStore) -> None:
    def fail_after_giving(place: SqliteStore | Batch) -> None:
        with place.write() as tx:
            assert tx.grants(NAME, [PAY]) == []
            tx.add_grant(rows.grant("g1", session=NAME, kind=PAY[0], value=PAY[1]))
            tx.add_question(rows.question("q1", session=NAME, digest="digest"))
            assert [row.id for row in tx.grants(NAME, [PAY])] == ["g1"]
            raise RuntimeError

    assert look_at_consent(store) == ([], None)
    with pytest.raises(RuntimeError):
        fail_after_giving(store)
    assert look_at_consent(store) == ([], None)
    with store.batch() as batch:
        with pytest.raises(RuntimeError):
            fail_after_giving(batch)
        give(batch, "g2")
    assert look_at_consent(store) == (["g2"], None)


def test_of_a_session_with_many_grants_those_wanted_are_found(store: SqliteStore) -> None:
    wanted = [f"g{number}" for number in range(FEW_GRANTS)]
    for grant in wanted:
        give(store, grant)
        assert look_at_consent(store)[0][-1] == grant
    assert look_at_consent(store) == (wanted, None)


def test_few_grants_and_that_nothing_is_asked_are_read_once(store: SqliteStore) -> None:
    ran: list[str] = []
    give(store, "g1")
    assert look_at_consent(store) == (["g1"], None)
    with store.write() as tx:
        vars(tx)["_connection"].connection.set_trace_callback(ran.append)
    assert look_at_consent(store) == (["g1"], None)
    assert [one for one in ran if "FROM grants" in one or "FROM questions" in one] == []

"""Rows written, revived or refilled by hand grant nothing; what was sealed and changed is recorded.

The rows of `spends` are a log that decides nothing: taking some away changes no decision.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sayso.core.model import Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate, TamperedSession, UnknownSession
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.contract import StoreError
from sayso.store.sqlite.store import SqliteStore
from tests.support.answers import answer_question
from tests.support.asking import push

KEY = make_key("test")


def gate_on(path: Path) -> Gate:
    return open_gate(load_preset("chat"), SqliteStore(path), key=KEY)


def by_hand(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def elsewhere(path: Path, *statements: str) -> None:
    """The same by another process, while this one has the store open."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); [*map(c.execute, sys.argv[2:])]; c.commit()"
    )
    subprocess.run([sys.executable, "-c", code, str(path), *statements], check=True)


def events(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        return [row.event for row in tx.entries("main", limit=10_000)]


def allowed(gate: Gate, session: str) -> bool:
    try:
        return authorize(gate, push(session)).decision.verdict is Verdict.ALLOW
    except (TamperedSession, UnknownSession):
        return False


def once(gate: Gate, session: str) -> None:
    question = authorize(gate, push(session)).question
    assert question is not None
    answer_question(gate, question.id, "once", by="ana")


def used_up(gate: Gate, session: str) -> None:
    once(gate, session)
    assert authorize(gate, push(session)).decision.rule == "approved_call"


def revoked(gate: Gate, session: str) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    record_message(gate, session, "Revoke consent for: git push")


def _rewrite(table: str, column: str, old: str, new: str) -> str:
    return f"UPDATE {table} SET {column} = CAST(replace(CAST({column} AS TEXT), '{old}', '{new}') AS BLOB)"  # noqa: S608  # our own words


TAMPERED: list[tuple[str, Callable[[Gate, str], None], list[str]]] = [
    ("a use taken away", used_up, ["DELETE FROM spends"]),
    ("a revocation taken away", revoked, ["DELETE FROM spends"]),
    ("a revocation made into a use", revoked, ["UPDATE spends SET what = 'return'"]),
    ("a use given back", used_up, ["UPDATE spends SET what = 'return'"]),
    ("the count adjusted too", used_up, ["DELETE FROM spends", "UPDATE sessions SET spends = 0"]),
    ("a grant of another session", once, ["UPDATE grants SET session = 'other'"]),
    ("a body that says more", used_up, [_rewrite("grants", "body", '"uses":1', '"uses":9')]),
    ("a longer life", used_up, [_rewrite("grants", "body", '"expires_at":1', '"expires_at":9')]),
    ("a head with another turn", once, [_rewrite("sessions", "head", '"head":{', '"head":{"turn":7,')]),
]


@pytest.mark.parametrize(("what", "given", "statements"), TAMPERED, ids=[name for name, _, _ in TAMPERED])
def test_what_was_changed_by_hand_allows_nothing(
    what: str, given: Callable[[Gate, str], None], statements: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    gate = gate_on(path)
    session = open_session(gate, agent="tester", owner="host")
    given(gate, session)
    gate.store.close()
    by_hand(path, *statements)
    again = gate_on(path)
    assert not allowed(again, session), what
    told = any("grants" in one or "sessions" in one for one in statements)
    assert ("TAMPERED" in events(again)) == (told and what != "a grant of another session")
    again.store.close()


@pytest.mark.parametrize(("what", "given", "statements"), TAMPERED, ids=[name for name, _, _ in TAMPERED])
def test_what_another_process_changes_between_two_decisions_is_noticed_by_the_next(
    what: str, given: Callable[[Gate, str], None], statements: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    gate = gate_on(path)
    session = open_session(gate, agent="tester", owner="host")
    given(gate, session)
    assert not allowed(gate, open_session(gate, agent="tester", owner="host"))
    elsewhere(path, *statements)
    assert not allowed(gate, session), what
    told = any("grants" in one or "sessions" in one for one in statements)
    assert ("TAMPERED" in events(gate)) == (told and what != "a grant of another session")
    gate.store.close()


def test_a_grant_that_another_process_takes_away_is_not_used_any_more(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    gate = gate_on(path)
    session = open_session(gate, agent="tester", owner="host")
    record_message(gate, session, "Grant standing consent for: git push")
    assert allowed(gate, session)
    assert allowed(gate, session)
    elsewhere(path, "DELETE FROM grants")
    assert not allowed(gate, session)
    gate.store.close()


def test_uses_taken_away_from_the_log_change_nothing_for_a_standing_grant(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    gate = gate_on(path)
    session = open_session(gate, agent="tester", owner="host")
    record_message(gate, session, "Grant standing consent for: git push")
    assert allowed(gate, session)
    elsewhere(path, "DELETE FROM spends")
    assert allowed(gate, session)
    assert "- git push (used 2 times)" in record_message(gate, session, "/allowlist").announced[0]
    record_message(gate, session, "Revoke consent for: git push")
    assert not allowed(gate, session)
    gate.store.close()


def test_a_parent_whose_row_was_taken_away_counts_as_stopped(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    gate = gate_on(path)
    parent = open_session(gate, agent="tester", owner="host")
    child = open_session(gate, agent="sub", owner="host", parent=parent)
    record_message(gate, child, "Grant standing consent for: git push")
    assert allowed(gate, child)
    elsewhere(path, f"DELETE FROM sessions WHERE id = '{parent}'")  # noqa: S608  an id of our own
    assert authorize(gate, push(child)).decision.rule == "stopped"
    gate.store.close()


@pytest.mark.parametrize("given", [used_up, revoked])
def test_an_older_session_row_put_back_by_hand_revives_nothing(
    given: Callable[[Gate, str], None], tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    gate = gate_on(path)
    session = open_session(gate, agent="tester", owner="host")
    if given is used_up:
        once(gate, session)
    else:
        record_message(gate, session, "Grant standing consent for: git push")
    gate.store.close()
    by_hand(path, "CREATE TABLE kept AS SELECT * FROM sessions")
    gate = gate_on(path)
    if given is used_up:
        assert allowed(gate, session)
    else:
        record_message(gate, session, "Revoke consent for: git push")
    gate.store.close()
    by_hand(path, "DELETE FROM sessions", "INSERT INTO sessions SELECT * FROM kept", "DROP TABLE kept")
    again = gate_on(path)
    with pytest.raises(StoreError):
        allowed(again, session)
    again.store.close()


def test_another_gates_key_opens_no_grant(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    gate = gate_on(path)
    session = open_session(gate, agent="tester", owner="host")
    once(gate, session)
    gate.store.close()
    other = open_gate(load_preset("chat"), SqliteStore(path), key=make_key("test"))
    assert not allowed(other, session)
    other.store.close()


def test_a_store_put_back_from_a_copy_has_no_live_grants(tmp_path: Path) -> None:
    path, copy = tmp_path / "s.db", tmp_path / "copy.db"

    def opened() -> Gate:
        return open_gate(load_preset("chat"), SqliteStore(path), key=KEY, marks=tmp_path)

    gate = opened()
    session = open_session(gate, agent="tester", owner="host")
    once(gate, session)
    gate.store.close()
    shutil.copy(path, copy)
    gate = opened()
    assert allowed(gate, session)
    gate.store.close()
    shutil.copy(copy, path)
    restored = opened()
    assert "EPOCH" in events(restored)
    assert not allowed(restored, session)
    fresh = open_session(restored, agent="tester", owner="host")
    once(restored, fresh)
    assert allowed(restored, fresh)
    restored.store.close()


def test_a_mark_taken_away_voids_all_grants(tmp_path: Path) -> None:
    def opened() -> Gate:
        return open_gate(load_preset("chat"), SqliteStore(tmp_path / "s.db"), key=KEY, marks=tmp_path)

    gate = opened()
    session = open_session(gate, agent="tester", owner="host")
    once(gate, session)
    gate.store.close()
    for mark in tmp_path.glob("*.mark"):
        mark.unlink()
    again = opened()
    assert not allowed(again, session)
    again.store.close()

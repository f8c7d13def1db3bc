"""Which mark a store is held against cannot be chosen by a row in it.

A copy names its place in a row that nothing seals by itself. Whoever can write the database writes another
place there, takes the audit trail away, and puts old rows back: the mark of that place knows of nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Risk
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import audit_gate, open_gate
from sayso.gate.people.tokens import find_token, issue_token, revoke_token
from sayso.gate.rows.mark.finding import watermark_at
from sayso.gate.rows.moves import StoreMoved, load_move_seal
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.sessions import open_session
from sayso.gate.upkeep.copy import copy_store, unseal_store
from sayso.policy import load_preset
from sayso.store.contract import EntryRow, Store, StoreError
from sayso.store.sqlite.store import SqliteStore
from tests.support.answers import answer_question
from tests.support.by_hand import KEY, Place, postgres_place, sqlite_place
from tests.support.postgres_place import new_schema, running_server

ROWS = ("sessions", "grants", "spends", "questions", "calls")
TRAIL = ("entries", "nodes", "checkpoints", "secrets")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        made = sqlite_place(tmp_path)
        yield made
        made.close()
        return
    made = postgres_place(new_schema(request.getfixturevalue("server")), tmp_path)
    yield made
    made.close()


def approve_once(gate: Gate) -> tuple[str, str]:
    """A session and a call in it that a person has approved once."""
    session = open_session(gate, agent="tester", owner="host", workspace="/w")
    wanted = make_request(
        make_call("pay", {"amount": 1000}, door="python", folder="/w", workspace="/w"),
        [Operation("bank.pay", risk=Risk.HIGH)],
        agent="tester",
        session=session,
    )
    asked = start_call(gate, wanted, holder="one")
    assert asked.question is not None
    answer_question(gate, asked.question, "once", by="ana")
    return session, asked.call


def write_another_place(place: Place, name: str) -> None:
    place.hand.run(
        "DELETE FROM meta WHERE name IN ('tree/main', 'mark')",
        f"INSERT INTO meta (name, value) VALUES ('mark', '{name}')",  # noqa: S608  a name of our own
    )


def lets_in(gate: Gate, secret: str) -> bool:
    with gate.store.read() as tx:
        return find_token(gate, tx, secret) is not None


def reopen(place: Place) -> Gate | None:
    """The gate on what is left; None if it does not open."""
    try:
        return place.restart()
    except StoreError:
        return None


@pytest.mark.parametrize("emptied", [(), TRAIL], ids=["trail kept", "trail emptied"])
def test_a_used_approval_does_not_run_again_under_another_place(
    place: Place, emptied: tuple[str, ...]
) -> None:
    _, call = approve_once(place.gate)
    before = place.hand.copy(*ROWS)
    assert retry_call(place.gate, call, holder="one").runs
    place.gate.store.close()
    place.hand.put_back(before)
    place.hand.run(*(f"DELETE FROM {table}" for table in emptied))  # noqa: S608  names of our own
    write_another_place(place, "x1")
    with closing(place.make()) as store:
        assert not verify_audit(audit_gate(store, KEY, place.marks)).clean
    gate = reopen(place)
    if gate is not None:
        with pytest.raises(SaysoError):
            retry_call(gate, call, holder="two")
        assert place.reported()


@pytest.mark.parametrize(
    "name", ["x1", "../x", "", "0" * 32], ids=["another", "a path", "none", "one that looks like a copy's"]
)
def test_a_revoked_token_and_a_stop_stay_so_under_another_place(place: Place, name: str) -> None:
    gate = place.gate
    secret, token = issue_token(gate, "operator", "ana", by="ana")
    session = open_session(gate, agent="tester", owner="host", workspace="/w")
    before = place.hand.copy(*ROWS, "meta")
    revoke_token(gate, token.id, by="ana")
    record_message(gate, session, "stop")
    place.gate.store.close()
    place.hand.put_back(before)
    place.hand.run(*(f"DELETE FROM {table}" for table in TRAIL))  # noqa: S608  names of our own
    write_another_place(place, name)
    again = reopen(place)
    assert again is None or not lets_in(again, secret)


def test_rows_sealed_at_one_place_count_for_nothing_at_another_that_exists(tmp_path: Path) -> None:
    """The mark of the copy is there: only the seals tell that the rows are not its own."""
    marks, policy = tmp_path / "marks", load_preset("chat")
    marks.mkdir()
    old, new = SqliteStore(tmp_path / "a.db"), SqliteStore(tmp_path / "b.db")
    session, _ = approve_once(open_gate(policy, old, key=KEY, marks=marks))
    with old.read() as tx:
        stolen = tx.session(session)
        grants = tx.grants(session)
    copy_store(old, new, KEY, came_from="a", to="b", marks=marks)
    gate = open_gate(policy, new, key=KEY, marks=marks)
    assert stolen is not None
    with new.write() as tx:
        tx.put_session(stolen)
    with gate.store.read() as tx:
        assert gate.sealer.open_session(stolen) is None
        assert all(gate.sealer.open_grant(row) is None for row in grants)
    old.close()
    new.close()


def test_nothing_revives_by_going_to_another_place_and_back(place: Place) -> None:
    """The mark of the other place is in use from then on, and the first one knows nothing of what follows."""
    write_another_place(place, "x")
    gate = reopen(place)
    assert gate is not None
    _, call = approve_once(gate)
    before = place.hand.copy(*ROWS)
    assert retry_call(gate, call, holder="one").runs
    gate.store.close()
    place.hand.put_back(before)
    place.hand.run("DELETE FROM meta WHERE name = 'mark'")
    assert reopen(place) is None, "the first mark was retired for good"
    for name in ("x", "y"):
        write_another_place(place, name)
        again = reopen(place)
        if again is not None:
            with pytest.raises(SaysoError):
                retry_call(again, call, holder="two")


def test_a_gate_that_runs_does_not_go_on_beside_a_mark_that_took_its_place(place: Place) -> None:
    session, call = approve_once(place.gate)
    write_another_place(place, "x")
    other = place.another()
    with pytest.raises(SaysoError):
        retry_call(place.gate, call, holder="one")
    with pytest.raises(SaysoError):
        record_message(place.gate, session, "Grant standing consent for: git push")
    other.store.close()


def test_a_permission_that_decayed_is_not_fresh_under_another_place(place: Place) -> None:
    place.hand.run("DELETE FROM reviews")
    place.hand.run(*(f"DELETE FROM {table}" for table in TRAIL))  # noqa: S608  names of our own
    write_another_place(place, "x1")
    place.gate.store.close()
    place.policy = load_preset("balanced")
    gate = reopen(place)
    assert gate is not None
    with gate.store.read() as tx:
        assert set(gate.sealer.reviews(tx.reviews()).values()) == {0.0}


def test_the_mark_of_a_copy_that_was_given_up_serves_nobody(tmp_path: Path) -> None:
    marks, policy = tmp_path / "marks", load_preset("chat")
    marks.mkdir()
    old, new = SqliteStore(tmp_path / "a.db"), SqliteStore(tmp_path / "b.db")
    open_gate(policy, old, key=KEY, marks=marks)

    def interrupt(doing: str, done: int) -> None:
        if doing == "Verifying the copy":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(old, new, KEY, came_from="a", to="b", marks=marks, progress=interrupt)
    with old.read() as tx:
        seal = load_move_seal(tx)
    assert seal is not None
    watermark_at(marks, read_name(old), seal.token).reach(newest_entry(old))
    unseal_store(old, new, KEY, to="b", marks=marks)
    with old.write() as tx:
        tx.set_meta("mark", seal.token)
    with pytest.raises(StoreMoved):
        open_gate(policy, old, key=KEY, marks=marks)
    old.close()
    new.close()


def read_name(store: Store) -> str:
    with store.read() as tx:
        return tx.meta("name") or ""


def newest_entry(store: Store) -> EntryRow:
    with store.read() as tx:
        newest = tx.head("main")
    assert newest is not None
    return newest


def test_a_copy_opens_where_its_mark_is(tmp_path: Path) -> None:
    marks, policy = tmp_path / "marks", load_preset("chat")
    marks.mkdir()
    old, new = SqliteStore(tmp_path / "a.db"), SqliteStore(tmp_path / "b.db")
    open_gate(policy, old, key=KEY, marks=marks)
    copy_store(old, new, KEY, came_from="a", to="b", marks=marks)
    gate = open_gate(policy, new, key=KEY, marks=marks)
    secret, _ = issue_token(gate, "agent", "bot", by="ana")
    assert lets_in(gate, secret)
    new.close()
    again = SqliteStore(tmp_path / "b.db")
    assert lets_in(open_gate(policy, again, key=KEY, marks=marks), secret)
    old.close()
    again.close()

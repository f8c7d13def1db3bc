"""Changes of the schema: numbered, all or none, and never backwards."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import astuple, replace

from sayso.core import ledger
from sayso.store.contract import UNKNOWN_EXPIRY, CallRow, EntryRow, Store, StoreError, StoreNewer
from sayso.store.postgres.store import PostgresStore
from sayso.store.sql import migrate
from sayso.store.sql.migrate import Migration
from sayso.store.sqlite.store import SqliteStore
from tests.contract.rows import CALL, GRANT, NOON, SESSION, call, entry, grant
from tests.support.old_schema import make_old
from tests.support.postgres_place import new_schema

NEXT = migrate.LATEST + 1
PATIENCE = 30.0
HALF = Migration(
    NEXT, "half", "CREATE TABLE half (a INTEGER NOT NULL) STRICT; CREATE TABLE meta (b TEXT) STRICT;"
)
MORE = Migration(NEXT, "more", "-- one; comment\nCREATE TABLE more (a TEXT NOT NULL) STRICT;")


class Place:
    """A database that can be opened as a store, and looked into by hand."""

    def __init__(self, kind: str, address: str) -> None:
        self.kind = kind
        self.address = address

    def open(self, *, upgrade: bool = True) -> Store:
        if self.kind == "sqlite":
            return SqliteStore(self.address, upgrade=upgrade)
        return PostgresStore(self.address, upgrade=upgrade)

    def run(self, statement: str) -> list[tuple[object, ...]]:
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.address)) as file, file:
                return file.execute(statement).fetchall()
        with psycopg.connect(self.address) as server:
            cursor = server.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def put(self, table: str, names: Sequence[str], values: Sequence[object]) -> None:
        """Add a row by hand, as an older program did."""
        quoted, marks = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
        statement = f"INSERT INTO {table} ({quoted}) VALUES ({marks})"  # noqa: S608  names of our own
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.address)) as file, file:
                file.execute(statement, values)
            return
        with psycopg.connect(self.address) as server:
            server.execute(statement.replace("?", "%s"), values)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place("sqlite", str(tmp_path / "store.db"))
    return Place("postgres", new_schema(request.getfixturevalue("postgres_server")))


def next_is(monkeypatch: pytest.MonkeyPatch, migration: Migration) -> None:
    """From now on this program knows one migration more."""
    known = (*migrate.load_migrations(), migration)
    monkeypatch.setattr(migrate, "load_migrations", lambda: known)
    monkeypatch.setattr(migrate, "LATEST", NEXT)


def write_one(place: Place) -> None:
    store = place.open()
    with store.write() as w:
        w.set_meta("kept", "yes")
    store.close()


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [migration.number for migration in migrate.load_migrations()] == list(range(1, migrate.LATEST + 1))


def test_a_new_store_has_every_migration(place: Place) -> None:
    place.open().close()
    assert place.run("SELECT number FROM migrations") == [(n,) for n in range(1, migrate.LATEST + 1)]


def test_an_older_store_is_brought_up_to_date_and_keeps_what_it_has(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_one(place)
    next_is(monkeypatch, MORE)
    store = place.open()
    with store.read() as r:
        assert r.meta("kept") == "yes"
    store.close()
    applied = place.run("SELECT number, name FROM migrations ORDER BY number")
    assert [applied[0], applied[-1]] == [(1, "0001_begin"), (NEXT, "more")]
    assert place.run("SELECT * FROM more") == []


def test_an_older_store_is_left_alone_if_nobody_asked_for_more(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_one(place)
    next_is(monkeypatch, MORE)
    with pytest.raises(StoreError, match=rf"needs {NEXT}.*sayso store migrate"):
        place.open(upgrade=False)
    assert place.run("SELECT MAX(number) FROM migrations") == [(NEXT - 1,)]


def test_a_migration_that_fails_half_way_leaves_the_old_schema(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_one(place)
    with monkeypatch.context() as patch:
        next_is(patch, HALF)
        with pytest.raises(StoreError):
            place.open()
    assert place.run("SELECT MAX(number) FROM migrations") == [(NEXT - 1,)]
    with pytest.raises((sqlite3.Error, psycopg.Error), match="half"):
        place.run("SELECT * FROM half")
    store = place.open()
    with store.read() as r:
        assert r.meta("kept") == "yes"
    store.close()


def test_a_newer_store_is_refused_and_not_touched(place: Place) -> None:
    write_one(place)
    place.run("INSERT INTO migrations (number, name) VALUES (99, 'from the future')")
    for upgrade in (True, False):
        with pytest.raises(StoreNewer, match=r"newer Sayso.*update Sayso") as raised:
            place.open(upgrade=upgrade)
        assert raised.value.code == "store_newer"
    assert place.run("SELECT MAX(number) FROM migrations") == [(99,)]


def test_what_was_stored_before_lists_were_made_by_the_end_of_grants_is_in_them(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_old(place.open, monkeypatch, 1)
    names = [*GRANT.__struct_fields__[:-1]], [*CALL.__struct_fields__[:-1]]
    place.put("sessions", [*SESSION.__struct_fields__], astuple(SESSION))
    place.put("grants", names[0], astuple(GRANT)[:-1])
    for state in ("running", "succeeded"):
        place.put("calls", names[1], astuple(call(state, state=state))[:-1])
    store = place.open()
    with store.read() as r:
        assert r.grants_ending_after(NOON) == [grant("g1", expires_at=UNKNOWN_EXPIRY)]
        states = ("running", "succeeded")
        assert [(row.id, row.workflow) for row in r.calls(states=states, runs_only=True)] == [("running", "")]
        assert len(r.calls(states=states)) == 2
    store.close()


def test_entries_from_before_they_had_places_are_the_same_and_go_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what somebody has put into the trail or taken out of it, for verifying to find."""
    make_old(place.open, monkeypatch, 5)
    before = [entry(seq, stream) for stream in ("main", "b", "a") for seq in (1, 2, 3)]
    before = [replace(row, body=None) if row.seq == 2 else row for row in before if row != entry(2, "b")]
    names = EntryRow.__struct_fields__
    for row in before:
        place.put("entries", names, astuple(row))
    store = place.open()
    with store.write() as w:
        w.add_entry(entry(4))
        w.add_entry(entry(1, "new"))
    with store.read() as r:
        assert r.streams() == ["a", "b", "main", "new"]
        found = [row for stream in r.streams() for row in r.entries(stream)]
    store.close()
    added = [*before, entry(4), entry(1, "new")]
    assert found == sorted(added, key=lambda row: (row.stream, row.seq))


def test_calls_from_before_are_found_by_every_state(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    make_old(place.open, monkeypatch, 5)
    for state in ledger.STATES:
        row = call(state, state=state, ended_at=NOON if state in ledger.ENDED else None, result=b"1")
        place.put("calls", CallRow.__struct_fields__, astuple(row))
    store = place.open()
    with store.write() as w:
        for state in ledger.STATES:
            assert [row.id for row in w.calls(states=[state])] == [state]
        held = len(call("any").body) * len(ledger.NOT_OVER)
        assert w.bytes_of_calls("s1") == held
        assert w.drop_results(before=NOON + 1) == len(ledger.ENDED)
    store.close()


def test_what_an_older_service_is_about_to_commit_is_migrated_too(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place("postgres", new_schema(postgres_server))
    make_old(place.open, monkeypatch, 5)
    names = EntryRow.__struct_fields__
    with ThreadPoolExecutor() as pool, psycopg.connect(place.address) as older:
        add = f"INSERT INTO entries ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"  # noqa: S608  names of our own
        older.execute(add, astuple(entry(1)))
        opening = pool.submit(place.open)
        until_waiting(place.address, "entries")
        older.commit()
        store = opening.result(PATIENCE)
    with closing(store), store.read() as r:
        assert r.entries("main") == [entry(1)]


def test_an_older_service_that_decides_meanwhile_and_the_migration_do_not_wait_for_each_other(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks at calls and sessions first, and writes to the trail last."""
    place = Place("postgres", new_schema(postgres_server))
    make_old(place.open, monkeypatch, 5)
    names = EntryRow.__struct_fields__
    with ThreadPoolExecutor() as pool, psycopg.connect(place.address) as older:
        older.execute("SELECT id FROM calls")
        opening = pool.submit(place.open)
        until_waiting(place.address, "calls", "sessions", "entries")
        older.execute("SELECT id FROM sessions")
        add = f"INSERT INTO entries ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"  # noqa: S608  names of our own
        older.execute(add, astuple(entry(1)))
        older.commit()
        store = opening.result(PATIENCE)
    with closing(store), store.read() as r:
        assert r.entries("main") == [entry(1)]


def until_waiting(address: str, *tables: str) -> None:
    """Until somebody waits for one of these tables, which another has locked."""
    end = time.monotonic() + PATIENCE
    with psycopg.connect(address, autocommit=True) as server:
        wanted = ", ".join(f"'{table}'::regclass" for table in tables)
        asked = f"SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation IN ({wanted})"  # noqa: S608  names of our own
        while server.execute(asked).fetchone() == (0,):
            assert time.monotonic() < end

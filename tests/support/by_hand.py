"""A hand in the store: rows copied, put back, changed and taken away with plain SQL, past every gate."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from sayso.core.policy import Policy
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.handoff import ask_to_load_handoff, ask_to_save_handoff, list_loaded_commands
from sayso.gate.sessions.messages import record_message
from sayso.policy import load_preset
from sayso.store.contract import Store
from sayso.store.memory.past import Table
from sayso.store.memory.store import MemoryStore
from sayso.store.memory.tables import ALL
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.gates import Clock

KEY = make_key("attacked")
KEYS = {
    "meta": ("name",),
    "sessions": ("id",),
    "grants": ("id",),
    "spends": ("grant", "number"),
    "reviews": ("name",),
    "questions": ("id",),
    "calls": ("id",),
    "streams": ("number",),
    "entries": ("place",),
    "nodes": ("stream", "level", "index"),
    "checkpoints": ("place",),
    "secrets": ("stream", "seq", "name"),
}
"""Every table with what names a row of it."""

GENERATED = {"entries": ("stream_number", "seq"), "calls": ("over_at",)}
"""What the database itself works out from the rest of a row."""
TRAIL = ("streams", "entries", "nodes", "checkpoints", "secrets")
Row = dict[str, Any]
Copy = dict[str, dict[tuple[Any, ...], Any]]
"""The rows of tables by their names, as they were at one moment."""


class Hand:
    """Somebody who can write the database but not the folder of the key."""

    def __init__(self, connect: Callable[[], Any], mark: str) -> None:
        self._connect = connect
        self._mark = mark

    @contextmanager
    def _database(self) -> Iterator[Any]:
        with closing(self._connect()) as connection:
            yield connection
            connection.commit()

    def run(self, *statements: str) -> None:
        with self._database() as database:
            for statement in statements:
                database.execute(statement)

    def copy(self, *tables: str) -> Copy:
        """These tables as they are now; all of them if none is named."""
        with self._database() as database:
            return {table: self._rows(database, table) for table in tables or KEYS}

    def _rows(self, database: Any, table: str) -> dict[tuple[Any, ...], Row]:
        cursor = database.execute(f"SELECT * FROM {table}")  # noqa: S608  a name of our own
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]
        return {tuple(row[name] for name in KEYS[table]): row for row in rows}

    def put_back(self, copy: Copy, chosen: Iterable[tuple[str, tuple[Any, ...]]] | None = None) -> None:
        """These rows as they are in the copy; those that it does not have are taken away."""
        now = self.copy(*copy)
        everything = [(table, key) for table in copy for key in {**copy[table], **now[table]}]
        with self._database() as database:
            for table, key in everything if chosen is None else chosen:
                self._put(database, table, key, copy[table].get(key))

    def _put(self, database: Any, table: str, key: tuple[Any, ...], row: Row | None) -> None:
        where = " AND ".join(f'"{name}" = {self._mark}' for name in KEYS[table])
        database.execute(f"DELETE FROM {table} WHERE {where}", key)  # noqa: S608  names of our own
        if row is not None:
            if "place" in row:  # which a newer row may have got
                database.execute(f"DELETE FROM {table} WHERE place = {self._mark}", (row["place"],))  # noqa: S608  the same
            stored = {name: value for name, value in row.items() if name not in GENERATED.get(table, ())}
            names = ", ".join(f'"{name}"' for name in stored)
            marks = ", ".join([self._mark] * len(stored))
            system = "OVERRIDING SYSTEM VALUE" if self._mark == "%s" else ""
            statement = f"INSERT INTO {table} ({names}) {system} VALUES ({marks})"  # noqa: S608  names of our own
            database.execute(statement, tuple(stored.values()))


class MemoryHand(Hand):
    """The same for a store in memory, by its tables; the audit trail, which has no gaps there, excepted."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def copy(self, *tables: str) -> Copy:
        return {table: self._named(table) for table in tables or KEYS if table not in TRAIL}

    def _named(self, table: str) -> dict[tuple[Any, ...], Any]:
        groups = getattr(self._store._tables, table)  # noqa: SLF001  past every gate
        return {
            (key,) if group == ALL else (group, key): row
            for group, rows in groups.items()
            for key, row in rows.items()
        }

    def put_back(self, copy: Copy, chosen: Iterable[tuple[str, tuple[Any, ...]]] | None = None) -> None:
        now = self.copy(*copy)
        everything = [(table, key) for table in copy for key in {**copy[table], **now[table]}]
        for table, key in everything if chosen is None else chosen:
            now[table].pop(key, None)
            if key in copy[table]:
                now[table][key] = copy[table][key]
        groups = {table: self._grouped(rows) for table, rows in now.items()}
        tables = msgspec.structs.replace(self._store._tables, **groups)  # noqa: SLF001  the same
        self._store._tables = tables  # noqa: SLF001  the same

    def _grouped(self, rows: dict[tuple[Any, ...], Any]) -> Table[Any]:
        groups = Table[Any]()
        for name in sorted(rows):
            *group, key = name
            groups.setdefault(group[0] if group else ALL, {})[key] = rows[name]
        return groups


class Place:
    """A store under attack, its gate, and the folder beside its key, which nobody else can write."""

    def __init__(
        self,
        make: Callable[[], Store],
        hand: Hand,
        marks: Path,
        policy: Policy | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.make = make
        self._clock = clock
        self.hand = hand
        self.marks = marks
        self.policy = policy or load_preset("chat")
        self.gate = self._opened()

    def _opened(self) -> Gate:
        return open_gate(self.policy, self.make(), key=KEY, marks=self.marks)

    def another(self) -> Gate:
        """Another gate on the same store, with the same key and the same folder beside it."""
        return self._opened()

    def restart(self) -> Gate:
        self.gate.store.close()
        self.gate = self._opened()
        return self.gate

    def close(self) -> None:
        self.gate.store.close()

    def pass_time(self, seconds: float) -> bool:
        """Move the clock on, where tests have one; whether they do."""
        if not isinstance(self._clock, Clock):
            return False
        self._clock.now += seconds
        return True

    def reported(self) -> int:
        """How often tampering was recorded."""
        with self.gate.store.read() as tx:
            return sum(row.event == "TAMPERED" for row in tx.entries("main", limit=1_000_000))


def sqlite_place(
    folder: Path, clock: Callable[[], float] | None = None, policy: Policy | None = None
) -> Place:
    path = folder / "s.db"
    hand = Hand(lambda: sqlite3.connect(path, timeout=30), "?")
    return Place(lambda: SqliteStore(path, clock=clock or time.time), hand, folder, policy, clock)


def memory_place(folder: Path, clock: Callable[[], float], policy: Policy | None = None) -> Place:
    """A store in memory, which a gate opened anew finds as the last one left it."""
    store = MemoryStore(clock=clock)
    return Place(lambda: store, MemoryHand(store), folder, policy, clock)


def postgres_place(address: str, folder: Path, policy: Policy | None = None) -> Place:
    hand = Hand(lambda: psycopg.connect(address), "%s")
    return Place(lambda: PostgresStore(address), hand, folder, policy)


def save_by_a_yes(gate: Gate, session: str) -> None:
    """The user is asked whether to hand the allowlist on, and says yes."""
    assert ask_to_save_handoff(gate, session) is not None
    record_message(gate, session, "yes")


def load_by_a_yes(gate: Gate, session: str) -> tuple[str, ...]:
    """The user is shown what was handed on, if anything was, and says yes to it; what was loaded."""
    if ask_to_load_handoff(gate, session) is not None:
        record_message(gate, session, "yes")
    return list_loaded_commands(gate, session)

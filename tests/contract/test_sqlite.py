"""What only the SQLite store promises: how it syncs, who checkpoints, and how it looks things up."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sayso.store.sql import statements
from sayso.store.sqlite import file
from sayso.store.sqlite import store as sqlite_store
from sayso.store.sqlite.store import SqliteStore

FULL, NORMAL = 2, 1
LISTS = {"SESSIONS", "SESSIONS_OPEN", "REVIEWS", "CHECKPOINTS"}
"""Statements that are there to read a table from its beginning or its end, up to a limit."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[sqlite3.Connection, list[str]]]:
    """Every connection that is made from now on, with the statements it ran."""
    made: list[tuple[sqlite3.Connection, list[str]]] = []
    connect = sqlite3.connect

    def watched(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        made.append((connection, []))
        connection.set_trace_callback(made[-1][1].append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", watched)
    return made


@pytest.mark.parametrize(("durable", "synchronous"), [(True, FULL), (False, NORMAL)])
def test_what_must_last_is_synced_before_it_counts(
    path: Path, connections: list[tuple[sqlite3.Connection, list[str]]], durable: bool, synchronous: int
) -> None:
    with closing(SqliteStore(path)) as store:
        connections.clear()
        with store.write(durable=durable) as w:
            w.set_meta("a", "1")
        [connection] = [connection for connection, ran in connections if "COMMIT" in ran]
        assert connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)


def write_often(store: SqliteStore) -> None:
    for number in range(4 * sqlite_store.COMMITS):
        with store.write(durable=False) as w:
            w.set_meta("number", str(number) * 1000)


def test_the_write_ahead_log_does_not_grow_without_end(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        write_often(store)
        once = Path(f"{path}-wal").stat().st_size
        write_often(store)
        assert Path(f"{path}-wal").stat().st_size < 1.5 * once


def test_one_process_at_a_time_checkpoints_and_the_others_go_on(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        before = path.stat().st_mtime_ns
        with file.hold_file_lock(path, wait=0.0) as held:
            assert held
            write_often(store)
            assert path.stat().st_mtime_ns == before
        with store.read() as r:
            assert r.meta("number") == str(4 * sqlite_store.COMMITS - 1) * 1000
        write_often(store)
        assert path.stat().st_mtime_ns > before


ONCE = "import sys; from sayso.store.sqlite.store import SqliteStore; SqliteStore(sys.argv[1]).close()"
READ = """
import sys
from sayso.store.sqlite.store import SqliteStore
with SqliteStore(sys.argv[1]).read() as r:
    print(r.meta("a"))
"""


def run(script: str, path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    ).stdout


def test_another_handle_in_the_process_does_not_give_up_the_locks_of_the_first(path: Path) -> None:
    """To close a file gives up every lock of the process on it; then others would take its log away."""
    with closing(SqliteStore(path)) as store:
        with store.write() as w:
            w.set_meta("a", "1")
        SqliteStore(path).close()
        run(ONCE, path)
        assert Path(f"{path}-wal").exists()
        with store.write() as w:
            w.set_meta("a", "2")
        assert run(READ, path) == "2\n"


def lookups() -> Iterator[tuple[str, str]]:
    """Every statement with a condition, by name, with room for two keys where it takes keys."""
    for name, text in vars(statements).items():
        if name[0] != "_" and name.isupper() and isinstance(text, str) and name not in LISTS | {"EACH"}:
            yield name, statements.repeat_groups(text, 2, 2 if "wanted" in text else 1)


def test_no_lookup_reads_a_whole_table(path: Path) -> None:
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        tables = {row[0] for row in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        plans = {
            name: [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {text}", [None] * text.count("?"))]
            for name, text in lookups()
        }
    assert "grants" in tables
    assert len(plans) > 40
    scans = [f"SCAN {table}" for table in tables]
    assert {
        name: plan for name, plan in plans.items() if any(step.startswith(tuple(scans)) for step in plan)
    } == {}


def test_keys_are_looked_up_by_all_their_parts(path: Path) -> None:
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        for text, parts in (
            (statements.GRANTS_BY_KEY, "session=? AND kind=? AND value=?"),
            (statements.SENDINGS, "session=? AND domain=? AND content=?"),
            (statements.NODES, "stream=? AND level=? AND index=?"),
        ):
            plan = file.execute(f"EXPLAIN QUERY PLAN {statements.repeat_groups(text, 3, 2)}", [None] * 7)
            assert [row[3] for row in plan if parts in row[3]]

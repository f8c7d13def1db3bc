"""What only the SQLite store promises: how it syncs, who checkpoints, and how it looks things up."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from sayso.store import threads as threads_of_stores
from sayso.store.contract import EntryRow, StoreError, SummaryRow
from sayso.store.sql import statements
from sayso.store.sqlite import file, log_sync
from sayso.store.sqlite import store as sqlite_store
from sayso.store.sqlite.log_sync import LogSync
from sayso.store.sqlite.store import SqliteStore
from sayso.store.threads import WriterTurn
from tests.support.interrupts import Once

Connections = list[tuple[sqlite3.Connection, list[str]]]
LISTS = {"SESSIONS", "SESSIONS_OPEN", "REVIEWS", "CHECKPOINTS", "ALL_CALLS"}
"""Statements that are there to read a table from its beginning or its end, up to a limit."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
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


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are synced from now on."""
    made: list[str] = []
    sync = log_sync.sync_file

    def watched(file: int) -> None:
        made.append(Path(f"/proc/self/fd/{file}").readlink().name)
        sync(file)

    monkeypatch.setattr(log_sync, "sync_file", watched)
    return made


@pytest.mark.parametrize(("durable", "synced"), [(True, ["store.db-wal"]), (False, [])])
def test_what_must_last_is_synced_before_it_counts(
    path: Path, connections: Connections, syncs: list[str], durable: bool, synced: list[str]
) -> None:
    with closing(SqliteStore(path)) as store:
        connections.clear()
        with store.write(durable=durable) as w:
            w.set_meta("a", "1")
        assert syncs == synced
        [connection] = [connection for connection, ran in connections if "COMMIT" in ran]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)


def test_what_is_not_committed_is_not_waited_for(path: Path, syncs: list[str]) -> None:
    with closing(SqliteStore(path)) as store:
        with pytest.raises(StoreError), store.write() as w:
            w.add_entry(EntryRow("main", 7, 0.0, "NOTED", "", b"{}", b"", b""))
        assert syncs == []


def test_one_sync_serves_everybody_who_waits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many, began, goes_on = 16, threading.Event(), threading.Event()
    made: list[int] = []
    sync = log_sync.sync_file

    def slow(file: int) -> None:
        made.append(file)
        began.set()
        assert goes_on.wait(30)
        sync(file)

    def write(name: str) -> None:
        with store.write() as w:
            w.set_meta(name, "1")

    with closing(SqliteStore(path)) as store:
        monkeypatch.setattr(log_sync, "sync_file", slow)
        threads = [threading.Thread(target=write, args=(f"a{number}",)) for number in range(many)]
        threads[0].start()
        assert began.wait(30)
        for thread in threads[1:]:
            thread.start()
        while not all(seen(store, f"a{number}") for number in range(many)):  # committed, and still waiting
            time.sleep(0.01)
        assert all(thread.is_alive() for thread in threads)
        goes_on.set()
        for thread in threads:
            thread.join(30)
    assert len(made) == 2


def seen(store: SqliteStore, name: str) -> bool:
    with store.read() as r:
        return r.meta(name) is not None


@pytest.mark.parametrize(("durable", "done"), [(True, ["began", "marked", "synced"]), (False, ["marked"])])
def test_the_disk_begins_to_write_before_the_mark_and_the_sync(
    path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool, done: list[str]
) -> None:
    """Only what must last begins at once. What the system answers to that is not asked."""
    order: list[str] = []
    sync = log_sync.sync_file

    def begin(file: int, start: int, length: int, how: int) -> int:
        assert Path(f"/proc/self/fd/{file}").readlink().name == "store.db-wal"
        order.append("began")
        return -1

    def watched(file: int) -> None:
        order.append("synced")
        sync(file)

    monkeypatch.setattr(log_sync, "find_sync_file_range", lambda: begin)
    with closing(SqliteStore(path)) as store:
        with store.write() as w:
            w.set_meta("a", "1")  # with the first sync the log is opened
        monkeypatch.setattr(log_sync, "sync_file", watched)
        order.clear()
        with store.write(durable=durable) as w:
            w.set_meta("a", "2")
            w.after_commit = lambda: order.append("marked")
        assert order == done


def test_a_system_that_cannot_begin_early_is_synced_all_the_same(
    path: Path, syncs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_sync, "find_sync_file_range", lambda: None)
    with closing(SqliteStore(path)) as store:
        for value in "12":
            with store.write() as w:
                w.set_meta("a", value)
        assert syncs == ["store.db-wal"] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be told to")
def test_linux_is_told_to_begin(path: Path) -> None:
    with path.open("wb", buffering=0) as written:
        written.write(b"x" * 4096)
        begin = log_sync.find_sync_file_range()
        assert begin is not None
        assert begin(written.fileno(), 0, 0, log_sync.BEGIN_TO_WRITE) == 0
        assert begin(-1, 0, 0, log_sync.BEGIN_TO_WRITE) == -1  # an answer of the system, and no exception


def test_a_sync_that_fails_closes_the_store_for_everybody(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    store = SqliteStore(path)
    with monkeypatch.context() as patch:
        patch.setattr(log_sync, "sync_file", fail)
        with pytest.raises(StoreError, match="cannot be synced"), store.write() as w:
            w.set_meta("a", "1")
    with pytest.raises(StoreError, match="cannot be synced"), store.write() as w:
        w.set_meta("b", "1")
    with pytest.raises(StoreError, match="cannot be synced"), store.write(durable=False) as w:
        w.set_meta("b", "1")
    with pytest.raises(StoreError, match="cannot be synced"), store.read():
        pass
    store.close()
    with closing(SqliteStore(path)) as again:
        assert not seen(again, "b")


FAILS_AND_ENDS = """
import sys
from pathlib import Path
from sayso.store.contract import StoreError
from sayso.store.sqlite import log_sync
from sayso.store.sqlite.store import SqliteStore
from tests.support.failing_disks import fail_sync

path = Path(sys.argv[1])
store = SqliteStore(path)
for number in range(300):
    with store.write(durable=False) as w:
        w.set_meta("a", str(number))
before = path.read_bytes()
log_sync.sync_file = fail_sync
try:
    with store.write() as w:
        w.set_meta("a", "last")
except StoreError:
    store.close()
    print(path.read_bytes() == before)
"""
FAILS_WHILE_ANOTHER_WRITES = """
import sys, threading
from contextlib import suppress
from pathlib import Path
from sayso.store.contract import StoreError
from sayso.store.sqlite import log_sync
from sayso.store.sqlite.store import SqliteStore
from tests.support.failing_disks import fail_sync

path = Path(sys.argv[1])
store = SqliteStore(path, busy=0.1)
before = path.read_bytes()
begun, closed = threading.Event(), threading.Event()

def write():
    with suppress(StoreError), store.write() as w:
        begun.set()
        closed.wait()
        w.set_meta("a", "last")

def fail(file):
    another.start()
    begun.wait()
    fail_sync(file)

another = threading.Thread(target=write)
log_sync.sync_file = fail
with suppress(StoreError), store.write() as w:
    w.set_meta("a", "first")
store.close()
closed.set()
another.join()
print(path.read_bytes() == before)
"""


@pytest.mark.parametrize("program", [FAILS_AND_ENDS, FAILS_WHILE_ANOTHER_WRITES], ids=["alone", "two"])
def test_a_log_that_could_not_be_synced_is_not_moved_into_the_file(path: Path, program: str) -> None:
    """Neither when the store is closed nor when the process ends: only by whoever reads the log again."""
    command = [sys.executable, "-c", program, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path.cwd())
    assert (ended.stdout.strip(), ended.returncode) == ("True", 0), ended.stderr
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0
    with closing(SqliteStore(path)) as again, again.read() as r:
        assert r.meta("a") == "last"


@pytest.mark.parametrize("before", [True, False])
def test_a_sync_that_was_interrupted_is_no_failure(
    path: Path, monkeypatch: pytest.MonkeyPatch, syncs: list[str], *, before: bool
) -> None:
    """Ctrl-C while a call waits for the disk: the system has reported no error."""
    monkeypatch.setattr(log_sync, "sync_file", Once(log_sync.sync_file, before=before))
    with closing(SqliteStore(path)) as store:
        with pytest.raises(KeyboardInterrupt), store.write() as w:
            w.set_meta("a", "1")
        assert syncs == ["store.db-wal"] * (not before)
        with store.write() as w:
            w.set_meta("b", "1")
        assert syncs[not before :] == ["store.db-wal"]
        assert seen(store, "a")
        assert seen(store, "b")


def test_what_a_signal_of_the_program_raises_is_no_failure_of_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may well be a TimeoutError, which is an OSError."""

    def time_out(file: int) -> None:
        raise TimeoutError("this step took too long")

    with closing(SqliteStore(path)) as store:
        with monkeypatch.context() as patch:
            patch.setattr(log_sync, "sync_file", time_out)
            with pytest.raises(TimeoutError), store.write() as w:
                w.set_meta("a", "1")
        with store.write() as w:
            w.set_meta("b", "1")


def test_who_waits_for_a_sync_that_is_interrupted_syncs_itself(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, goes_on, made = threading.Event(), threading.Event(), list[str]()
    sync = log_sync.sync_file

    def interrupted_once(file: int) -> None:
        made.append(threading.current_thread().name)
        if len(made) == 1:
            began.set()
            assert goes_on.wait(30)
            raise KeyboardInterrupt
        sync(file)

    def write(name: str) -> None:
        with suppress(KeyboardInterrupt), store.write() as w:
            w.set_meta(name, "1")

    with closing(SqliteStore(path)) as store:
        monkeypatch.setattr(log_sync, "sync_file", interrupted_once)
        threads = [threading.Thread(target=write, args=(name,), name=name) for name in "abcd"]
        threads[0].start()
        assert began.wait(30)
        for thread in threads[1:]:
            thread.start()
        while store._log._waiting < 3:  # noqa: SLF001  to see them wait
            time.sleep(0.01)
        goes_on.set()
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads)
        assert made[0] == "a"
        assert len(made) == 2  # and that one served the others


def test_who_was_interrupted_telling_the_others_of_a_sync_has_told_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, served, began, goes_on = tmp_path / "log", list[int](), threading.Event(), threading.Event()
    log.write_bytes(b"")
    sync = LogSync(str(log))

    def slow(file: int) -> None:
        began.set()
        assert goes_on.wait(30)

    def wait(number: int) -> None:
        with suppress(KeyboardInterrupt):
            sync.wait(number)
            served.append(number)

    monkeypatch.setattr(log_sync, "sync_file", slow)
    monkeypatch.setattr(sync, "_wake_others", Once(sync._wake_others, before=True))  # noqa: SLF001
    first, second = sync.count_commit(), sync.count_commit()
    threads = [threading.Thread(target=wait, args=(number,)) for number in (first, second)]
    threads[0].start()
    assert began.wait(30)
    threads[1].start()
    while not sync._waiting:  # noqa: SLF001  to see it wait
        time.sleep(0.01)
    goes_on.set()
    for thread in threads:
        thread.join(30)
    assert served == [second]


def test_a_log_that_is_another_file_is_looked_for_again_after_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next sync would be that of a file that is not there any more."""
    log, synced = tmp_path / "log", list[int]()
    monkeypatch.setattr(log_sync, "sync_file", lambda file: synced.append(os.fstat(file).st_ino))
    log.write_bytes(b"")
    sync = LogSync(str(log))
    sync.wait(sync.count_commit())
    log.rename(tmp_path / "gone")
    log.write_bytes(b"")
    sync.look_again()
    monkeypatch.setattr(sync, "_is_current", Once(sync._is_current, before=True))  # noqa: SLF001
    number = sync.count_commit()
    with pytest.raises(KeyboardInterrupt):
        sync.wait(number)
    sync.wait(number)
    assert synced == [(tmp_path / "gone").stat().st_ino, log.stat().st_ino]
    sync.close()


@pytest.mark.parametrize("begins", ["write", "batch"])
def test_a_write_interrupted_while_it_began_locks_nobody_out(
    path: Path, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    """Even if the program keeps what was raised, and with it all that was under way."""
    with closing(SqliteStore(path, busy=0.1)) as store, closing(SqliteStore(path, busy=0.1)) as other:
        monkeypatch.setattr(store, "_lock", Once(store._lock))  # noqa: SLF001
        with pytest.raises(KeyboardInterrupt) as kept, getattr(store, begins)():
            pass
        for one in (other, store):
            with one.write() as w:
                w.set_meta("a", "1")
        assert kept.value.__traceback__ is not None


def test_threads_write_in_the_order_they_came() -> None:
    turn, order = WriterTurn(), list[int]()
    first = turn.take(1.0)
    assert first is not None

    def wait(number: int) -> None:
        mine = turn.take(30.0)
        assert mine is not None
        order.append(number)
        turn.give(mine)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(20)]
    for number, thread in enumerate(threads):
        thread.start()
        while turn.waiting <= number:
            time.sleep(0.001)
    turn.give(first)
    for thread in threads:
        thread.join(30)
    assert order == list(range(20))


def test_who_gave_up_waiting_for_the_turn_does_not_get_it() -> None:
    turn = WriterTurn()
    first = turn.take(1.0)
    assert first is not None
    assert turn.take(0.01) is None
    assert turn.waiting == 0
    turn.give(first)
    assert turn.take(1.0) is not None


def test_the_turn_is_given_once() -> None:
    turn = WriterTurn()
    first = turn.take(0.0)
    assert first is not None
    turn.give(first)
    second = turn.take(0.0)
    assert second is not None
    turn.give(first)
    assert turn.take(0.0) is None


def test_a_turn_that_nobody_can_give_any_more_is_taken_over() -> None:
    turn = WriterTurn()
    turn.take(0.0)
    left = turn.take(0.0)
    assert left is not None
    assert turn.take(0.0) is None


def test_who_has_waited_for_a_turn_that_nobody_can_give_any_more_gets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Waits:
        def acquire(self, timeout: float = 0.0) -> bool:
            left.clear()
            return False

    turn = WriterTurn()
    left = [turn.take(0.0)]
    monkeypatch.setattr(threads_of_stores, "Claim", Waits)
    assert turn.take(0.0) is not None
    assert turn.waiting == 0


def test_who_was_interrupted_waiting_for_the_turn_does_not_get_it() -> None:
    """Ctrl-C at a program that goes on afterwards would block its store for good."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    turn = WriterTurn()
    first = turn.take(1.0)
    assert first is not None
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            turn.take(30.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert turn.waiting == 0
    turn.give(first)
    assert turn.take(0.0) is not None


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


def test_the_write_ahead_log_does_not_grow_with_the_size_of_batches(path: Path) -> None:
    log, largest = Path(f"{path}-wal"), 0
    with closing(SqliteStore(path)) as store:
        for number in range(sqlite_store.COMMITS):
            with store.batch() as batch:
                for part in range(32):
                    with batch.write() as w:
                        w.set_meta(f"{number} {part}", "x" * 1_000)
            largest = max(largest, log.stat().st_size)
    assert largest < 2 * sqlite_store.LONG_LOG


@pytest.mark.slow
def test_the_write_ahead_log_does_not_grow_without_end_while_readers_overlap(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody reads at every moment, so it begins again only if readers are waited for long enough."""
    monkeypatch.setattr(sqlite_store, "LONG_LOG", 2**20)
    monkeypatch.setattr(sqlite_store, "COMMITS", 32)
    log, largest, written, over = Path(f"{path}-wal"), 0, 0, threading.Event()

    def read_slowly() -> None:
        while not over.is_set():
            with store.read() as r:
                r.meta("number")
                over.wait(0.15)

    with closing(SqliteStore(path)) as store:
        readers = [threading.Thread(target=read_slowly) for _ in range(4)]
        try:
            for reader in readers:
                reader.start()
                time.sleep(0.04)
            while written < 24 * sqlite_store.LONG_LOG:
                with store.write(durable=False) as w:
                    w.set_meta("number", str(written) * 4_000)
                written += len(str(written)) * 4_000
                largest = max(largest, log.stat().st_size)
        finally:
            over.set()
            for reader in readers:
                reader.join()
    assert largest < 12 * sqlite_store.LONG_LOG


def test_a_log_that_a_reader_keeps_is_tried_again_only_when_it_has_grown(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for a reader makes all who write wait."""
    monkeypatch.setattr(sqlite_store, "LONG_LOG", 2**18)
    monkeypatch.setattr(sqlite_store, "COMMITS", 4)
    monkeypatch.setattr(sqlite_store, "READERS_WAITED_FOR", 0.001)
    waits: list[float] = []
    connect = file.connect_to_file

    def watched(path: Path, *, busy: float, full: bool) -> sqlite3.Connection:
        if full:
            waits.append(busy)
        return connect(path, busy=busy, full=full)

    monkeypatch.setattr(sqlite_store, "connect_to_file", watched)

    def write_often(store: SqliteStore) -> int:
        for number in range(200):
            with store.write(durable=False) as w:
                w.set_meta("number", str(number) * 4_000)
        return Path(f"{path}-wal").stat().st_size

    with closing(SqliteStore(path)) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM meta").fetchall()
            size = write_often(store)
            assert 3 <= len(waits) <= size // sqlite_store.LONG_LOG
            assert waits == sorted(waits)
            assert waits[-1] > 3 * waits[0]
        assert write_often(store) < size / 2


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
from sayso.store.sqlite.log_sync import LogSync
from sayso.store.sqlite.store import SqliteStore
from sayso.store.threads import WriterTurn
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
            yield name, statements.repeat_groups(text, 2, 2 if "(one, two)" in text else 1)


def test_no_lookup_reads_a_whole_table(path: Path) -> None:
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        tables = {row[0] for row in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        plans = {
            name: [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {text}", [None] * text.count("?"))]
            for name, text in lookups()
        }
    assert {"grants", "entries"} <= tables
    assert len(plans) > 40
    scans = [f"SCAN {table}" for table in tables - {"streams"}]  # there are few streams
    assert {
        name: plan for name, plan in plans.items() if any(step.startswith(tuple(scans)) for step in plan)
    } == {}


def test_keys_are_looked_up_by_all_their_parts(path: Path) -> None:
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        for text, parts in (
            (statements.GRANTS_BY_KEY, "session=? AND kind=? AND value=?"),
            (statements.NODES, "stream=? AND level=? AND index=?"),
            (statements.SUMMARIES, "source=? AND kind=? AND name=? AND place=?"),
        ):
            asked = statements.repeat_groups(text, 3, 2)
            plan = file.execute(f"EXPLAIN QUERY PLAN {asked}", [None] * asked.count("?"))
            assert [row[3] for row in plan if parts in row[3]]


def test_what_is_over_in_a_session_is_not_gone_through_for_what_is_live(path: Path) -> None:
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        for text, index in (
            (statements.GRANTS_NAMED, "sqlite_autoindex_grants_1 (id=?)"),
            (statements.QUESTIONS_SESSION_OPEN, "questions_open (session=?)"),
            (statements.COUNT_OPEN, "questions_open (session=?)"),
        ):
            asked = statements.repeat_groups(text, 3, 1)
            plan = file.execute(f"EXPLAIN QUERY PLAN {asked}", [None] * asked.count("?"))
            assert [row[3] for row in plan if index in row[3]]


def test_after_many_have_read_at_once_few_connections_are_kept(path: Path) -> None:
    """Each keeps pages of the file in memory, which would fill up with them."""
    together = threading.Barrier(8)
    before = sum(isinstance(one, sqlite3.Connection) for one in gc.get_objects())

    def read(store: SqliteStore) -> None:
        with store.read():
            together.wait(30)

    with closing(SqliteStore(path)) as store:
        threads = [threading.Thread(target=read, args=(store,)) for _ in range(together.parties)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = [one for one in gc.get_objects() if isinstance(one, sqlite3.Connection)]
        assert 0 < len(kept) - before <= sqlite_store.MOST_IDLE + 1


def test_lists_of_every_length_are_read_and_written_with_few_statements(path: Path) -> None:
    """A connection keeps each statement it prepared, and one for hundreds of rows is large."""
    with closing(SqliteStore(path)) as store:
        statements.repeat_groups.cache_clear()
        for length in range(1, 300, 7):
            mine = [SummaryRow("main", "hour", "one", place, b"%d" % length) for place in range(length)]
            with store.write() as w:
                w.put_summaries(mine)
                wanted = [(row.name, row.place) for row in mine]
                assert sorted(w.summaries("main", "hour", wanted), key=lambda row: row.place) == mine
    assert statements.repeat_groups.cache_info().currsize <= 30

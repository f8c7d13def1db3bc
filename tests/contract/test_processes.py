"""Several processes at one store: they see each other's commits, and one that dies harms nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from sayso.store.contract import Store, StoreError
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite import log_sync
from sayso.store.sqlite.store import SqliteStore
from tests.contract import rows
from tests.support.places import kept
from tests.support.postgres_place import new_schema
from tests.support.repository import ROOT

PATIENCE = 180.0

OPEN = """
import sys
from msgspec.structs import replace
from sayso.store.contract import StoreError
from tests.contract import rows

def opened(kind, address):
    if kind == "sqlite":
        from sayso.store.sqlite.store import SqliteStore
        return SqliteStore(address)
    from sayso.store.postgres.store import PostgresStore
    return PostgresStore(address)

print("ready", flush=True)
sys.stdin.readline()
store = opened(*sys.argv[1:3])
"""


class Shared:
    """A store that other processes can open as well."""

    def __init__(self, kind: str, address: str, make: Callable[[], Store]) -> None:
        self.kind = kind
        self.address = address
        self.make = make

    @contextmanager
    def process(self, script: str) -> Iterator[subprocess.Popen[str]]:
        """A process that, when it is told to go, opens the store as `store` and runs the script."""
        command = [sys.executable, "-c", OPEN + script, self.kind, self.address]
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                yield process
            finally:
                process.kill()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shared]:
    if request.param == "sqlite":
        address = str(tmp_path / "store.db")
        opener: Callable[[], Store] = lambda: SqliteStore(address)  # noqa: E731  one of two
    else:
        address = new_schema(request.getfixturevalue("postgres_server"))
        opener = lambda: PostgresStore(address)  # noqa: E731
    with kept(opener) as make:
        yield Shared(request.param, address, make)


def test_a_commit_of_another_process_wakes_a_waiter_and_is_read(shared: Shared) -> None:
    script = "with store.write() as w: w.add_spend(replace(rows.SPEND, what='revoke'))"
    store = shared.make()
    with shared.process(script) as process:
        seen = store.wait_for_change(0, 0.0)
        go(process)
        spends = list[object]()
        while not spends:
            mark = store.wait_for_change(seen, PATIENCE)
            assert mark != seen
            seen = mark
            with store.read() as r:
                spends += r.spends(["g1"])
    assert spends == [replace(rows.SPEND, what="revoke")]


def test_of_processes_that_spend_the_same_number_one_succeeds(shared: Shared) -> None:
    script = """
won = 0
for number in range(1, 21):
    try:
        with store.write(durable=False) as w:
            w.add_spend(replace(rows.SPEND, number=number, call=sys.argv[1]))
        won += 1
    except StoreError:
        pass
print(won, flush=True)
"""
    store = shared.make()
    with shared.process(script) as one, shared.process(script) as two, shared.process(script) as three:
        for process in (one, two, three):
            go(process)
        won = [int(process.communicate(timeout=PATIENCE)[0]) for process in (one, two, three)]
    with store.read() as r:
        assert [row.number for row in r.spends(["g1"])] == list(range(1, 21))
    assert sum(won) == 20


def test_a_process_killed_in_a_transaction_leaves_nothing_and_holds_nothing(shared: Shared) -> None:
    script = """
with store.write() as w:
    rows.put_everything(w)
    print("inside", flush=True)
    sys.stdin.readline()
"""
    store = shared.make()
    with shared.process(script) as process:
        go(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "inside\n"
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    with store.write() as w:
        assert [found for found in rows.everything(w) if found is not None] == []
        rows.put_everything(w)
    with store.read() as r:
        assert rows.everything(r) == rows.EVERYTHING


def test_processes_that_open_a_new_store_at_once_all_find_it_whole(shared: Shared) -> None:
    script = """
with store.write() as w:
    head = w.head("main")
    w.add_entry(rows.entry(head.seq + 1 if head else 1))
"""
    with shared.process(script) as one, shared.process(script) as two, shared.process(script) as three:
        for process in (one, two, three):
            go(process)
        assert [process.wait(PATIENCE) for process in (one, two, three)] == [0, 0, 0]
    with shared.make().read() as r:
        assert [row.seq for row in r.entries("main")] == [1, 2, 3]


def in_a_child(work: Callable[[], bool]) -> bool:
    """What this gives in a forked process."""
    child = os.fork()
    if child == 0:
        done = False
        try:
            done = work()
        finally:
            os._exit(0 if done else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_connections_of_its_own(shared: Shared) -> None:
    store = shared.make()
    seen = store.wait_for_change(0, PATIENCE)
    with store.write() as w:
        w.set_meta("parent", "1")

    def child() -> bool:
        with store.write() as w:
            w.set_meta("child", "1")
        first = store.wait_for_change(0, PATIENCE)
        store.close()
        return w.now > 0 and first > 0

    assert in_a_child(child)
    assert store.wait_for_change(seen, PATIENCE) != seen
    with store.read() as r:
        assert (r.meta("parent"), r.meta("child")) == ("1", "1")


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_in_a_transaction_cannot_commit_it(shared: Shared) -> None:
    store = shared.make()

    with store.write() as w:
        w.set_meta("parent", "1")

        def child() -> bool:
            with pytest.raises(StoreError):
                w.set_meta("child", "1")
            return True

        assert in_a_child(child)
    with store.read() as r:
        assert (r.meta("parent"), r.meta("child")) == ("1", None)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_while_another_thread_writes_can_write(tmp_path: Path) -> None:
    """SQLite would go by what it remembers of that thread's lock: the file would be locked for ever."""
    store = SqliteStore(tmp_path / "store.db", busy=0.2)
    writes, forked = threading.Event(), threading.Event()

    def write() -> None:
        """Until somebody wants the turn, or has gone on without it."""
        with store.write() as tx:
            tx.set_meta("thread", "wrote")
            writes.set()
            while not (store._turn.waiting or forked.is_set()):  # noqa: SLF001
                forked.wait(0.001)

    def write_in_child() -> bool:
        with store.write() as tx:
            tx.set_meta("child", "wrote")
        return True

    thread = threading.Thread(target=write)
    thread.start()
    writes.wait()
    try:
        assert in_a_child(write_in_child)
    finally:
        forked.set()
        thread.join()
    with store.read() as tx:
        assert [tx.meta("thread"), tx.meta("child")] == ["wrote", "wrote"]
    store.close()


ANOTHER = """
import sys
from sayso.store.sqlite.store import SqliteStore

store = SqliteStore(sys.argv[1])
with store.write() as tx:
    tx.set_meta("another", "wrote")
store.close()
print("closed")
"""


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("used", ["closed", "to read", "to write", "to watch"])
def test_a_forked_process_that_outlives_its_parent_shares_the_store(used: str, tmp_path: Path) -> None:
    """Else the next program that closes the file removes the log that the forked process writes to."""
    path = tmp_path / "store.db"

    def outlive(parent: int, store: SqliteStore) -> bool:
        while os.getppid() == parent:
            time.sleep(0.001)
        with store.write() as tx:
            tx.set_meta("before", "wrote")
        assert subprocess.check_output([sys.executable, "-c", ANOTHER, str(path)], cwd=ROOT) == b"closed\n"
        with store.write() as tx:
            tx.set_meta("after", "wrote")
        with store.read() as tx:
            return tx.meta("another") == "wrote"

    def parent() -> bool:
        store = SqliteStore(path)
        with store.write() as tx:
            tx.set_meta("parent", "wrote")
        if used == "to read":
            with store.read() as tx:
                tx.meta("parent")
        if used == "to watch":
            store.wait_for_change(0, PATIENCE)
        me = os.getpid()
        if os.fork() == 0:
            os.write(told, b"%d" % outlive(me, store))
            os._exit(0)
        if used == "closed":
            store.close()
        return True

    heard, told = os.pipe()
    assert in_a_child(parent)
    os.close(told)
    assert os.read(heard, 1) == b"1"
    os.close(heard)
    store = SqliteStore(path)
    with store.read() as tx:
        assert [tx.meta(name) for name in ("before", "another", "after")] == ["wrote"] * 3
    store.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("who", ["this thread", "another thread"])
def test_a_process_forked_while_the_store_is_read_refuses_to_use_it(who: str, tmp_path: Path) -> None:
    """It would hold no lock. It is not forked before other threads have read, unless that takes too long."""
    store = SqliteStore(tmp_path / "store.db", busy=0.05)

    def is_refused() -> bool:
        with pytest.raises(StoreError, match="was forked while"), store.write():
            pass
        return True

    if who == "this thread":
        with store.read():
            assert in_a_child(is_refused)
    else:
        reads, forked = threading.Event(), threading.Event()

        def read() -> None:
            with store.read():
                reads.set()
                forked.wait(PATIENCE)

        thread = threading.Thread(target=read)
        thread.start()
        reads.wait(PATIENCE)
        assert in_a_child(is_refused)
        forked.set()
        thread.join()
    with store.write() as tx:
        tx.set_meta("parent", "goes on")
    store.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_several_threads_that_fork_at_once_leave_the_store_free(tmp_path: Path) -> None:
    store, other = SqliteStore(tmp_path / "store.db"), SqliteStore(tmp_path / "other.db")

    def use() -> bool:
        for one in (store, other):
            with one.write() as tx:
                tx.set_meta("forked", "wrote")
            with one.read() as tx:
                tx.meta("forked")
        return True

    done: list[bool] = []
    threads = [
        threading.Thread(target=lambda: done.extend(in_a_child(use) and use() for _ in range(5)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 15
    store.close()
    other.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_by_one_that_did_not_use_the_store_can_use_it(tmp_path: Path) -> None:
    """As a program does that goes into the background."""
    store = SqliteStore(tmp_path / "store.db")
    with store.write() as tx:
        tx.set_meta("parent", "wrote")

    def write() -> bool:
        with store.write() as tx:
            tx.set_meta("child", "wrote")
        return True

    assert in_a_child(lambda: in_a_child(write))
    with store.read():
        assert in_a_child(lambda: not in_a_child(write))
    store.close()


REFUSED = pytest.raises(StoreError, match="was forked while")


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("how", ["opened anew", "opened twice"])
def test_a_process_forked_while_the_file_is_open_is_refused_every_store_on_it(
    how: str, tmp_path: Path
) -> None:
    """Whichever store it goes through: SQLite goes by what it remembers of the file."""
    path = tmp_path / "store.db"
    store, second = SqliteStore(path), SqliteStore(path)

    def is_refused() -> bool:
        with REFUSED, second.write() if how == "opened twice" else SqliteStore(path).write():
            pass
        return True

    with store.read() as tx:
        tx.meta("nothing")
        assert in_a_child(is_refused)
    with second.write() as tx:
        tx.set_meta("parent", "goes on")
    store.close()
    second.close()


INTERRUPTED = """
import ctypes, functools, logging, os, signal, sys, threading

interrupt = functools.partial(getattr(ctypes.CDLL(None), "raise"), int(signal.SIGINT))
os.register_at_fork(after_in_parent=interrupt)  # before those of Sayso, as if it came while the system forks
from sayso.store.sqlite.store import SqliteStore

sys.unraisablehook = lambda told: print(told.exc_type.__name__, flush=True)
store = SqliteStore(sys.argv[1])
with store.write() as tx:
    tx.set_meta("before", "wrote")
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)

def use():
    with store.write() as tx:
        tx.set_meta("after", "wrote")
    with store.read() as tx:
        print(tx.meta("after"), flush=True)
    os._exit(0)

threading.Thread(target=use, daemon=True).start()
threading.Event().wait(20)
os._exit(1)
"""


def test_a_process_interrupted_while_it_forks_can_go_on(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED, str(tmp_path / "store.db")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout.split(), ran.returncode) == (["KeyboardInterrupt", "wrote"], 0), ran.stderr


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_file_moved_away_after_a_fork_is_not_made_again(tmp_path: Path) -> None:
    """The next to open it would take the empty one for a new store."""
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    with store.write() as tx:
        tx.set_meta("before", "wrote")
    mark = store.wait_for_change(0, PATIENCE)
    in_a_child(lambda: True)
    path.rename(tmp_path / "away.db")
    store.wait_for_change(mark, PATIENCE)
    store.close()
    assert not path.exists()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("when", ["syncs", "wakes others"])
@pytest.mark.parametrize("what", ["forks", "writes", "closes"])
def test_a_signal_that_comes_while_its_thread_syncs_can_use_the_store(
    what: str, when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for a sync, or a lock, that goes on only after it."""
    store = SqliteStore(tmp_path / "store.db")
    heard: list[bool] = []

    def write(name: str) -> bool:
        with store.write() as tx:
            tx.set_meta(name, "wrote")
        return True

    def handle() -> bool:
        if what == "closes":
            store.close()
            return True
        return in_a_child(lambda: write("handler")) if what == "forks" else write("handler")

    def interrupt(*_: object) -> None:
        if not heard:
            heard.append(False)
            heard[:] = [handle()]

    def sync(file: int) -> None:
        os.fsync(file)
        interrupt()

    if when == "syncs":
        monkeypatch.setattr(log_sync, "sync_file", sync)
    else:
        monkeypatch.setattr(store._log, "_waiting", 1)  # noqa: SLF001
        monkeypatch.setattr(store._log._done, "notify_all", interrupt)  # noqa: SLF001
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(write("interrupted")), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert (heard, done) == ([True], [True])
    with SqliteStore(tmp_path / "store.db").read() as tx:
        names = ["interrupted"] if what == "closes" else ["interrupted", "handler"]
        assert [tx.meta(name) for name in names] == ["wrote"] * len(names)
    store.close()

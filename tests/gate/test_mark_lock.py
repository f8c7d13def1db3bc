"""The lock of the mark: nobody waits for it for ever, and nobody keeps it who does not use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from sayso.gate.rows.mark import file as watermark_file
from sayso.gate.rows.mark.file import MarkFile
from sayso.gate.rows.mark.versions import version_key
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.gate.rows.tampering import Doubts
from sayso.store.contract import Store, StoreBusy, StoreError
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore

SESSION = version_key("session", "s")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.db")
    yield made
    made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.mark"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watermark_file, "PATIENCE", 0.0)


@contextmanager
def another_process(work: Callable[[], object]) -> Iterator[int]:
    """A process that has done this, and waits until the block ends."""
    done, said = os.pipe()
    over, end = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            kept = work()
            os.close(end)
            os.write(said, b"!" if kept else b"?")
            os.read(over, 1)
        finally:
            os._exit(0)
    os.close(said)
    os.close(over)
    try:
        assert os.read(done, 1) == b"!"
        yield process
    finally:
        os.close(end)
        os.close(done)
        os.waitpid(process, 0)


def locked(path: Path) -> MarkFile:
    file = MarkFile(path, make=True)
    file.lock()
    return file


def write(marked: MarkedStore, version: int) -> None:
    with marked.write() as tx:
        marked.mark.note("session", "s", version)
        tx.set_meta("written", str(version))


def written(store: Store) -> str | None:
    with store.read() as tx:
        return tx.meta("written")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("in_batch", [False, True], ids=["alone", "batch"])
def test_nothing_is_committed_while_a_process_that_was_stopped_keeps_the_mark(
    store: Store, path: Path, *, in_batch: bool
) -> None:
    marked = MarkedStore(store, Watermark(path), Doubts())
    write(marked, 1)
    with another_process(lambda: locked(path)):
        together = marked.batch() if in_batch else nullcontext()
        with pytest.raises(StoreBusy, match="stopped"), together:
            write(marked, 2)
        assert written(store) == "1"
        assert marked.mark.version("session", "s") == 1
    write(marked, 2)
    assert Watermark(path).version("session", "s") == 2
    assert not Watermark(path).lacks


@pytest.mark.usefixtures("impatient")
def test_what_was_committed_and_cannot_be_marked_because_of_the_lock_is_told(path: Path) -> None:
    mark = Watermark(path)
    mark.reach(raised={SESSION: (1, 0)})
    with another_process(lambda: locked(path)):
        with pytest.raises(StoreError, match=r"cannot be written.*stopped"):
            mark.reach(raised={SESSION: (2, 0)})
        assert Watermark(path).lacks
    mark.reach()
    assert Watermark(path).version("session", "s") == 2


@pytest.mark.usefixtures("impatient")
def test_what_cannot_be_promised_because_of_the_lock_may_be_tried_again(path: Path) -> None:
    mark = Watermark(path)
    mark.reach(raised={SESSION: (1, 0)})
    with another_process(lambda: locked(path)), pytest.raises(StoreBusy):
        mark.announce({SESSION: (2, 0)}, 7)


def test_a_process_that_is_forked_keeps_no_lock_of_its_parent(path: Path) -> None:
    """The file may be in the hands of a thread that is not there in the child."""
    file = locked(path)
    with another_process(lambda: file):
        other = MarkFile(path, make=False)
        assert not other.lock_at_once(), "closing it does not undo the lock of the parent"
        file.close()  # as when the parent dies
        assert other.lock_at_once()


def test_a_process_that_is_forked_writes_to_a_file_of_its_own(path: Path) -> None:
    mark = Watermark(path)
    mark.reach(raised={SESSION: (1, 0)})

    def raise_it() -> bool:
        mark.reach(raised={SESSION: (2, 0)})
        return True

    with another_process(raise_it):
        assert mark.version("session", "s") == 2


@pytest.mark.parametrize("unlocks", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("works", [1, 2], ids=["hold", "write"])
def test_who_is_interrupted_while_unlocking_keeps_no_lock(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, *, unlocks: bool, works: int
) -> None:
    """The first time the mark of a commit is let go, and the second time that of a commit that is synced."""
    marked = MarkedStore(store, Watermark(path), Doubts())
    write(marked, 1)
    unlock, calls = MarkFile.unlock, iter(range(1, 100))

    def interrupted(file: MarkFile) -> None:
        now = next(calls) == works
        if unlocks or not now:
            unlock(file)
        if now:
            raise KeyboardInterrupt

    monkeypatch.setattr(MarkFile, "unlock", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(marked, 2)
    assert MarkFile(path, make=False).lock_at_once()
    monkeypatch.setattr(MarkFile, "unlock", unlock)
    write(marked, 3)
    assert Watermark(path).version("session", "s") == 3


def test_a_thread_that_was_interrupted_lets_nothing_go_that_another_holds_by_now(path: Path) -> None:
    mark = Watermark(path)
    mark.reach(raised={SESSION: (1, 0)})
    log = mark._log  # noqa: SLF001
    assert log is not None
    one, other = object(), object()
    log.hold(one)
    log.hold(other)
    log.let_go(one)
    assert not MarkFile(path, make=False).lock_at_once()
    log.let_go(other)
    assert MarkFile(path, make=False).lock_at_once()


def test_a_mark_that_is_deleted_while_it_is_looked_for_is_no_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = Watermark(path)
    monkeypatch.setattr(Path, "exists", lambda _: True)
    assert mark.version("session", "s") == 0

"""The mark beside the key is only ever raised, whoever raises it, and is there again if it was taken away."""

from __future__ import annotations

import fcntl
import gc
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.gate.rows.mark import file as watermark_file
from sayso.gate.rows.mark import unsettled
from sayso.gate.rows.mark.file import MarkFile, Record
from sayso.gate.rows.mark.log import OPENED_AGAIN
from sayso.gate.rows.mark.stream_heads import stream_id
from sayso.gate.rows.mark.versions import FORGOTTEN_AFTER, Versions, version_key
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.rows.row_seals import Sealer
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.gate.rows.tampering import Doubts
from sayso.store.contract import EntryRow, StoreBusy
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.interrupts import Once


def entry(seq: int) -> EntryRow:
    return EntryRow("main", seq, 1.0, "DECIDED", "", b"{}", bytes(32), seq.to_bytes(32, "big"))


def raised_to(path: Path) -> int:
    with path.open(encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        number, _, digest = file.read().partition(" ")
    assert bytes.fromhex(digest) == int(number).to_bytes(32, "big")
    return int(number)


def raise_all(mark: Watermark, numbers: Iterable[int]) -> None:
    for number in numbers:
        mark.reach(entry(number))


def raise_and_look(mark: Watermark, path: Path, numbers: Iterable[int]) -> None:
    """To have raised the mark is to find it there or higher, whatever others do meanwhile."""
    for number in numbers:
        mark.reach(entry(number))
        assert raised_to(path) >= number


def in_threads(works: list[Callable[[], None]]) -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(works)) as threads:
            for done in [threads.submit(work) for work in works]:
                done.result()
    finally:
        sys.setswitchinterval(usual)


def in_forks(works: list[Callable[[], None]]) -> None:
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(works)


def test_the_mark_never_goes_back(tmp_path: Path) -> None:
    mark = Watermark(tmp_path / "a.mark")
    raise_all(mark, (3, 7, 5, 1))
    assert raised_to(tmp_path / "a.mark") == 7


@pytest.mark.parametrize("at_once", [in_threads, in_forks])
def test_of_many_that_raise_the_mark_at_once_the_highest_stays(
    at_once: Callable[[list[Callable[[], None]]], None], tmp_path: Path
) -> None:
    mark, path = Watermark(tmp_path / "a.mark"), tmp_path / "a.mark"
    raise_all(mark, [1])  # so that all who are forked have it from here
    numbers = [range(start, 4_001, 4) for start in range(1, 5)]
    at_once([partial(raise_and_look, mark, path, own) for own in numbers])
    assert raised_to(path) == 4_000


def test_a_mark_taken_away_while_it_is_in_use_is_soon_made_again(tmp_path: Path) -> None:
    mark, path = Watermark(tmp_path / "a.mark"), tmp_path / "a.mark"
    raise_all(mark, [1])
    path.unlink()
    raise_all(mark, range(2, OPENED_AGAIN + 3))
    assert raised_to(path) == OPENED_AGAIN + 2


def test_a_damaged_mark_is_an_error_and_is_not_written_over(tmp_path: Path) -> None:
    mark, path = Watermark(tmp_path / "a.mark"), tmp_path / "a.mark"
    raise_all(mark, [1])
    path.write_text("nonsense", "ascii")
    with pytest.raises(SaysoError, match="damaged"):
        raise_all(mark, [2])
    assert path.read_text("ascii") == "nonsense"


# --- versions ---


def note(mark: Watermark, name: str, version: int, *, until: float = 0.0, at: int = 1) -> None:
    with mark.writing() as raised:
        mark.note("session", name, version, until=until)
    mark.reach(entry(at), raised=raised)


def test_a_version_is_known_to_other_processes_and_after_a_restart(tmp_path: Path) -> None:
    one, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    assert other.version("session", "s") == 0
    note(one, "s", 3)
    assert other.version("session", "s") == 3
    note(other, "s", 2)
    assert Watermark(tmp_path / "a.mark").version("session", "s") == 3
    assert one.version("session", "another") == 0
    assert one.version("value", "s") == 0


def test_a_batch_knows_what_others_marked_before_it_began(tmp_path: Path) -> None:
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    assert mark.version("session", "s") == 0
    note(other, "s", 3)
    with mark.batch(), mark.writing():
        assert mark.version("session", "s") == 3
        note(other, "another", 2)
        mark.look_again()
        assert mark.version("session", "another") == 2, "what it has not used may change"


def test_a_batch_is_not_kept_if_others_mark_meanwhile_what_it_went_by(tmp_path: Path) -> None:
    """A row that was put back in this moment would pass for the newest."""
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    with mark.batch():
        with mark.writing():
            assert mark.version("session", "s") == 0
        note(other, "s", 1)
        with pytest.raises(StoreBusy):
            mark.look_again()
    with mark.batch(), mark.writing() as raised:
        assert mark.version("session", "s") == 1
        mark.note("session", "s", 2)
        mark.promise(raised)
        mark.look_again()
        assert mark.version("session", "s") == 2, "what it raises itself is no news"


def test_what_a_transaction_notes_is_not_known_unless_it_is_committed(tmp_path: Path) -> None:
    mark = Watermark(tmp_path / "a.mark")
    with mark.writing() as raised:
        mark.note("session", "s", 3)
        assert mark.version("session", "s") == 0
        before = mark.promise(raised)
        assert mark.version("session", "s") == 3
        mark.withdraw(before)
    assert mark.version("session", "s") == 0


def test_a_transaction_that_reads_is_not_held_against_what_is_marked_after_it_began(tmp_path: Path) -> None:
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    note(mark, "s", 1)
    with mark.reading():
        note(other, "s", 2)
        assert mark.tick  # which is a look at the file, as another thread has it
        assert mark.version("session", "s") < 2
    with mark.reading():
        assert mark.version("session", "s") == 2


def test_a_log_that_has_grown_long_is_written_again_and_nobody_misses_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark_file, "SPARE", 50)
    path = tmp_path / "a.mark"
    marks = [Watermark(path) for _ in range(3)]
    for version in range(1, 501):
        note(marks[version % 3], f"s{version % 4}", version, at=version)
    assert path.stat().st_size < 32 * 100
    for mark in (*marks, Watermark(path)):
        assert [mark.version("session", f"s{number}") for number in range(4)] == [500, 497, 498, 499]
    assert raised_head(path) == 500


def commit(mark: Watermark, name: str, version: int, row: EntryRow) -> Callable[[], None]:
    """Commit this, and wait for the disk; return how it is settled."""
    with mark.writing() as raised:
        mark.note("session", name, version)
        mark.hold()
        mark.learn(raised, (row,))
        mark.let_go()
    return partial(mark.reach, row, raised=raised)


def newest_of_main(mark: Watermark) -> int:
    reached = mark.reached()
    heads = (reached.main or (0, b""), reached.others.get(stream_id("main"), (0, b"")))
    return max(seq for seq, _ in heads)


def test_what_is_settled_while_another_writes_the_log_again_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark_file, "SPARE", 5)
    path = tmp_path / "a.mark"
    mark, other = Watermark(path), Watermark(path)
    commit(other, "open", 1, entry(1))()
    batch = {version_key("session", f"new {number}"): (1, 0) for number in range(9)}
    mark.promise(batch)  # so that the log does not seem long to this one yet
    seq = 1
    replace = MarkFile.replace

    def settle_first(file: MarkFile, kept: Sequence[Record]) -> None:
        assert mark.version("session", "open") == seq, "it has no news of the other any more"
        settling.append(mine.submit(settle))
        wait(settling, 0.1)  # unless it waits for the lock
        replace(file, kept)

    settling: list[Future[None]] = []
    with ThreadPoolExecutor(1) as mine:
        while not settling:
            seq += 2
            end = commit(other, "open", seq, entry(seq))
            settle = mine.submit(commit, mark, "mine", seq, entry(seq + 1)).result()
            with monkeypatch.context() as patch:
                patch.setattr(MarkFile, "replace", settle_first)
                end()
            (settling[0] if settling else mine.submit(settle)).result()
    assert newest_of_main(Watermark(path)) == seq + 1


def test_what_others_commit_while_the_disk_is_waited_for_does_not_count_for_good_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power failure may take it. Then rows from before it are right."""
    path = tmp_path / "a.mark"
    mark = Watermark(path)
    settle = commit(mark, "s", 1, entry(1))
    with ThreadPoolExecutor(1) as another:
        another.submit(commit, mark, "later", 1, entry(2)).result()

    def known_for_good() -> list[int]:
        with monkeypatch.context() as patch:
            patch.setattr(unsettled, "boot_number", lambda: 7)
            return [Watermark(path).version("session", name) for name in ("s", "later")]

    settle()
    assert known_for_good() == [1, 0]
    mark.settle()
    assert known_for_good() == [1, 1]


def test_what_another_has_settled_is_reached_though_it_was_read_before(tmp_path: Path) -> None:
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    commit(other, "s", 1, entry(1))()
    settle = commit(other, "s", 2, entry(2))
    assert mark.version("session", "s") == 2
    settle()
    assert newest_of_main(mark) == 2


def test_of_forks_that_raise_versions_at_once_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark_file, "SPARE", 50)
    mark = Watermark(tmp_path / "a.mark")
    note(mark, "all", 1)

    def work(own: int) -> None:
        for version in range(1, 301):
            note(mark, f"of {own}", version)
            note(mark, "all", 4 * version + own)

    in_forks([partial(work, own) for own in range(4)])
    assert [mark.version("session", f"of {own}") for own in range(4)] == [300] * 4
    assert mark.version("session", "all") == 1_203


def test_a_session_that_ended_is_dropped_in_time_and_older_ones_count_as_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark_file, "SPARE", 5)
    mark = Watermark(tmp_path / "a.mark")
    later = 10 * FORGOTTEN_AFTER
    note(mark, "ended", 2, until=100.0)
    for version in range(1, 60):
        note(mark, "open", version)
    assert mark.floor == 0
    with mark.writing() as raised:
        mark.note("session", "open", 60)
    for _ in range(60):
        mark.reach(EntryRow("main", 9, later, "DECIDED", "", b"{}", bytes(32), bytes(32)), raised=raised)
    assert mark.version("session", "ended") == 0
    assert mark.version("session", "open") == 60
    assert mark.floor == later - FORGOTTEN_AFTER


def raised_head(path: Path) -> int:
    return int(path.read_bytes()[:16])


def test_a_version_of_another_process_is_not_forgotten_with_a_promise_that_is_taken_back() -> None:
    versions, place = Versions(), version_key("session", "s1")
    versions.learn_records([(place, 4, 0)])
    reading = versions.begin_reading(None)
    before = versions.promise({place: (6, 0)})
    versions.learn_records([(place, 5, 0)])
    assert versions.version_at(place, reading) == 4
    versions.withdraw(before)
    assert versions.version(place) == 5
    assert versions.version_at(place, reading) == 4
    versions.end_reading(reading)


@pytest.mark.parametrize("theirs", [5, 6])
def test_a_promise_that_is_taken_back_takes_back_nothing_that_others_marked(theirs: int) -> None:
    versions, place = Versions(), version_key("session", "s1")
    versions.learn_records([(place, 4, 0)])
    before = versions.promise({place: (5, 0)})
    versions.learn_records([(place, theirs, 0)])
    versions.withdraw(before)
    assert versions.version(place) == theirs


@pytest.mark.parametrize("in_batch", [False, True])
@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
def test_what_is_not_committed_is_taken_back_before_others_can_write(
    kind: type[MemoryStore | SqliteStore], *, in_batch: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another thread finds a row behind its mark, and takes it for an older copy."""
    mark = Watermark(tmp_path / "a.mark")
    note(mark, "s", 4)
    store = MemoryStore() if kind is MemoryStore else SqliteStore(tmp_path / "store.db")
    marked, seen = MarkedStore(store, mark, Doubts()), list[int]()
    lets_go, let_go = (vars(store)["_turn"], "give") if kind is MemoryStore else (store, "_end")
    give = getattr(lets_go, let_go)

    def look_and_give(*given: object) -> None:
        seen.append(mark.version("session", "s"))
        give(*given)

    monkeypatch.setattr(lets_go, let_go, look_and_give)
    if not in_batch:
        monkeypatch.setattr(MemoryStore.writer, "check", fail)
        monkeypatch.setattr(SqliteStore, "_commit", fail)
    with pytest.raises(ZeroDivisionError):
        write_and_fail(marked, in_batch=in_batch)
    assert seen == [4]
    assert mark.version("session", "s") == 4


class Elsewhere(MemoryStore):
    local = False


def test_a_write_interrupted_while_it_began_keeps_nobody_from_writing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even if the program keeps what was raised, and with it all that was under way."""
    marked = MarkedStore(Elsewhere(busy=0.1), Watermark(), Doubts())
    monkeypatch.setattr(marked.mark, "ask_with", Once(marked.mark.ask_with))
    with pytest.raises(KeyboardInterrupt) as kept, marked.write():
        pass
    with marked.write() as tx:
        tx.set_meta("a", "1")
    assert kept.value.__traceback__ is not None


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
def test_a_batch_interrupted_while_it_began_keeps_its_thread_from_nothing(
    kind: type[MemoryStore | SqliteStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore() if kind is MemoryStore else SqliteStore(tmp_path / "store.db")
    marked = MarkedStore(store, Watermark(), Doubts())
    monkeypatch.setattr(marked.mark, "ask_with", Once(marked.mark.ask_with))
    with pytest.raises(KeyboardInterrupt), marked.batch():
        pass
    with marked.write() as tx:
        tx.set_meta("a", "1")
    with marked.read() as reader:
        assert reader.meta("a") == "1"
    marked.close()


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
def test_a_write_that_is_over_waits_for_no_collector(
    kind: type[MemoryStore | SqliteStore], tmp_path: Path
) -> None:
    """There are many of them, so each is gone at once."""
    store = MemoryStore() if kind is MemoryStore else SqliteStore(tmp_path / "store.db")
    marked = MarkedStore(store, Watermark(tmp_path / "a.mark"), Doubts())
    gc.disable()
    try:
        with marked.write() as tx:
            marked.mark.note("session", "s", 1)
        gone = weakref.ref(tx)
        del tx
        assert gone() is None
    finally:
        gc.enable()


def write_and_fail(marked: MarkedStore, *, in_batch: bool) -> None:
    with marked.batch() if in_batch else nullcontext():
        with marked.write() as tx:
            marked.mark.note("session", "s", 5)
            tx.set_meta("a", "1")
        assert marked.mark.version("session", "s") == 5
        fail()


def fail(*_: object, **more: object) -> None:
    raise ZeroDivisionError


def of_stream(stream: str, seq: int) -> EntryRow:
    return EntryRow(stream, seq, 1.0, "DECIDED", "", b"{}", bytes(32), seq.to_bytes(32, "little"))


def heads(path: Path) -> set[int]:
    """The numbers of the newest entries beside `main`, as a process finds them that starts now."""
    return {seq for seq, _ in Watermark(path).reached().others.values()}


def test_each_stream_has_its_own_newest_entry_which_never_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "s.mark"
    one, other = Watermark(path), Watermark(path)
    one.reach(entry(9), of_stream("service-2", 5))
    other.reach(of_stream("service-2", 4), of_stream("service-3", 7))
    assert heads(path) == {5, 7}
    assert Watermark(path).reached().main == (9, entry(9).hash)


def test_streams_are_not_forgotten_when_the_log_is_written_again_or_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark_file, "SPARE", 3)
    path = tmp_path / "s.mark"
    mark = Watermark(path)
    mark.reach(entry(1), of_stream("service-2", 5))
    for number in range(2, 40):
        mark.reach(entry(number), raised={version_key("session", "s"): (number, 0)})
    assert heads(path) == {5}
    path.unlink()
    for number in range(40, 42 + OPENED_AGAIN):
        mark.reach(entry(number))
    assert heads(path) == {5}


def test_a_mark_that_follows_a_restored_store_forgets_what_that_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "s.mark"
    mark, other = Watermark(path), Watermark(path)
    mark.reach(entry(90), of_stream("service-2", 50), of_stream("service-3", 60))
    assert heads(path) == {50, 60}
    mark.follow([entry(10), of_stream("service-2", 5)])
    mark.reach(entry(11))
    assert Watermark(path).reached().main == (11, entry(11).hash)
    assert heads(path) == {5}
    other.reach(of_stream("service-2", 6))
    assert heads(path) == {6}


@pytest.mark.parametrize("theirs", [2, 3, 4])
def test_a_batch_is_not_kept_if_others_marked_what_it_raises_itself(tmp_path: Path, theirs: int) -> None:
    """It raised an older row that was put back: once more than whoever has raised the newest."""
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    note(other, "s", 1)
    with mark.batch():
        for version in (2, 3):
            with mark.writing() as raised:
                mark.version("session", "s")
                mark.note("session", "s", version)
                mark.promise(raised)
        note(other, "s", theirs)
        with pytest.raises(StoreBusy):
            mark.look_again()


def test_a_batch_is_not_kept_if_another_thread_has_learned_of_it_first(tmp_path: Path) -> None:
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    with mark.batch():
        with mark.writing():
            assert mark.version("session", "s") == 0
        note(other, "s", 1)
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(mark.version, "session", "s").result() == 1
        with pytest.raises(StoreBusy):
            mark.look_again()


def test_a_batch_is_not_kept_if_what_it_only_read_was_marked_meanwhile(tmp_path: Path) -> None:
    """A token that was put back as it was before it was revoked."""
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    with mark.batch():
        mark.begin_batch_read()
        assert mark.committed_version("value", "token") == 0
        mark.end_batch_read()
        with other.writing() as raised:
            other.note("value", "token", 1)
        other.reach(raised=raised)
        with pytest.raises(StoreBusy):
            mark.look_again()


def test_a_batch_is_kept_if_others_only_now_mark_the_row_that_it_has_read(tmp_path: Path) -> None:
    """They committed it before the batch could read it, and came to mark it later."""
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    sealer = Sealer(bytes(32), "store", 1, mark)
    note(other, "s", 1)
    with mark.batch():
        with mark.writing() as raised:
            assert sealer.is_current("session", "s", 2)
            mark.note("session", "s", 3)
            mark.promise(raised)
        with mark.writing():
            assert sealer.is_current("session", "s", 3)
        note(other, "s", 2)
        mark.look_again()
        note(other, "s", 3)
        with pytest.raises(StoreBusy):
            mark.look_again()

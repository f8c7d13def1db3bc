"""A commit is marked while the disk is waited for. Once it is synced, that counts for good where it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sayso.gate.rows.mark import file as watermark_file
from sayso.gate.rows.mark import unsettled
from sayso.gate.rows.mark.file import Record
from sayso.gate.rows.mark.stream_heads import stream_id
from sayso.gate.rows.mark.versions import version_key
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.gate.rows.tampering import Doubts
from sayso.store.contract import EntryRow
from sayso.store.sqlite import log_sync
from sayso.store.sqlite.store import SqliteStore
from tests.support.failing_disks import fail_sync

RECORD = 32
HEADS = {b"s"[0]: "kept", b"h"[0]: "kept", b"S"[0]: "until it starts again", b"H"[0]: "until it is synced"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.mark"


@pytest.fixture
def marked(path: Path, tmp_path: Path) -> Iterator[MarkedStore]:
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        yield MarkedStore(store, Watermark(path), Doubts())


@pytest.fixture
def another_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """What starts the machine again."""

    def start() -> None:
        (tmp_path / "another-boot").write_text("other")
        monkeypatch.setattr(unsettled, "BOOT", tmp_path / "another-boot")
        unsettled.boot_number.cache_clear()

    yield start
    monkeypatch.undo()
    unsettled.boot_number.cache_clear()


def new_entry(seq: int) -> EntryRow:
    return EntryRow("main", seq, 1.0, "DECIDED", "", b"{}", bytes(32), seq.to_bytes(32, "big"))


def commit(marked: MarkedStore, seq: int, *, durable: bool = True) -> None:
    with marked.write(durable=durable) as tx:
        marked.mark.note("session", "s", seq)
        tx.add_entry(new_entry(seq))


def kinds(path: Path) -> list[str]:
    """How each record of the log counts, in their order."""
    log = path.read_bytes()[96:]
    return [HEADS[log[start]] for start in range(0, len(log), RECORD)]


def known_by(path: Path) -> tuple[int, int]:
    """The version and the newest entry by a mark that is read afresh, by whoever comes next."""
    mark = Watermark(path)
    reached = mark.reached()
    main = 0 if reached.main is None else reached.main[0]
    return mark.version("session", "s"), max(main, reached.others.get(stream_id("main"), (0, b""))[0])


def test_what_is_synced_counts_for_good_where_it_was_marked(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None]
) -> None:
    commit(marked, 1)
    commit(marked, 2)
    assert kinds(path) == ["kept"] * 4
    another_boot()
    assert known_by(path) == (2, 2)


def test_what_is_not_synced_counts_until_the_machine_starts_again(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None]
) -> None:
    commit(marked, 1)
    commit(marked, 2, durable=False)
    assert kinds(path) == ["kept", "kept", "until it starts again"]
    assert known_by(path) == (2, 1)
    another_boot()
    assert known_by(path) == (1, 1)


def test_a_commit_whose_sync_fails_never_counts_for_good(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(marked, 1)
    monkeypatch.setattr(log_sync, "sync_file", fail_sync)
    with pytest.raises(Exception, match="cannot be synced"):
        commit(marked, 2)
    marked.close()
    assert kinds(path) == ["kept", "kept", "until it starts again", "until it is synced"]
    assert known_by(path) == (2, 1)
    another_boot()
    assert known_by(path) == (1, 1)


def test_an_end_that_waited_counts_for_good_with_the_next_commit_that_is_synced(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None]
) -> None:
    commit(marked, 1)
    with marked.write(durable=False) as tx:
        marked.mark.note("session", "other", 5)
        tx.add_entry(new_entry(2))
    commit(marked, 3)
    another_boot()
    assert known_by(path) == (3, 3)
    assert Watermark(path).version("session", "other") == 5


def rewrite(path: Path) -> None:
    """Another process writes the log again, with what is alive."""
    before = path.stat().st_ino
    Watermark(path).reach(new_entry(1), raised={b"r" + bytes(15): (1, 0)})
    assert path.stat().st_ino != before


def take_away(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    """Somebody puts a copy in its place."""
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o600)
    copy.replace(path)


@pytest.mark.parametrize("meanwhile", [rewrite, take_away, replace])
def test_a_log_that_goes_on_elsewhere_while_the_disk_is_waited_for_has_it_all_the_same(
    marked: MarkedStore,
    path: Path,
    meanwhile: Callable[[Path], None],
    another_boot: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At once, or where nobody said that it goes on elsewhere, with a later commit of this program."""
    commit(marked, 1)
    sync = log_sync.sync_file

    def sync_and_meddle(file: int) -> None:
        sync(file)
        monkeypatch.setattr(log_sync, "sync_file", sync)
        with monkeypatch.context() as patch:
            patch.setattr(watermark_file, "SPARE", -10)
            meanwhile(path)

    monkeypatch.setattr(log_sync, "sync_file", sync_and_meddle)
    commit(marked, 2)
    for seq in range(3, 80):
        commit(marked, seq)
    another_boot()
    assert known_by(path) == (79, 79)


def test_a_process_that_was_forked_meanwhile_settles_nothing(marked: MarkedStore, path: Path) -> None:
    commit(marked, 1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            marked.mark.settle()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    commit(marked, 2)
    assert known_by(path) == (2, 2)


def commit_one(marked: MarkedStore, session: str, seq: int, *, durable: bool = True) -> None:
    """A commit that changes this session, or none."""
    with marked.write(durable=durable) as tx:
        if session:
            marked.mark.note("session", session, seq)
        tx.add_entry(new_entry(seq))


@pytest.fixture
def late_end(marked: MarkedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the next commit waits for the disk, another thread ends a call. Nobody syncs that."""
    commit_one(marked, "s", 1)
    sync = log_sync.sync_file

    def sync_and_end(file: int) -> None:
        sync(file)
        monkeypatch.setattr(log_sync, "sync_file", sync)
        with ThreadPoolExecutor(1) as another:
            another.submit(commit_one, marked, "s", 3, durable=False).result()

    monkeypatch.setattr(log_sync, "sync_file", sync_and_end)


def version_after(another_boot: Callable[[], None], path: Path) -> int:
    another_boot()
    return Watermark(path).version("session", "s")


@pytest.mark.usefixtures("late_end")
def test_what_others_commit_while_a_batch_that_changes_no_version_is_synced_does_not_count_for_good(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None]
) -> None:
    with marked.batch():
        commit_one(marked, "", 2)
    assert known_by(path) == (3, 2)
    assert version_after(another_boot, path) == 1


@pytest.mark.usefixtures("late_end")
def test_what_is_not_synced_does_not_count_for_good_once_sessions_that_nobody_saw_are_ended(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None]
) -> None:
    commit_one(marked, "other", 2)
    marked.mark.burn("session", {"s"}, before=marked.mark.tick)
    assert version_after(another_boot, path) == 1


@pytest.mark.usefixtures("late_end")
def test_what_is_not_synced_does_not_count_for_good_in_a_log_that_is_written_again(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it held for good before still does."""
    with monkeypatch.context() as patch:
        patch.setattr(watermark_file, "SPARE", -10)
        commit_one(marked, "other", 2)
    assert known_by(path) == (3, 2)
    assert version_after(another_boot, path) == 1


def test_what_another_process_has_not_synced_does_not_count_for_good_in_a_log_that_is_written_again(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_one(marked, "s", 1)
    commit_one(marked, "s", 2, durable=False)
    with monkeypatch.context() as patch:
        patch.setattr(watermark_file, "SPARE", -10)
        rewrite(path)
    assert known_by(path) == (2, 1)
    assert version_after(another_boot, path) == 1


def test_who_was_slow_to_mark_what_they_read_lets_nothing_newer_count_for_good(
    marked: MarkedStore, path: Path, another_boot: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they read stands behind it in the log that is written again."""
    commit_one(marked, "s", 1)
    other = Watermark(path)
    with other.reading():
        commit_one(marked, "s", 2, durable=False)
        commit_one(marked, "s", 3, durable=False)
        other.note("session", "s", 2)
    with monkeypatch.context() as patch:
        patch.setattr(watermark_file, "SPARE", -10)
        rewrite(path)
    assert known_by(path) == (3, 1)
    assert version_after(another_boot, path) == 1


def test_a_log_that_is_written_again_just_before_it_is_locked_is_opened_again(
    marked: MarkedStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(marked, 1)
    lock = watermark_file.MarkFile.lock

    def lock_late(file: watermark_file.MarkFile) -> None:
        monkeypatch.undo()
        with monkeypatch.context() as patch:
            patch.setattr(watermark_file, "SPARE", -10)
            rewrite(path)
        lock(file)

    with closing(SqliteStore(path.parent / "store.db")) as store:
        opened = MarkedStore(store, Watermark(path), Doubts())
        monkeypatch.setattr(watermark_file.MarkFile, "lock", lock_late)
        commit(opened, 2)
    assert known_by(path) == (2, 2)


@pytest.mark.parametrize("looks", [False, True])
def test_whoever_is_killed_as_they_have_written_the_log_again_parts_nobody_from_it(
    marked: MarkedStore, path: Path, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They could not say any more that it goes on in another file."""
    commit(marked, 1)
    add = watermark_file.MarkFile.add

    def add_unless_killed(file: watermark_file.MarkFile, records: Sequence[Record]) -> None:
        if watermark_file._GONE_ON not in records:  # noqa: SLF001  the last thing they do
            add(file, records)

    with monkeypatch.context() as patch:
        patch.setattr(watermark_file, "SPARE", -10)
        patch.setattr(watermark_file.MarkFile, "add", add_unless_killed)
        rewrite(path)
    if looks:
        other = Watermark(path)
        other.reach(new_entry(1), raised={version_key("session", "of another"): (7, 0)})
        assert marked.mark.version("session", "of another") == 7
    commit(marked, 2)
    assert known_by(path) == (2, 2)

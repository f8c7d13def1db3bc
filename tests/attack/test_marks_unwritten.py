"""A mark that could not be written once: nothing is revived, and nothing that is honest is voided or told."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Verdict
from sayso.gate.gate import Gate, UnknownSession
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.questions.explain import preview_decision
from sayso.gate.rows.mark import log as watermark_log
from sayso.gate.rows.mark import unsettled
from sayso.gate.rows.mark.file import MarkFile
from sayso.gate.rows.mark.log import MarkLog
from sayso.gate.rows.mark.versions import version_key
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.rows.sessions import RowSelection, load_session
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import EntryRow, StoreError
from sayso.store.sqlite import log_sync
from tests.support.by_hand import KEY, Place
from tests.support.interrupts import Once
from tests.support.marks import (
    FullDisk,
    die,
    file_place,
    granted,
    granted_once,
    payment,
    pays,
    place,
    refused_or_asked,
    revoke,
    server_place,
)

__all__ = ["file_place", "place", "server_place"]
SESSION = version_key("session", "s")


def events(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        return [row.event for row in tx.entries("main", limit=1_000_000)]


def fail_once(place: Place, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Revoke the session's consent while the disk is too full for the mark."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", FullDisk(0).pwrite)
        with pytest.raises(StoreError, match="cannot be written"):
            revoke(place.gate, session)


def begin_epoch(place: Place, folder: Path) -> Gate:
    """Another service, with a mark of its own, finds that the store was restored."""
    folder.mkdir()
    return open_gate(place.policy, place.make(), key=KEY, marks=folder)


def begin_epoch_beside(place: Place, _: Path) -> Gate:
    """Another process on the same mark finds that the mark lacks something."""
    (file,) = place.marks.glob("*.mark")
    MarkFile(file, make=False).note_lasting_lack()
    return place.another()


# --- a lack that is over ---


def test_what_was_missing_and_is_written_by_now_begins_no_epoch(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, _ = granted(file_place)
    session, before = granted(file_place)
    fail_once(file_place, session, monkeypatch)
    open_session(file_place.gate, agent="another", owner="host", workspace="/w")
    other = file_place.another()
    assert other.sealer.epoch == file_place.gate.sealer.epoch
    assert pays(other, honest)
    assert "EPOCH" not in events(other)
    assert not file_place.reported()
    file_place.hand.put_back(before)
    assert refused_or_asked(other, session)


def test_what_is_still_missing_when_its_process_dies_begins_an_epoch(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, before = granted(file_place)
    fail_once(file_place, session, monkeypatch)
    file_place.hand.put_back(before)
    assert refused_or_asked(file_place.another(), session)
    again = file_place.another()
    assert events(again).count("EPOCH") == 1, "once: whatever was missing counts for nothing then"


def refuse_to_write(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fail_to_reach(mark: Watermark, version: int, *entries: EntryRow) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MarkFile, "write", refuse_to_write)
        with pytest.raises(StoreError):
            mark.reach(*entries, raised={SESSION: (version, 0)})


def test_what_two_have_noted_neither_takes_back(tmp_path: Path) -> None:
    one, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    fail_to_reach(one, 1)
    fail_to_reach(other, 2)
    for mark in (one, other, one):
        mark.reach()
        assert mark.lacks


def test_what_somebody_notes_without_the_lock_nobody_takes_back(tmp_path: Path) -> None:
    mark = Watermark(tmp_path / "a.mark")
    fail_to_reach(mark, 1)
    MarkFile(tmp_path / "a.mark", make=False).note_lasting_lack()
    mark.reach()
    assert mark.lacks


def test_what_one_has_noted_twice_is_taken_back_once_all_of_it_is_written(tmp_path: Path) -> None:
    mark = Watermark(tmp_path / "a.mark")
    fail_to_reach(mark, 1)
    fail_to_reach(mark, 2)
    mark.reach()
    assert not mark.lacks
    assert Watermark(tmp_path / "a.mark").version("session", "s") == 2


def test_a_lack_is_taken_back_in_the_file_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may write the log again between opening and locking it."""
    path, mark = tmp_path / "a.mark", Watermark(tmp_path / "a.mark")
    fail_to_reach(mark, 1)
    opened, other = MarkFile(path, make=False), MarkFile(path, make=False)
    with other.hold_lock():
        other.news()
        other.replace([])
    found = iter([opened, MarkFile(path, make=False)])
    monkeypatch.setattr(mark._log, "_open_by_path", lambda: next(found))  # noqa: SLF001
    mark.reach()
    assert not mark.lacks


def test_an_entry_that_could_not_be_marked_is_marked_with_the_next(tmp_path: Path) -> None:
    def entry(stream: str, seq: int) -> EntryRow:
        return EntryRow(stream, seq, 1.0, "DECIDED", "", b"{}", bytes(32), seq.to_bytes(32, "big"))

    mark = Watermark(tmp_path / "a.mark")
    mark.reach(entry("main", 3))
    fail_to_reach(mark, 1, entry("main", 9), entry("other", 4))
    mark.reach(entry("main", 8))
    reached = Watermark(tmp_path / "a.mark").reached()
    assert reached.main == (9, entry("main", 9).hash)
    assert len(reached.others) == 1


def test_who_is_interrupted_while_marking_marks_it_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    mark = Watermark(tmp_path / "a.mark")
    with monkeypatch.context() as patch:
        patch.setattr(MarkFile, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            mark.reach(raised={SESSION: (3, 0)})
    mark.reach()
    assert Watermark(tmp_path / "a.mark").version("session", "s") == 3


# --- another epoch ---


@pytest.mark.parametrize("in_batch", [False, True], ids=["alone", "batch"])
@pytest.mark.parametrize("begin", [begin_epoch, begin_epoch_beside])
def test_a_gate_uses_no_consent_that_a_new_epoch_has_voided(
    place: Place, tmp_path: Path, begin: Callable[[Place, Path], Gate], *, in_batch: bool
) -> None:
    session, _ = granted_once(place)
    other = begin(place, tmp_path / "elsewhere")
    assert other.sealer.epoch > place.gate.sealer.epoch
    before = len(events(other))
    for _ in range(2):
        together = place.gate.marked_store.batch() if in_batch else nullcontext()
        with pytest.raises(SaysoError, match="new epoch"), together:
            start_call(place.gate, payment(session), holder="one")
    assert len(events(other)) == before
    other.store.close()


def test_a_gate_does_not_forget_a_new_epoch_whose_row_is_put_back(place: Place, tmp_path: Path) -> None:
    session, _ = granted_once(place)
    before = place.hand.copy("meta")
    other = begin_epoch_beside(place, tmp_path)
    place.hand.put_back(before)
    with pytest.raises(StoreError, match="new epoch"):
        start_call(place.gate, payment(session), holder="one")
    other.store.close()


def test_a_gate_takes_nothing_of_a_new_epoch_for_tampering(place: Place, tmp_path: Path) -> None:
    other = begin_epoch_beside(place, tmp_path)
    session = open_session(other, agent="tester", owner="host", workspace="/w")
    with pytest.raises(StoreError, match="new epoch"):
        start_call(place.gate, payment(session), holder="one")
    assert not place.reported()
    assert not pays(other, session)
    other.store.close()


def test_a_session_of_an_earlier_epoch_has_ended_and_was_not_tampered_with(
    place: Place, tmp_path: Path
) -> None:
    session, _ = granted_once(place)
    place.gate.store.close()
    place.gate = begin_epoch_beside(place, tmp_path)
    for _ in range(2):
        with pytest.raises(UnknownSession, match="new epoch"):
            start_call(place.gate, payment(session), holder="one")
    assert not place.reported()
    place.hand.run("UPDATE sessions SET agent = 'another'")
    with pytest.raises(SaysoError, match="changed"):
        start_call(place.gate, payment(session), holder="one")
    assert place.reported()


# --- rows above their marks ---


def look_at(gate: Gate, session: str) -> bool:
    """Whether the session's row is believed."""
    with gate.store.read() as tx:
        found = load_session(tx, gate.sealer, session, RowSelection())
    return found is not None and found.believed


def killed_while_revoking(place: Place) -> tuple[str, Any]:
    session, before = granted(place)
    other = place.another()
    die(other, revoke, other, session, committed=True)
    return session, before


def test_what_somebody_has_seen_of_one_who_died_before_the_mark_is_not_undone(place: Place) -> None:
    session, before = killed_while_revoking(place)
    assert look_at(place.gate, session)
    place.hand.put_back(before)
    place.gate = place.another()
    assert refused_or_asked(place.gate, session)
    assert not look_at(place.gate, session)
    assert place.reported()


def test_what_a_thread_has_seen_that_was_interrupted_before_is_not_undone(place: Place) -> None:
    """Just before its transaction, which was committed, was over."""
    marked = place.gate.marked_store
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marked, "leave", Once(marked.leave, before=True))
        with pytest.raises(KeyboardInterrupt):
            open_session(place.gate, agent="another", owner="host", workspace="/w")
    test_what_somebody_has_seen_of_one_who_died_before_the_mark_is_not_undone(place)


def test_what_was_interrupted_before_its_mark_and_then_seen_is_not_undone(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, before = granted(file_place)
    with monkeypatch.context() as patch:
        patch.setattr(MarkLog, "write_unsynced", Once(MarkLog.write_unsynced, before=True))
        with pytest.raises(KeyboardInterrupt):
            revoke(file_place.gate, session)
    assert preview_decision(file_place.gate, payment(session)).verdict is Verdict.ASK
    file_place.hand.put_back(before)
    assert refused_or_asked(file_place.another(), session)


def test_what_was_seen_of_one_who_was_killed_is_marked_for_good_with_the_next_commit(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of the one who was killed counts until the machine starts again."""
    session, before = granted(file_place)
    with monkeypatch.context() as patch:
        patch.setattr(log_sync, "sync_file", Once(os.fsync, before=True))
        with pytest.raises(KeyboardInterrupt):
            revoke(file_place.gate, session)
    other = file_place.another()
    assert preview_decision(other, payment(session)).verdict is Verdict.ASK
    open_session(other, agent="another", owner="host", workspace="/w")
    monkeypatch.setattr(unsettled, "boot_number", lambda: 7)
    monkeypatch.setattr(watermark_log, "boot_number", lambda: 7)
    file_place.hand.put_back(before)
    assert refused_or_asked(file_place.another(), session)


def test_what_was_seen_while_another_held_the_mark_is_marked_later(file_place: Place) -> None:
    session, before = killed_while_revoking(file_place)
    (path,) = file_place.marks.glob("*.mark")
    file = MarkFile(path, make=False)
    file.lock()
    assert look_at(file_place.gate, session)
    file.unlock()
    assert look_at(file_place.gate, session)
    file_place.hand.put_back(before)
    assert refused_or_asked(file_place.another(), session)


def test_what_was_seen_is_marked_for_good_with_the_next_commit(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = killed_while_revoking(file_place)
    (path,) = file_place.marks.glob("*.mark")
    marked = Watermark(path).version("session", session)
    assert look_at(file_place.gate, session)
    open_session(file_place.gate, agent="another", owner="host", workspace="/w")
    monkeypatch.setattr(unsettled, "boot_number", lambda: 1)  # the machine was started again
    assert Watermark(path).version("session", session) > marked


def test_looking_makes_no_mark(file_place: Place) -> None:
    session, _ = granted(file_place)
    (path,) = file_place.marks.glob("*.mark")
    path.unlink()
    mark = Watermark(path)
    with mark.reading():
        mark.note("session", session, 1)
    assert not path.exists()


# --- no file can be opened ---


@contextmanager
def no_file_left(why: int = errno.EMFILE) -> Iterator[None]:
    """Nobody can open a mark any more."""
    opened = os.open

    def refuse(path: Any, *args: Any, **options: Any) -> int:
        if str(path).endswith(".mark"):
            raise OSError(why, os.strerror(why))
        return opened(path, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watermark_log, "OPENED_AGAIN", 0)
        patch.setattr(os, "open", refuse)
        yield


@pytest.mark.parametrize("why", [errno.EMFILE, errno.ENFILE, errno.EACCES])
def test_a_mark_that_cannot_be_opened_again_is_written_as_it_is_open(file_place: Place, why: int) -> None:
    session, before = granted(file_place)
    file_place.gate.sealer.mark._log._left = 0  # type: ignore[union-attr]  # noqa: SLF001
    with no_file_left(why):
        revoke(file_place.gate, session)
    file_place.hand.put_back(before)
    assert refused_or_asked(file_place.another(), session)


def test_a_lack_is_noted_where_no_file_can_be_opened(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, before = granted(file_place)
    with no_file_left():
        fail_once(file_place, session, monkeypatch)
    file_place.hand.put_back(before)
    assert refused_or_asked(file_place.another(), session)


def test_nothing_is_committed_where_not_even_a_lack_could_be_noted(file_place: Place) -> None:
    session, _ = granted(file_place)
    before = events(file_place.gate)
    file_place.gate.sealer.mark._log._file = None  # type: ignore[union-attr]  # noqa: SLF001
    with no_file_left(), pytest.raises(StoreError, match=r"cannot be (read|written)"):
        revoke(file_place.gate, session)
    assert events(file_place.gate) == before

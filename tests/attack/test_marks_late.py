"""Rows put back between a commit and its mark: another gate, with the same mark, must not believe them."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.gate.gate import Gate, writing
from sayso.gate.ledger.start import start_call
from sayso.gate.rows.mark import file as watermark_file
from sayso.gate.rows.mark import unsettled
from sayso.gate.rows.mark.log import OPENED_AGAIN
from sayso.gate.rows.mark.versions import version_key
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.sealed_values import TamperedValue, lock_values, read_value, value_name, write_value
from sayso.store.contract import EntryRow, FateUnknown, StoreBusy, StoreError
from tests.support.by_hand import Place
from tests.support.marks import die, file_place, granted_once, payment, pays, place, server_place

__all__ = ["file_place", "place", "server_place"]
PATIENCE = 30.0
A_MOMENT = 0.5
"""So long we look whether somebody goes on who ought to wait. If they are slower, a fault is not found."""


@contextmanager
def stopped_after_its_commit(gate: Gate, work: Callable[..., Any], *args: Any) -> Iterator[Future[Any]]:
    """Somebody has committed this, and does not come to mark it before the block ends."""
    store: Any = gate.marked_store.unmarked
    commit, committed, goes_on = store._commit, threading.Event(), threading.Event()  # noqa: SLF001

    def commit_and_stop(*given: Any, **options: Any) -> None:
        commit(*given, **options)
        store._commit = commit  # noqa: SLF001  once
        committed.set()
        goes_on.wait(PATIENCE)

    store._commit = commit_and_stop  # noqa: SLF001
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, *args)
        assert committed.wait(PATIENCE)
        try:
            yield done
        finally:
            goes_on.set()


@pytest.mark.parametrize("in_batch", [False, True], ids=["alone", "batch"])
@pytest.mark.parametrize("theirs_in_batch", [False, True], ids=["theirs-alone", "theirs-batch"])
def test_consent_that_another_has_just_used_up_is_not_used_again(
    place: Place, *, in_batch: bool, theirs_in_batch: bool
) -> None:
    session, before = granted_once(place)
    other = place.another()
    with ThreadPoolExecutor(1) as pool:
        with stopped_after_its_commit(
            other, lambda: pays(other, session, in_batch=theirs_in_batch)
        ) as theirs:
            place.hand.put_back(before)
            ours = pool.submit(pays, place.gate, session, in_batch=in_batch)
            wait([ours], timeout=A_MOMENT)
        assert theirs.result(PATIENCE), "who came first was allowed"
        assert not ours.result(PATIENCE)
    assert not pays(place.gate, session)
    assert place.reported()
    other.store.close()


class Link(msgspec.Struct, frozen=True):
    used: bool


LINK = value_name("link", "l1")


def use_link(gate: Gate) -> None:
    """Use a link that works once."""
    with writing(gate) as tx:
        lock_values(tx, "link")
        found = read_value(gate, tx, LINK, Link)
        if found is None or found.used:
            raise TamperedValue("it was used")
        write_value(gate, tx, LINK, Link(used=True))


def uses_link(gate: Gate) -> bool:
    for _ in range(2):
        try:
            use_link(gate)
        except StoreBusy:
            continue
        except TamperedValue:
            return False
        return True
    return False


@pytest.mark.parametrize("same_gate", [False, True], ids=["another-gate", "same-gate"])
def test_a_link_that_was_just_used_is_not_used_again(place: Place, *, same_gate: bool) -> None:
    with writing(place.gate) as tx:
        write_value(place.gate, tx, LINK, Link(used=False))
    before = place.hand.copy("meta")
    other = place.gate if same_gate else place.another()
    with ThreadPoolExecutor(1) as pool:
        with stopped_after_its_commit(other, uses_link, other) as theirs:
            place.hand.put_back(before)
            ours = pool.submit(uses_link, place.gate)
            wait([ours], timeout=A_MOMENT)
        assert theirs.result(PATIENCE)
        assert not ours.result(PATIENCE)
    assert not uses_link(place.gate)
    assert place.reported()
    other.store.close()


@pytest.mark.parametrize("in_batch", [False, True], ids=["alone", "batch"])
def test_what_was_committed_by_one_who_died_before_the_mark_is_not_undone(
    server_place: Place, *, in_batch: bool
) -> None:
    session, before = granted_once(server_place)
    other = server_place.another()
    die(other, lambda: pays(other, session, in_batch=in_batch), committed=True)
    server_place.hand.put_back(before)
    server_place.gate = server_place.another()
    assert not pays(server_place.gate, session, in_batch=in_batch)
    assert server_place.reported()


def test_a_value_of_one_who_died_before_the_mark_is_not_read_as_it_was(server_place: Place) -> None:
    gate = server_place.gate
    with writing(gate) as tx:
        write_value(gate, tx, LINK, Link(used=False))
    before = server_place.hand.copy("meta")
    other = server_place.another()
    die(other, use_link, other, committed=True)
    server_place.hand.put_back(before)
    for one in (gate, server_place.another()):
        for _ in range(2):
            with one.store.read() as tx, pytest.raises(TamperedValue):
                read_value(one, tx, LINK, Link)
    assert server_place.reported()


@pytest.mark.parametrize("in_batch", [False, True], ids=["alone", "batch"])
@pytest.mark.parametrize("committed", [False, True], ids=["undone", "committed"])
def test_one_who_died_near_a_commit_leaves_nothing_that_looks_like_tampering(
    place: Place, *, in_batch: bool, committed: bool
) -> None:
    session, _ = granted_once(place)
    other = place.another()
    die(other, lambda: pays(other, session, in_batch=in_batch), committed=committed)
    for gate in (place.gate, place.another()):
        assert pays(gate, session, in_batch=in_batch) is not committed
        committed = True  # by the first of them
    assert not place.reported()


def test_a_promise_that_was_undone_is_taken_back_for_all(server_place: Place) -> None:
    session, _ = granted_once(server_place)
    other = server_place.another()
    die(other, pays, other, session, committed=False)
    (file,) = server_place.marks.glob("*.mark")
    assert promised(file)
    assert pays(server_place.gate, session)
    assert not promised(file)


def promised(file: Path) -> int:
    """How many versions are promised, and neither marked nor taken back, as a new process finds it."""
    mark = Watermark(file)
    assert mark.tick
    log = mark._log  # noqa: SLF001
    assert log is not None
    log.promises.drop_kept(mark._versions.committed_version, all_of_them=True)  # noqa: SLF001
    return len(log.promises)


def test_where_nobody_can_say_what_became_of_a_promise_nothing_is_allowed(
    server_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, before = granted_once(server_place)
    other = server_place.another()
    die(other, pays, other, session, committed=True)
    server_place.hand.put_back(before)

    def unknown(*_: object) -> bool:
        raise FateUnknown("nobody can say")

    monkeypatch.setattr("sayso.store.postgres.transaction.PostgresTransaction.was_committed", unknown)
    with pytest.raises(FateUnknown):
        start_call(server_place.gate, payment(session), holder="one")


def test_what_cannot_be_promised_is_not_committed(
    server_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = granted_once(server_place)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(StoreError, match="cannot be written"):
            start_call(server_place.gate, payment(session), holder="one")
    assert pays(server_place.another(), session)
    assert not server_place.reported()


def test_a_promise_outlives_the_file_it_was_made_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that has grown long is written again, and one that was taken away is made again."""
    monkeypatch.setattr(watermark_file, "SPARE", 3)
    path, place, number = tmp_path / "a.mark", version_key("session", "s"), 77
    one, other = Watermark(path), Watermark(path)
    one.reach(raised={place: (1, 0)})
    one.announce({place: (2, 0)}, number)
    for seq in range(1, 60):
        other.reach(entry(seq), raised={version_key("session", "t"): (seq, 0)})
    assert promised(path) == 1
    path.unlink()
    for seq in range(60, 62 + OPENED_AGAIN):
        other.reach(entry(seq))
    assert promised(path) == 1
    one.reach(raised={place: (2, 0)})
    assert promised(path) == 0


def entry(seq: int) -> EntryRow:
    return EntryRow("main", seq, 1.0, "DECIDED", "", b"{}", bytes(32), seq.to_bytes(32, "big"))


def test_promises_that_have_come_true_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsettled, "MANY", 10)
    mark, other = Watermark(tmp_path / "a.mark"), Watermark(tmp_path / "a.mark")
    for number in range(1, 200):
        place = version_key("session", f"s{number}")
        mark.announce({place: (1, 0)}, number)
        mark.reach(raised={place: (1, 0)})
        assert other.tick
    for one in (mark, other):
        log = one._log  # noqa: SLF001
        assert log is not None
        assert len(log.promises) <= 20

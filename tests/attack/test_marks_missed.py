"""Rows put back while the mark looks away: overlapping reads, a full disk, a kill during a sync."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.start import start_call
from sayso.gate.rows.sessions import RowSelection, load_session
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import StoreError
from tests.support.by_hand import KEY, Place
from tests.support.marks import (
    FullDisk,
    file_place,
    granted,
    payment,
    place,
    refused_or_asked,
    revoke,
    server_place,
)

__all__ = ["file_place", "place", "server_place"]


def in_thread(work: Any, *args: Any) -> None:
    thread = threading.Thread(target=work, args=args)
    thread.start()
    thread.join()


def test_no_read_that_overlaps_a_refusal_believes_rows_put_back(place: Place) -> None:
    """Each refusal raises the mark: reads under way must still hold the row against what they knew before."""
    session, before = granted(place)
    revoke(place.gate, session)
    place.hand.put_back(before)
    with place.gate.store.read() as tx:
        in_thread(refused_or_asked, place.gate, session)
        found = load_session(tx, place.gate.sealer, session, RowSelection())
    assert found is not None
    assert not found.believed


def test_no_read_that_began_before_a_change_takes_it_for_tampering(place: Place) -> None:
    session, _ = granted(place)
    with place.gate.store.read() as tx:
        assert tx.session(session) is not None  # from here on it reads this moment
        in_thread(revoke, place.gate, session)
        found = load_session(tx, place.gate.sealer, session, RowSelection())
    assert found is not None
    assert found.believed
    assert not place.reported()


@pytest.mark.parametrize("room", [0, 20, 40])
def test_no_mark_is_lost_in_silence_on_a_full_disk(
    file_place: Place, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    session, before = granted(file_place)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", FullDisk(room).pwrite)
        with pytest.raises(StoreError, match="cannot be written"):
            revoke(file_place.gate, session)
    file_place.hand.put_back(before)
    assert refused_or_asked(file_place.another(), session)


def test_what_a_full_disk_kept_out_is_marked_as_soon_as_there_is_room(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, before = granted(file_place)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", FullDisk(0).pwrite)
        with pytest.raises(StoreError):
            revoke(file_place.gate, session)
    open_session(file_place.gate, agent="another", owner="host", workspace="/w")
    file_place.hand.put_back(before)
    assert refused_or_asked(file_place.gate, session)


def test_the_end_of_a_call_on_a_full_disk_fails_as_the_store_does(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = granted(file_place)
    started = start_call(file_place.gate, payment(session), holder="one")
    monkeypatch.setattr(os, "pwrite", FullDisk(0).pwrite)
    with pytest.raises(StoreError, match="cannot be written"):
        end_call(file_place.gate, started.call, started.fence, "succeeded")


KILLED = """
import os, signal, sys
from pathlib import Path
from sayso.gate.rows.keys import SigningKey
from sayso.store.sqlite import log_sync
from tests.support import by_hand
from tests.support.by_hand import sqlite_place
from tests.support.marks import POLICY, revoke
by_hand.KEY = SigningKey(by_hand.KEY.name, bytes.fromhex(sys.argv[3]))
place = sqlite_place(Path(sys.argv[1]), policy=POLICY)
log_sync.sync_file = lambda file: os.kill(os.getpid(), signal.SIGKILL)
revoke(place.gate, sys.argv[2])
"""


def test_a_kill_before_the_disk_has_answered_revives_nothing(file_place: Place) -> None:
    session, before = granted(file_place)
    file_place.gate.store.close()
    command = [sys.executable, "-c", KILLED, str(file_place.marks), session, KEY.secret.hex()]
    done = subprocess.run(command, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == -signal.SIGKILL
    assert file_place.hand.copy(*before) != before, "it was committed"
    file_place.hand.put_back(before)
    file_place.gate = file_place.another()
    assert refused_or_asked(file_place.gate, session)
    assert file_place.reported()


def test_nothing_runs_whose_entry_was_not_kept(file_place: Place) -> None:
    session, _ = granted(file_place)
    file_place.hand.run("CREATE TRIGGER t BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END")
    with pytest.raises(StoreError, match="was not kept"):
        start_call(file_place.gate, payment(session), holder="one")

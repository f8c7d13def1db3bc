"""Rows put back while the mark looks away: overlapping reads, a full disk, a kill during a sync."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request, Risk, Verdict
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.explain import preview_decision
from sayso.gate.rows.sessions import RowSelection, load_session
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.store.contract import StoreError
from tests.support.by_hand import Copy, Place, postgres_place, sqlite_place
from tests.support.postgres_place import new_schema

POLICY = load_text(
    "extends: [chat]\ndomains:\n  bank: {autonomous: [], requires_approval: [pay], blocked: []}\n"
)
ROWS = ("sessions", "grants", "spends", "questions", "calls")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        made = sqlite_place(tmp_path, policy=POLICY)
    else:
        made = postgres_place(new_schema(request.getfixturevalue("postgres_server")), tmp_path, POLICY)
    yield made
    made.close()


@pytest.fixture
def file_place(tmp_path: Path) -> Iterator[Place]:
    made = sqlite_place(tmp_path, policy=POLICY)
    yield made
    made.close()


def payment(session: str) -> Request:
    return make_request(
        make_call("pay", {"amount": 7}, door="python", folder="/w", workspace="/w"),
        [Operation("bank.pay", risk=Risk.MODERATE)],
        agent="tester",
        session=session,
    )


def granted(place: Place) -> tuple[str, Copy]:
    """A session with consent to pay, and its rows as they were then."""
    session = open_session(place.gate, agent="tester", owner="host", workspace="/w")
    give_grant(place.gate, session, by="ana", operation="bank.pay", minutes=60)
    assert preview_decision(place.gate, payment(session)).verdict is Verdict.ALLOW
    return session, place.hand.copy(*ROWS)


def revoke(gate: Gate, session: str) -> None:
    record_message(gate, session, "Revoke all consent")


def refused_or_asked(gate: Gate, session: str) -> bool:
    """Whether the payment does not run."""
    try:
        return not start_call(gate, payment(session), holder="two").runs
    except SaysoError:
        return True


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


class FullDisk:
    """A disk that takes so many bytes more of the mark, and then nothing."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._write = os.pwrite

    def pwrite(self, file: int, content: bytes, place: int) -> int:
        if Path(f"/proc/self/fd/{file}").readlink().suffix != ".mark":
            return self._write(file, content, place)
        if place + len(content) <= os.fstat(file).st_size:  # what is there can be written over
            return self._write(file, content, place)
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken, self.room = content[: self.room], max(self.room - len(content), 0)
        return self._write(file, taken, place)


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
from sayso.store.sqlite import log_sync
from tests.support.by_hand import sqlite_place
from tests.attack.test_marks_missed import POLICY, revoke
place = sqlite_place(Path(sys.argv[1]), policy=POLICY)
log_sync.sync_file = lambda file: os.kill(os.getpid(), signal.SIGKILL)
revoke(place.gate, sys.argv[2])
"""


def test_a_kill_before_the_disk_has_answered_revives_nothing(file_place: Place) -> None:
    session, before = granted(file_place)
    file_place.gate.store.close()
    command = [sys.executable, "-c", KILLED, str(file_place.marks), session]
    done = subprocess.run(command, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == -signal.SIGKILL
    file_place.hand.put_back(before)
    file_place.gate = file_place.another()
    assert refused_or_asked(file_place.gate, session)
    assert file_place.reported()


def test_nothing_runs_whose_entry_was_not_kept(file_place: Place) -> None:
    session, _ = granted(file_place)
    file_place.hand.run("CREATE TRIGGER t BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END")
    with pytest.raises(StoreError, match="was not kept"):
        start_call(file_place.gate, payment(session), holder="one")

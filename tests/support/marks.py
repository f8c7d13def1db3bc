"""Stores whose mark is under attack: consent in them, and what keeps a mark from being written in time."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request, Risk, Verdict
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, TamperedSession
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.explain import preview_decision
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.store.contract import StoreBusy
from tests.support.by_hand import Copy, Place, postgres_place, sqlite_place
from tests.support.postgres_place import new_schema

POLICY = load_text(
    "extends: [chat]\ndomains:\n  bank: {autonomous: [], requires_approval: [pay], blocked: []}\n"
)
SESSION_ROWS = ("sessions", "grants", "spends", "questions", "calls")


@pytest.fixture
def file_place(tmp_path: Path) -> Iterator[Place]:
    with closing(sqlite_place(tmp_path, policy=POLICY)) as made:
        yield made


@pytest.fixture
def server_place(postgres_server: str, tmp_path: Path) -> Iterator[Place]:
    with closing(postgres_place(new_schema(postgres_server), tmp_path, POLICY)) as made:
        yield made


@pytest.fixture(params=["file_place", "server_place"], ids=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    made: Place = request.getfixturevalue(request.param)
    return made


def payment(session: str) -> Request:
    return make_request(
        make_call("pay", {"amount": 7}, door="python", folder="/w", workspace="/w"),
        [Operation("bank.pay", risk=Risk.MODERATE)],
        agent="tester",
        session=session,
    )


def granted_once(place: Place) -> tuple[str, Copy]:
    """A session with consent to pay once, and its rows as they were then."""
    session = open_session(place.gate, agent="tester", owner="host", workspace="/w")
    give_grant(place.gate, session, by="ana", operation="bank.pay", uses=1)
    return session, place.hand.copy("meta", *SESSION_ROWS)


def pays(gate: Gate, session: str, *, in_batch: bool = False) -> bool:
    """Whether the payment runs. One that is only told to try again tries again, once."""
    for _ in range(2):
        runs = False
        with suppress(StoreBusy):
            with gate.marked_store.batch() if in_batch else nullcontext(), suppress(TamperedSession):
                runs = start_call(gate, payment(session), holder="one").runs
            return runs
    return False


def granted(place: Place) -> tuple[str, Copy]:
    """A session with consent to pay, and its rows as they were then."""
    session = open_session(place.gate, agent="tester", owner="host", workspace="/w")
    give_grant(place.gate, session, by="ana", operation="bank.pay", minutes=60)
    assert preview_decision(place.gate, payment(session)).verdict is Verdict.ALLOW
    return session, place.hand.copy(*SESSION_ROWS)


def revoke(gate: Gate, session: str) -> None:
    record_message(gate, session, "Revoke all consent")


def refused_or_asked(gate: Gate, session: str) -> bool:
    """Whether the payment does not run."""
    try:
        return not start_call(gate, payment(session), holder="two").runs
    except SaysoError:
        return True


class Killed(BaseException):
    """From here on nothing of the process is left but its files."""


def die(gate: Gate, work: Callable[..., Any], *args: Any, committed: bool) -> None:
    """Do this with a gate whose process dies on the way: just after its commit, or just before it."""
    store: Any = gate.marked_store.unmarked
    commit = store._commit  # noqa: SLF001

    def commit_and_die(*given: Any, **options: Any) -> None:
        if committed:
            commit(*given, **options)
        raise Killed

    store._commit = commit_and_die  # noqa: SLF001
    with pytest.raises(Killed):
        work(*args)
    store._commit = commit  # noqa: SLF001
    store.close()


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

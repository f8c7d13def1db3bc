"""A store with a gate on it and an empty one to copy it to, and what may be in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sayso.core.model import Request, Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.keys import make_verifier, public_key_of
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.sessions import open_session
from sayso.gate.upkeep.copy import CopyReport, copy_store, unseal_store
from sayso.policy import load_preset
from sayso.store.contract import KINDS, EntryRow, Store
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.asking import asked, edit, push
from tests.support.gates import KEY, Clock
from tests.support.postgres_place import new_schema

TRUSTED = (make_verifier(KEY.name, public_key_of(KEY)),)
HERE, THERE = "the old place", "the new place"
LEASE = 3_600.0


class Pair:
    """A store with a gate on it, and an empty one to copy it to."""

    def __init__(self, source: Store, target: Store, marks: Path) -> None:
        self.source = source
        self.target = target
        self.marks = marks
        marks.mkdir()

    def old(self) -> Gate:
        return self._gate(self.source)

    def new(self) -> Gate:
        return self._gate(self.target)

    def _gate(self, store: Store) -> Gate:
        return open_gate(load_preset("chat"), store, key=KEY, marks=self.marks)

    def copy(
        self, progress: Callable[[str, int], None] = lambda doing, done: None, to: str = THERE
    ) -> CopyReport:
        return copy_store(
            self.source, self.target, KEY, came_from=HERE, to=to, marks=self.marks, progress=progress
        )

    def unseal(self, to: str = THERE) -> None:
        unseal_store(self.source, self.target, KEY, to=to, marks=self.marks)


@pytest.fixture(params=["memory", "sqlite", "sqlite to postgres"])
def pair(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Pair]:
    stores: list[Store] = []
    if request.param == "memory":
        stores += [MemoryStore(clock=clock), MemoryStore(clock=clock)]
    else:
        if request.param != "sqlite":
            clock.now = time.time()  # the server has a clock of its own
        stores.append(SqliteStore(tmp_path / "old.db", clock=clock))
        stores.append(other(request, clock, tmp_path))
    yield Pair(stores[0], stores[1], tmp_path / "marks")
    for store in stores:
        store.close()


def other(request: pytest.FixtureRequest, clock: Clock, folder: Path) -> Store:
    from sayso.store.postgres.store import PostgresStore

    if request.param == "sqlite":
        return SqliteStore(folder / "new.db", clock=clock)
    return PostgresStore(new_schema(request.getfixturevalue("postgres_server")))


def verdict(gate: Gate, request: Request) -> Verdict:
    return authorize(gate, request).decision.verdict


def session_on(gate: Gate) -> str:
    return open_session(gate, agent="tester", owner="host", user="ana")


def consented(gate: Gate) -> str:
    """A session with every way in which a call can run unasked."""
    session = session_on(gate)
    record_task_start(gate, session, "feature")
    answer_question(gate, asked(gate, edit(session)), "task", by="ana")
    record_message(gate, session, "Grant standing consent for: git push")
    assert [verdict(gate, request(session)) for request in (edit, push)] == [Verdict.ALLOW] * 2
    return session


def entries(store: Store) -> list[EntryRow]:
    with store.read() as tx:
        return list(tx.every(EntryRow))


def count(store: Store) -> int:
    with store.read() as tx:
        return sum(1 for kind in KINDS for _ in tx.every(kind))

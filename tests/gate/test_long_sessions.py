"""A session in which hundreds of approvals were given and used costs no more than one with a few.

Counted, not timed: the rows whose seals the gate looks at, and what SQLite goes through to find them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.core.model import Request
from sayso.gate.call_rows import Attempt
from sayso.gate.gate import Gate
from sayso.gate.ledger.lease import release_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_question, cancel_question
from sayso.gate.questions.explain import preview_decision
from sayso.gate.rows.row_seals import Sealer
from sayso.gate.sessions.messages import ask_in_conversation, record_message, record_task_start
from sayso.gate.sessions.operator_grants import clear_allowlist, give_grant, list_grants, revoke_grant
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.gate.sessions.stop import resume_session, stop_session
from sayso.policy import load_text
from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.asking import edit
from tests.support.gates import KEY
from tests.support.postgres_place import new_schema

PATIENT = "extends: [chat]\nsettings: {questions_per_hour: 10000}\n"
FEW, MANY = 50, 500
SEALED = ("open_grant", "open_question", "open_call", "open_session")
Act = Callable[[], object]


class Work:
    """What is done by the gate and its database while somebody counts it."""

    def __init__(self) -> None:
        self.seals = 0
        self.steps = 0

    def count(self, act: Act) -> tuple[int, int]:
        self.seals = self.steps = 0
        act()
        return self.seals, self.steps

    def note_step(self) -> None:
        self.steps += 1


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    made = Work()
    for name in SEALED:
        before = getattr(Sealer, name)

        def counted(*args: Any, before: Any = before, **how: Any) -> Any:
            made.seals += 1
            return before(*args, **how)

        monkeypatch.setattr(Sealer, name, counted)
    connect = sqlite3.connect

    def connect_and_count(*args: Any, **how: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **how)
        connection.set_progress_handler(made.note_step, 1)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_and_count)
    return made


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def gate(request: pytest.FixtureRequest, tmp_path: Path, work: Work) -> Iterator[Gate]:
    del work  # it has to be there before the store is opened
    with closing(_open_store(request, tmp_path)) as store:
        gate = open_gate(load_text(PATIENT), store, key=KEY)
        yield msgspec.structs.replace(
            gate, key=None
        )  # checkpoints grow with the trail, and are signed at leisure


def _open_store(request: pytest.FixtureRequest, folder: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "sqlite":
        return SqliteStore(folder / "s.db")
    return PostgresStore(new_schema(request.getfixturevalue("postgres_server")))


class Agent:
    """An agent that asks for ever new calls in one session."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.session = open_session(gate, agent="tester", owner="host")
        self._asked = 0

    def request(self) -> Request:
        self._asked += 1
        return edit(self.session, f"{self._asked}.py")

    def ask(self) -> Attempt:
        return start_call(self.gate, self.request(), holder="one", entered=False)

    def answer(self, asked: Attempt, answer: str) -> Attempt:
        assert asked.question is not None
        assert answer_question(self.gate, asked.question, answer, by="ana").yours
        return asked

    def start(self, asked: Attempt) -> Attempt:
        started = retry_call(self.gate, asked.call, holder="one", entered=False)
        assert started.state == "running"
        return started

    def end(self, started: Attempt, state: Any = "succeeded") -> None:
        end_call(self.gate, started.call, started.fence, state)

    def spend_approvals(self, approvals: int) -> None:
        for _ in range(approvals):
            self.end(self.start(self.answer(self.ask(), "once")))


def list_acts(agent: Agent) -> Iterator[tuple[str, Act]]:
    """What people and agents do in a session, one after the other."""
    gate, session, asked = agent.gate, agent.session, [agent.ask() for _ in range(5)]
    names = [one.question or "" for one in asked]
    yield "look ahead", lambda: preview_decision(gate, agent.request())
    yield "ask", agent.ask
    yield "approve", lambda: agent.answer(asked[0], "once")
    yield "deny", lambda: agent.answer(asked[1], "deny")
    yield "withdraw a question", lambda: cancel_question(gate, names[2], "no need")
    yield "ask in the conversation", lambda: ask_in_conversation(gate, names[3])
    started: list[Attempt] = []
    yield "start", lambda: started.append(agent.start(asked[0]))
    yield "give back", lambda: release_call(gate, started[0].call, started[0].fence)
    yield "start again", lambda: started.append(agent.start(asked[0]))
    yield "fail", lambda: agent.end(started[1], "failed")
    yield "run the free retry", lambda: started.append(agent.start(agent.answer(asked[4], "once")))
    yield "succeed", lambda: agent.end(started[2])
    given = give_grant(gate, session, operation="files.edit", by="ana")
    yield "list what is granted", lambda: list_grants(gate, session)
    yield "revoke a grant", lambda: revoke_grant(gate, given.id, by="ana")
    yield "clear the allowlist", lambda: clear_allowlist(gate, session, by="ana")
    yield "begin a task", lambda: record_task_start(gate, session, "tests")
    yield "hear a message", lambda: record_message(gate, session, "looks good so far")
    yield "hear a refusal", lambda: record_message(gate, session, "no")
    yield "stop", lambda: stop_session(gate, session, by="ana")
    yield "resume", lambda: resume_session(gate, session, by="ana")


def count_acts(agent: Agent, work: Work) -> dict[str, tuple[int, int]]:
    return {name: work.count(act) for name, act in list_acts(agent)}


@pytest.mark.slow
def test_nothing_that_is_done_in_a_session_grows_with_its_spent_approvals(gate: Gate, work: Work) -> None:
    few, many = Agent(gate), Agent(gate)
    few.spend_approvals(FEW)
    before = count_acts(few, work)
    many.spend_approvals(MANY)
    after = count_acts(many, work)
    assert min(seals for seals, _ in before.values()) > 0
    grown = {
        name: (before[name], after[name])
        for name in before
        if after[name][0] > before[name][0] or after[name][1] > 1.3 * before[name][1]
    }
    assert grown == {}


@pytest.mark.slow
def test_ending_a_session_does_not_grow_with_its_spent_approvals(gate: Gate, work: Work) -> None:
    ends = []
    for approvals in (FEW, MANY):
        agent = Agent(gate)
        agent.spend_approvals(approvals)
        ends.append(work.count(partial(close_session, gate, agent.session)))
    (few, few_steps), (many, many_steps) = ends
    assert 0 < many <= few
    assert many_steps <= 1.3 * few_steps

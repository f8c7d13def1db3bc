"""A session in which 5,000 approvals were given and used, against a fresh one: calls, questions and answers.

Measured are the start and end of a call that is allowed, to ask about one, and to answer that question. Both
sessions are in one store. Each approval was a question that a person answered "once", and a call that ran on
it. The limit of questions an hour is lifted, and no checkpoint is signed for each answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import msgspec

from bench.durable import DOMAINS, OPERATION, on_disk
from bench.measure import Race, Row, Side, Timing, Watch, race
from bench.world import make_world
from sayso.core.model import Operation, Request
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.store.sqlite.store import SqliteStore

APPROVALS = 5_000
ROUNDS, WARM = 1_000, 300
QUESTIONS, ASKED_FIRST = 300, 20
TIMES_FRESH = 1.2
ASKING = "domain0001.edit"
"""An operation that asks."""
_numbers = count()


def calls_after_many_approvals(watch: Watch) -> list[Row]:
    with on_disk() as folder, _patient_gate(folder) as gate:
        fresh, old = _session(gate), _session(gate)
        unsigned = msgspec.structs.replace(gate, key=None)
        for done in range(1, APPROVALS + 1):
            _approve_and_run(unsigned, old)
            watch(f"a session with {APPROVALS:,} approvals (giving them first)", done, APPROVALS)
        ours, theirs = _start_and_end(gate, old), _start_and_end(gate, fresh)
        for _ in range(WARM):
            ours.answer(None)
            theirs.answer(None)
        result = race(_after("start + end"), ours, theirs, ROUNDS, watch)
        asked, answered = _ask_and_answer(unsigned, old, fresh, watch)
    return [_row("start + end", result), _row("ask", asked), _row("answer", answered)]


def _after(what: str) -> str:
    return f"{what} after {APPROVALS:,} approvals"


def _row(what: str, result: Race) -> Row:
    ratio = result.left.median / result.right.median
    return Row(
        what=_after(what),
        against="a fresh session",
        ours=result.left.median / 1e3,
        theirs=result.right.median / 1e3,
        unit=" µs",
        ratio=ratio,
        aim=f"≤ {TIMES_FRESH:g}×",
        met=ratio <= TIMES_FRESH,
        spread=(result.left.spread, result.right.spread),
    )


def _ask_and_answer(gate: Gate, old: str, fresh: str, watch: Watch) -> tuple[Race, Race]:
    """Ask and answer in both sessions, in turns. What was approved runs before the next round, untimed."""
    rounds: dict[str, list[tuple[float, float]]] = {old: [], fresh: []}
    for done in range(1, ASKED_FIRST + QUESTIONS + 1):
        for session, times in rounds.items():
            times.append(_approve_and_run(gate, session))
        watch(_after("ask and answer"), done, ASKED_FIRST + QUESTIONS)
    asking, answering = (
        Race(*(Timing(tuple([one[part] for one in rounds[name][ASKED_FIRST:]])) for name in (old, fresh)))
        for part in (0, 1)
    )
    return asking, answering


@contextmanager
def _patient_gate(folder: Path) -> Iterator[Gate]:
    """A gate under which a session may ask as often as it likes."""
    policy = make_world(DOMAINS).policy
    settings = msgspec.structs.replace(policy.settings, questions_per_hour=10**9)
    policy = msgspec.structs.replace(policy, settings=settings)
    with closing(SqliteStore(folder / "sayso.db")) as store:
        yield open_gate(policy, store, key=make_key("bench"), marks=folder)


def _session(gate: Gate) -> str:
    session = open_session(gate, agent="agent", owner="bench", workspace="/w")
    give_grant(gate, session, by="operator", operation=OPERATION, minutes=24 * 60)
    return session


def _request(session: str, operation: str) -> Request:
    call = make_call("label", {"number": next(_numbers), "text": "to be read"}, folder="/w", workspace="/w")
    return make_request(call, [Operation(operation)], agent="agent", session=session)


def _approve_and_run(gate: Gate, session: str) -> tuple[float, float]:
    """Return how many nanoseconds it took to ask, and to answer."""
    began = time.perf_counter_ns()
    asked = start_call(gate, _request(session, ASKING), holder="bench")
    waiting = time.perf_counter_ns()
    if asked.question is None:
        raise AssertionError(f"nothing was asked: {asked.state}")
    answer_question(gate, asked.question, "once", by="operator")
    answered = time.perf_counter_ns()
    allowed = retry_call(gate, asked.call, holder="bench")
    end_call(gate, allowed.call, allowed.fence, "succeeded")
    return waiting - began, answered - waiting


def _start_and_end(gate: Gate, session: str) -> Side:
    def run(_: object) -> None:
        started = start_call(gate, _request(session, OPERATION), holder="bench")
        end_call(gate, started.call, started.fence, "succeeded", b"1")

    return Side(run, (None,))

"""Many at once: the limits on questions hold, and what one process takes back the next decision misses."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.model import Verdict
from sayso.core.policy import Settings
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.ledger.start import start_call
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import Store
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.crash.jobs import Clock, Job, gate_on
from tests.crash.lives import edit
from tests.crash.nursery import Nursery
from tests.crash.workers import working
from tests.support.answers import answer_question
from tests.support.asking import push
from tests.support.postgres_place import new_schema

EVERY = bool(os.environ.get("SAYSO_ALL"))
PROCESSES = 8
RESUMED = 1_000 if EVERY else 30
OPPOSED = 300 if EVERY else 25
SESSIONS = 50
TOO_MANY = 3
PATIENCE = 180.0


@pytest.fixture(params=["sqlite", "postgres"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    if request.param == "sqlite":
        return Job("revoke", "", str(tmp_path / "store.db"), str(tmp_path))
    return Job("revoke", "", new_schema(request.getfixturevalue("postgres_server")), str(tmp_path))


@pytest.fixture
def gate(job: Job) -> Iterator[Gate]:
    with closing(patient(job)) as store:
        yield gate_on(store, job)


def patient(job: Job) -> Store:
    if "host=" in job.address:
        return PostgresStore(job.address, busy=PATIENCE)
    return SqliteStore(job.address, clock=Clock(), busy=PATIENCE)


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Do this in so many threads, all of which begin together; the first error is ours."""
    start, errors = threading.Barrier(count), list[BaseException]()

    def run(number: int) -> None:
        try:
            start.wait(PATIENCE)
            work(number)
        except BaseException as error:  # noqa: BLE001  shown to the test, in whose thread it counts
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)


def test_fifty_sessions_that_flood_at_once_get_twenty_questions_each(gate: Gate) -> None:
    came: Counter[tuple[str, Verdict, str]] = Counter()

    def flood(number: int) -> None:
        session = open_session(gate, agent="tester", owner="host")
        for target in range(Settings().open_questions + TOO_MANY):
            decision = authorize(gate, edit(session, target)).decision
            rule = "flooding" if decision.rule == "flooding" else "asked"
            came[session, decision.verdict, rule] += 1

    at_once(SESSIONS, flood)
    asked = [count for (_, verdict, rule), count in came.items() if (verdict, rule) == (Verdict.ASK, "asked")]
    refused = [
        count for (_, verdict, rule), count in came.items() if (verdict, rule) == (Verdict.DENY, "flooding")
    ]
    assert asked == [Settings().open_questions] * SESSIONS
    assert refused == [TOO_MANY] * SESSIONS
    with gate.store.read() as tx:
        assert len(tx.questions(limit=10_000)) == SESSIONS * Settings().open_questions
    assert verify_audit(gate).clean


def test_one_session_flooded_from_all_sides_gets_twenty_questions(gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="host")
    asked: list[int] = []

    def flood(number: int) -> None:
        calls = (edit(session, 5 * number + target) for target in range(5))
        asked.extend(number for call in calls if authorize(gate, call).question is not None)

    at_once(10, flood)
    assert len(asked) == Settings().open_questions
    with gate.store.read() as tx:
        assert len(tx.questions(session, limit=10_000)) == Settings().open_questions


def test_questions_that_were_answered_still_count_for_the_hour(gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="host")
    for target in range(Settings().questions_per_hour):
        question = authorize(gate, edit(session, target)).question
        assert question is not None
        answer_question(gate, question.id, "deny", by="ana")
    assert authorize(gate, edit(session, Settings().questions_per_hour)).decision.rule == "flooding"


def test_what_another_process_revoked_the_next_decision_refuses(
    gate: Gate, job: Job, processes: Nursery
) -> None:
    session = open_session(gate, agent="tester", owner="host")
    record_message(gate, session, "Grant standing consent for: git push")
    assert authorize(gate, push(session)).decision.verdict is Verdict.ALLOW
    assert processes.run(job) == 0
    assert authorize(gate, push(session)).decision.verdict is not Verdict.ALLOW


def test_of_eight_processes_that_resume_an_approved_call_exactly_one_runs_it(gate: Gate, job: Job) -> None:
    sessions = []
    with working(job, *["resume"] * PROCESSES) as workers:
        for _ in range(RESUMED):
            session = open_session(gate, agent="tester", owner="host")
            attempt = start_call(gate, edit(session), holder="first")
            assert attempt.question is not None
            answer_question(gate, attempt.question, "once", by="ana")
            sessions.append(session)
            for one in workers:
                one.tell(f"{session} {attempt.call}")
            assert [one.said() for one in workers] == ["done"] * PROCESSES
    assert job.file("runs").read_text("utf-8").split() == sessions
    assert verify_audit(gate).clean


def test_stopping_a_session_and_deciding_calls_below_it_never_get_in_each_others_way(
    gate: Gate, job: Job
) -> None:
    parent = open_session(gate, agent="tester", owner="host")
    child = open_session(gate, agent="tester", owner="host", parent=parent)
    below = open_session(gate, agent="tester", owner="host", parent=child)
    told = {"stop": parent, "decide": below, "tidy": parent}
    with working(job, *told) as workers:
        for one, session in zip(workers, told.values(), strict=True):
            one.tell(f"{session} {OPPOSED}")
        assert [one.said() for one in workers] == ["done"] * len(told)
    assert verify_audit(gate).clean

"""One key, one result: of runs that come at the same time one runs, and all get what it returned."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from sayso import Sayso, Step
from sayso.core.ledger import LEASE
from sayso.doors.python.calls.results import Result
from tests.support.gates import Clock
from tests.support.people import Person, answer_open, calls
from tests.support.repository import ROOT

pytestmark = pytest.mark.each_store

MANY = 6


def repr_of(value: object) -> str:
    return type(value).__name__


class Slow:
    """A capability that is inside its function until it is let go on."""

    def __init__(self, gate: Sayso, *, fails: bool = False) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.runs = 0

        @gate.capability("slow")
        def slow(number: int) -> dict[str, int]:
            self.runs += 1
            self.entered.set()
            assert self.go_on.wait(60)
            if fails:
                raise LookupError("gone")
            return {"number": number}

        @gate.capability("aslow")
        async def aslow(number: int) -> dict[str, int]:
            return await asyncio.to_thread(slow, number)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(MANY) as pool:
        yield pool


def until_waiting(gate: Sayso, count: int) -> None:
    """Until so many wait for the end of a call."""
    while gate.door.endings.waiting < count:
        threading.Event().wait(0.005)


def test_threads_that_come_while_it_runs_all_get_the_one_result(
    gate: Sayso, threads: ThreadPoolExecutor
) -> None:
    slow, session = Slow(gate), gate.session()
    waiting: list[Future[Result]] = [
        threads.submit(session.run, "slow", {"number": 7}, key="order-7") for _ in range(MANY)
    ]
    until_waiting(gate, MANY - 1)
    slow.go_on.set()
    results = [one.result(60) for one in waiting]
    assert [(one.status, one.value) for one in results] == [("ok", {"number": 7})] * MANY
    assert len({one.operation_id for one in results}) == 1
    assert slow.runs == 1


def test_tasks_that_come_while_it_runs_all_get_the_one_result(gate: Sayso) -> None:
    slow, session = Slow(gate), gate.session()

    async def all_at_once() -> list[Result]:
        runs = [asyncio.create_task(session.arun("aslow", {"number": 7}, key="k")) for _ in range(MANY)]
        await asyncio.to_thread(until_waiting, gate, MANY - 1)
        slow.go_on.set()
        return await asyncio.gather(*runs)

    results = asyncio.run(all_at_once())
    assert [(one.status, one.value) for one in results] == [("ok", {"number": 7})] * MANY
    assert slow.runs == 1


def test_runs_that_wait_for_one_answer_ask_once_and_all_get_the_result(
    gate: Sayso, person: Person, threads: ThreadPoolExecutor
) -> None:
    ran: list[str] = []

    @gate.capability()
    @gate.requires_consent("mail.send", risk="moderate")
    def send(to: str) -> str:
        ran.append(to)
        return f"sent to {to}"

    session = gate.session()
    waiting = [threads.submit(session.run, "send", {"to": "ana"}, key="k") for _ in range(MANY)]
    person.waits_to_be_asked()
    while gate.door.asker.waiting < MANY:
        threading.Event().wait(0.005)
    answer_open(gate)
    assert [one.result(60).value for one in waiting] == ["sent to ana"] * MANY
    assert ran == ["ana"]
    assert person.asked == ["mail.send"], "one question, shown once"


def test_retries_at_the_same_time_all_get_the_one_result(
    gate: Sayso, person: Person, threads: ThreadPoolExecutor
) -> None:
    go_on, ran = threading.Event(), threading.Semaphore(0)

    @gate.capability()
    @gate.requires_consent("mail.send", risk="moderate")
    def send(to: str) -> str:
        ran.release()
        assert go_on.wait(60)
        return f"sent to {to}"

    late = gate.run("send", {"to": "ana"}, wait=0)
    answer_open(gate)
    waiting = [threads.submit(gate.retry, late.operation_id or "") for _ in range(MANY)]
    until_waiting(gate, MANY - 1)
    go_on.set()
    assert [one.result(60).value for one in waiting] == ["sent to ana"] * MANY
    assert ran.acquire(blocking=False)
    assert not ran.acquire(blocking=False)


def test_whoever_waits_too_long_is_told_how_to_get_the_result_later(
    gate: Sayso, threads: ThreadPoolExecutor
) -> None:
    slow, session = Slow(gate), gate.session()
    first = threads.submit(session.run, "slow", {"number": 7}, key="k")
    assert slow.entered.wait(60)
    for second in (
        session.run("slow", {"number": 7}, key="k", wait=0),
        session.run("slow", {"number": 7}, key="k", wait=0.05),
        session.retry(first_id(gate), wait=0),
    ):
        assert (second.status, second.retry_with) == ("timeout", "retry")
        assert "still running" in (second.reason or "")
        assert second.operation_id == first_id(gate)
    slow.go_on.set()
    assert first.result(60).ok
    assert session.retry(first_id(gate)).value == {"number": 7}
    assert slow.runs == 1


def first_id(gate: Sayso) -> str:
    return calls(gate)[0].id


def test_those_who_waited_are_told_that_it_failed(gate: Sayso, threads: ThreadPoolExecutor) -> None:
    slow, session = Slow(gate, fails=True), gate.session()
    waiting = [threads.submit(session.run, "slow", {"number": 7}, key="k") for _ in range(3)]
    until_waiting(gate, 2)
    slow.go_on.set()
    assert [one.result(60).reason for one in waiting] == ["LookupError: gone"] * 3
    assert slow.runs == 1


def test_nobody_waits_for_a_holder_that_died(gate: Sayso, clock: Clock, threads: ThreadPoolExecutor) -> None:
    slow, session = Slow(gate), gate.session()
    threads.submit(session.run, "slow", {"number": 7}, key="k")
    assert slow.entered.wait(60)
    gate.door.keeper.drop(first_id(gate))  # it does not beat any more, as if its process were gone
    second = threads.submit(session.run, "slow", {"number": 7}, key="k", wait=600)
    until_waiting(gate, 1)
    clock.now += LEASE + 1
    told = second.result(60)
    assert (told.status, told.retry_with) == ("error", None)
    assert "nobody knows whether the call ran" in (told.reason or "")
    slow.go_on.set()


def test_a_run_that_would_wait_for_itself_is_refused_at_once(gate: Sayso) -> None:
    inner: list[Result] = []
    session = gate.session()

    @gate.capability()
    def again(number: int) -> int:
        inner.append(session.run("again", {"number": number}, key="k", wait=600))
        return number

    assert session.run("again", {"number": 1}, key="k").value == 1
    assert inner[0].status == "error"
    assert "waits for itself" in (inner[0].reason or "")


def test_workflows_with_one_key_run_once_and_all_get_the_result(
    gate: Sayso, threads: ThreadPoolExecutor
) -> None:
    slow, session = Slow(gate), gate.session()
    gate.workflow("flow", [Step("first", gate.door.capabilities.find("slow").function)])
    waiting = [threads.submit(session.run, "flow", {"number": 7}, key="k") for _ in range(3)]
    until_waiting(gate, 2)
    slow.go_on.set()
    assert [one.result(60).value for one in waiting] == [{"first": {"number": 7}}] * 3
    assert slow.runs == 1


def test_another_key_session_or_argument_is_another_run(gate: Sayso, threads: ThreadPoolExecutor) -> None:
    slow, one, other = Slow(gate), gate.session(), gate.session()
    slow.go_on.set()
    runs: list[Callable[[], Result]] = [
        lambda: one.run("slow", {"number": 7}, key="k"),
        lambda: one.run("slow", {"number": 7}, key="l"),
        lambda: other.run("slow", {"number": 7}, key="k"),
        lambda: one.run("slow", {"number": 7}),
    ]
    assert len({run().operation_id for run in runs}) == 4
    assert one.run("slow", {"number": 8}, key="k").status == "error"


WORKER = """
import sys
from sayso import Sayso
from sayso.surfaces.inbox import Inbox
policy, store, session, log = sys.argv[1:]
with Sayso.open(policy, store, surfaces=[Inbox()]) as gate:
    @gate.capability()
    def slow(number: int) -> dict:
        with open(log, "a") as file:
            file.write("ran\\n")
        sys.stdout.write("inside\\n")
        sys.stdout.flush()
        sys.stdin.readline()
        return {"number": number}
    print("ready", flush=True)
    sys.stdin.readline()
    print(gate.run("slow", {"number": 7}, session=session, key="k").plain()["value"], flush=True)
"""


def test_processes_that_come_while_it_runs_all_get_the_one_result(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
    log = tmp_path / "log"
    with Sayso.open(policy, tmp_path / "s.db", surfaces=[]) as gate:
        words = [str(policy), str(tmp_path / "s.db"), gate.session().id, str(log)]
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, *words],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(3)
        ]
        try:
            for worker in workers:
                assert worker.stdout is not None
                assert worker.stdout.readline() == "ready\n"
            told = [worker.communicate("begin\ngo on\n", timeout=120)[0] for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    assert [one.splitlines()[-1] for one in told] == ["{'number': 7}"] * 3
    assert log.read_text() == "ran\n"


class Unkeepable:
    """Nothing that JSON could hold."""


@pytest.mark.parametrize("returned", [Path("a"), Unkeepable(), "x" * 100_000, None], ids=repr_of)
def test_threads_of_one_process_all_get_the_very_object(
    gate: Sayso, threads: ThreadPoolExecutor, returned: object
) -> None:
    session, entered, go_on = gate.session(), threading.Event(), threading.Event()

    @gate.capability("make")
    def make() -> object:
        entered.set()
        assert go_on.wait(60)
        return returned

    waiting = [threads.submit(session.run, "make", {}, key="k") for _ in range(MANY)]
    until_waiting(gate, MANY - 1)
    go_on.set()
    results = [one.result(60) for one in waiting]
    assert [one.value is returned for one in results] == [True] * MANY
    assert len({(one.status, one.reason, one.kept) for one in results}) == 1
    assert gate.door.handing_on.held == 0, "nothing is held for later"


def test_all_who_made_a_call_that_failed_read_how_it_failed_and_so_does_a_later_retry(
    gate: Sayso, threads: ThreadPoolExecutor
) -> None:
    slow, session = Slow(gate, fails=True), gate.session()
    waiting = [threads.submit(session.run, "slow", {"number": 7}, key="k") for _ in range(MANY)]
    until_waiting(gate, MANY - 1)
    slow.go_on.set()
    results = [one.result(60) for one in waiting]
    assert {(one.status, one.reason) for one in results} == {("error", "LookupError: gone")}
    later = session.retry(results[0].operation_id or "")
    assert (later.status, later.reason) == ("error", "LookupError: gone")


def test_one_who_comes_after_the_end_gets_the_json_form(gate: Sayso) -> None:
    session = gate.session()

    @gate.capability("make")
    def make() -> Path:
        return Path("a")

    first = session.run("make", key="k")
    assert (first.value, first.kept) == (Path("a"), True)
    again = session.run("make", key="k")
    assert (again.value, again.kept) == ("a", True)


def test_kept_is_said_only_of_a_result_that_is_kept(gate: Sayso) -> None:
    @gate.capability("make")
    def make(what: str) -> object:
        if what == "fails":
            raise LookupError("gone")
        return Unkeepable() if what == "odd" else what * 100_000 if what == "long" else what

    @gate.capability("ask")
    @gate.requires_consent("mail.send")
    def ask() -> None:
        """Needs a person."""

    session = gate.session()
    kept = {what: session.run("make", {"what": what}).kept for what in ("plain", "odd", "long", "fails")}
    assert kept == {"plain": True, "odd": False, "long": False, "fails": False}
    assert not session.run("ask", wait=0).kept
    long = session.run("make", {"what": "long"})
    assert long.plain()["value"] == "long" * 100_000
    assert long.plain()["kept"] is False

"""What a connected program passes, gets back, repeats and finds again is what an embedded one does."""

from __future__ import annotations

import asyncio
import datetime
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pydantic
import pytest

from sayso.doors.remote.connected import Connected
from sayso.doors.remote.line import ServiceRefusal
from sayso.gate.sessions.reopen import OtherSession
from tests.service.programs import asked, say
from tests.support.service_process import PATIENCE, Home, Service

NOON = datetime.datetime(2026, 5, 6, 12, 0, tzinfo=datetime.UTC)


class Task(pydantic.BaseModel):
    title: str
    due: datetime.datetime


class Unkeepable:
    pass


def with_tasks(gate: Connected) -> list[Task]:
    made: list[Task] = []

    @gate.capability()
    @gate.requires_consent("tasks.create")
    def create(task: Task, where: Path) -> Path:
        made.append(task)
        return where / task.title

    return made


def test_models_and_paths_go_over_a_connection_as_they_do_embedded(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        made, task = with_tasks(gate), Task(title="x", due=NOON)
        late = gate.run("create", {"task": task, "where": Path("a")}, wait=0)
        assert late.status == "timeout"
        task.title = "changed"
        (question,) = operator.questions()
        assert question["arguments"] == {"task": {"title": "x", "due": "2026-05-06T12:00:00Z"}, "where": "a"}
        say(operator, question["id"], "once")
        result = gate.retry(late.operation_id or "")
        assert (result.value, made) == (Path("a/x"), [Task(title="x", due=NOON)])
        assert gate.retry(late.operation_id or "").value == "a/x"
        wrong = gate.run("create", {"task": {"title": 1}, "where": "a"})
        assert wrong.status == "error"
        assert "task" in (wrong.reason or "")


@pytest.mark.parametrize("value", [Unkeepable(), "x" * 70_000], ids=["object", "too large"])
def test_a_result_that_cannot_be_kept_says_so_over_a_connection(
    home: Home, served: Service, value: object
) -> None:
    with served.connect(home.token("host")) as gate:

        @gate.capability()
        def make() -> object:
            return value

        result = gate.run("make")
        assert result.value is value
        again = gate.retry(result.operation_id or "")
        assert (again.status, again.value, again.kept) == ("ok", None, False)
        assert "was not kept" in (again.reason or "")


def test_connected_runs_with_one_key_all_get_the_one_result(home: Home, served: Service) -> None:
    token, runs, inside, go_on = home.token("host"), [0], threading.Event(), threading.Event()

    def program(gate: Connected) -> None:
        @gate.capability()
        def slow(number: int) -> int:
            runs[0] += 1
            inside.set()
            assert go_on.wait(PATIENCE)
            return number

    with served.connect(token) as one, served.connect(token) as other, ThreadPoolExecutor(3) as threads:
        program(one)
        program(other)
        session = one.session().id
        first = threads.submit(one.run, "slow", {"number": 7}, session=session, key="k")
        assert inside.wait(PATIENCE)
        short = other.run("slow", {"number": 7}, session=session, key="k", wait=0.1)
        assert (short.status, short.retry_with) == ("timeout", "retry")
        second = threads.submit(other.run, "slow", {"number": 7}, session=session, key="k")
        third = threads.submit(
            lambda: asyncio.run(other.arun("slow", {"number": 7}, session=session, key="k"))
        )
        go_on.set()
        assert [one.result(PATIENCE).value for one in (first, second, third)] == [7, 7, 7]
        assert runs == [1]


def test_a_pending_call_survives_a_restart_of_its_program(home: Home, served: Service) -> None:
    token = home.token("host")
    before = served.connect(token)
    with_tasks(before)
    nightly = before.session(key="nightly", agent="gardener")
    assert (nightly.reopened, nightly.after) == (False, None)
    late = nightly.run("create", {"task": Task(title="x", due=NOON), "where": Path("a")}, wait=0)
    before.door.line.close()  # it died: nothing was ended
    with served.connect(token) as gate, served.connect(home.token("operator")) as operator:
        made = with_tasks(gate)
        say(operator, asked(operator)[0], "once")
        assert gate.session(key="nightly").id == nightly.id
        assert gate.session(key="nightly").reopened
        with pytest.raises(OtherSession):
            gate.session(key="nightly", agent="other")
        assert gate.retry(late.operation_id or "").value == Path("a/x")
        assert [task.title for task in made] == ["x"]
        gate.session(key="nightly").end()
        fresh = gate.session(key="nightly")
        assert (fresh.reopened, fresh.after) == (False, nightly.id)


def test_a_key_and_a_call_of_another_token_do_not_exist(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as one, served.connect(home.token("host", "other")) as other:
        with_tasks(one)
        with_tasks(other)
        mine = one.session(key="nightly")
        assert other.session(key="nightly").id != mine.id
        late = mine.run("create", {"task": Task(title="x", due=NOON), "where": Path("a")}, wait=0)
        found = other.retry(late.operation_id or "")
        nothing = "op_000000000000000000000000"
        theirs = other.retry(nothing)
        assert (found.status, theirs.status) == ("error", "error")
        assert (theirs.reason or "").startswith(f"there is no call {nothing}")
        assert found.reason == (theirs.reason or "").replace(nothing, late.operation_id or "")


def test_an_agent_opens_no_session_by_key(home: Home, served: Service) -> None:
    with served.connect(home.token("agent")) as agent, pytest.raises(ServiceRefusal):
        agent.session(key="nightly")

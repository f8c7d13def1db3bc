"""`Sayso.connect()`: the service decides and keeps the ledger, the functions run in this process, once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sayso import ConsentDenied, ConsentRequired, ConsentTimeout, Sayso
from sayso.core.errors import SaysoError
from sayso.core.model import Risk, Verdict
from sayso.doors.remote.connected import connect
from sayso.doors.remote.door import NotConnected
from sayso.doors.remote.line import ServiceRefusal, ServiceRequest, Unreachable
from sayso.gate.gate import UnknownSession
from tests.service.programs import Aside, Tasks, asked, say
from tests.support.service_process import PATIENCE, Home, Service


def test_what_the_policy_lists_as_autonomous_runs_and_is_written_down(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate:
        tasks = Tasks(gate)
        assert tasks.read() == []
        result = gate.run("read_tasks")
        assert result.ok
        assert result.value == []
        assert gate.retry(result.operation_id or "").value == []


def test_over_the_socket_it_is_the_same(home: Home, served: Service) -> None:
    with connect(home.socket, home.token("host")) as gate:
        assert Tasks(gate).read() == []


def test_what_needs_asking_raises_and_the_same_call_runs_once_it_is_approved(
    home: Home, served: Service
) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        with pytest.raises(ConsentRequired) as required:
            tasks.create("x")
        assert required.value.operation == "tasks.create"
        assert required.value.risk is Risk.MODERATE
        assert "once" in [offer.answer for offer in required.value.offers]
        stands = operator.answer(required.value.question or "", "once")
        assert stands.yours
        assert tasks.create("x") == "X"
        assert tasks.made == ["x"]
        with pytest.raises(ConsentRequired):
            tasks.create("x")


def test_a_run_waits_for_the_answer_of_an_operator(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        waiting = Aside(lambda: gate.run("create_task", {"title": "x"}, wait=PATIENCE))
        operator.answer(asked(operator)[0], "once")
        result = waiting.result()
        assert (result.status, result.value) == ("ok", "X")
        assert tasks.made == ["x"]


def test_an_async_run_waits_and_others_go_on_meanwhile(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:

        @gate.requires_consent("tasks.create")
        async def later(number: int) -> int:
            return number

        async def both() -> list[int]:
            runs = [asyncio.create_task(gate.arun("later", {"number": n}, wait=PATIENCE)) for n in (1, 2)]
            for question in await asyncio.to_thread(asked, operator, 2):
                await asyncio.to_thread(operator.answer, question, "once")
            return [(await one).value for one in runs]

        assert asyncio.run(both()) == [1, 2]


def test_after_a_timeout_a_retry_runs_it_exactly_once(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        late = gate.run("create_task", {"title": "x"}, wait=0.1)
        assert (late.status, late.retry_with) == ("timeout", "retry")
        operator.answer(asked(operator)[0], "once")
        name = late.operation_id or ""
        tries = [Aside(lambda: gate.retry(name, wait=PATIENCE)) for _ in range(4)]
        statuses = {one.result().status for one in tries}
        assert "ok" in statuses
        assert statuses <= {"ok", "error"}
        assert tasks.made == ["x"]
        assert gate.retry(name).value == "X"


def test_a_denial_comes_back_with_its_reason(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator", "eve")) as eve:
        tasks = Tasks(gate)
        waiting = Aside(lambda: gate.run("create_task", {"title": "x"}, wait=PATIENCE))
        eve.answer(asked(eve)[0], "deny", reason="not today")
        result = waiting.result()
        assert result.status == "denied"
        assert "not today" in result.reason
        assert tasks.made == []


def test_what_is_blocked_is_blocked_and_nobody_is_asked(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        with pytest.raises(ConsentDenied) as denied:
            tasks.wipe()
        assert denied.value.blocked
        assert gate.run("wipe").status == "blocked"
        assert operator.questions() == []
        assert tasks.made == []


def test_wrong_arguments_are_an_error_before_anybody_is_asked(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        result = gate.run("create_task", {"title": 3})
        assert result.status == "error"
        assert "title" in (result.reason or "")
        assert operator.questions() == []
        assert tasks.made == []


def test_a_function_that_fails_is_reported_as_failed(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate:

        @gate.requires_consent("tasks.read")
        def broken() -> None:
            raise ValueError("no such list")

        with pytest.raises(ValueError, match="no such list"):
            broken()
        result = gate.run("broken")
        assert (result.status, result.reason) == ("error", "ValueError: no such list")
        assert gate.retry(result.operation_id or "").reason == result.reason


def test_the_policys_reading_of_a_tool_stands_whatever_is_declared(home: Home, served: Service) -> None:
    """`push` is git.push in the policy: a function of that name that declares itself harmless is not."""
    with served.connect(home.token("host")) as gate:

        @gate.requires_consent("tasks.read", risk="low")
        def push() -> None: ...

        decision = gate.check("push")
        assert {item.operation for item in decision.items} == {"git.push", "tasks.read"}
        assert decision.verdict is Verdict.ASK
        assert decision.risk is Risk.HIGH


def test_nobody_is_believed_that_an_unlisted_operation_is_low(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate:

        @gate.requires_consent("lights.switch", risk="low")
        def switch() -> None: ...

        assert gate.check("switch").verdict is Verdict.ASK


def test_a_capability_without_an_operation_is_asked_for_what_it_comes_to(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate:
        tasks = Tasks(gate)

        @gate.capability(operations=["tasks.read"])
        def briefing() -> list[str]:
            return tasks.read()

        @gate.capability(operations=["tasks.wipe"])
        def tidy() -> None:
            tasks.wipe()

        @gate.capability()
        def push() -> None: ...

        assert gate.run("briefing").value == []
        assert gate.run("tidy").status == "blocked"
        asked_for = gate.run("push", wait=0)  # which the policy knows as git.push, whoever declares nothing
        assert asked_for.status == "timeout"
        assert "git.push" in (asked_for.reason or "")


def test_a_gate_inside_a_run_is_asked_by_itself_and_the_run_goes_on_from_the_top_once_answered(
    home: Home, served: Service
) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)

        @gate.requires_consent("tasks.read")
        def outer() -> str:
            return tasks.create("x")

        late = gate.run("outer", wait=0.2)
        assert late.status == "timeout"
        assert "tasks.create" in (late.reason or "")
        assert tasks.made == []
        operator.answer(asked(operator)[0], "once")
        assert gate.retry(late.operation_id or "", wait=PATIENCE).value == "X"
        assert tasks.made == ["x"]


def test_a_gate_inside_that_is_denied_ends_the_run(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)

        @gate.capability()
        def outer() -> str:
            return tasks.create("x")

        waiting = Aside(lambda: gate.run("outer", wait=PATIENCE))
        operator.answer(asked(operator)[0], "deny", reason="not today")
        result = waiting.result()
        assert result.status == "denied"
        assert "stopped at tasks.create" in result.reason
        assert tasks.made == []


def test_scopes_of_the_gates_own_process_cannot_be_claimed(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate:
        claims: list[Callable[[], object]] = [
            lambda: gate.user_initiated("tasks.create"),
            lambda: gate.reduces_risk_for("git.push", "low"),
        ]
        for claim in claims:
            with pytest.raises(NotConnected):
                claim()


def test_an_agents_token_runs_nothing_here_and_answers_nothing(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("agent")) as agent:
        with pytest.raises(NotConnected, match="host"):
            agent.requires_consent("tasks.read")
        with pytest.raises(ConsentRequired) as required:
            Tasks(gate).create("x")
        assert agent.questions() == []
        with pytest.raises(ServiceRefusal) as refused:
            agent.answer(required.value.question or "", "once")
        assert refused.value.status == 403


def test_an_agent_proposes_calls_in_its_own_session_alone(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("agent")) as agent:
        theirs = gate.session(agent="helper")
        with pytest.raises(UnknownSession):
            agent.session(theirs.id)
        call = agent.propose("push", {"force": True})
        assert call.asked
        assert call.text is None


def test_a_session_of_the_hosts_hears_plans_and_calls(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        with gate.session(agent="helper", workspace="/work") as session:
            assert session.hear("please tidy up").turn == 1
            assert session.plan("Change a.py: rename f to g. Done when the tests pass.").score >= 2
            session.begin_task("tidy")
            call = session.call("push", {"remote": "origin"})
            assert call.asked
            assert "push" in (call.text or "")
            with pytest.raises(SaysoError, match="shown"):
                operator.answer(asked(operator)[0], "once")
            say(operator, asked(operator)[0], "once")
            again = call.retry()
            assert again.allowed
            assert again.runs is not None
            assert again.runs.args == {"remote": "origin"}
            again.succeeded(b'"done"')
            assert session.end_task().announced
            assert gate.list_consents(session) == []
        with pytest.raises(UnknownSession):
            session.hear("hello?")


def test_a_grant_that_was_revoked_allows_no_more(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        with pytest.raises(ConsentRequired):
            tasks.create("x")
        operator.answer(asked(operator)[0], "always")
        tasks.create("x")
        tasks.create("x")
        (grant,) = [one for one in operator.grants() if one.kind == "operation"]
        operator.revoke(grant.id)
        with pytest.raises(ConsentRequired):
            tasks.create("x")
        assert tasks.made == ["x", "x"]


def test_a_caller_that_waits_gets_its_answer_though_the_service_was_killed_meanwhile(home: Home) -> None:
    with home.serve() as first:
        host, operator = home.token("host"), home.token("operator")
        with first.connect(host) as gate:
            tasks = Tasks(gate, wait=PATIENCE)
            run = Aside(lambda: gate.run("create_task", {"title": "run"}, wait=PATIENCE))
            call = Aside(lambda: tasks.create("call"))
            with first.connect(operator) as before:
                questions = asked(before, 2)
            first.kill()
            with home.serve(port=first.port) as second, second.connect(operator) as after:
                assert sorted(asked(after, 2)) == sorted(questions)
                for question in questions:
                    after.answer(question, "once")
                assert run.result().value == "RUN"
                assert call.result() == "CALL"
                assert sorted(tasks.made) == ["call", "run"]


def test_what_has_run_is_reported_though_the_service_was_killed_while_it_ran(home: Home) -> None:
    with home.serve() as first, first.connect(home.token("host")) as gate:
        services: list[Service] = []

        @gate.requires_consent("tasks.read")
        def restarts() -> str:
            first.kill()
            services.append(home.serve(port=first.port))
            return "done"

        result = gate.run("restarts")
        with services[0]:
            assert result.value == "done"
            assert gate.retry(result.operation_id or "").value == "done"


def test_the_same_attempt_sent_again_is_the_same_start(home: Home, served: Service) -> None:
    """As after an answer that got lost on the way: the one who sent it can run it, and nobody else."""
    with served.connect(home.token("host")) as gate:
        session = gate.open_session("helper")
        body = {"tool": "read", "session": session, "operations": [{"operation": "tasks.read"}]}
        line = gate.door.line

        def send(attempt: str) -> Any:
            return line.ask(ServiceRequest("POST", "/v1/calls", {**body, "attempt": attempt}, key="k"))

        first, again, other = send("a"), send("a"), send("b")
        assert first["status"] == again["status"] == "allowed"
        assert (first["operation_id"], first["fence"]) == (again["operation_id"], again["fence"])
        assert (other["operation_id"], other["status"]) == (first["operation_id"], "running")


def test_a_service_that_is_not_there_is_a_clear_error(home: Home) -> None:
    with (
        connect(home.folder / "no.sock", "sayso_host_x") as gate,
        pytest.raises(Unreachable, match="sayso serve"),
    ):
        gate.door.line.ask(ServiceRequest("GET", "/v1/grants"), away=0.0)


def test_a_token_nobody_has_is_refused(home: Home, served: Service) -> None:
    with served.connect("sayso_host_nobody") as gate, pytest.raises(ServiceRefusal) as refused:
        Tasks(gate).read()
    assert refused.value.code == "unauthorized"


def test_without_a_token_it_says_how_to_get_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAYSO_TOKEN", raising=False)
    with pytest.raises(NotConnected, match="sayso token new host"):
        Sayso.connect()


def test_a_direct_call_that_waits_in_vain_says_so(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, pytest.raises(ConsentTimeout):
        Tasks(gate, wait=0.1).create("x")

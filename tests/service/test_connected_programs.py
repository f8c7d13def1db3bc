"""Workflows, effects, states, replays and edits of a program whose gate is a service."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from sayso import Ambiguous, ConsentRequired, Step
from sayso.doors.python.calls.results import EndUnrecorded
from sayso.doors.remote import door
from sayso.doors.remote.connected import Connected
from sayso.doors.remote.line import ServiceRefusal
from sayso.gate.ledger.workflows import BeyondPolicy
from sayso.gate.questions.answer import EditRefused
from tests.service.programs import Aside, Tasks, asked, asked_for, say
from tests.support.service_process import PATIENCE, POLICY, Home, Service


class Digest:
    """A workflow of two steps: it makes a task and pushes, and what was done."""

    def __init__(self, gate: Connected, *, alone: bool = False) -> None:
        self.gate = gate
        self.tasks = Tasks(gate)
        self.pushed: list[str] = []

        @gate.requires_consent("git.push")
        def push_all(branch: str) -> str:
            self.pushed.append(branch)
            return "pushed"

        def make(title: str) -> str:
            return self.tasks.create(title)

        def publish(make: str) -> str:
            return push_all(make)

        self.workflow = gate.workflow(
            "digest",
            [
                Step("make", make, ("tasks.create",), requires_individual_consent=alone),
                Step("publish", publish, ("git.push",), after=("make",)),
            ],
        )


def test_a_workflow_is_asked_once_and_its_run_carries_what_it_declares_below_high(
    home: Home, served: Service
) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        digest = Digest(gate)
        waiting = Aside(lambda: gate.run("digest", {"title": "x"}, wait=PATIENCE))
        (start,) = asked(operator)
        (progress,) = gate.runs()
        assert (progress.workflow, progress.state) == ("digest", "pending")
        say(operator, start, "once")
        push = asked_for(operator, "git.push")
        assert digest.tasks.made == ["x"], "the run carried it"
        assert digest.pushed == []
        (progress,) = gate.runs()
        assert progress.steps == {"make": "succeeded", "publish": "running"}
        say(operator, push, "once")
        result = waiting.result()
        assert result.value == {"make": "X", "publish": "pushed"}
        assert digest.pushed == ["X"]
        assert gate.runs() == []
        assert [one.kind for one in operator.grants() if one.kind == "run"] == []


def test_a_run_that_is_over_carries_nothing_more(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        gate.workflow("make", [Step("make", tasks.create, ("tasks.create",))])
        waiting = Aside(lambda: gate.run("make", {"title": "x"}, wait=PATIENCE))
        say(operator, asked(operator)[0], "once")
        assert waiting.result().ok
        with pytest.raises(ConsentRequired):
            tasks.create("x")


def test_a_step_that_wants_its_own_consent_is_carried_by_no_run(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        digest = Digest(gate, alone=True)
        waiting = Aside(lambda: gate.run("digest", {"title": "x"}, wait=PATIENCE))
        say(operator, asked(operator)[0], "always")
        say(operator, asked_for(operator, "tasks.create"), "deny")
        result = waiting.result()
        assert result.status == "denied"
        assert digest.tasks.made == []


def test_an_async_run_of_a_workflow_is_the_same(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        digest = Digest(gate)

        async def run() -> Any:
            running = asyncio.create_task(gate.arun("digest", {"title": "x"}, wait=PATIENCE))
            await asyncio.to_thread(lambda: say(operator, asked(operator)[0], "once"))
            await asyncio.to_thread(lambda: say(operator, asked_for(operator, "git.push"), "once"))
            return await running

        assert asyncio.run(run()).ok
        assert digest.pushed == ["X"]


def test_a_run_goes_on_though_the_service_was_killed_while_a_step_waited(home: Home) -> None:
    with home.serve() as first:
        host, operator_token = home.token("host"), home.token("operator")
        with first.connect(host) as gate:
            digest = Digest(gate)
            waiting = Aside(lambda: gate.run("digest", {"title": "x"}, wait=PATIENCE))
            with first.connect(operator_token) as operator:
                say(operator, asked(operator)[0], "once")
                push = asked_for(operator, "git.push")
            first.kill()
            with home.serve(port=first.port) as second, second.connect(operator_token) as operator:
                say(operator, push, "once")
                assert waiting.result().ok
                assert (digest.tasks.made, digest.pushed) == (["x"], ["X"])


def test_a_call_whose_end_the_service_does_not_hear_of_says_that_it_was_started(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "REPORTING", 0.0)
    with home.serve() as service, service.connect(home.token("host")) as gate:

        @gate.requires_consent("tasks.read")
        def read() -> None:
            service.kill()

        with pytest.raises(EndUnrecorded, match="was started"):
            read()


def test_trust_in_a_workflow_can_be_withdrawn(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        gate.workflow("make", [Step("make", tasks.create, ("tasks.create",))])
        session = gate.session(agent="helper")
        waiting = Aside(lambda: session.run("make", {"title": "x"}, wait=PATIENCE))
        say(operator, asked(operator)[0], "always")
        assert waiting.result().ok
        assert session.run("make", {"title": "y"}).ok
        assert operator.cascade_revoke("make", session=session.id) == 1
        assert session.run("make", {"title": "z"}, wait=0).status == "timeout"
        assert tasks.made == ["x", "y"]


def test_a_workflow_may_not_declare_more_than_the_policy_lets_it(home: Home) -> None:
    home.policy.write_text(POLICY + "workflows: {digest: {operations: [tasks.create]}}\n")
    with home.serve() as served, served.connect(home.token("host")) as gate:
        result = Digest(gate).workflow.run({"title": "x"})
        assert result.status == "error"
        assert "git.push" in (result.reason or "")
        with pytest.raises(BeyondPolicy):
            gate.check("digest", {"title": "x"})


def test_what_an_outer_call_was_granted_is_not_believed_of_the_calls_inside_it(
    home: Home, served: Service
) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)

        @gate.requires_consent("tasks.create")
        def outer(title: str) -> str:
            return tasks.create(title)

        waiting = Aside(lambda: gate.run("outer", {"title": "x"}, wait=PATIENCE))
        say(operator, asked(operator)[0], "once")
        say(operator, asked(operator)[0], "deny")
        assert waiting.result().status == "denied"
        assert tasks.made == []


def test_the_same_effect_is_not_had_twice_in_any_session(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate:
        paid: list[str] = []

        @gate.capability(effect_key=lambda invoice: invoice)
        @gate.requires_consent("tasks.read")
        def pay(invoice: str) -> str:
            paid.append(invoice)
            return "paid"

        assert gate.run("pay", {"invoice": "7"}).ok
        again = gate.run("pay", {"invoice": "7"}, session=gate.session(agent="other"))
        assert again.status == "error"
        assert "happened already" in (again.reason or "")
        assert gate.run("pay", {"invoice": "8"}).ok
        assert paid == ["7", "8"]


def test_an_approval_is_for_the_state_of_the_world_it_was_given_in(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        world, made = ["3 rows"], list[str]()

        @gate.capability(state=lambda title: world[0])
        @gate.requires_consent("tasks.create")
        def create(title: str) -> None:
            made.append(title)

        late = gate.run("create", {"title": "x"}, wait=0)
        (first,) = asked(operator)
        say(operator, first, "once")
        world[0] = "4 rows"
        still = gate.retry(late.operation_id or "", wait=0)
        assert still.status == "timeout"
        assert made == []
        (second,) = asked(operator)
        say(operator, second, "once")
        assert gate.retry(late.operation_id or "").ok
        assert made == ["x"]


def test_a_tool_that_can_tell_says_what_became_of_a_call_nobody_could(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate:

        @gate.capability(reconcile=lambda invoice: "succeeded")
        @gate.requires_consent("tasks.read")
        def pay(invoice: str) -> None:
            raise Ambiguous("the bank hung up")

        @gate.capability(reconcile=lambda: "who knows")
        @gate.requires_consent("tasks.read")
        def unsure() -> None:
            raise Ambiguous("the bank hung up")

        paid, left = gate.run("pay", {"invoice": "7"}), gate.run("unsure")
        assert "nobody knows" in (gate.retry(paid.operation_id or "").reason or "")
        assert gate.recover() == {paid.operation_id: "succeeded"}
        assert gate.retry(paid.operation_id or "").ok
        assert "nobody knows" in (gate.retry(left.operation_id or "").reason or "")


def test_a_queued_call_is_replayed_with_the_consent_of_the_session_that_made_it(
    home: Home, served: Service
) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        maker, later = gate.session(agent="maker"), gate.session(agent="later")
        queued = maker.run("create_task", {"title": "x"}, wait=0)
        say(operator, asked(operator)[0], "always")
        assert later.replay(queued.operation_id or "").value == "X"
        (grant,) = [one for one in operator.grants(maker.id) if one.kind == "operation"]
        operator.revoke(grant.id)
        assert later.replay(queued.operation_id or "", wait=0).status in ("timeout", "error")
        assert tasks.made == ["x"]


def test_what_a_person_edits_is_what_runs(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        tasks = Tasks(gate)
        waiting = Aside(lambda: gate.run("create_task", {"title": "everything"}, wait=PATIENCE))
        (question,) = asked(operator)
        for other in ({"title": 7}, {"title": "x", "list": "home"}, {}, {"title": None}):
            with pytest.raises(EditRefused):
                operator.edit(question, other)
        operator.edit(question, {"title": "one thing"})
        assert waiting.result().value == "ONE THING"
        assert tasks.made == ["one thing"]


def test_an_edited_call_of_a_tool_the_policy_knows_is_read_anew(home: Home) -> None:
    home.policy.write_text(
        POLICY.replace(
            "tools:", "tools:\n  - {tool: send, operation: tasks.wipe, when: \"args.to == 'all'\"}"
        )
    )
    with home.serve() as served, served.connect(home.token("host")) as gate:

        @gate.requires_consent("tasks.create")
        def send(to: str) -> str:
            return to

        with served.connect(home.token("operator")) as operator:
            waiting = Aside(lambda: gate.run("send", {"to": "one"}, wait=PATIENCE))
            (question,) = asked(operator)
            with pytest.raises(EditRefused):
                operator.edit(question, {"to": "all"})
            operator.edit(question, {"to": "two"})
            assert waiting.result().value == "two"


def test_standing_consent_is_handed_on_to_the_next_context_by_an_assured_host(
    home: Home, served: Service
) -> None:
    with served.connect(home.token("host", assured=True)) as gate:
        before = gate.session(agent="helper", user="ana", workspace="/work")
        assert before.offer_handoff() is None
        before.hear("Grant standing consent for: git push")
        assert "Save session allowlist" in (before.offer_handoff() or "")
        with pytest.raises(ServiceRefusal):
            before.handoff()
        before.hear("yes")
        before.handoff()
        before.end()
        with gate.session(agent="helper", user="ana", workspace="/work") as after:
            assert "git push" in (after.show_handoff() or "")
            with pytest.raises(ServiceRefusal):
                after.take_handoff()
            assert after.consents() == []
            after.hear("yes")
            assert after.take_handoff() == ("git push",)
            assert [one.value for one in after.consents()] == ["git push"]


def test_a_host_that_is_not_assured_hands_nothing_on(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, pytest.raises(ServiceRefusal) as refused:
        gate.session(agent="helper", user="ana").handoff()
    assert refused.value.code == "not_assured"


def test_lists_are_read_to_their_end(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        for _ in range(11):
            session = gate.session(agent="helper")
            for number in range(20):
                session.call("push", {"remote": str(number)})
        assert len(operator.questions()) == 220


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("how", ["stop", "Revoke all consent", "deny", "end", "once"])
def test_a_connected_run_goes_on_only_while_its_consent_lasts(
    home: Home, served: Service, how: str, *, is_async: bool
) -> None:
    with (
        served.connect(home.token("host", assured=True)) as gate,
        served.connect(home.token("operator")) as operator,
    ):
        entered: list[str] = []
        tasks = Tasks(gate)

        @gate.capability(restartable=True)
        @gate.requires_consent("git.push")
        def publish() -> str:
            entered.append("publish")
            return tasks.create("x")

        session = gate.session()

        def again(call: str) -> Any:
            return asyncio.run(session.aretry(call, wait=0)) if is_async else session.retry(call, wait=0)

        call = session.run("publish", wait=0).operation_id or ""
        say(operator, asked_for(operator, "git.push"), "once")
        assert (again(call).status, entered) == ("timeout", ["publish"])
        operator.answer(asked_for(operator, "tasks.create"), "deny" if how == "deny" else "once")
        if how in ("stop", "Revoke all consent"):
            session.hear(how)
        if how == "end":
            session.end()
        status = again(call).status
        assert status == ("ok" if how == "once" else "denied")
        assert len(entered) == (2 if how == "once" else 1)


def test_a_session_over_a_connection_has_the_project_around_the_working_folder_as_its_workspace(
    home: Home, served: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    operator = {"Authorization": f"Bearer {home.token('operator')}"}
    with served.connect(home.token("host")) as gate:
        gate.session(agent="named")
        gate.session(agent="elsewhere", workspace="/elsewhere")
        gate.door.session_here()
        told = httpx.get(f"{served.url}/v1/sessions", headers=operator).json()
    assert sorted(one["workspace"] for one in told) == ["/elsewhere", str(project), str(project)]


def test_a_run_that_failed_goes_on_there_and_repeats_no_step_that_finished(
    home: Home, served: Service
) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        entered: list[str] = []

        def one() -> str:
            entered.append("one")
            return "first"

        def two(one: str) -> str:
            entered.append(f"two after {one}")
            if len(entered) == 2:
                raise ValueError("the printer is out of paper")
            return "printed"

        gate.workflow("digest", [Step("one", one, ("tasks.create",)), Step("two", two, after=("one",))])
        waiting = Aside(lambda: gate.run("digest", wait=PATIENCE))
        (start,) = asked(operator)
        say(operator, start, "once")
        failed = waiting.result()
        assert failed.status == "error"
        waiting = Aside(lambda: gate.retry(failed.operation_id or "", wait=PATIENCE))
        (again,) = asked(operator)
        assert again != start
        say(operator, again, "once")
        assert waiting.result().value == {"one": "first", "two": "printed"}
        assert entered == ["one", "two after first", "two after first"]

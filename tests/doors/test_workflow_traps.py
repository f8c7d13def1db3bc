"""Workflow grants carry what their workflow declared, for as long as the run is trusted, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from sayso import Sayso
from sayso.core import words
from sayso.doors.python.calls.results import ConsentDenied
from sayso.doors.python.workflow import Step
from tests.support.gates import Clock
from tests.support.people import Person, edit, events

pytestmark = pytest.mark.each_store


def day(gate: Sayso, done: list[str], *, individual: bool = False) -> None:
    """A workflow of two steps, the second of which wants its own consent if told so."""

    @gate.requires_consent("tasks.create", risk="moderate")
    def create() -> None:
        done.append("create")

    @gate.requires_consent("notes.write", risk="moderate")
    def write() -> None:
        done.append("write")

    gate.workflow(
        "day",
        [
            Step("first", create, operations=("tasks.create",)),
            Step("second", write, operations=("notes.write",), requires_individual_consent=individual),
            Step("third", create, operations=("tasks.create",)),
        ],
    )


def test_a_workflow_is_asked_once_and_its_run_carries_its_steps(gate: Sayso, person: Person) -> None:
    done: list[str] = []
    day(gate, done)
    session = gate.session()
    person.says("once")
    assert session.run("day").ok
    assert (done, person.asked) == (["create", "write", "create"], ["tasks.create notes.write"])
    assert gate.list_consents(session) == []


@pytest.mark.parametrize(("answer", "minutes"), [("temporary", 15), ("always", 24 * 60)])
def test_a_class_grant_spares_the_question_until_it_ends(
    gate: Sayso, person: Person, clock: Clock, answer: str, minutes: int
) -> None:
    day(gate, [])
    session = gate.session()
    person.says(answer, "deny")
    assert session.run("day").ok
    clock.now += minutes * 60 - 1
    assert session.run("day").ok
    clock.now += 1
    assert session.run("day").status == "denied"


def test_a_denied_workflow_does_not_start(gate: Sayso, person: Person) -> None:
    done: list[str] = []
    day(gate, done)
    person.says("deny")
    assert (gate.run("day").status, done) == ("denied", [])


def test_no_surface_edits_a_workflow_into_another_call(gate: Sayso, person: Person) -> None:
    """What it would approve is a call with the workflow's operations that no workflow holds together."""
    done: list[str] = []
    day(gate, done)
    person.says(edit({}), "deny")
    assert (gate.run("day").status, done) == ("denied", [])
    assert words.WORKFLOW_AS_IT_IS in person.notices[0]


def test_a_run_carries_nothing_its_workflow_did_not_declare(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("tasks.create", risk="moderate")
    def create() -> None:
        sneak()

    @gate.requires_consent("notes.sneak", risk="low")
    def undeclared() -> None: ...

    @gate.requires_consent("notes.share", risk="moderate")
    def sneak() -> None: ...

    gate.workflow("day", [Step("first", undeclared, operations=("tasks.create",))])
    person.says("always", "deny")
    assert gate.run("day").status == "denied"
    assert person.asked == ["tasks.create", "notes.sneak"]


def test_high_weight_is_never_carried_by_a_run(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("notes.share", risk="moderate", weight="high")
    def share() -> None: ...

    gate.workflow("day", [Step("first", share, operations=("notes.share",))])
    person.says("always", "once", "deny")
    assert gate.run("day").ok
    assert gate.run("day").status == "denied"
    assert person.asked == ["notes.share"] * 3


def test_an_individual_step_is_asked_even_while_a_class_grant_lives(gate: Sayso, person: Person) -> None:
    done: list[str] = []
    day(gate, done, individual=True)
    session = gate.session()
    person.says("always", "once", "once", "deny")
    assert session.run("day").ok
    assert session.run("day").ok
    assert session.run("day").status == "denied"
    assert person.asked == ["tasks.create notes.write", *["notes.write"] * 3]


def test_an_individual_step_is_not_carried_by_a_call_around_the_workflow(gate: Sayso, person: Person) -> None:
    done: list[str] = []
    day(gate, done, individual=True)

    @gate.requires_consent("mail.send", risk="moderate", wait=60)
    def around() -> str:
        return gate.run("day").status

    person.says("once", "once", "deny")
    assert around() == "denied"
    assert done == ["create"]
    assert person.asked[-1] == "notes.write"


def test_an_individual_step_shuts_out_a_workflow_inside_it_too(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("notes.write", risk="moderate")
    def write() -> None: ...

    gate.workflow("inner", [Step("only", write)])

    def step() -> str:
        return gate.run("inner").status

    gate.workflow("day", [Step("first", step, requires_individual_consent=True)])

    @gate.requires_consent("mail.send", risk="moderate", wait=60)
    def around() -> str:
        return str(gate.run("day").value)

    person.says("once", "deny")
    assert "denied" in around()
    assert person.asked == ["mail.send", "notes.write"]


def test_a_revoked_run_stays_revoked_after_its_individual_step(gate: Sayso, person: Person) -> None:
    """Re-minting never revives: trust withdrawn while a step asks is gone for the steps after it."""
    done: list[str] = []
    session = gate.session()

    @gate.requires_consent("tasks.create", risk="moderate")
    def create() -> None:
        done.append("create")

    @gate.requires_consent("notes.write", risk="moderate")
    def write() -> None:
        assert gate.cascade_revoke("day", session=session, by="ana") == 2
        done.append("write")

    gate.workflow(
        "day",
        [
            Step("first", create, operations=("tasks.create",)),
            Step("second", write, operations=("notes.write",), requires_individual_consent=True),
            Step("third", create, operations=("tasks.create",)),
        ],
    )
    person.says("always", "once", "deny")
    assert session.run("day").status == "denied"
    assert done == ["create", "write"]
    assert person.asked == ["tasks.create notes.write", "notes.write", "tasks.create"]


def test_a_workflow_of_low_weight_is_not_asked_and_is_logged(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("notes.read", risk="low")
    def look() -> str:
        return "seen"

    gate.workflow("search", [Step("only", look, operations=("notes.read",))])
    assert gate.run("search").value == {"only": "seen"}
    assert person.asked == []
    assert "WORKFLOW_AUTO_BYPASS_LOW_WEIGHT" in events(gate)


def test_a_workflow_the_user_clicked_is_not_asked(gate: Sayso, person: Person) -> None:
    done: list[str] = []
    day(gate, done)
    with gate.user_initiated("dashboard.day"):
        assert gate.run("day").ok
    assert (person.asked, done) == ([], ["create", "write", "create"])


def test_a_run_whose_process_is_gone_authorises_nothing_and_is_tidied(
    gate: Sayso, person: Person, clock: Clock
) -> None:
    session = gate.session()
    left: list[int] = []

    @gate.requires_consent("tasks.create", risk="moderate")
    def create() -> None: ...

    def hangs() -> None:
        gate.door.keeper.drop(gate.runs(session)[0].run)
        clock.now += 31
        left.append(gate.reconcile(session))
        left.append(gate.reconcile(session))
        create()

    gate.workflow("day", [Step("only", hangs, operations=("tasks.create",))])
    person.says("once", "deny")
    assert session.run("day").status != "ok"
    assert (left, person.asked) == ([1, 0], ["tasks.create", "tasks.create"])


def test_two_runs_at_once_do_not_share_their_grants(gate: Sayso, person: Person) -> None:
    entered = asyncio.Event()
    session = gate.session()

    @gate.requires_consent("tasks.create", risk="moderate", wait=60)
    async def create() -> str:
        return "created"

    async def inside() -> str:
        entered.set()
        await left.wait()
        return await create()

    gate.workflow("day", [Step("only", inside, operations=("tasks.create",))])
    left = asyncio.Event()

    async def main() -> None:
        running = asyncio.create_task(session.arun("day"))
        await entered.wait()
        with session.active(), pytest.raises(ConsentDenied):
            await create()
        left.set()
        session.hear("go on")
        assert (await running).ok

    person.says("once", "deny")
    asyncio.run(main())


def test_an_operation_grant_serves_a_step_that_wants_its_own_consent(gate: Sayso, person: Person) -> None:
    done: list[str] = []
    day(gate, done, individual=True)
    session = gate.session()
    person.says("once", "always", "once")
    assert session.run("day").ok
    assert session.run("day").ok
    assert person.asked == ["tasks.create notes.write", "notes.write", "tasks.create notes.write"]

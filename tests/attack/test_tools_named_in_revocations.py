"""Naming a tool takes back every consent that could let it run, in this session and in those below."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sayso import ConsentRequired, Sayso
from sayso.doors.python.session import Session
from sayso.gate.sessions.operator_grants import UnknownGrant
from tests.attack.opening import a_gate, answer_last

BALANCED = "extends: [balanced]"
FREE = "extends: [balanced]\nsettings: {grant_pins: operation}"
TASKS = (
    "extends: [balanced]\ncategories: {todo: the task list}\n"
    "domains:\n  tasks: {autonomous: [], requires_approval: [create, move], blocked: []}\n"
    "operations: {tasks.create: {category: todo}, tasks.move: {category: todo}}\n"
    "tools: [{tool: 'move_*', operation: tasks.move}]\n"
)


def by_phrase(gate: Sayso, session: Session, name: str) -> None:
    session.hear(f"Revoke consent for: {name}")


def by_the_operator(gate: Sayso, session: Session, name: str) -> None:
    gate.revoke(name, session=session, by="ana")


WAYS = [by_phrase, by_the_operator]
Way = Callable[[Sayso, Session, str], None]
SPELLINGS = [
    "create_task",
    "Create_Task",
    "create-task",
    "`create_task`",
    "create_task()",
    "the create_task tool",
]
SPELLINGS += ["tool create_task", "create_task calls", "approval of create_task"]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)


def declare(gate: Sayso, name: str = "create_task", operation: str = "tasks.create") -> Callable[[str], str]:
    def tool(title: str) -> str:
        return "ran"

    tool.__name__ = tool.__qualname__ = name
    return gate.requires_consent(operation, risk="moderate")(tool)


def agree(gate: Sayso, session: Session, tool: Callable[[str], str], answer: str) -> None:
    with session.active(), pytest.raises(ConsentRequired):
        tool("x")
    answer_last(gate, session.id, answer)


def asks(session: Session, tool: Callable[[str], str]) -> bool:
    with session.active():
        try:
            tool("x")
        except ConsentRequired:
            return True
    return False


@every_way
@pytest.mark.parametrize("used", [True, False], ids=["used", "unused"])
@pytest.mark.parametrize("policy", [BALANCED, FREE], ids=["exact", "free"])
@pytest.mark.parametrize("answer", ["once", "temporary", "always"])
def test_no_grant_asked_for_a_tool_lives_on_after_the_tool_was_named(
    policy: str, answer: str, used: bool, way: Way
) -> None:
    with a_gate(policy) as gate:
        session = gate.session()
        create_task = declare(gate)
        agree(gate, session, create_task, answer)
        if used and answer != "once":
            assert not asks(session, create_task)
        way(gate, session, "create_task")
        assert list(session.consents()) == []
        assert asks(session, create_task)


@every_way
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_tool_leaves_its_grant_alive(spelling: str, way: Way) -> None:
    with a_gate(BALANCED) as gate:
        session = gate.session()
        create_task = declare(gate)
        agree(gate, session, create_task, "always")
        way(gate, session, spelling)
        assert asks(session, create_task)


@every_way
def test_no_remembered_approval_lives_on_after_its_tool_was_named(way: Way) -> None:
    with a_gate("extends: [trusting]") as gate:
        session = gate.session()
        create_task = declare(gate)
        agree(gate, session, create_task, "remember")
        way(gate, session, "create_task")
        assert asks(session, create_task)


@every_way
@pytest.mark.parametrize("name", ["create_task", "move_task", "move-task"])
def test_no_task_consent_lets_a_tool_run_that_was_named(name: str, way: Way) -> None:
    """The tool it was asked for, and one that the policy says does an operation it covers."""
    with a_gate(TASKS) as gate:
        session = gate.session()
        session.hear("Tidy up the task list")
        create_task, move_task = declare(gate), declare(gate, "move_task", "tasks.move")
        agree(gate, session, create_task, "task")
        assert not asks(session, move_task)
        way(gate, session, name)
        assert asks(session, move_task)
        assert asks(session, create_task)


@every_way
def test_no_task_consent_lets_a_tool_run_that_was_asked_about_and_named(way: Way) -> None:
    """Only the open question about it tells what this tool does."""
    with a_gate(TASKS.replace("tools: [{tool: 'move_*', operation: tasks.move}]\n", "")) as gate:
        session = gate.session()
        session.hear("Tidy up the task list")
        create_task, move_task = declare(gate), declare(gate, "move_task", "tasks.move")
        assert asks(session, move_task)
        agree(gate, session, create_task, "task")
        way(gate, session, "move_task")
        assert asks(session, move_task)


@every_way
def test_a_grant_pinned_to_another_tool_lives_on(way: Way) -> None:
    with a_gate(BALANCED) as gate:
        session = gate.session()
        create_task, import_task = declare(gate), declare(gate, "import_task")
        agree(gate, session, create_task, "always")
        agree(gate, session, import_task, "always")
        way(gate, session, "create_task")
        assert asks(session, create_task)
        assert not asks(session, import_task)


@every_way
@pytest.mark.parametrize("name", ["create_task", "tasks.create", "tasks"])
@pytest.mark.parametrize("levels", [1, 2])
def test_no_grant_of_a_session_below_outlives_a_named_revocation(levels: int, name: str, way: Way) -> None:
    with a_gate(BALANCED) as gate:
        above = session = gate.session()
        for _ in range(levels):
            session = gate.session(parent=session.id)
        create_task = declare(gate)
        agree(gate, session, create_task, "always")
        way(gate, above, name)
        assert asks(session, create_task)


def test_the_user_is_told_what_ended_below_and_not_that_nothing_did() -> None:
    with a_gate(BALANCED) as gate:
        above = gate.session()
        below = gate.session(parent=above.id)
        agree(gate, below, declare(gate), "always")
        heard = above.hear("Revoke consent for: create_task, calendar.read")
        assert any("tasks.create" in line for line in heard.cleared)
        said = [line for line in heard.announced if "Nothing was revoked" in line]
        assert len(said) == 1
        assert "calendar.read" in said[0]


def test_no_session_above_or_beside_loses_its_grant() -> None:
    with a_gate(BALANCED) as gate:
        above = gate.session()
        below, beside = (gate.session(parent=above.id) for _ in range(2))
        create_task = declare(gate)
        for session in (above, below, beside):
            agree(gate, session, create_task, "always")
        below.hear("Revoke consent for: create_task")
        assert asks(below, create_task)
        assert not asks(above, create_task)
        assert not asks(beside, create_task)


def test_a_tool_that_nothing_was_granted_for_is_told_to_the_operator() -> None:
    with a_gate(BALANCED) as gate:
        session = gate.session()
        agree(gate, session, declare(gate), "always")
        with pytest.raises(UnknownGrant):
            gate.revoke("move_task", session=session, by="ana")

"""However a call ends, the ledger says what is known: succeeded, failed, or that nobody can say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sayso import Sayso
from sayso.doors.python.calls.results import Ambiguous, Result
from sayso.gate.ledger.recovery import resolve_call
from tests.support.gates import Clock
from tests.support.people import Person, answer_open, arguments, calls, edit, questions, states

pytestmark = pytest.mark.each_store

ENDS = [
    (ValueError("no"), "failed"),
    (Ambiguous("the line went dead"), "ambiguous"),
    (TimeoutError(), "ambiguous"),
    (ConnectionResetError(), "ambiguous"),
    (KeyboardInterrupt(), "ambiguous"),
    (SystemExit(1), "ambiguous"),
    (asyncio.CancelledError(), "ambiguous"),
    (ExceptionGroup("several", [ValueError("no")]), "failed"),
    (ExceptionGroup("several", [ValueError("no"), ExceptionGroup("more", [TimeoutError()])]), "ambiguous"),
]


@pytest.mark.parametrize(("error", "state"), ENDS, ids=[type(error).__name__ for error, _ in ENDS])
def test_an_error_ends_a_call_as_failed_or_ambiguous(
    gate: Sayso, person: Person, error: BaseException, state: str
) -> None:
    person.says("once", "once")

    @gate.requires_consent("mail.send", wait=60)
    def send() -> None:
        raise error

    with pytest.raises(type(error)):
        send()
    assert states(gate) == {"send": state}
    if isinstance(error, Exception):
        assert gate.run("send").status == "error"
    else:
        with pytest.raises(type(error)):
            gate.run("send")
    assert [row.state for row in calls(gate)] == [state, state]


def unkept() -> list[Any]:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    return [object(), "\ud800", cyclic, {"\ud800": 1}, {object(): 1}, 2**70, float("nan"), b"\xff", {1, 2}]


@pytest.mark.parametrize("value", unkept(), ids=[str(number) for number in range(len(unkept()))])
def test_a_result_that_cannot_be_written_down_still_ends_the_call(
    gate: Sayso, person: Person, value: Any
) -> None:
    person.says("once")

    @gate.capability()
    @gate.requires_consent("tasks.list")
    def look() -> Any:
        return value

    result = gate.run("look")
    assert (result.status, result.value is value) == ("ok", True)
    assert states(gate) == {"look": "succeeded"}
    assert gate.retry(result.operation_id or "").status == "ok"
    assert result.plain()["status"] == "ok"


def test_a_result_too_long_to_keep_is_said_to_be_gone(gate: Sayso, person: Person) -> None:
    person.says("once")

    @gate.capability()
    @gate.requires_consent("tasks.list")
    def look() -> str:
        return "x" * 70_000

    result = gate.run("look")
    again = gate.retry(result.operation_id or "")
    assert (again.status, again.value) == ("ok", None)
    assert "was not kept: its JSON form is larger than 64 KiB" in (again.reason or "")


def counted(gate: Sayso) -> list[str]:
    """A capability `send` whose effect is its recipient."""
    sent: list[str] = []

    @gate.capability(effect_key=lambda to, text: to)
    @gate.requires_consent("mail.send", risk="moderate", wait=60)
    def send(to: str, text: str) -> None:
        sent.append(to)
        if text == "lost":
            raise TimeoutError

    return sent


def test_an_effect_that_happened_is_refused_a_second_time_in_every_session(
    gate: Sayso, person: Person
) -> None:
    sent = counted(gate)
    person.says(*["once"] * 5)
    assert gate.run("send", {"to": "ana", "text": "a"}).ok
    assert gate.session().run("send", {"to": "ana", "text": "b"}).status == "error"
    assert gate.run("send", {"to": "bob", "text": "lost"}).status == "error"
    assert gate.run("send", {"to": "bob", "text": "again"}).status == "error"
    assert sent == ["ana", "bob"]
    resolve_call(gate.gate, calls(gate)[1].id, "failed", by="ana")
    assert gate.run("send", {"to": "bob", "text": "again"}).ok
    assert len(person.questions) == 3


def test_an_effect_is_refused_for_a_direct_call_too(gate: Sayso, person: Person) -> None:
    sent: list[str] = []

    @gate.capability("mailing", effect_key=lambda to: to)
    @gate.requires_consent("mail.send", wait=60)
    def send(to: str) -> None:
        sent.append(to)

    person.says("once", "once")
    assert gate.run("mailing", {"to": "ana"}).ok
    with pytest.raises(Exception, match="this effect has happened"):
        send("ana")
    assert gate.run("send", {"to": "ana"}).status == "error"
    assert sent == ["ana"]


def test_an_effect_is_refused_where_only_what_is_inside_is_asked(gate: Sayso, person: Person) -> None:
    sent: list[str] = []

    @gate.requires_consent("mail.send", risk="high")
    def mail(to: str) -> None:
        sent.append(to)

    @gate.capability(operations="mail.send", effect_key=lambda to: to)
    def report(to: str) -> None:
        mail(to)

    person.says("once", "once")
    assert gate.run("report", {"to": "ana"}).ok
    assert gate.run("report", {"to": "ana"}).status == "error"
    assert sent == ["ana"]


def test_the_effect_of_an_edited_call_is_that_of_its_new_arguments(gate: Sayso, person: Person) -> None:
    sent = counted(gate)
    person.says(edit({"to": "bob", "text": "a"}), "once", "once")
    assert gate.run("send", {"to": "ana", "text": "a"}).ok
    assert gate.run("send", {"to": "bob", "text": "b"}).status == "error"
    assert gate.run("send", {"to": "ana", "text": "b"}).ok
    assert sent == ["bob", "ana"]


def stateful(gate: Sayso, world: dict[str, str]) -> list[str]:
    done: list[str] = []

    @gate.capability(state=lambda path: world[path])
    @gate.requires_consent("tasks.delete", risk="moderate")
    def delete(path: str) -> None:
        done.append(path)

    return done


def test_a_state_that_changed_asks_again(gate: Sayso, person: Person) -> None:
    world = {"a": "1 task"}
    done = stateful(gate, world)
    first = gate.run("delete", {"path": "a"}, wait=0.01)
    answer_open(gate)
    world["a"] = "90 tasks"
    assert gate.retry(first.operation_id or "", wait=0.01).status == "timeout"
    assert done == []
    assert "90 tasks" in gate.door.question(questions(gate, "open")[0].id).text
    answer_open(gate)
    assert gate.retry(first.operation_id or "").ok
    assert done == ["a"]


def test_a_state_that_was_the_same_runs_also_after_an_edit(gate: Sayso, person: Person) -> None:
    done = stateful(gate, {"a": "1 task", "b": "2 tasks"})
    person.says(edit({"path": "b"}))
    assert gate.run("delete", {"path": "a"}).ok
    assert (done, len(person.questions)) == (["b"], 1)
    assert arguments(gate, calls(gate)[0]) == {"path": "b"}


@pytest.mark.parametrize("broken", ["state", "effect_key"])
@pytest.mark.parametrize("error", [KeyError("gone"), StopIteration()])
def test_what_cannot_say_its_state_or_effect_is_not_asked_for(
    gate: Sayso, broken: str, error: Exception
) -> None:
    def cannot() -> str:
        raise error

    @gate.capability(**{broken: cannot})  # type: ignore[arg-type]
    @gate.requires_consent("mail.send")
    def send() -> None:
        raise AssertionError("it ran")

    assert gate.run("send").status == "error"
    assert asyncio.run(gate.arun("send")).status == "error"
    assert questions(gate) == []


@pytest.mark.parametrize("error", [False, RuntimeError("the bridge is down"), StopIteration()])
def test_an_unhealthy_capability_is_not_tried(gate: Sayso, person: Person, error: Any) -> None:
    well = [True]

    def health() -> bool:
        if not well[0] and error is not False:
            raise error
        return well[0]

    @gate.capability(health=health)
    @gate.requires_consent("mail.send")
    def send() -> str:
        return "sent"

    first = gate.run("send", wait=0.01)
    answer_open(gate)
    well[0] = False
    for result in (gate.run("send"), gate.retry(first.operation_id or "")):
        assert (result.status, "is not ready" in (result.reason or "")) == ("error", True)
    assert asyncio.run(gate.arun("send")).status == "error"
    well[0] = True
    assert gate.retry(first.operation_id or "").value == "sent"


def test_after_a_crash_the_tool_says_what_became_of_its_call(
    gate: Sayso, person: Person, clock: Clock
) -> None:
    landed = {"ana": "succeeded", "bob": "no idea"}

    @gate.capability(reconcile=landed.get)
    @gate.requires_consent("mail.send")
    def send(to: str) -> None:
        raise Ambiguous("the line went dead")

    person.says("once", "once")
    found: list[Result] = [gate.run("send", {"to": to}) for to in landed]
    assert gate.recover() == {found[0].operation_id: "succeeded"}
    assert [row.state for row in calls(gate)] == ["succeeded", "ambiguous"]
    assert gate.retry(found[0].operation_id or "").ok
    assert gate.retry(found[1].operation_id or "").status == "error"

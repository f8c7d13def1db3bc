"""What a caller of run, arun, retry and aretry gets to see: one of five results, in every case."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sayso import Sayso
from sayso.doors.python.calls.results import ConsentRequired, Result
from sayso.gate.questions.surface import Reply
from tests.support.gates import Clock
from tests.support.people import Person, answer_open, arguments, calls, edit, events, questions, states

Way = Callable[..., Result]


@pytest.fixture(params=["run", "arun"])
def run(request: pytest.FixtureRequest, gate: Sayso) -> Way:
    if request.param == "run":
        return gate.run
    return lambda *args, **how: asyncio.run(gate.arun(*args, **how))


@pytest.fixture(params=["retry", "aretry"])
def retry(request: pytest.FixtureRequest, gate: Sayso) -> Way:
    if request.param == "retry":
        return gate.retry
    return lambda *args, **how: asyncio.run(gate.aretry(*args, **how))


@pytest.fixture(params=["def", "async def"])
def ran(request: pytest.FixtureRequest, gate: Sayso) -> list[str]:
    """What `send` has sent, a capability that is one or the other."""
    sent: list[str] = []

    def send(to: str) -> int:
        sent.append(to)
        if to == "nobody":
            raise LookupError("no such address")
        return len(to)

    async def asend(to: str) -> int:
        await asyncio.sleep(0)
        return send(to)

    one = send if request.param == "def" else asend
    gate.capability("send")(gate.requires_consent("mail.send", risk="moderate")(one))
    return sent


def test_ok(person: Person, run: Way, retry: Way, ran: list[str]) -> None:
    person.says("once")
    result = run("send", {"to": "ana"})
    assert (result.status, result.value, ran) == ("ok", 3, ["ana"])
    again = retry(result.operation_id)
    assert (again.status, again.value, ran) == ("ok", 3, ["ana"])


def test_denied(person: Person, run: Way, retry: Way, ran: list[str]) -> None:
    person.says(Reply("deny", by="ana", reason="not today"))
    result = run("send", {"to": "ana"})
    assert (result.status, result.reason, ran) == ("denied", "denied by ana: not today", [])
    again = retry(result.operation_id)
    assert (again.status, again.reason) == ("denied", "denied by ana: not today")
    assert run("send", {"to": "ana"}).status == "denied"
    assert len(person.questions) == 1


def test_a_denial_is_not_remembered_beyond_its_turn(gate: Sayso, person: Person, ran: list[str]) -> None:
    session = gate.session()
    person.says("deny", "once")
    assert session.run("send", {"to": "ana"}).status == "denied"
    session.hear("please try once more")
    assert session.run("send", {"to": "ana"}).status == "ok"


def test_blocked(gate: Sayso, run: Way, retry: Way) -> None:
    @gate.capability()
    @gate.requires_consent("tasks.wipe")
    def wipe() -> None:
        raise AssertionError("it ran")

    result = run("wipe")
    assert (result.status, retry(result.operation_id).status) == ("blocked", "blocked")
    assert questions(gate) == []


def test_timeout(gate: Sayso, person: Person, run: Way, retry: Way, ran: list[str]) -> None:
    result = run("send", {"to": "ana"}, wait=0.01)
    assert result.plain().keys() == {"status", "operation_id", "reason", "retry_with"}
    assert (result.status, result.retry_with) == ("timeout", "retry")
    assert (result.operation_id or "").startswith("op_")
    assert "no longer waiting" in person.notices[0]
    assert retry(result.operation_id, wait=0.01).status == "timeout"
    answer_open(gate)
    assert retry(result.operation_id).value == 3
    assert retry(result.operation_id).value == 3
    assert ran == ["ana"]


def test_error(person: Person, run: Way, retry: Way, ran: list[str], gate: Sayso) -> None:
    person.says("once")
    result = run("send", {"to": "nobody"})
    assert (result.status, result.reason) == ("error", "LookupError: no such address")
    assert retry(result.operation_id).reason == result.reason
    assert ran == ["nobody"]
    assert run("sned", {}).reason == "there is no capability 'sned' (known: send)"
    assert retry("op_none").status == "error"
    assert states(gate) == {"send": "failed"}


def test_retry_waits_again_and_takes_the_answer(gate: Sayso, person: Person, ran: list[str]) -> None:
    result = gate.run("send", {"to": "ana"}, wait=0.01)
    person.says("once")
    assert gate.retry(result.operation_id or "").value == 3


def test_retry_of_an_expired_question_is_an_error(
    gate: Sayso, clock: Clock, retry: Way, ran: list[str]
) -> None:
    result = gate.run("send", {"to": "ana"}, wait=0.01)
    clock.now += 2 * 3600
    assert retry(result.operation_id).reason == "nobody answered in time"
    assert states(gate) == {"send": "expired"}
    assert ran == []


def test_an_approval_used_too_late_asks_again(gate: Sayso, clock: Clock, retry: Way, ran: list[str]) -> None:
    result = gate.run("send", {"to": "ana"}, wait=0.01)
    answer_open(gate)
    clock.now += 15 * 60
    assert retry(result.operation_id, wait=0.01).status == "timeout"
    assert ran == []


def test_nobody_to_ask_is_denied_and_says_so(gate: Sayso, person: Person, run: Way, ran: list[str]) -> None:
    person.here = False
    for wait in (0, 60):
        result = run("send", {"to": f"ana{wait}"}, wait=wait)
        assert (result.status, ran) == ("denied", [])
        assert "nobody can be asked" in (result.reason or "")
    assert questions(gate, "open") == []
    assert {row.state for row in calls(gate)} == {"cancelled"}


@pytest.mark.parametrize("said", ["yes", "ONCE", "once ", "", "approve", "allow", "null"])
def test_an_unknown_answer_never_allows(gate: Sayso, person: Person, said: str, ran: list[str]) -> None:
    person.says(said, "deny")
    assert gate.run("send", {"to": "ana"}).status == "denied"
    assert "is not an answer" in person.notices[0]
    assert ran == []


def test_a_surface_that_breaks_allows_nothing(gate: Sayso, person: Person, ran: list[str]) -> None:
    person.says(Reply(None, by="ana"))  # type: ignore[arg-type]
    assert gate.run("send", {"to": "ana"}, wait=0.05).status == "timeout"
    assert ran == []


def test_edit_and_allow_runs_the_edited_arguments(
    gate: Sayso, person: Person, run: Way, ran: list[str]
) -> None:
    person.says(edit({"to": "bob"}))
    assert run("send", {"to": "ana"}).value == 3
    assert ran == ["bob"]
    assert [arguments(gate, row) for row in calls(gate)] == [{"to": "bob"}]


@pytest.mark.parametrize("edited", [{}, {"to": 1}, {"to": "bob", "cc": "eve"}, {"cc": "eve"}])
def test_an_edit_that_does_not_fit_runs_nothing(
    gate: Sayso, person: Person, edited: dict[str, Any], ran: list[str]
) -> None:
    person.says(edit(edited), "deny")
    assert gate.run("send", {"to": "ana"}).status == "denied"
    assert ran == []


def test_an_idempotency_key_stands_for_one_call(
    gate: Sayso, person: Person, run: Way, ran: list[str]
) -> None:
    person.says("once")
    first = run("send", {"to": "ana"}, key="k")
    again = run("send", {"to": "ana"}, key="k")
    assert (again.operation_id, again.value, ran) == (first.operation_id, 3, ["ana"])
    assert run("send", {"to": "bob"}, key="k").status == "error"
    assert ran == ["ana"]


def test_two_who_wait_for_one_call_run_it_once(gate: Sayso, person: Person, ran: list[str]) -> None:
    found: list[Result] = []
    session = gate.session()
    first = session.run("send", {"to": "ana"}, wait=0)
    both = [
        threading.Thread(target=lambda: found.append(session.retry(first.operation_id or ""))) for _ in "ab"
    ]
    for one in both:
        one.start()
    while gate.door.asker.waiting < 2:
        threading.Event().wait(0.005)
    answer_open(gate)
    for one in both:
        one.join()
    assert ran == ["ana"]
    assert [(one.status, one.value) for one in found] == [("ok", 3), ("ok", 3)]
    assert len(person.questions) == 1, "shown once to the person, whoever waits for it"


def test_a_call_of_one_session_does_not_exist_in_another(gate: Sayso, ran: list[str]) -> None:
    one, other = gate.session(), gate.session()
    result = one.run("send", {"to": "ana"}, wait=0.01)
    answer_open(gate)
    assert other.retry(result.operation_id or "").status == "error"
    assert other.run("send", {"to": "ana"}, wait=0.01).status == "timeout"
    assert ran == []
    assert one.retry(result.operation_id or "").status == "ok"
    assert gate.list_consents(other) == []


def test_a_direct_call_can_be_retried_by_its_operation_id(gate: Sayso, retry: Way) -> None:
    @gate.requires_consent("mail.send")
    def send(to: str) -> str:
        return to

    with pytest.raises(ConsentRequired) as raised:
        send("ana")
    answer_open(gate)
    assert retry(raised.value.operation_id).value == "ana"


def test_an_async_capability_cannot_be_run_in_a_loop_without_awaiting_and_nobody_is_asked(
    gate: Sayso,
) -> None:
    @gate.capability()
    @gate.requires_consent("mail.send")
    async def send() -> None: ...

    async def main() -> Result:
        return gate.run("send")

    assert "await arun" in (asyncio.run(main()).reason or "")
    assert questions(gate) == []


def test_every_end_is_in_the_audit(gate: Sayso, person: Person, ran: list[str]) -> None:
    person.says("once")
    gate.run("send", {"to": "ana"})
    assert events(gate)[-4:] == ["ASKED", "ANSWERED", "DECIDED", "EXECUTED"]

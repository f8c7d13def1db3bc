"""`requires_consent`: what it gates, when it judges, and what it refuses to be put on."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso, SaysoError
from sayso.doors.python.calls.capability import NotGateable
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired, ConsentTimeout
from sayso.doors.python.calls.steps import PutOff
from tests.support.people import Person, answer_open, calls, questions, states


def test_a_call_that_needs_asking_raises_and_runs_once_it_was_approved(gate: Sayso) -> None:
    ran: list[str] = []

    @gate.requires_consent("tasks.create", risk="moderate", reason="writes to your task list")
    def create(title: str) -> str:
        ran.append(title)
        return title.upper()

    with pytest.raises(ConsentRequired) as raised:
        create("x")
    error = raised.value
    assert (error.operation, error.risk.word, ran) == ("tasks.create", "moderate", [])
    assert [offer.answer for offer in error.offers] == ["once", "temporary", "always", "deny"]
    assert error.digest == questions(gate)[0].digest
    assert "ConsentRequired" not in str(error)
    assert "grant" not in str(error)
    answer_open(gate)
    assert create("x") == "X"
    assert ran == ["x"]
    with pytest.raises(ConsentRequired):
        create("x")


def test_an_approval_is_for_these_arguments_only(gate: Sayso) -> None:
    @gate.requires_consent("mail.send")
    def send(to: str) -> str:
        return to

    with pytest.raises(ConsentRequired):
        send("ana")
    answer_open(gate)
    with pytest.raises(ConsentRequired):
        send("eve")
    assert send("ana") == "ana"


def test_a_coroutine_is_judged_when_it_runs_and_not_when_it_is_made(gate: Sayso) -> None:
    ran: list[str] = []

    @gate.requires_consent("mail.send")
    async def send(to: str) -> None:
        ran.append(to)

    async def main() -> None:
        made = send("ana")
        assert calls(gate) == []
        with pytest.raises(ConsentRequired):
            await made
        answer_open(gate)
        waiting = send("ana")
        (grant,) = gate.grants(calls(gate)[0].session)
        gate.revoke(grant.id, by="ana")
        with pytest.raises(ConsentRequired):
            await waiting

    asyncio.run(main())
    assert ran == []


def test_a_call_may_wait_for_its_answer(gate: Sayso, person: Person) -> None:
    person.says("once", "deny")

    @gate.requires_consent("mail.send", wait=60)
    def send(to: str) -> str:
        return to

    assert send("ana") == "ana"
    with pytest.raises(ConsentDenied, match="denied by ana"):
        send("bob")
    assert states(gate) == {"send": "denied"}


def test_a_wait_that_ends_leaves_the_question_open(gate: Sayso) -> None:
    @gate.requires_consent("mail.send", wait=0.001)
    def send(to: str) -> str:
        return to

    with pytest.raises(ConsentTimeout):
        send("ana")
    answer_open(gate)
    assert send("ana") == "ana"


@pytest.mark.parametrize("wait", [None, 60.0])
def test_without_anybody_to_ask_nothing_runs(gate: Sayso, person: Person, wait: float | None) -> None:
    person.here = False

    @gate.requires_consent("mail.send", wait=wait)
    def send() -> None:
        raise AssertionError("it ran")

    with pytest.raises(ConsentRequired if wait is None else ConsentDenied):
        send()
    assert states(gate) == {"send": "pending" if wait is None else "cancelled"}


def test_what_the_policy_blocks_is_denied_without_a_question(gate: Sayso) -> None:
    @gate.requires_consent("tasks.wipe")
    def wipe() -> None: ...

    with pytest.raises(ConsentDenied) as raised:
        wipe()
    assert raised.value.blocked
    assert questions(gate) == []


def test_an_error_of_the_function_comes_out_as_it_is(gate: Sayso, person: Person) -> None:
    person.says("once")

    @gate.requires_consent("mail.send", wait=60)
    def send() -> None:
        raise LookupError("no such address")

    with pytest.raises(LookupError, match="no such address"):
        send()
    assert states(gate) == {"send": "failed"}


def test_a_stop_iteration_comes_out_too(gate: Sayso, person: Person) -> None:
    person.says("once", "once")

    @gate.requires_consent("tasks.list", wait=60)
    def following() -> None:
        next(iter(()))

    with pytest.raises(StopIteration):
        following()
    gate.capability()(following)
    assert asyncio.run(gate.arun("following")).reason == "RuntimeError: coroutine raised StopIteration"
    assert states(gate) == {"following": "failed"}


def generator() -> Iterator[int]:
    yield 1


async def agenerator() -> AsyncIterator[int]:
    yield 1


class Box:
    def put(self) -> None: ...

    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (generator, "is a generator"),
        (agenerator, "is a generator"),
        (staticmethod(generator), "below @staticmethod"),
        (classmethod(generator), "below @classmethod"),  # type: ignore[arg-type]
        (property(generator), "below @property"),  # type: ignore[arg-type]
        (Box, "decorate its methods"),
        (Box(), "is not a function"),
        (functools.partial(print), "is not a function"),
        (Box().put, "is bound to an object"),
        (len, "not written in Python"),
    ],
)
def test_what_cannot_be_judged_as_one_call_is_refused_when_it_is_decorated(
    gate: Sayso, wrong: Any, said: str
) -> None:
    for decorate in (
        gate.requires_consent("mail.send"),
        gate.capability(),
        gate.reduces_risk_for("mail.send", "low"),
    ):
        with pytest.raises(NotGateable, match=said):
            decorate(wrong)


@pytest.mark.parametrize("made", [generator, agenerator, lambda: asyncio.sleep(0)])
def test_work_that_is_put_off_is_not_begun_with_a_consent_that_is_over(
    gate: Sayso, person: Person, made: Any
) -> None:
    person.says("once", "once")

    @gate.requires_consent("mail.send", wait=60)
    def later() -> Any:
        return made()

    @gate.requires_consent("mail.send", wait=60)
    async def later_still() -> Any:
        return made()

    with pytest.raises(PutOff):
        later()
    with pytest.raises(PutOff):
        asyncio.run(later_still())
    assert states(gate) == {"later": "failed", "later_still": "failed"}


def test_a_static_and_a_class_method_can_be_gated_below(gate: Sayso, person: Person) -> None:
    person.says("once", "once")

    class Mail:
        @staticmethod
        @gate.requires_consent("mail.send", wait=60)
        def send(to: str) -> str:
            return to

        @classmethod
        @gate.requires_consent("mail.send", wait=60)
        def again(cls, to: str) -> tuple[type, str]:
            return cls, to

    assert Mail.send("ana") == "ana"
    assert Mail.again("ana") == (Mail, "ana")


@pytest.mark.parametrize("how", [{"risk": "huge"}, {"weight": "heavy"}, {"risk": ""}])
def test_a_wrong_word_for_risk_or_weight_fails_when_it_is_decorated(gate: Sayso, how: dict[str, str]) -> None:
    with pytest.raises(SaysoError):
        gate.requires_consent("mail.send", **how)  # type: ignore[arg-type]
    with pytest.raises(SaysoError):
        gate.requires_consent("Not A Name")


def test_consent_above_a_capability_is_refused_as_running_it_by_name_would_not_ask(gate: Sayso) -> None:
    @gate.capability("mailing")
    def send() -> None: ...

    with pytest.raises(NotGateable, match=r"put @gate\.capability above"):
        gate.requires_consent("mail.send")(send)


def test_two_consents_are_both_wanted(gate: Sayso, person: Person) -> None:
    person.says("once", "once")

    @gate.requires_consent("tasks.list", risk="low", wait=60)
    @gate.requires_consent("mail.send", risk="high", wait=60)
    def both() -> str:
        return "done"

    assert both() == "done"
    assert person.asked == ["tasks.list", "mail.send"]
    assert gate.run("both", wait=0).status == "timeout"


def test_a_gate_does_not_undo_the_consent_of_another_gate(gate: Sayso, tmp_path: Path) -> None:
    @gate.requires_consent("mail.send")
    def send() -> None:
        raise AssertionError("it ran")

    with Sayso.open("balanced", tmp_path / "other.db", surfaces=[Person()]) as other:
        other.capability()(send)
        assert other.run("send").status == "error"
    with pytest.raises(ConsentRequired):
        send()


def test_a_decorated_function_still_says_what_it_is(gate: Sayso) -> None:
    @gate.capability()
    @gate.reduces_risk_for("tasks.list", "low")
    @gate.requires_consent("mail.send")
    async def send(to: str, *, subject: str = "hello") -> Awaitable[None] | None:
        """Send a mail."""

    assert (send.__name__, send.__doc__) == ("send", "Send a mail.")
    assert list(inspect.signature(send).parameters) == ["to", "subject"]
    assert inspect.iscoroutinefunction(send)

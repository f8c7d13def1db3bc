"""Messages of which nobody knows: they were sent, and the service was killed before it could note it.

Neither Telegram nor Slack tells a bot which messages it has sent, or takes one only once. But whoever presses
a button says on which message: from then on it is known, and closed like every other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.outbox import HELD_FOR
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_now
from tests.support.asking import asked, edit
from tests.support.gates import Clock
from tests.surfaces.seats import SlackSeat, TelegramSeat


class Killed(BaseException):
    """The service was killed at this very moment."""


Seat = TelegramSeat | SlackSeat


@pytest.fixture(params=[TelegramSeat, SlackSeat])
def seat(request: pytest.FixtureRequest) -> Iterator[Seat]:
    made = request.param("full")
    yield made
    made.stop()


@pytest.fixture
def killed(gate: Gate, session: str, seat: Seat, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> str:
    """A question whose message was sent by a service that did not live to note it."""
    question = asked(gate, edit(session))
    seat.begin(gate)
    write = type(gate.store).write
    writes = 0

    def write_once(*args: object, **how: object) -> object:
        nonlocal writes
        writes += 1
        if writes > 1:
            raise Killed
        return write(*args, **how)  # type: ignore[arg-type]

    with monkeypatch.context() as dying:
        dying.setattr(type(gate.store), "write", write_once)
        with pytest.raises(Killed):
            seat.put()
    assert len(seat.server.with_buttons()) == 1
    return question


def begin_again(gate: Gate, seat: Seat, clock: Clock) -> None:
    clock.now += HELD_FOR
    seat.begin(gate)
    seat.put()


def test_a_button_pressed_after_the_end_closes_the_message_it_is_on(
    gate: Gate, seat: Seat, killed: str, clock: Clock
) -> None:
    begin_again(gate, seat, clock)
    assert len(seat.server.with_buttons()) == 2
    answer_question(gate, killed, "deny", by="bo", reason="too late for this")
    seat.put()
    assert len(seat.server.with_buttons()) == 1
    seat.answer("once")
    seat.put()
    assert seat.server.with_buttons() == []
    assert all("too late for this" in str(one) for one in seat.server.messages.values())
    assert load_question_now(gate, killed).answer == "deny"


def test_an_answer_on_a_message_nobody_knew_of_closes_it_and_all_others(
    gate: Gate, seat: Seat, killed: str, clock: Clock
) -> None:
    begin_again(gate, seat, clock)
    first, _ = seat.server.with_buttons()
    seat.answer("deny", on=first)
    seat.put()
    assert seat.server.with_buttons() == []


def test_a_question_answered_on_such_a_message_is_not_sent_again(
    gate: Gate, seat: Seat, killed: str, clock: Clock
) -> None:
    seat.answer("once")
    begin_again(gate, seat, clock)
    assert len(seat.server.messages) == 1
    assert seat.server.with_buttons() == []


def test_the_message_of_a_service_that_took_too_long_is_closed_too(
    gate: Gate, session: str, seat: Seat, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one service sends the question, another takes it over, and sends it as well."""
    question = asked(gate, edit(session))
    seat.begin(gate)
    other = Dispatcher(gate, (seat.surface,), notices_to=lambda: None)
    answer = seat.server.answer

    def answer_late(*request: Any) -> tuple[int, Any]:
        monkeypatch.setattr(seat.server, "answer", answer)
        told: tuple[int, Any] = answer(*request)
        clock.now += HELD_FOR
        other.send(seat.surface)
        return told

    monkeypatch.setattr(seat.server, "answer", answer_late)
    seat.put()
    assert len(seat.server.with_buttons()) == 2
    answer_question(gate, question, "deny", by="bo")
    seat.put()
    assert seat.server.with_buttons() == []

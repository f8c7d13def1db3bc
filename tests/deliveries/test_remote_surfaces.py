"""What the contract of `tests/surfaces/contract.py` leaves out: words of endings, a service's wishes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sayso.core.errors import SaysoError
from sayso.gate.deliveries.cards import answer_token
from sayso.gate.deliveries.remote_surface import GivenAnswer
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.read import question_of
from sayso.gate.questions.wait import load_question_now
from sayso.surfaces.remote.ntfy import READER
from tests.support.asking import asked, edit, push
from tests.support.gates import Clock
from tests.surfaces.seats import ANSWERING, RemoteSeat


@pytest.fixture(params=list(ANSWERING))
def seat(request: pytest.FixtureRequest) -> Iterator[RemoteSeat]:
    made = ANSWERING[request.param]("full")
    yield made
    made.stop()


@pytest.fixture(params=list(ANSWERING))
def masked(request: pytest.FixtureRequest) -> Iterator[RemoteSeat]:
    made = ANSWERING[request.param]("masked")
    yield made
    made.stop()


def test_an_answer_is_told_where_it_was_given(gate: Gate, session: str, seat: RemoteSeat) -> None:
    question = asked(gate, edit(session, "notes.txt"))
    seat.begin(gate)
    seat.put()
    assert "notes.txt" in seat.shown()
    seat.answer("once")
    assert load_question_now(gate, question).state == "answered"
    seat.settle()
    assert "Allowed once by " in seat.ends()
    assert f" on {seat.surface.name}." in seat.ends()
    assert "elsewhere" not in seat.ends()


def test_an_answer_from_elsewhere_is_told(gate: Gate, session: str, seat: RemoteSeat) -> None:
    question = asked(gate, edit(session))
    seat.begin(gate)
    seat.put()
    answer_question(gate, question, "deny", by="bo at the desk")
    seat.settle()
    assert "Answered elsewhere: denied by bo at the desk." in seat.ends()


def test_a_masked_surface_gets_no_argument_and_can_deny(gate: Gate, session: str, masked: RemoteSeat) -> None:
    question = asked(gate, push(session))
    masked.begin(gate)
    masked.put()
    assert "git push" not in masked.shown()
    assert "git.push" in masked.shown()
    masked.answer("deny")
    assert load_question_now(gate, question).answer == "deny"


def test_a_service_is_left_alone_for_as_long_as_it_asks(
    gate: Gate, session: str, seat: RemoteSeat, clock: Clock
) -> None:
    seat.server.down, seat.server.wish = True, "40"
    asked(gate, edit(session, "notes.txt"))
    seat.begin(gate)
    seat.put()
    before = len(seat.server.posts)
    for _ in range(39):
        clock.now += 1
        seat.dispatcher.send(seat.surface)
    assert len(seat.server.posts) == before
    seat.server.down = False
    clock.now += 2
    seat.put()
    assert "notes.txt" in seat.shown()


def test_slack_folds_no_part_of_a_question(gate: Gate, session: str) -> None:
    """Without being told so, it shows the beginning of a long text, and "see more" in place of the rest."""
    seat = ANSWERING["slack"]("full")
    seat.begin(gate)
    asked(gate, push(session))
    seat.put()
    (message,) = seat.server.messages.values()
    sections = [block for block in message["blocks"] if block["type"] == "section"]
    assert [block["expand"] for block in sections] == [True, True]
    seat.stop()


def test_a_phone_cuts_a_notification_so_ntfy_allows_nothing_above_moderate(gate: Gate, session: str) -> None:
    seat = ANSWERING["ntfy"]("full")
    seat.begin(gate)
    question = asked(gate, push(session))
    seat.put()
    (message,) = seat.server.messages
    assert "git push" in message["message"]
    assert [one["label"] for one in message["actions"]] == ["Deny", "Open"]
    with gate.store.read() as tx:
        asked_of = question_of(gate, tx, question).question
    token = answer_token(gate, "phone", asked_of, "once", whole=False)
    with pytest.raises(SaysoError, match="whole call"):
        seat.count(GivenAnswer(question, "once", token, READER))
    assert load_question_now(gate, question).state == "open"
    seat.stop()

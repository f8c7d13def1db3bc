"""What a team's questions look like on surfaces: whose approvals are missing, and when they are sent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sayso.core.team import QuietHours
from sayso.gate.deliveries.outbox import HELD_FOR
from sayso.gate.deliveries.team_timing import quiet_until
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import on_page
from sayso.gate.people.delegations import delegate, end_delegation
from sayso.policy import load_text
from tests.deliveries.test_dispatch import dispatching, settle, state
from tests.support.answers import answer_question
from tests.support.asking import asked, edit, push
from tests.support.boards import Board
from tests.support.gates import Clock
from tests.support.teams import under
from tests.surfaces.seats import TelegramSeat, WebhookSeat

POLICY = """
extends: [chat]
people:
  ana: {{groups: [leads], ids: [page:ana, surface:phone/ana]}}
  bo: {{groups: [leads], ids: [page:bo, surface:desk/ana]}}
approvals:
  - {{domain: git, risk: high, from: [leads], needed: 2{more}}}
{rest}
"""


def team(gate: Gate, more: str = "", rest: str = "") -> Gate:
    return under(gate, load_text(POLICY.format(more=more, rest=rest)))


def test_every_surface_shows_whose_approvals_are_missing_and_counts_with_them(
    gate: Gate, session: str
) -> None:
    gate = team(gate)
    desk, phone = Board("desk", detail="full"), Board("phone", detail="full")
    dispatcher = dispatching(gate, desk, phone)
    question = asked(gate, push(session))
    settle(dispatcher, desk, phone)
    first = "Approvals: 0 of 2, waits for leads: ana or bo. Here an allow counts from bo\n\n"
    assert desk.card(question).body.startswith(first)
    phone.press(question, "once")
    settle(dispatcher, phone, desk)
    assert state(gate, question) == "open"
    for board in (desk, phone):
        assert board.card(question).body.startswith("Approvals: 1 of 2, waits for leads: bo (approved: ana)")
        assert "approvals changed" in board.closed[question]
    desk.press(question, "once")
    settle(dispatcher, desk, phone)
    assert state(gate, question) == "answered"
    for board in (desk, phone):
        assert "ana and bo" in board.closed[question]


def test_a_surface_offers_no_yes_that_would_be_refused(gate: Gate, session: str) -> None:
    gate = team(gate)
    strange, phone = Board("strange"), Board("phone")
    dispatcher = dispatching(gate, strange, phone)
    question = asked(gate, push(session))
    settle(dispatcher, strange, phone)
    assert [one.answer for one in strange.card(question).answers] == ["deny"]
    assert "Nobody who answers here can approve it" in strange.card(question).body
    phone.press(question, "once")
    settle(dispatcher, phone, strange)
    assert [one.answer for one in phone.card(question).answers] == ["deny"]  # ana has approved
    strange.press(question, "deny")
    settle(dispatcher, strange, phone)
    assert state(gate, question) == "answered"


def test_the_same_person_on_two_surfaces_counts_once(gate: Gate, session: str) -> None:
    gate = team(gate)
    phone = Board("phone", detail="full")
    dispatcher = dispatching(gate, phone)
    question = asked(gate, push(session))
    settle(dispatcher, phone)
    phone.press(question, "once")
    answer_question(gate, question, "once", by="ana", who=on_page("ana"))
    settle(dispatcher, phone)
    assert state(gate, question) == "open"


def test_in_quiet_hours_only_high_risk_is_sent(gate: Gate, session: str, clock: Clock) -> None:
    quiet = team(gate, rest='quiet_hours: {from: "22:00", to: "07:00"}')
    clock.now = datetime(2027, 1, 15, 23, 30, tzinfo=UTC).timestamp()
    board = Board("phone")
    dispatcher = dispatching(quiet, board)
    held, urgent = asked(quiet, edit(session)), asked(quiet, push(session))
    settle(dispatcher, board)
    assert urgent in board.questions
    assert held not in board.questions
    clock.now += 7 * 3600 + 1799
    settle(dispatcher, board)
    assert held not in board.questions
    later = asked(quiet, edit(session, "b.py"))
    clock.now += 1
    settle(dispatcher, board)
    assert later in board.questions


@pytest.mark.parametrize(
    ("at", "hours"), [("21:59", None), ("22:00", 9), ("03:00", 4), ("06:59", 1 / 60), ("07:00", None)]
)
def test_quiet_hours_begin_and_end_at_their_minute(at: str, hours: float | None) -> None:
    hour, minute = map(int, at.split(":"))
    now = datetime(2027, 1, 15, hour, minute, tzinfo=UTC).timestamp()
    until = quiet_until(QuietHours(22 * 60, 7 * 60), now)
    assert until == (None if hours is None else now + round(hours * 60) * 60)


def test_a_surface_of_the_escalation_is_asked_only_then(gate: Gate, session: str, clock: Clock) -> None:
    gate = team(gate, more=", escalate: {after: 10m, surfaces: [phone]}")
    desk, phone = Board("desk"), Board("phone")
    dispatcher = dispatching(gate, desk, phone)
    question, other = asked(gate, push(session)), asked(gate, edit(session))
    settle(dispatcher, desk, phone)
    assert question in desk.questions
    assert question not in phone.questions
    assert other in phone.questions
    clock.now += 600
    settle(dispatcher, phone)
    assert question in phone.questions


WITH_DELEGATE = """
extends: [chat]
people:
  bo: {groups: [leads], ids: [page:bo]}
  cy: {groups: [leads], ids: [page:cy]}
  ed: {ids: [surface:chat/41, surface:hook/ana]}
approvals:
  - {domain: git, risk: high, from: [leads], needed: 2}
"""


def test_a_receiver_that_takes_each_id_once_learns_every_change_and_the_end(gate: Gate, session: str) -> None:
    gate, seat = under(gate, load_text(WITH_DELEGATE)), WebhookSeat("full")
    question = asked(gate, push(session))
    seat.begin(gate)
    seat.put()
    given = delegate(gate, on_page("bo"), "ed", seconds=600, by="bo")
    seat.put()
    end_delegation(gate, given.id, by="bo")  # the approvals are as they were at first
    seat.put()
    answer_question(gate, question, "deny", by="cy", who=on_page("cy"))
    seat.put()
    seat.stop()
    types = [one["type"] for one in seat.server.taken.values()]
    assert types == ["question.asked", "question.closed"] * 3
    assert len(seat.server.posts) == len(types)
    assert "denied by cy" in list(seat.server.taken.values())[-1]["data"]["ending"]


def test_a_message_whose_successor_never_arrives_says_how_the_question_ended(
    gate: Gate, session: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, seat = under(gate, load_text(WITH_DELEGATE)), TelegramSeat("full")
    question = asked(gate, push(session))
    seat.begin(gate)
    seat.put()
    answer_question(gate, question, "once", by="bo", who=on_page("bo"))
    with monkeypatch.context() as failing:
        failing.setattr(seat.server, "_send_message", lambda what: (503, {}))
        seat.put()
    (message,) = seat.server.messages.values()
    assert "approvals changed" in message["text"]
    answer_question(gate, question, "deny", by="cy", who=on_page("cy"))
    clock.now += HELD_FOR
    seat.put()
    seat.stop()
    (message,) = seat.server.messages.values()
    assert "denied by cy" in message["text"]


@pytest.mark.parametrize("kind", ["masked", "cuts"])
def test_nobody_is_named_where_the_call_is_not_shown_whole(gate: Gate, session: str, kind: str) -> None:
    gate = team(gate)
    phone = Board("phone", detail="full" if kind == "cuts" else "masked")
    phone.cuts = kind == "cuts"
    question = asked(gate, push(session))
    settle(dispatching(gate, phone), phone)
    assert [one.answer for one in phone.card(question).buttons] == ["deny"]
    assert phone.card(question).body.startswith("Approvals: 0 of 2, waits for leads: ana or bo\n\n")

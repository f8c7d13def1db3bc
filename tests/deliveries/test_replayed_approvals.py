"""What somebody approved counts once: whoever passes their message on a second time revives nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sayso.gate.gate import Gate
from sayso.gate.people.answerers import on_page
from sayso.gate.people.delegations import delegate, end_delegation
from sayso.gate.questions.team.quorum import NotApprover
from sayso.policy import load_text
from sayso.surfaces.remote.telegram import Telegram, TelegramSettings
from tests.deliveries.test_dispatch import state
from tests.support.answers import answer_question
from tests.support.asking import asked, push
from tests.support.chat_services import TOKEN
from tests.support.teams import under
from tests.surfaces.seats import RemoteSeat, SlackSeat, TelegramSeat, WebhookSeat

POLICY = """
extends: [chat]
people:
  bo: {groups: [leads], ids: [page:bo]}
  cy: {groups: [leads], ids: [page:cy]}
  ed: {ids: [surface:chat/41, surface:slack/U41, surface:hook/ana]}
approvals:
  - {domain: git, risk: high, from: [leads], needed: 2}
"""
Passed = tuple[RemoteSeat, Callable[[], Callable[[], None]]]
"""A surface, and how ed allows there; that returns how the same message is passed on once more."""


def by_telegram() -> Passed:
    seat = TelegramSeat("full")

    def allow() -> Callable[[], None]:
        seat.answer("once")
        settings = TelegramSettings("chat", TOKEN, "7", ("41",), "full", seat.server.url)

        def fetch_after_a_restart() -> None:
            for one in Telegram(settings).fetch(0):
                seat.count(one)

        return fetch_after_a_restart

    return seat, allow


def by_slack() -> Passed:
    seat = SlackSeat("full")

    def allow() -> Callable[[], None]:
        sent = seat.server.press("Allow once", "U41")
        seat.take(sent)
        return lambda: seat.take(sent)

    return seat, allow


def by_webhook() -> Passed:
    seat = WebhookSeat("full")

    def allow() -> Callable[[], None]:
        sent = seat.server.reply("once", "ana")
        seat.take(sent)
        return lambda: seat.take(sent)

    return seat, allow


@pytest.fixture(params=[by_telegram, by_slack, by_webhook])
def passed(request: pytest.FixtureRequest) -> Iterator[Passed]:
    made: Passed = request.param()
    yield made
    made[0].stop()


def test_a_message_that_is_passed_on_again_approves_nothing_again(
    gate: Gate, session: str, passed: Passed
) -> None:
    gate, (seat, allow) = under(gate, load_text(POLICY)), passed
    first = delegate(gate, on_page("bo"), "ed", seconds=600, by="bo")
    question = asked(gate, push(session))
    seat.begin(gate)
    seat.put()
    pass_on = allow()
    end_delegation(gate, first.id, by="bo")
    delegate(gate, on_page("bo"), "ed", seconds=600, by="bo")
    with pytest.raises(NotApprover, match="counted already"):
        pass_on()
    answer_question(gate, question, "once", by="cy", who=on_page("cy"))
    assert state(gate, question) == "open"
    seat.put()
    allow()  # ed's own second yes
    assert state(gate, question) == "answered"

"""The checks of surfaces beyond this process catch broken ones, each by the check that is about its fault."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec
import pytest

from sayso.core.signed_messages import encode_secret
from sayso.gate.deliveries.answers import AnswerRefused
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.gate.gate import Gate
from sayso.surfaces.remote.exchange import SendingFailed
from sayso.surfaces.remote.webhook import Webhook, WebhookSettings
from tests.deliveries import test_remote_surfaces as checks
from tests.deliveries.test_remote_surfaces import WebhookSeat
from tests.support.chat_services import SECRET
from tests.support.gates import Clock


class TakesAnySignature(Webhook):
    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        return msgspec.json.decode(body, type=GivenAnswer)


class TakesAnybodyForAna(Webhook):
    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        return msgspec.structs.replace(super().receive(headers, body), by="ana")


class NeverCloses(Webhook):
    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """Leaves it where it is."""


class ClaimsToHaveSent(Webhook):
    def show(self, card: QuestionCard, key: str) -> str:
        try:
            return super().show(card, key)
        except SendingFailed:
            return key


class ShowsBytesOfTheAgent(Webhook):
    def show(self, card: QuestionCard, key: str) -> str:
        return super().show(msgspec.structs.replace(card, body=card.body.replace("\\u202e", "\u202e")), key)


class ForgetsTheToken(Webhook):
    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        return msgspec.structs.replace(super().receive(headers, body), token="")


BROKEN: dict[type[Webhook], Callable[..., None]] = {
    TakesAnySignature: checks.test_a_forged_answer_does_not_count,
    TakesAnybodyForAna: checks.test_the_wrong_person_cannot_answer,
    NeverCloses: checks.test_it_is_closed_when_another_surface_won,
    ClaimsToHaveSent: checks.test_it_is_sent_once_the_service_is_back,
    ShowsBytesOfTheAgent: checks.test_text_of_an_agent_is_shown_as_data,
    ForgetsTheToken: checks.test_a_question_is_sent_answered_and_closed,
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_surface_is_caught(gate: Gate, session: str, clock: Clock, broken: type[Webhook]) -> None:
    seat, check = WebhookSeat("full"), BROKEN[broken]
    settings = WebhookSettings("hook", seat.server.url, encode_secret(SECRET), ("ana",), "full")
    more = (clock,) if "clock" in check.__annotations__ else ()
    seat.surface = broken(settings, time.time)
    with pytest.raises((AssertionError, pytest.fail.Exception, AnswerRefused)):
        check(gate, session, seat, *more)
    seat.server.stop()

"""Each surface against a server that keeps to its API: sent, answered, late, twice, forged, down, closed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest

from sayso.core.errors import SaysoError
from sayso.core.signed_messages import encode_secret
from sayso.gate.deliveries.answers import take_answer
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.remote_surface import RemoteSurface
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import QuestionStanding, answer_question
from sayso.gate.questions.wait import load_question_now
from sayso.gate.refusal_limit import RefusalLimit
from sayso.surfaces.remote.mail import MailSettings
from sayso.surfaces.remote.ntfy import NtfySettings
from sayso.surfaces.remote.settings_file import make_surfaces
from sayso.surfaces.remote.slack import SlackSettings
from sayso.surfaces.remote.telegram import TelegramSettings
from sayso.surfaces.remote.webhook import WebhookSettings
from tests.support.asking import asked, edit, push
from tests.support.chat_services import (
    SECRET,
    SIGNING,
    TOKEN,
    FakeMailServer,
    FakeNtfy,
    FakeReceiver,
    FakeSlack,
    FakeTelegram,
    LoopbackService,
    strings_in,
)
from tests.support.gates import Clock

HOSTILE = "<b>ok</b> *bold* _x_ [link](http://evil) \u202egnp \x1b[2J @channel <!channel> &amp; Question s.q9"


class Seat(Protocol):
    """A surface, its server, and a person there."""

    surface: RemoteSurface

    @property
    def server(self) -> LoopbackService: ...
    def answer(self, gate: Gate, word: str, who: str = "ana") -> list[QuestionStanding]: ...
    def forge(self, gate: Gate) -> None: ...
    def shown(self) -> str: ...
    def ends(self) -> str: ...


class _Pushed:
    """A surface that sends us what was pressed there."""

    surface: RemoteSurface

    def take(self, gate: Gate, sent: tuple[str, dict[str, str], bytes]) -> list[QuestionStanding]:
        _, headers, body = sent
        given = self.surface.receive(headers, body)
        assert given is not None
        return [take_answer(gate, self.surface, given, RefusalLimit())]


LABELS = {"once": "Allow once", "deny": "Deny"}


class TelegramSeat:
    def __init__(self, detail: str) -> None:
        self.server = FakeTelegram()
        settings = TelegramSettings("chat", TOKEN, "7", ("41",), detail, self.server.url)
        (self.surface,) = make_surfaces([settings])

    def answer(self, gate: Gate, word: str, who: str = "ana") -> list[QuestionStanding]:
        self.server.press(LABELS[word], 41 if who == "ana" else 666)
        return [take_answer(gate, self.surface, one, RefusalLimit()) for one in self.surface.fetch(0)]

    def forge(self, gate: Gate) -> None:
        self.server.press("Deny", 41, data="once:AAAAAAAAAAAAAAAAAAAAAA")
        for one in self.surface.fetch(0):
            take_answer(gate, self.surface, one, RefusalLimit())

    def shown(self) -> str:
        return str(self.server.messages)

    def ends(self) -> str:
        return "\n".join(one["text"] for one in self.server.messages.values())


class SlackSeat(_Pushed):
    def __init__(self, detail: str) -> None:
        self.server = FakeSlack()
        settings = SlackSettings("slack", TOKEN, SIGNING, "C1", ("U41",), detail, self.server.url)
        (self.surface,) = make_surfaces([settings])

    def answer(self, gate: Gate, word: str, who: str = "ana") -> list[QuestionStanding]:
        return self.take(gate, self.server.press(LABELS[word], "U41" if who == "ana" else "U666"))

    def forge(self, gate: Gate) -> None:
        self.take(gate, self.server.press("Allow once", "U41", secret="other"))

    def shown(self) -> str:
        return str(self.server.messages)

    def ends(self) -> str:
        return "\n".join(one["text"] for one in self.server.messages.values())


class NtfySeat(_Pushed):
    def __init__(self, detail: str) -> None:
        self.server = FakeNtfy()
        answers = "http://localhost:7333/surfaces/v1/phone"
        (self.surface,) = make_surfaces(
            [NtfySettings("phone", "a-secret-topic", self.server.url, "", answers, detail)]
        )

    def answer(self, gate: Gate, word: str, who: str = "ana") -> list[QuestionStanding]:
        assert who == "ana", "nobody can say who reads a topic"
        return self.take(gate, self.server.press(LABELS[word]))

    def forge(self, gate: Gate) -> None:
        where, headers, body = self.server.press("Deny")
        self.take(gate, (where, headers, body.replace(b'"deny"', b'"once"')))

    def shown(self) -> str:
        return str(self.server.messages)

    def ends(self) -> str:
        return "\n".join(one["message"] for one in self.server.messages)


class WebhookSeat(_Pushed):
    def __init__(self, detail: str) -> None:
        self.server = FakeReceiver()
        settings = WebhookSettings("hook", self.server.url, encode_secret(SECRET), ("ana",), detail)
        (self.surface,) = make_surfaces([settings])

    def answer(self, gate: Gate, word: str, who: str = "ana") -> list[QuestionStanding]:
        return self.take(gate, self.server.reply(word, who))

    def forge(self, gate: Gate) -> None:
        self.take(gate, self.server.reply("once", "ana", secret=b"x" * 32))

    def shown(self) -> str:
        return str(self.server.taken)

    def ends(self) -> str:
        return str([one["data"].get("ending") for one in self.server.taken.values()])


SEATS: dict[str, Callable[[str], Any]] = {
    "telegram": TelegramSeat,
    "slack": SlackSeat,
    "ntfy": NtfySeat,
    "webhook": WebhookSeat,
}


@pytest.fixture(params=list(SEATS))
def seat(request: pytest.FixtureRequest) -> Iterator[Seat]:
    made = SEATS[request.param]("full")
    yield made
    made.server.stop()


@pytest.fixture(params=list(SEATS))
def masked(request: pytest.FixtureRequest) -> Iterator[Seat]:
    made = SEATS[request.param]("masked")
    yield made
    made.server.stop()


def sent(gate: Gate, seat: Seat) -> Dispatcher:
    dispatcher = Dispatcher(gate, (seat.surface,), notices_to=lambda: seat.surface.name)
    while dispatcher.send(seat.surface):
        pass
    return dispatcher


def test_a_question_is_sent_answered_and_closed(gate: Gate, session: str, seat: Seat) -> None:
    question = asked(gate, edit(session, "notes.txt"))
    dispatcher = sent(gate, seat)
    assert "notes.txt" in seat.shown()
    (stands,) = seat.answer(gate, "once")
    assert stands.yours
    assert load_question_now(gate, question).state == "answered"
    while dispatcher.send(seat.surface):
        pass
    assert "Allowed once by " in seat.ends()
    assert f" on {seat.surface.name}." in seat.ends()
    assert "elsewhere" not in seat.ends()


def test_deny_is_a_denial(gate: Gate, session: str, seat: Seat) -> None:
    question = asked(gate, edit(session))
    sent(gate, seat)
    seat.answer(gate, "deny")
    assert load_question_now(gate, question).answer == "deny"


def test_a_second_answer_does_not_count(gate: Gate, session: str, seat: Seat) -> None:
    question = asked(gate, edit(session))
    sent(gate, seat)
    seat.answer(gate, "deny")
    (again,) = seat.answer(gate, "once")
    assert not again.yours
    assert load_question_now(gate, question).answer == "deny"


def test_an_answer_after_its_time_does_not_count(gate: Gate, session: str, seat: Seat, clock: Clock) -> None:
    question = asked(gate, edit(session))
    sent(gate, seat)
    clock.now += 3 * 3600
    (stands,) = seat.answer(gate, "once")
    assert not stands.yours
    assert load_question_now(gate, question).state == "expired"


@pytest.mark.parametrize("seat", sorted(set(SEATS) - {"ntfy"}), indirect=True)
def test_the_wrong_person_cannot_answer(gate: Gate, session: str, seat: Seat) -> None:
    question = asked(gate, edit(session))
    sent(gate, seat)
    with pytest.raises(SaysoError):
        seat.answer(gate, "once", "mallory")
    assert load_question_now(gate, question).state == "open"


def test_a_forged_answer_does_not_count(gate: Gate, session: str, seat: Seat) -> None:
    question = asked(gate, edit(session))
    sent(gate, seat)
    with pytest.raises(SaysoError):
        seat.forge(gate)
    assert load_question_now(gate, question).state == "open"


def test_it_is_sent_once_the_service_is_back(gate: Gate, session: str, seat: Seat, clock: Clock) -> None:
    seat.server.down = True
    question = asked(gate, edit(session, "notes.txt"))
    dispatcher = sent(gate, seat)
    assert "notes.txt" not in seat.shown()
    seat.server.down = False
    clock.now += 5
    while dispatcher.send(seat.surface):
        pass
    assert "notes.txt" in seat.shown()
    seat.answer(gate, "once")
    assert load_question_now(gate, question).state == "answered"


def test_a_service_is_left_alone_for_as_long_as_it_asks(
    gate: Gate, session: str, seat: Seat, clock: Clock
) -> None:
    seat.server.down, seat.server.wish = True, "40"
    asked(gate, edit(session, "notes.txt"))
    dispatcher = sent(gate, seat)
    before = len(seat.server.posts)
    for _ in range(39):
        clock.now += 1
        dispatcher.send(seat.surface)
    assert len(seat.server.posts) == before
    seat.server.down = False
    clock.now += 2
    while dispatcher.send(seat.surface):
        pass
    assert "notes.txt" in seat.shown()


def test_it_is_closed_when_another_surface_won(gate: Gate, session: str, seat: Seat) -> None:
    question = asked(gate, edit(session))
    dispatcher = sent(gate, seat)
    answer_question(gate, question, "deny", by="bo at the desk")
    while dispatcher.send(seat.surface):
        pass
    assert "Answered elsewhere: denied by bo at the desk." in seat.ends()


def test_a_masked_surface_gets_no_argument_and_allows_no_high_risk(
    gate: Gate, session: str, masked: Seat
) -> None:
    question = asked(gate, push(session))
    sent(gate, masked)
    assert "git push" not in masked.shown()
    assert "git.push" in masked.shown()
    with pytest.raises((SaysoError, AssertionError)):  # no button, or a button that does not count
        masked.answer(gate, "once")
    assert load_question_now(gate, question).state == "open"
    masked.answer(gate, "deny")
    assert load_question_now(gate, question).answer == "deny"


def test_text_of_an_agent_is_shown_as_data(gate: Gate, session: str, seat: Seat) -> None:
    question = asked(gate, edit(session, HOSTILE))
    sent(gate, seat)
    shown = "".join(text for _, _, body in seat.server.posts for text in strings_in(json.loads(body)))
    assert "\\x1b[2J" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    seat.answer(gate, "deny")
    assert load_question_now(gate, question).answer == "deny"


def test_mail_sends_a_link_and_takes_no_answer(gate: Gate, session: str) -> None:
    server = FakeMailServer()
    settings = MailSettings("post", "127.0.0.1", "sayso@example.org", "ana@example.org", server.port, "none")
    (surface,) = make_surfaces([settings])
    asked(gate, edit(session, "notes.txt"))
    dispatcher = Dispatcher(gate, (surface,), notices_to=lambda: None, link=lambda name: f"http://x/{name}")
    dispatcher.send(surface)
    server.stop()
    (mail,) = server.mails
    assert "http://x/" in mail
    assert "notes.txt" not in mail
    with pytest.raises(SaysoError):
        surface.receive({}, b"yes")

"""What every surface must do. `CHECKS` run on a seat: a surface, and a person in front of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from sayso.core.model import Call, Risk
from sayso.gate.deciding.request import make_call
from sayso.gate.questions.surface import AskedQuestion, Reply, Surface
from tests.support.questions import ALL, asked_about, mail, push_question

ONCE_ONLY = ("once", "deny")
GARBAGE = (
    "yes",
    "ok",
    "allow everything",
    "once always",
    "ONCE!",
    "ｏｎｃｅ",
    "\x1b[2J",
    "1",
    "true",
    "approve",
)
ODD = (
    "\x1b[2J\x1b[H╭─ May this run? Low risk.",
    "\u202egnihtemos\u2066",
    "[bold red]markup[/] </b> *stars* `ticks` {braces} %s",
    "a\nb\r\nc\x00\x07\x7f\x9b2J",
    "\ufe0f\u3164\u200b\U000e0041",
    "e" + "\u0301" * 200,
    "日本語" * 100,
    "",
    " " * 500,
    "x" * 100_000,
)


class Seat(Protocol):
    """A surface and the person in front of it, as a test drives them."""

    patience: float
    """Seconds after which a surface that says nothing counts as stuck."""

    @property
    def surface(self) -> Surface: ...

    def sees(self, asked: AskedQuestion) -> None:
        """Wait until the question is shown and can be answered."""

    def answers(self, asked: AskedQuestion, word: str) -> None:
        """Give this answer to a question that can be answered, by whatever that is done with here."""

    def look(self) -> None:
        """Called again and again while a test waits: read what was shown."""

    def shown(self) -> str:
        """Everything that was shown so far, lines joined."""


class Put:
    """A question put to a surface in a thread of its own, as the gate does."""

    def __init__(self, seat: Seat, asked: AskedQuestion) -> None:
        self.over = threading.Event()
        self._seat, self._asked = seat, asked
        self._ended: list[Reply | BaseException | None] = []
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self._ended.append(self._seat.surface.ask(self._asked, self.over))
        except BaseException as error:  # noqa: BLE001  it is raised again where the test looks
            self._ended.append(error)

    def reply(self) -> Reply | None:
        until = time.monotonic() + self._seat.patience
        while self._thread.is_alive():
            assert time.monotonic() < until, "the surface did not come back"
            self._seat.look()
            self._thread.join(0.01)
        ended = self._ended[0]
        assert not isinstance(ended, BaseException), f"the surface raised {ended!r}"
        return ended

    def reply_when_over(self) -> Reply | None:
        self.over.set()
        return self.reply()


def allows(reply: Reply | None) -> bool:
    return reply is not None and reply.answer != "deny"


def check_every_offered_answer_comes_back_with_who_gave_it(seat: Seat) -> None:
    for answer in ALL:
        asked = push_question()
        put = Put(seat, asked)
        seat.answers(asked, answer)
        reply = put.reply()
        assert reply is not None
        assert reply.answer == answer
        assert reply.by
        assert reply.edited is None


def check_an_answer_that_is_not_offered_never_comes_back(seat: Seat) -> None:
    for answer in sorted({*ALL} - {*ONCE_ONLY}):
        asked = push_question(ONCE_ONLY)
        put = Put(seat, asked)
        seat.answers(asked, answer)
        assert not allows(put.reply_when_over())


def check_words_that_are_no_answer_allow_nothing(seat: Seat) -> None:
    for word in GARBAGE:
        asked = push_question()
        put = Put(seat, asked)
        seat.answers(asked, word)
        assert not allows(put.reply_when_over())


def check_a_question_that_is_over_gives_nothing(seat: Seat) -> None:
    over = threading.Event()
    over.set()
    assert seat.surface.ask(push_question(), over) is None


def check_a_question_is_taken_down_when_it_is_over(seat: Seat) -> None:
    asked = push_question()
    put = Put(seat, asked)
    seat.sees(asked)
    assert put.reply_when_over() is None


def check_odd_text_can_be_shown_and_answered(seat: Seat) -> None:
    for asked in odd_questions():
        put = Put(seat, asked)
        seat.answers(asked, "deny")
        reply = put.reply()
        assert reply is not None
        assert reply.answer == "deny"


def check_no_escape_of_an_agent_reaches_the_person(seat: Seat) -> None:
    for asked in odd_questions():
        put = Put(seat, asked)
        seat.sees(asked)
        put.reply_when_over()
    for trick in ("\x1b[2J", "\x9b", "\x07", "\x00", "\u202e", "\u200b", "\U000e0041"):
        assert trick not in seat.shown()


def check_what_was_not_shown_whole_is_not_allowed_at_high_risk(seat: Seat) -> None:
    asked = asked_about(make_call("write", {"text": "x" * 50_000 + "THE-END"}), ONCE_ONLY, risk=Risk.HIGH)
    put = Put(seat, asked)
    seat.answers(asked, "once")
    assert not allows(put.reply_when_over()) or "THE-END" in seat.shown()


def check_two_questions_at_once_get_each_its_own_answer(seat: Seat) -> None:
    first, second = push_question(), mail(to="kim@example.com")
    one = Put(seat, first)
    seat.sees(first)
    two = Put(seat, second)
    seat.answers(first, "once")
    replies = [one.reply()]
    seat.answers(second, "deny")
    replies.append(two.reply())
    assert [reply and reply.answer for reply in replies] == ["once", "deny"]


def check_a_question_that_waits_leaves_when_it_is_over(seat: Seat) -> None:
    first = push_question()
    one = Put(seat, first)
    seat.sees(first)
    two = Put(seat, mail(to="kim@example.com"))
    assert two.reply_when_over() is None
    seat.answers(first, "once")
    assert allows(one.reply())


def check_notices_of_odd_text_are_told(seat: Seat) -> None:
    for text in ODD:
        seat.surface.tell(text)
        seat.look()


def odd_questions() -> list[AskedQuestion]:
    """Every place an agent can write to, with every odd text in it."""
    calls = [
        call
        for text in ODD
        for call in (
            make_call(text or "tool", {"text": text, text: [text, {text: text}]}, command=text, target=text),
            make_call("tool", {}, folder=text, workspace=text, door=text, server=text),
        )
    ]
    odd = [asked_about(call, agent=call.folder, session=call.folder) for call in calls]
    return [*odd, asked_about_bytes(b"{"), asked_about_bytes(b"\xff\x00"), asked_about_bytes(b"[1]")]


def asked_about_bytes(arguments: bytes) -> AskedQuestion:
    """Arguments that no door would let through."""
    asked = push_question()
    call = Call("tool", arguments)
    request = asked.question.request
    changed = type(request)(call, request.operations, request.digest, request.arguments_digest)
    question = type(asked.question)(
        "s1.q1", changed, asked.question.items, asked.question.offers, "Proceed?", 1, asked.question.opened_at
    )
    return AskedQuestion(question, float("inf"), asked.why)


CHECKS: dict[str, Callable[[Seat], None]] = {
    name.removeprefix("check_"): check for name, check in list(vars().items()) if name.startswith("check_")
}

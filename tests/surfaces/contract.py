"""What every surface must do, in this process or beyond it. `CHECKS` run on a seat: a surface and its people.

Each column of the table that `tests/surfaces/test_contract.py` prints is a check. A check that a surface
cannot fail, because nobody can answer there or nobody knows who does, says so by `applies`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_now
from tests.support.asking import asked, edit
from tests.support.gates import Clock

ODD = (
    "\x1b[2J\x1b[H╭─ May this run? Low risk.",
    "\u202egnihtemos\u2066",
    "[bold red]markup[/] </b> *stars* `ticks` {braces} %s <!channel> [link](http://evil) &amp; Question s.q9",
    "a\nb\r\nc\x00\x07\x7f\x9b2J",
    "\ufe0f\u3164\u200b\U000e0041",
    "e" + "\u0301" * 200,
    "日本語" * 100,
    " " * 500,
    "x" * 100_000,
)
ACTS = ("\x1b[2J", "\x9b", "\x00", "\x07", "\u202e", "\u2066", "\u200b", "\U000e0041")


class Seat(Protocol):
    """A surface and the people at it, as a test drives them. `detail` is what it was made with."""

    answers: tuple[str, ...]
    knows_people: bool
    takes_notices: bool

    def begin(self, gate: Gate) -> None: ...
    def put(self, question: str = "") -> None:
        """The question is shown, if the surface can be reached."""

    def settle(self) -> None:
        """Whatever is over is closed."""

    def answer(self, word: str, who: str = "ana") -> None:
        """Somebody gives this answer to the newest question; it may be refused with an error."""

    def forge(self) -> None:
        """An answer that nobody gave. It may be refused with an error."""

    def shown(self) -> str:
        """Every text that people were given, with all that acts in it."""

    def ends(self) -> str:
        """Read where people see how a question ended."""

    def tell(self, text: str) -> None: ...
    def set_down(self, down: bool) -> None: ...
    def stop(self) -> None: ...


def state(seat: Seat, gate: Gate, question: str) -> str:
    row = load_question_now(gate, question)
    return row.answer or row.state


def put(seat: Seat, gate: Gate, request: Request) -> str:
    question = asked(gate, request)
    seat.begin(gate)
    seat.put(question)
    return question


def try_to(act: Callable[[], None]) -> None:
    """What does not count may be refused, or may not be possible at all."""
    with suppress(SaysoError, AssertionError, StopIteration):
        act()


def check_send(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    put(seat, gate, edit(session, "notes.txt"))
    assert "files.edit" in seat.shown()


def check_answer(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    seat.begin(gate)
    for word in seat.answers:
        question = asked(gate, edit(session, f"{word}.py"))
        seat.put(question)
        seat.answer(word)
        assert state(seat, gate, question) == word
        assert load_question_now(gate, question).by
        seat.settle()


def check_late_answer(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    question = put(seat, gate, edit(session))
    clock.now += 3 * 3600
    for word in seat.answers:
        try_to(lambda word=word: seat.answer(word))  # type: ignore[misc]
    assert state(seat, gate, question) == "expired"


def check_duplicate_answer(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    question = put(seat, gate, edit(session))
    seat.answer("deny")
    try_to(lambda: seat.answer("once"))
    assert state(seat, gate, question) == "deny"


def check_wrong_person(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    question = put(seat, gate, edit(session))
    for word in seat.answers:
        try_to(lambda word=word: seat.answer(word, "mallory"))  # type: ignore[misc]
    assert state(seat, gate, question) == "open"


def check_forged_answer(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    question = put(seat, gate, edit(session))
    try_to(seat.forge)
    assert state(seat, gate, question) == "open"


def check_down_and_back(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    seat.set_down(True)
    question = put(seat, gate, edit(session))
    assert "files.edit" not in seat.shown()
    seat.set_down(False)
    clock.now += 5
    seat.put(question)
    assert "files.edit" in seat.shown()
    for word in seat.answers[:1]:
        seat.answer(word)
        assert state(seat, gate, question) == word


def check_closed_elsewhere(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    question = put(seat, gate, edit(session))
    before = seat.ends()
    answer_question(gate, question, "deny", by="bo at the desk")
    seat.settle()
    assert seat.ends() != before
    for word in seat.answers:
        try_to(lambda word=word: seat.answer(word))  # type: ignore[misc]
    row = load_question_now(gate, question)
    assert (row.answer, row.by) == ("deny", "bo at the desk")


def check_two_questions(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    first = put(seat, gate, edit(session, "a.py"))
    seat.answer("deny")
    seat.settle()
    second = asked(gate, edit(session, "b.py"))
    seat.put(second)
    assert state(seat, gate, second) == "open"
    seat.answer("deny")
    assert [state(seat, gate, one) for one in (first, second)] == ["deny", "deny"]


def check_not_shown_whole(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    """Nothing above moderate risk is allowed where a part of the call was left out or folded."""
    command = f"git push {'x' * 50_000} THE-END"
    call = make_call("shell", {"command": command}, command=command)
    question = put(seat, gate, make_request(call, [Operation("git.push")], session=session))
    assert "THE-END" not in seat.shown()
    try_to(lambda: seat.answer("once"))
    assert state(seat, gate, question) == "open"


def check_agents_text_is_data(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    seat.begin(gate)
    for number, text in enumerate(ODD):
        call = make_call(
            f"edit{number}",
            {"text": text, f"name {text}"[:900]: [text]},
            target=text,
            folder=f"/srv/{text}".replace("\0", "")[:900],
            server=text,
        )
        request = make_request(call, [Operation("files.edit")], session=session, agent=f"agent {text}"[:900])
        question = asked(gate, request)
        seat.put(question)
        answer_question(gate, question, "deny", by="bo", reason=text[:900])
        seat.settle()
    shown = seat.shown()
    assert [one for one in ACTS if one in shown] == []


def check_notices_are_data(gate: Gate, session: str, clock: Clock, seat: Seat) -> None:
    seat.begin(gate)
    for text in ODD[:-1]:
        seat.tell(text)
    shown = seat.shown()
    assert [one for one in ACTS if one in shown] == []


CHECKS: dict[str, Callable[[Gate, str, Clock, Seat], None]] = {
    name.removeprefix("check_"): check for name, check in list(vars().items()) if name.startswith("check_")
}


def applies(check: str, seat: Seat) -> bool:
    """Return whether a surface could fail this check at all."""
    if check in ("answer", "duplicate_answer", "two_questions", "late_answer"):
        return bool(seat.answers)
    if check == "notices_are_data":
        return seat.takes_notices
    if check == "not_shown_whole":
        return "once" in seat.answers
    return check != "wrong_person" or (seat.knows_people and bool(seat.answers))

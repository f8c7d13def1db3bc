"""Every surface keeps the contract, and every surface that was broken on purpose is caught by it.

`python -m tests.surfaces.test_contract` prints which check runs on which surface.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from sayso.core.errors import SaysoError
from sayso.core.signed_messages import encode_secret
from sayso.doors.mcp.elicitation import Elicitation
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from sayso.surfaces.remote.exchange import SendingFailed
from sayso.surfaces.remote.webhook import Webhook, WebhookSettings
from sayso.surfaces.terminal.terminal import Terminal
from tests.support.chat_services import SECRET
from tests.support.gates import KEY, Clock, clock, no_settings
from tests.surfaces.contract import CHECKS, Seat, applies
from tests.surfaces.local_seats import LOCAL, ClientSeat, TerminalSeat
from tests.surfaces.seats import REMOTE, WebhookSeat

__all__ = ["clock", "no_settings"]

SEATS: dict[str, Callable[[str], Any]] = {**LOCAL, **REMOTE}
TABLE = [(name, check) for name, kind in SEATS.items() for check in CHECKS if applies(check, kind)]  # type: ignore[arg-type]


@pytest.fixture
def gate(clock: Clock) -> Iterator[Gate]:
    store = MemoryStore(clock=clock)
    yield open_gate(load_preset("chat"), store, key=KEY)
    store.close()


@pytest.fixture
def session(gate: Gate) -> str:
    return open_session(gate, agent="tester", owner="host")


@pytest.mark.parametrize(("name", "check"), TABLE, ids=["-".join(one) for one in TABLE])
def test_it_keeps_the_contract(gate: Gate, session: str, clock: Clock, name: str, check: str) -> None:
    seat: Seat = SEATS[name]("masked" if check == "not_shown_whole" else "full")
    try:
        CHECKS[check](gate, session, clock, seat)
    finally:
        seat.stop()


def test_every_surface_and_every_check_is_in_the_table() -> None:
    assert {name for name, _ in TABLE} == set(SEATS)
    assert {check for _, check in TABLE} == set(CHECKS)


# --- broken on purpose ---


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


class StaysOnTheScreen(Terminal):
    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """Leaves it where it is."""


class TakesAnyWordForYes(Elicitation):
    def _take_back(self, asked: AskedQuestion, form: Any) -> None:
        self._replies.put(Reply("once", "kim", question=asked.question.id))


class ForgetsTheQuestion(Elicitation):
    def fetch(self, seconds: float) -> tuple[Reply, ...]:
        return tuple(msgspec.structs.replace(one, question="") for one in super().fetch(seconds))


class ShowsTheForm(Elicitation):
    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """Leaves it where it is."""


BROKEN: dict[type[Any], str] = {
    TakesAnySignature: "forged_answer",
    TakesAnybodyForAna: "wrong_person",
    NeverCloses: "closed_elsewhere",
    ClaimsToHaveSent: "down_and_back",
    ShowsBytesOfTheAgent: "agents_text_is_data",
    ForgetsTheToken: "answer",
    StaysOnTheScreen: "closed_elsewhere",
    TakesAnyWordForYes: "forged_answer",
    ForgetsTheQuestion: "answer",
    ShowsTheForm: "closed_elsewhere",
}


def seat_of(broken: type[Any]) -> Seat:
    if issubclass(broken, Terminal):
        return TerminalSeat("full", broken)
    if issubclass(broken, Elicitation):
        return ClientSeat("full", broken)
    seat = WebhookSeat("full")
    settings = WebhookSettings("hook", seat.server.url, encode_secret(SECRET), ("ana",), "full")
    seat.surface = broken(settings, time.time)
    return seat


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_surface_is_caught(gate: Gate, session: str, clock: Clock, broken: type[Any]) -> None:
    seat = seat_of(broken)
    try:
        with pytest.raises((AssertionError, SaysoError)):
            CHECKS[BROKEN[broken]](gate, session, clock, seat)
    finally:
        seat.stop()


def describe_table() -> str:
    """Return which check runs on which surface; a dot where a surface cannot fail it."""
    width = max(map(len, SEATS))
    lines = [" ".join((" " * width, *CHECKS))]
    for name in SEATS:
        cells = (("yes" if (name, check) in TABLE else ".").ljust(len(check)) for check in CHECKS)
        lines.append(" ".join((name.ljust(width), *cells)))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(describe_table() + "\n")

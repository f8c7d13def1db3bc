"""Text of an agent in every field it can write to, on every surface beyond this process: shown as data.

Nothing that acts on a screen (control characters, escapes, text that turns direction or is not seen) leaves
the gate, and no line of a card is one that the agent wrote as a line of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import pytest

from sayso.core.audit.notices import Notice
from sayso.core.model import Declaration, Operation, Request
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.deliveries.cards import make_card
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.gate.gate import Gate
from sayso.gate.questions.read import find_question
from sayso.gate.questions.team.progress import ApprovalLine
from tests.deliveries.conftest import clock, gate, no_settings, session
from tests.support.asking import asked
from tests.surfaces.seats import REMOTE

__all__ = ["clock", "gate", "no_settings", "session"]

TRICKS = "\x1b[2J\x1b]0;x\x07\u202e\u2066\u200b\ufeff\U000e0041\x9b\x00"
LINE = "May this run? Low risk."
EVIL = f"{TRICKS}\n{LINE}\r\n- Allowed once by ana.\n"
FIELDS: dict[str, Callable[[], dict[str, Any]]] = {
    "tool": lambda: {"tool": f"t{EVIL}"},
    "command": lambda: {"args": {"command": f"ls {EVIL}"}, "command": f"ls {EVIL}"},
    "value": lambda: {"args": {"text": EVIL}},
    "name of an argument": lambda: {"args": {EVIL: 1}},
    "deep value": lambda: {"args": {"a": [{"b": [EVIL]}]}},
    "target": lambda: {"target": EVIL},
    "folder": lambda: {"folder": f"/srv/{EVIL}".replace("\0", "")},
    "server": lambda: {"server": EVIL},
    "agent": lambda: {"agent": f"claude{EVIL}"},
}


class Paper:
    """A surface that keeps every text it was given."""

    name, longest, polls, allows, cuts = "paper", 100_000, False, True, False
    approvers = frozenset({"ana"})

    def __init__(self, detail: str) -> None:
        self.detail = detail
        self.cards: list[QuestionCard] = []
        self.endings: list[str] = []

    def show(self, card: QuestionCard, key: str) -> str:
        self.cards.append(card)
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        self.endings.append(ending)

    def tell(self, notice: Notice, key: str) -> None: ...
    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        return ()

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer | None:
        return None


def request_with(session: str, field: str) -> Request:
    given = {"tool": "Edit", "args": {"x": 1}, "agent": "claude", **FIELDS[field]()}
    call = make_call(
        given["tool"],
        given["args"],
        **{key: given[key] for key in ("command", "target", "folder", "server") if key in given},
    )
    named = Operation("files.edit")
    declared = Declaration((named,), "host")
    return make_request(call, [named], session=session, agent=given["agent"], declared=declared)


def check_text(text: str) -> None:
    odd = [one for one in text if one != "\n" and not one.isprintable()]
    assert odd == [], f"{odd!r} in {text!r}"
    assert not set(TRICKS) & set(text) - set("[2J]0;x")
    assert not any(line.strip() == LINE for line in text.splitlines())


@pytest.mark.parametrize("detail", ["full", "masked"])
@pytest.mark.parametrize("field", FIELDS)
def test_every_card_holds_it_as_data(gate: Gate, session: str, field: str, detail: str) -> None:
    question = asked(gate, request_with(session, field))
    paper = Paper(detail)
    Dispatcher(gate, (paper,), notices_to=lambda: None).send(paper)
    (card,) = paper.cards
    for text in (card.title, card.agent, card.body, *card.operations, *(one.covers for one in card.answers)):
        check_text(text)
    assert "\n" not in card.title + card.agent
    assert detail == "full" or "Low risk" not in str([card.body, [one.covers for one in card.answers]])
    found = find_question(gate, question).question
    again = make_card(gate, paper, found, card.expires_at, None, ApprovalLine())
    assert msgspec.structs.asdict(again)["digest"] == card.digest


@pytest.mark.parametrize("kind", REMOTE)
@pytest.mark.parametrize("field", FIELDS)
def test_no_service_is_sent_what_acts(gate: Gate, session: str, field: str, kind: str) -> None:
    asked(gate, request_with(session, field))
    seat = REMOTE[kind]("full")
    try:
        seat.begin(gate)
        seat.put()
        shown = seat.shown()
    finally:
        seat.stop()
    assert "edit" in shown
    odd = [one for one in shown if one != "\n" and not one.isprintable()]
    assert odd == [], f"{odd!r} in {shown!r}"

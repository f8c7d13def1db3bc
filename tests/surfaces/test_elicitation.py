"""MCP elicitation as a surface: what a client's form may and may not do."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from sayso.core.model import Risk
from sayso.doors.mcp.elicitation import Elicitation, Filled, make_form, read_form, write_message
from sayso.gate.deciding.request import make_call
from sayso.gate.questions.surface import AskedQuestion
from tests.support.questions import NOW, asked_about, push_question


def high(**more: Any) -> AskedQuestion:
    return push_question(("once", "deny"), risk=Risk.HIGH, **more)


@pytest.mark.parametrize("answer", ["once", "always", "task", "remember"])
def test_no_form_allows_high_risk(answer: str) -> None:
    assert make_form(high())["properties"]["answer"]["enum"] == ["deny"]
    assert read_form(high(), Filled("accept", {"answer": answer, "word": "allow"})) is None
    denied = read_form(high(), Filled("accept", {"answer": "deny"}))
    assert denied is not None
    assert denied.answer == "deny"


def test_a_yes_from_a_form_never_claims_that_the_call_was_seen() -> None:
    reply = read_form(push_question(), Filled("accept", {"answer": "once"}))
    assert reply is not None
    assert (reply.answer, reply.seen) == ("once", None)


def test_what_is_too_long_is_said_to_be_cut() -> None:
    asked = asked_about(make_call("write", {"text": "x" * 50_000}), ("once", "deny"), risk=Risk.HIGH)
    assert "is not shown here" in write_message(asked, NOW)


@pytest.mark.parametrize(
    ("filled", "answer"),
    [
        (Filled("decline", {}), "deny"),
        (Filled("decline", {"answer": "once"}), "deny"),
        (Filled("accept", {"answer": "deny", "reason": "no\x1b[2J"}), "deny"),
        (Filled("cancel", {}), None),
        (Filled("cancel", {"answer": "once"}), None),
        (Filled("accept", {}), None),
        (Filled("accept", {"answer": True}), None),
        (Filled("accept", {"answer": ["once"]}), None),
        (Filled("accept", {"answer": "edit"}), None),
        (Filled("accept", {"answer": "ONCE"}), None),
        (Filled("Accept", {"answer": "once"}), None),
        (Filled("", {"answer": "once"}), None),
    ],
)
def test_only_an_accepted_offer_allows(filled: Filled, answer: str | None) -> None:
    reply = read_form(push_question(), filled)
    assert (None if reply is None else reply.answer) == answer
    assert reply is None or "\x1b" not in (reply.reason or "")


def test_a_client_that_fails_or_is_not_there_answers_nothing() -> None:
    failed: Future[Filled] = Future()
    failed.set_exception(RuntimeError("no back channel"))
    for find in (lambda _: None, lambda _: lambda message, form: failed):
        client = Elicitation(find, clock=lambda: NOW)
        client.show(push_question(), "key")
        assert client.fetch(0) == ()

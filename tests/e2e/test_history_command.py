"""`sayso history` as a real process: the same stories as on the page."""

from __future__ import annotations

import json

from sayso.gate.gate import Gate
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question
from tests.e2e.operator_place import Place
from tests.support.asking import edit, push


def ran(gate: Gate, session: str) -> str:
    """Asked, polled three times, approved, run."""
    attempt = start_call(gate, edit(session), holder="worker")
    for _ in range(3):
        assert retry_call(gate, attempt.call, holder="worker").state == "pending"
    assert answer_question(gate, attempt.question or "", "once", by="ana", reason="go on").yours
    started = retry_call(gate, attempt.call, holder="worker")
    end_call(gate, attempt.call, started.fence, "succeeded")
    return attempt.call


def test_one_story_a_call_with_who_answered_what(place: Place, gate: Gate, session: str) -> None:
    call = ran(gate, session)
    denied = start_call(gate, push(session), holder="worker")
    answer_question(gate, denied.question or "", "deny", by="ben")
    told = json.loads(place.sayso("history", "--json").stdout)
    assert [[step["what"] for step in one["steps"]] for one in told] == [
        ["asked", "answered", "started", "ended"],
        ["asked", "answered"],
    ]
    assert [one["state"] for one in told] == ["succeeded", "denied"]
    shown = place.sayso("history").stdout
    assert "allowed once by ana: go on" in shown
    assert "denied by ben" in shown
    assert "pending" not in shown
    assert len(json.loads(place.sayso("history", call, "--json").stdout)) == 1
    assert json.loads(place.sayso("history", "PUSH", "--verdict", "deny", "--json").stdout)[0]["title"]
    assert json.loads(place.sayso("history", "no such thing", "--json").stdout) == []


def test_a_shortened_session_is_not_taken_for_one_in_which_nothing_happened(
    place: Place, gate: Gate, session: str
) -> None:
    ran(gate, session)
    (one,) = json.loads(place.sayso("history", "--session", session[:8], "--json").stdout)
    assert one["session"] == session


def test_a_denied_call_is_not_listed_as_one_that_waits(place: Place, gate: Gate, session: str) -> None:
    denied = start_call(gate, push(session), holder="worker")
    answer_question(gate, denied.question or "", "deny", by="ben")
    assert denied.call not in place.sayso("calls").stdout
    everything = json.loads(place.sayso("calls", "--all", "--json").stdout)
    assert [one["state"] for one in everything if one["id"] == denied.call] == ["denied"]
    assert json.loads(place.sayso("calls", "show", denied.call, "--json").stdout)["state"] == "denied"


def test_the_inbox_tells_calls_apart(place: Place, gate: Gate, session: str) -> None:
    start_call(gate, edit(session), holder="worker")
    (one,) = json.loads(place.sayso("inbox", "--json").stdout)
    assert one["title"]
    assert f"{one['id']}  {one['title']}" in place.sayso("inbox").stdout

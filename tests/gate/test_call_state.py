"""The state a tool tells of: shown in the question, bound into the approval, asked about if it differs."""

from __future__ import annotations

import pytest

from sayso.core.ledger import NotNow
from sayso.core.model import Operation
from sayso.gate.call_rows import KeyReused
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question
from tests.gate.calling import answered, approved
from tests.support.asking import edit


def test_the_state_is_shown_with_what_would_run_as_data(gate: Gate, session: str) -> None:
    question = authorize(gate, edit(session, state="3 files\n\x1b[2Jchanged")).question
    assert question is not None
    assert "\n  as things stand now: 3 files\\n\\x1b[2Jchanged\n" in question.text
    push = make_request(
        make_call("shell", {}, command="git push", state="2 commits ahead"),
        [Operation("git.push")],
        session=session,
    )
    question = authorize(gate, push).question
    assert question is not None
    assert "\n- git push\n" in question.text
    assert "\n  as things stand now: 2 commits ahead\n" in question.text


def test_an_approval_serves_while_the_state_is_the_one_that_was_shown(gate: Gate, session: str) -> None:
    attempt = approved(gate, session, state="clean")
    running = retry_call(gate, attempt.call, holder="one", state="clean")
    assert running.runs
    end_call(gate, running.call, running.fence, "succeeded", b'"done"')
    assert retry_call(gate, attempt.call, holder="one").result == b'"done"'


@pytest.mark.parametrize("answer", ["once", "temporary", "always"])
def test_a_state_that_differs_at_the_start_asks_again(gate: Gate, session: str, answer: str) -> None:
    attempt = approved(gate, session, answer, state="clean")
    again = retry_call(gate, attempt.call, holder="one", state="dirty")
    assert (again.state, again.record.request.call.state) == ("pending", "dirty")
    assert again.question != attempt.question
    answered(gate, again)
    assert retry_call(gate, attempt.call, holder="one", state="dirty").runs


def test_an_approval_of_one_state_is_not_used_up_by_another(gate: Gate, session: str) -> None:
    attempt = approved(gate, session, state="clean")
    assert retry_call(gate, attempt.call, holder="one", state="dirty").state == "pending"
    back = retry_call(gate, attempt.call, holder="one", state="clean")
    assert (back.runs, back.record.request.call.state) == (True, "clean")


def test_the_identical_call_made_anew_in_another_state_is_not_covered_either(
    gate: Gate, session: str
) -> None:
    approved(gate, session, state="clean")
    for state in ("dirty", "", None):
        assert start_call(gate, edit(session, state=state), holder="one").state == "pending"
    assert start_call(gate, edit(session, state="clean"), holder="one").runs


def test_a_retry_that_does_not_tell_the_state_runs_nothing(gate: Gate, session: str) -> None:
    attempt = approved(gate, session, state="clean")
    with pytest.raises(NotNow, match="state"):
        retry_call(gate, attempt.call, holder="one")
    assert retry_call(gate, attempt.call, holder="one", state="clean").runs


def test_a_call_asked_for_without_a_state_is_asked_about_again_with_one(gate: Gate, session: str) -> None:
    attempt = approved(gate, session)
    assert retry_call(gate, attempt.call, holder="one", state="dirty").state == "pending"


def test_denying_a_call_in_one_state_is_not_denying_it_in_another(gate: Gate, session: str) -> None:
    attempt = start_call(gate, edit(session, state="clean"), holder="one")
    assert attempt.question is not None
    answer_question(gate, attempt.question, "deny", by="ana")
    assert retry_call(gate, attempt.call, holder="one", state="dirty").state == "pending"
    assert start_call(gate, edit(session, state="clean"), holder="one").state == "denied"


def test_one_call_seen_twice_in_two_states_is_one_call(gate: Gate, session: str) -> None:
    first = start_call(gate, edit(session, state="clean"), holder="hook", host_id="toolu_1")
    again = start_call(gate, edit(session, state="dirty"), holder="hook", host_id="toolu_1")
    assert (first.call, first.question) == (again.call, again.question)
    assert again.record.request.call.state == "clean"
    with pytest.raises(KeyReused):
        start_call(gate, edit(session, "b.py", state="clean"), holder="hook", host_id="toolu_1")

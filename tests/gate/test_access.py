"""Asking for access: the question of a call without its start, and nothing used up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from sayso.core.model import Operation, Verdict
from sayso.gate.call_rows import KeyReused
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.access_requests import (
    NotRequestable,
    TooManyQuestions,
    load_access_request,
    request_access,
)
from sayso.gate.ledger.retry import retry_call
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.explain import preview_decision
from sayso.gate.sessions.sessions import open_session
from tests.support.asking import edit


def entries(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        return [row.event for row in tx.entries(gate.stream, limit=1000)]


def test_it_opens_the_question_of_the_call_and_starts_nothing(gate: Gate, session: str) -> None:
    asked = request_access(gate, edit(session), key="k", same="body")
    assert asked.question is not None
    assert asked.question.state == "open"
    with gate.store.read() as tx:
        row = tx.call(asked.call)
    assert row is not None
    assert (row.state, row.fence, row.question) == ("pending", 0, asked.question.id)
    answer_question(gate, asked.question.id, "once", by="ana")
    assert preview_decision(gate, edit(session)).verdict is Verdict.ALLOW
    tries = [retry_call(gate, asked.call, holder=f"worker {n}") for n in range(4)]
    assert [one.runs for one in tries] == [True, False, False, False]


def test_what_is_allowed_leaves_no_trace_and_keeps_its_approval(gate: Gate, session: str) -> None:
    asked = request_access(gate, edit(session), key=None, same="body")
    assert asked.question is not None
    answer_question(gate, asked.question.id, "once", by="ana")
    before = entries(gate)
    for _ in range(3):
        with pytest.raises(NotRequestable):
            request_access(gate, edit(session), key=None, same="body")
    assert entries(gate) == before
    assert retry_call(gate, asked.call, holder="one").runs


def test_what_is_denied_is_recorded_and_opens_nothing(gate: Gate, session: str) -> None:
    operation = Operation("self_modification.modify_policy")
    blocked = make_request(make_call("rewrite"), [operation], session=session)
    assert preview_decision(gate, blocked).rule == "blocked"
    with pytest.raises(NotRequestable):
        request_access(gate, blocked, key="k", same="body")
    assert entries(gate)[-1] == "BLOCKED"
    with gate.store.read() as tx:
        assert tx.count_open() == 0
        assert tx.call_by_host(session, "access-request:k") is None


def test_a_key_stands_for_one_submission(gate: Gate, session: str) -> None:
    first = request_access(gate, edit(session), key="k", same="body")
    assert request_access(gate, edit(session), key="k", same="body") == first
    with pytest.raises(KeyReused):
        request_access(gate, edit(session), key="k", same="other")
    other = open_session(gate, agent="tester", owner="host")
    assert request_access(gate, edit(other), key="k", same="other").call != first.call


def test_of_many_submissions_at_once_under_one_key_there_is_one_task(gate: Gate, session: str) -> None:
    def submit(_: int) -> str:
        return request_access(gate, edit(session), key="k", same="body").call

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(submit, range(24)))) == 1
    with gate.store.read() as tx:
        assert tx.count_open() == 1


def test_too_many_are_refused_and_that_is_recorded(gate: Gate, session: str) -> None:
    for number in range(20):
        request = make_request(
            make_call("edit", {"n": number}), [Operation("files.edit")], agent="tester", session=session
        )
        request_access(gate, request, key=None, same=str(number))
    before = len(entries(gate))
    with pytest.raises(TooManyQuestions):
        request_access(gate, edit(session), key="k", same="body")
    assert len(entries(gate)) == before + 1


def test_a_task_is_about_the_question_it_opened_whatever_is_asked_later(gate: Gate, session: str) -> None:
    asked = request_access(gate, edit(session), key=None, same="body")
    assert asked.question is not None
    answer_question(gate, asked.question.id, "once", by="ana")
    with gate.store.write() as tx:
        row = tx.call(asked.call)
        assert row is not None
        later = gate.sealer.call(msgspec.structs.replace(row, question="another"))
        tx.move_call(later, states=("pending",), fence=0)
    with gate.store.read() as tx:
        found = load_access_request(gate, tx, asked.call)
    assert found is not None
    assert found[1].question is not None
    assert found[1].question.id == asked.question.id


def test_a_question_written_by_hand_is_no_answer(gate: Gate, session: str) -> None:
    asked = request_access(gate, edit(session), key=None, same="body")
    assert asked.question is not None
    forged = msgspec.structs.replace(asked.question, id="forged", state="answered", answer="once")
    with gate.store.write() as tx:
        tx.add_question(forged)
        row = tx.call(asked.call)
        assert row is not None
        tx.move_call(msgspec.structs.replace(row, key="body forged"), states=("pending",), fence=0)
    with gate.store.read() as tx:
        found = load_access_request(gate, tx, asked.call)
    assert found is not None
    assert found[1].question is None

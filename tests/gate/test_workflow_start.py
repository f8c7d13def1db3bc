"""The start of a workflow: once its class is granted, it starts unasked until that grant ends."""

from __future__ import annotations

from sayso.core.model import Operation, Request, Verdict
from sayso.gate.deciding.authorize import Authorization, authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.workflows import cascade_revoke
from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.sessions import open_session
from tests.support.gates import Clock


def start(session: str, week: int = 1, workflow: str = "weekly") -> Request:
    call = make_call(f"workflow:{workflow}", {"week": week})
    return make_request(call, [Operation("files.edit")], session=session, workflow=workflow)


def granted(gate: Gate, session: str, answer: str) -> None:
    question = authorize(gate, start(session)).question
    assert question is not None
    assert answer_question(gate, question.id, answer, by="ana").yours
    assert authorize(gate, start(session)).decision.rule == "approved_call"


def decided(gate: Gate, request: Request) -> tuple[Verdict, str]:
    made: Authorization = authorize(gate, request)
    return made.decision.verdict, made.decision.rule


def test_a_class_grant_starts_later_runs_whatever_they_are_given(gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="test")
    granted(gate, session, "always")
    assert decided(gate, start(session)) == (Verdict.ALLOW, "workflow_start")
    assert decided(gate, start(session, week=2)) == (Verdict.ALLOW, "workflow_start")


def test_an_answer_for_once_leaves_no_class_grant(gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="test")
    granted(gate, session, "once")
    assert decided(gate, start(session)) == (Verdict.ASK, "workflow_start")


def test_a_class_grant_is_for_one_workflow_in_one_session(gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="test")
    other = open_session(gate, agent="tester", owner="test")
    granted(gate, session, "always")
    assert decided(gate, start(session, workflow="daily"))[0] is Verdict.ASK
    assert decided(gate, start(other))[0] is Verdict.ASK


def test_a_class_grant_for_15_minutes_ends_with_them(gate: Gate, clock: Clock) -> None:
    session = open_session(gate, agent="tester", owner="test")
    granted(gate, session, "temporary")
    clock.now += 15 * 60 - 1
    assert decided(gate, start(session))[0] is Verdict.ALLOW
    clock.now += 1
    assert decided(gate, start(session))[0] is Verdict.ASK


def test_withdrawn_trust_ends_the_class_grant(gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="test")
    granted(gate, session, "always")
    assert cascade_revoke(gate, session, "weekly", by="ana") == 1
    assert decided(gate, start(session)) == (Verdict.ASK, "workflow_start")

"""Trying a surface: a notice and a question about nothing, and whether somebody answered there."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from sayso.core.audit.notices import Notice
from sayso.core.decision import Question
from sayso.core.errors import SaysoError
from sayso.core.model import Operation
from sayso.core.team import Team
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.deliveries.answers import answerer
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.remote_surface import RemoteSurface
from sayso.gate.deliveries.team_timing import held_until
from sayso.gate.deliveries.telling import is_told_notices
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import on_surface
from sayso.gate.questions.answer import cancel_question
from sayso.gate.questions.team.quorum import load_approvals
from sayso.gate.questions.wait import load_question_now
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.gate.words import SURFACE_TEST, SURFACE_TEST_OPERATION

TOOL = "test_surface"
TEXT = "This is a test. Nothing runs, whatever you answer."
LOOK_AGAIN = 0.2


class Trial(msgspec.Struct, frozen=True):
    """How it ended, in a sentence."""

    answered: bool
    text: str


def try_surface(
    gate: Gate, surface: RemoteSurface, seconds: float, *, said: Callable[[str], object]
) -> Trial:
    """Send the question, and a notice where those are taken, and wait. It is taken back if nobody answers."""
    if surface.allows and not surface.approvers:
        told = f"Nobody may answer on {surface.name}: it has no approvers. Add it with approvers=ID."
        return Trial(False, told)
    if is_told_notices(surface):
        now = time.time()
        surface.tell(Notice(f"test.{int(now)}", now, "TEST", TEXT), f"test.{int(now)}")
        said(f"A notice was sent to {surface.name}.")
    session = open_session(gate, agent=SURFACE_TEST, owner="operator")
    call = make_call(TOOL, {"text": TEXT})
    asked = [Operation(SURFACE_TEST_OPERATION)]
    question = authorize(gate, make_request(call, asked, session=session, agent=SURFACE_TEST)).question
    if question is None:
        close_session(gate, session)
        return Trial(False, "The policy does not ask about an unknown operation, so nothing can be tried.")
    dispatcher = Dispatcher(gate, (surface,), notices_to=lambda: None, hold=_hold_others)
    try:
        dispatcher.send(surface)
        failed = _find_error(gate, surface, question.id)
        if failed is not None:
            return Trial(False, f"The question could not be sent to {surface.name}: {failed}")
        if not surface.approvers:
            told = f"It was sent to {surface.name}. Nobody can answer there; look whether it arrived."
            return Trial(True, told)
        said(f"Question {question.id} was sent to {surface.name}. Answer it there.")
        return _wait_for_answer(gate, surface, dispatcher, question.id, seconds)
    finally:
        cancel_question(gate, question.id, "the test is over")
        dispatcher.send(surface)
        close_session(gate, session)


def _hold_others(team: Team, question: Question, surface: str, now: float) -> float | None:
    """Hold back what waits for its time, but not the question of the trial."""
    trial = question.request.agent == SURFACE_TEST
    return None if trial else held_until(team, question, surface, now)


def _find_error(gate: Gate, surface: RemoteSurface, question: str) -> str | None:
    with gate.store.read() as tx:
        row = tx.delivery(surface.name, question)
    return None if row is None else row.error


def _wait_for_answer(
    gate: Gate, surface: RemoteSurface, dispatcher: Dispatcher, question: str, seconds: float
) -> Trial:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if surface.polls:
            with suppress(
                SaysoError
            ):  # a service that runs fetches them as well, and one of the two gets them
                dispatcher.fetch_answers(surface, min(5.0, seconds))
        row = load_question_now(gate, question)
        approver = _find_approver(gate, surface, question)
        if approver is not None:
            return Trial(True, f"{surface.name} works: once by {approver}.")
        if row.state == "answered" and not str(row.by).endswith(answerer("", surface.name)):
            return Trial(False, f"It was answered elsewhere: {row.answer} by {row.by}.")
        if row.state == "answered":
            return Trial(True, f"{surface.name} works: {row.answer} by {row.by}.")
        time.sleep(LOOK_AGAIN)
    return Trial(False, f"Nobody answered on {surface.name} within {seconds:.0f} seconds.")


def _find_approver(gate: Gate, surface: RemoteSurface, question: str) -> str | None:
    """Return who of the team approved it on this surface, where a team has to approve everything."""
    with gate.store.read() as tx:
        given = load_approvals(gate, tx, question)
    here = on_surface(surface.name, "").identity
    return next((one.person for one in given if one.identity.startswith(here)), None)

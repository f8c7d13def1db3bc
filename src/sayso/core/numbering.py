"""What a session makes gets the session's id and a number of its own: its grants, questions, tasks, plans."""

from __future__ import annotations

import msgspec

from sayso.core.grants import Grant
from sayso.core.plan_text import PlanText
from sayso.core.policy import Policy
from sayso.core.session import Plan, Session, Task


def new_grant(shape: Grant, session: Session, policy: Policy, now: float, *, after: int = 0) -> Grant:
    """The grant as this session gives it now, after so many other new ones."""
    return msgspec.structs.replace(
        shape,
        id=f"{session.id}.g{session.granted + 1 + after}",
        session=session.id,
        turn=session.turn,
        given_at=now,
        policy=policy.digest,
    )


def new_task(session: Session, name: str | None = None) -> Task:
    """The task that this turn begins."""
    number = session.tasks + 1
    called = f"task {number}" if name is None else name
    return Task(f"{session.id}.t{number}", called, session.turn, session.turn)


def new_plan(session: Session, text: PlanText, *, shown: bool) -> Plan:
    """The plan that is put to the user in this turn."""
    return Plan(f"{session.id}.p{session.plans + 1}", text, session.turn, session.turn, shown=shown)


def new_question_id(session: Session) -> str:
    return question_id(session.id, session.asked + 1)


def question_id(session: str, number: int) -> str:
    return f"{session}.q{number}"

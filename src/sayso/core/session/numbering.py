"""Ids of what a session makes: each grant, question, task and plan has the session's id and a number."""

from __future__ import annotations

import msgspec

from sayso.core.grants import Grant
from sayso.core.policy import Policy
from sayso.core.session.plan_text import PlanText
from sayso.core.session.state import Plan, Session, Task


def new_grant(shape: Grant, session: Session, policy: Policy, now: float, *, after: int = 0) -> Grant:
    """Complete a grant as this session gives it now; `after` is how many new grants come before it."""
    return msgspec.structs.replace(
        shape,
        id=f"{_grant_prefix(session.id)}{session.granted + 1 + after}",
        session=session.id,
        turn=session.turn,
        given_at=now,
        policy=policy.digest,
    )


def is_grant_id(name: str, session: str) -> bool:
    """Return whether a grant of this session may have this id."""
    return name.startswith(_grant_prefix(session))


def _grant_prefix(session: str) -> str:
    return f"{session}.g"


def new_task(session: Session, name: str | None = None) -> Task:
    """Begin a task in this turn."""
    number = session.tasks + 1
    called = f"task {number}" if name is None else name
    return Task(f"{session.id}.t{number}", called, session.turn, session.turn)


def new_plan(session: Session, text: PlanText, *, shown: bool) -> Plan:
    """Put a plan to the user in this turn."""
    return Plan(f"{session.id}.p{session.plans + 1}", text, session.turn, session.turn, shown=shown)


def new_question_id(session: Session) -> str:
    return question_id(session.id, session.asked + 1)


def question_id(session: str, number: int) -> str:
    return f"{session}.q{number}"

"""Clearing consent, and telling exactly what was lost by it."""

from __future__ import annotations

from sayso.core import words
from sayso.core.effects import Cleared, Reach
from sayso.core.grants import spent
from sayso.core.session import Session, apply


def clear(session: Session, reach: Reach, why: str, now: float) -> tuple[Cleared, tuple[str, ...]]:
    """The effect that clears this much; and how much, why, and each consent and open question that ends."""
    effect = Cleared(reach, why)
    return effect, (words.reach(reach, why), *lost(session, apply(session, (effect,)), now))


def lost(before: Session, after: Session, now: float) -> tuple[str, ...]:
    """What was live before and is not there any more, in words."""
    kept = {held.grant.id for held in after.held if not held.revoked}
    gone = [held.grant for held in before.held if held.grant.id not in kept and not spent(held, now)]
    questions = [question for name, question in before.questions.items() if name not in after.questions]
    named = [words.consent(grant) for grant in gone]
    return tuple(
        dict.fromkeys([*named, *(words.open_question(question.items[0].operation) for question in questions)])
    )

"""Clearing consent, and telling exactly what was lost by it."""

from __future__ import annotations

from collections import Counter

from sayso.core.conversation import words
from sayso.core.effects import ClearReach, ConsentCleared
from sayso.core.grants import spent
from sayso.core.session import Session, apply_effects


def clear_consent(
    session: Session, reach: ClearReach, why: str, now: float
) -> tuple[ConsentCleared, tuple[str, ...]]:
    """The effect that clears this much; and how much, why, and each consent and open question that ends."""
    effect = ConsentCleared(reach, why)
    return effect, (
        words.clear_reach_text(reach, why),
        *list_lost_consents(session, apply_effects(session, (effect,)), now),
    )


def list_lost_consents(before: Session, after: Session, now: float) -> tuple[str, ...]:
    """What was live before and is not there any more, in words; those of one name are counted."""
    kept = {held.grant.id for held in after.all_grants if not held.revoked}
    gone = [held.grant for held in before.all_grants if held.grant.id not in kept and not spent(held, now)]
    questions = [question for name, question in before.questions.items() if name not in after.questions]
    plans = {grant.group for grant in gone if grant.group is not None}  # a plan is one consent in many grants
    consents = Counter(
        [words.PLAN_CONSENT for _ in plans]
        + [words.consent_name(each) for each in gone if each.group is None]
    )
    asked = Counter(question.items[0].operation for question in questions)
    return (
        *(words.several_consents(name, count) for name, count in consents.items()),
        *(words.open_questions_name(operation, count) for operation, count in asked.items()),
    )

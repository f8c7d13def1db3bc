"""Replies that name the questions they answer: "yes to 1, no to the others"."""

from __future__ import annotations

import msgspec

from sayso.core.conversation.hearing import Hearing
from sayso.core.conversation.message import Message
from sayso.core.conversation.replies.asked import (
    find_listed,
    was_asked_back,
)
from sayso.core.conversation.replies.choices import Choice, read_choice
from sayso.core.model import Risk
from sayso.core.text.unmask import strip_decoration, undisguised, with_emoji


def name_questions(h: Hearing) -> None:
    """Take a message for a yes or no to the questions it names, if it is nothing but that.

    A bare number or name counts only right after "Which one do you mean?".
    """
    m, listed = h.message, find_listed(h)
    if not listed or _is_something_else(m) or not undisguised(strip_decoration(with_emoji(m.text))):
        return
    choice = read_choice(m.text, listed)
    if choice is None or (choice.named and _reply_to_which(h, choice) is None):
        return
    plain = msgspec.structs.replace(
        m, refusal=False, assent=None, once=False, of_plan=False, change=None, question=False, imperatives=()
    )
    yes, no = _sides(h, choice)
    if choice.unclear:
        h.message = msgspec.structs.replace(plain, kind="other", unclear=True)
    elif _is_outdated(h, choice):
        says = "yes" if choice.yes else _reply_to_which(h, choice) or "no"
        h.message = msgspec.structs.replace(plain, kind="other", outdated=says)
    elif not yes and no:
        h.message = msgspec.structs.replace(plain, kind="refusal", refusal=True, chosen=no)
    elif yes:
        hesitant = choice.hesitant or m.assent == "medium" or _chooses_hesitantly(h, choice)
        kind, strength = ("medium", "medium") if hesitant else ("assent", "high")
        h.message = msgspec.structs.replace(
            plain, kind=kind, assent=strength, once=choice.once, chosen=yes, declined=no
        )


def _reply_to_which(h: Hearing, choice: Choice) -> str | None:
    """The yes or no that "Which one do you mean?" was asked for, if this choice answers that."""
    which = h.before.pending if was_asked_back(h, "which") else None
    return None if which is None or (choice.orders and which.says == "no") else which.says


def _chooses_hesitantly(h: Hearing, choice: Choice) -> bool:
    """Whether a bare number or name chooses high risk after an "ok": that yes is still asked back."""
    return _reply_to_which(h, choice) == "ok" and any(q.risk >= Risk.HIGH for q in choice.named)


def _is_outdated(h: Hearing, choice: Choice) -> bool:
    """Whether a choice speaks of a place whose question is no longer open. A no to the others still counts.

    Without a list of its own nobody can tell which places were meant once a question has gone.
    """
    if choice.closed:
        return bool(choice.yes or choice.named or not choice.no)
    return not was_asked_back(h, "which") and h.before.outdated_turn == h.before.turn


def _sides(h: Hearing, choice: Choice) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The questions that a choice says yes and no to. What it only names answers "Which one do you mean?".

    A refusal that the choice does not account for leaves no yes.
    """
    says = _reply_to_which(h, choice)
    yes = [*choice.yes, *(choice.named if says in ("yes", "ok") else ())]
    no = [*choice.no, *(choice.named if says == "no" else ())]
    if h.message.refusal and not choice.accounts_for_no:
        yes = []
    return tuple(q.id for q in yes), tuple(q.id for q in no)


def _is_something_else(m: Message) -> bool:
    return m.stop or m.correction or m.forbids or m.kind in ("slash", "grant", "revoke", "clear", "query")

"""What a refusal takes back, in a session and in those it started.

- A bare no with nothing to answer, and any no right after a yes, takes back what the last yes gave: the
  unused approval, the task's consent, the plan, a grant. A standing consent goes only if it was given in the
  turn before and never used.
- Approvals of single calls that are not used yet go too, whichever yes gave them, and free retries with them.
- A prohibition takes standing consents off whose command holds a forbidden word.
- What a change takes out of a plan runs on no other consent either: that of a yes for such operations goes,
  and standing consent for what the change names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from sayso.core import effects as fx
from sayso.core.conversation import words
from sayso.core.conversation.hearing import Hearing
from sayso.core.grants import HeldGrant, spent
from sayso.core.session import Session, Suspension, find_ended_grants
from sayso.core.session.plan_text import PlanText
from sayso.core.text.acts import contains_forbidden, find_names
from sayso.core.text.unmask import fold_text

FROM_A_YES = frozenset({"call", "category", "operation", "tool"})
"""The kinds of grants that a yes gives; standing consent is granted in words of its own."""


def unsays_last_yes(h: Hearing) -> bool:
    """Whether a refusal speaks of the last yes: it is nothing but a no, or comes right after that yes.

    Later "no idea why it fails" speaks of the work.
    """
    given = _find_last_given(h.session, h.now)
    return h.message.bare_no or any(held.grant.turn >= h.session.turn - 1 for held in given)


def take_last_yes_back(h: Hearing) -> None:
    """Take back what the last yes gave, and say exactly what that was."""
    h.add_effects(fx.Withheld())
    given = _find_last_given(h.session, h.now)
    plan = any(held.grant.group is not None for held in given)
    ended = _end(h, [held for held in given if held.grant.group is None])
    if plan:
        h.add_effects(fx.PlanEnded("taken back"))
        ended.append("plan consent (you said no)")
    if any(one.left for one in h.session.suspended.values()):
        exhausted = {name: Suspension(one.digest, 0) for name, one in h.session.suspended.items()}
        h.add_effects(fx.SessionChanged(suspended=exhausted))
        ended.append(words.FREE_RETRY)
    h.cleared += ended
    if ended:
        h.did.append("what the last yes gave is taken back")
        h.announced.append(words.describe_taken_back(ended))


def take_forbidden_off(h: Hearing, forbidden: tuple[str, ...]) -> bool:
    """Take the standing consents off that hold a forbidden word, in every workspace; whether any went."""
    h.add_effects(fx.Withheld(forbidden, forbids=True))
    entries = (
        held for held in h.session.all_grants if held.grant.kind == "command" and not spent(held, h.now)
    )
    ended = _end(h, [held for held in entries if contains_forbidden(held.grant.value, forbidden)])
    h.cleared += ended
    return bool(ended)


def take_excluded_back(h: Hearing, before: PlanText, after: PlanText) -> None:
    """End the other consent that would let run what a change takes out of a plan, or forbids beside it."""
    gone = [name for name in before.operations if _lost_something(name, before, after)]
    out = [target.lower() for target in before.targets if target not in after.targets]
    words_gone = (
        word for name in (*(re.sub(r"[._]", " ", name) for name in gone), *out) for word in find_names(name)
    )
    named = frozenset(find_names(fold_text(h.message.text))).intersection(words_gone)
    forbidden = (*(h.message.forbidden if h.message.forbids else ()), *sorted(named))
    if forbidden and take_forbidden_off(h, tuple(dict.fromkeys(forbidden))):
        h.did.append("standing consent for what you exclude is taken back")
    categories = {h.policy.entry(name).category for name in gone}
    of_a_yes = (
        held
        for held in h.session.all_grants
        if held.grant.kind in FROM_A_YES and held.grant.group is None and not spent(held, h.now)
    )
    elsewhere = h.message.forbids and not gone  # the plan does not name what is forbidden
    h.cleared += _end(h, [held for held in of_a_yes if elsewhere or _serves(held, gone, categories)])


def _lost_something(operation: str, before: PlanText, after: PlanText) -> bool:
    """Whether a change has taken an operation, or a target of it, out of a plan."""
    kept = after.targets_of(operation)
    return operation not in after.operations or not set(before.targets_of(operation)).issubset(kept)


def _serves(held: HeldGrant, operations: Collection[str], categories: Collection[str]) -> bool:
    """Whether a grant of a yes lets any of these operations run."""
    if held.grant.kind == "category":
        return held.grant.value in categories
    pinned = held.grant.pins.operations
    return held.grant.value in operations or pinned is None or not set(pinned).isdisjoint(operations)


def _end(h: Hearing, grants: Iterable[HeldGrant]) -> list[str]:
    """Revoke grants, with the approvals that the same answers gave; each of them in words."""
    revoked = tuple(fx.GrantRevoked(held.grant.key, held.grant.id) for held in grants)
    ended = find_ended_grants(h.session, revoked, h.now)
    h.add_effects(*revoked)
    return list(dict.fromkeys(words.consent_name(held.grant) for held in ended))


def _find_last_given(session: Session, now: float) -> list[HeldGrant]:
    """The live grants of the last yes, and every approval of a single call that is not used yet."""
    live = [held for held in session.all_grants if not spent(held, now)]
    of_a_yes = [held for held in live if held.grant.kind in FROM_A_YES]
    standing = [held for held in live if _was_just_written(held, session)]
    last = max((held.grant.turn for held in (*of_a_yes, *standing)), default=None)
    return [
        held
        for held in (*of_a_yes, *standing)
        if held.grant.turn == last or (held.grant.kind == "call" and held.grant.uses is not None)
    ]


def _was_just_written(held: HeldGrant, session: Session) -> bool:
    """Whether a standing consent is from the message before, and nothing ran on it."""
    return held.grant.kind == "command" and not held.used and held.grant.turn == session.turn - 1

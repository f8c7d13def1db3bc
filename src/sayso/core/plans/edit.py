"""What a "yes, but ..." makes of a plan. A change takes away or narrows; it never adds.

A change is read piece by piece. A name of the plan stays only in a piece that is understood as agreeing to it
("and then commit") or as keeping it ("only src/a.py"). A target named beside nothing but a yes is chosen, and
the others go ("yes, src/a.py", "start with a.py"). Beside anything else a name is taken out: words that
exclude, forbid, postpone or keep something for the user, and words this grammar does not know. A piece that
restricts without naming anything, or praises what it names, leaves no operation, so that each is asked for:
better than to run just the part that was not meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from sayso.core.plans.clause_senses import (
    GOES_ON,
    ORDERS,
    agrees,
    chooses,
    does_otherwise,
    excludes,
    names_something,
    names_step_by_number,
    picks_steps,
    praises,
    restricts,
)
from sayso.core.plans.names import words_of
from sayso.core.plans.narrow import (
    find_named_steps,
    keep_named,
    keep_only,
    keep_up_to,
    take_out,
    without_operations,
)
from sayso.core.plans.pieces import ChangePiece, is_unclear, split_into_pieces, with_strokes_spelled
from sayso.core.plans.plan import add_rendering
from sayso.core.session.plan_text import PlanText
from sayso.core.text.look_alikes import APOSTROPHES
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import HIGH_PHRASES, MEDIUM_PHRASES, pattern
from sayso.core.text.unmask import LONGEST, fold_text, spell_signs, visible_readings


def adjust_plan(plan: PlanText, change: str, known: Collection[str]) -> PlanText:
    """The plan after a change, rendered. What it names after it, it named before."""
    for pieces in (each for seen in visible_readings(change) for each in split_into_pieces(seen, plan)):
        before = plan.places
        chosen = _find_chosen(pieces, plan)
        unclear = not any(piece.marked for piece in pieces) and any(is_unclear(each, plan) for each in pieces)
        for piece in pieces:
            kept = any(each.mode == "keep" for each in pieces)  # "just b.py | not now" may point at b.py
            pointless = piece.marked and plan.places != before and not kept  # "b.py must | not change"
            plan = without_operations(plan) if unclear else _apply(plan, piece, known, restrict=not pointless)
        plan = _keep_chosen(plan, chosen, known) if chosen else plan
    return add_rendering(msgspec.structs.replace(plan, adjustments=(*plan.adjustments, change)))


def find_spoken_change(text: str, plan: PlanText) -> str | None:
    """The change that a message makes to a plan without a word like "but": "yes, avoid b.py", "b.py later".

    It takes away only, so in doubt it is one: a yes followed by a restriction or by something the plan names,
    or a statement that excludes, postpones or keeps for the user something the plan names, or that chooses
    by number. A question changes nothing, but for "could you skip b.py?".
    """
    said = with_strokes_spelled(spell_signs(text)).translate(APOSTROPHES).strip(" ,")
    if len(said) > LONGEST or ("?" in said and not _REQUEST.match(said)):
        return None
    yes = _YES.match(said)
    if yes is None:
        return said if _narrows(fold_text(said), plan) else None
    rest = said[yes.end() :].strip(" .,;:!")
    if not rest or _IDIOM.fullmatch(rest):
        return None
    return rest if restricts(fold_text(rest)) or names_something(rest, plan) else None


def begins_with_yes(text: str) -> bool:
    return _YES.match(text.translate(APOSTROPHES).strip()) is not None


def _narrows(folded: str, plan: PlanText) -> bool:
    if _NUMBERED.match(folded) and _NARROWS.search(folded):
        return True
    speaks = excludes(folded) or _NARROWS.search(folded) is not None or _SAYS_YES.search(folded) is not None
    return speaks and names_something(folded, plan)


def _apply(plan: PlanText, piece: ChangePiece, known: Collection[str], *, restrict: bool) -> PlanText:
    if names_step_by_number(piece.words) or (not piece.marked and does_otherwise(piece.words, plan)):
        return without_operations(plan)
    if piece.mode == "up_to":
        return keep_up_to(plan, piece.words, known)
    if piece.mode == "keep":
        return keep_named(plan, piece.words, known)
    if piece.mode == "condition" or (
        not piece.marked
        and (chooses(piece.words, plan) or picks_steps(piece.words, plan) or agrees(piece.words, plan))
    ):
        return plan
    if not piece.marked and (praises(piece.words, plan) or ORDERS.search(fold_text(piece.words))):
        return without_operations(plan)
    return take_out(
        plan, piece, known, restrict=restrict and (piece.marked or restricts(fold_text(piece.words)))
    )


def _find_chosen(pieces: Collection[ChangePiece], plan: PlanText) -> list[str]:
    """The clauses of a sentence that choose from the plan, and those that agree beside them; none if none."""
    unmarked = [piece.words for piece in pieces if piece.mode == "out" and not piece.marked]
    goes_on = bool(unmarked) and words_of(unmarked[0])[:1] in _GOES_ON_FIRST  # "and then run the tests"
    picks = [words for words in unmarked if not goes_on and picks_steps(words, plan)]
    if not picks and not any(chooses(words, plan) for words in unmarked):
        return []
    return [words for words in unmarked if words in picks or chooses(words, plan) or agrees(words, plan)]


def _keep_chosen(plan: PlanText, clauses: list[str], known: Collection[str]) -> PlanText:
    """The plan with what these clauses name, alone. A target without an operation stands for all on it."""
    named = [find_named_steps(words, plan, known) for words in clauses]
    everything = any(targets and not operations for operations, targets in named)
    return keep_only(
        plan,
        plan.operations if everything else [name for operations, _ in named for name in operations],
        [name for _, targets in named for name in targets],
    )


_GOES_ON_FIRST = [[word] for word in sorted(GOES_ON)]
_REQUEST = lazy_pattern(r"(?:please\s+)?(?:can|could|would|will)\s+(?:you|we)\b", re.IGNORECASE)
_NARROWS = lazy_pattern(
    r"\b(?:only|just|except|but|skip|drop|remove|delete|cut|scrap|strike|take|leave|omit|no|not|yes|later|without"
    r"|exclude|keep|minus|replace|change|move|rename|revert|undo)\b|[\u274c\u2716\u26d4\U0001f44e\U0001f6ab]"
)
_NUMBERED = lazy_pattern(
    r"(?:(?:please|only|just|all|everything|except|but|skip|drop|remove|not|no|for|and|the|number|step|part|item|do)"
    r"[\s,]+)*#?(?:\d{1,3}(?:st|nd|rd|th)?|first|second|third|fourth|fifth|last|one|two|three)(?![\w./-])"
)
_YES = lazy_pattern(
    rf"(?:{pattern((*HIGH_PHRASES, *MEDIUM_PHRASES))})(?![\w'/]|[-.]\w)[\s,.;:!–—-]+", re.IGNORECASE
)
_SAYS_YES = lazy_pattern(rf"(?<!\w)(?:{pattern((*HIGH_PHRASES, *MEDIUM_PHRASES))})[\s.!,]*\Z")
_IDIOM = lazy_pattern(
    r"(?:why\s+not|no\s+(?:problem|worries|doubt|objections?|issues?)|not\s+(?:bad|a\s+problem))\W*",
    re.IGNORECASE,
)

"""A plan with less in it: without what words name, or with nothing but that. Nothing is ever added."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from sayso.core.plans.clause_senses import VERBS, is_known
from sayso.core.plans.names import is_called, is_pattern, means, points_at, recalls, stem, words_of
from sayso.core.plans.pieces import ChangePiece
from sayso.core.plans.promised_names import find_operations, find_targets
from sayso.core.session.plan_text import PlanText
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.unmask import fold_text


def take_out(plan: PlanText, piece: ChangePiece, known: Collection[str], *, restrict: bool) -> PlanText:
    """The plan without what a piece points at. With `restrict`, one that points at nothing leaves nothing."""
    spoken = words_of(piece.words)
    targets = [name for name in plan.targets if points_at(spoken, name)]
    stems = frozenset(map(stem, spoken)) - (_FILE_STEMS if targets else frozenset())
    of_files = _on_files(piece.words, known)
    operations = [name for name in plan.operations if recalls(stems, name) and name not in of_files]
    if operations or targets:
        return _less(plan, operations, targets)
    strange = any(find_targets(word) for word in spoken) and not any(map(is_pattern, spoken))
    elsewhere = strange or any(means(stems, name) for name in known if name not in plan.operations)
    if elsewhere and not _COMES_BEFORE.search(fold_text(piece.words)):
        return plan
    return without_operations(plan) if restrict else plan


def _on_files(words: str, known: Collection[str]) -> set[str]:
    """The operations on files that words name together with a file: "edit b.py" speaks of b.py alone."""
    verbs = [found.start() for found in re.finditer(r"\w+", words) if stem(found[0].lower()) in VERBS]
    promised = [find_operations(words[start:], known) for start in verbs[:20]]
    return {
        name for each in promised for name, places in each.items() if places and name.startswith("files.")
    }


def keep_named(plan: PlanText, words: str, known: Collection[str]) -> PlanText:
    """The plan with nothing but what words name; nothing of it if they are not all understood."""
    spoken = words_of(words)
    operations, targets = find_named_steps(words, plan, known)
    strange = bool(find_targets(words)) and not targets
    if strange or not (operations or targets) or not all(is_known(word, plan) for word in spoken):
        return without_operations(plan)
    return keep_only(msgspec.structs.replace(plan, scope=plan.scope or f"only {words}"), operations, targets)


def keep_up_to(plan: PlanText, words: str, known: Collection[str]) -> PlanText:
    """The plan with its steps up to the last one that words name; nothing of it if they name none."""
    named, _ = find_named_steps(words, plan, known)
    if not named:
        return without_operations(plan)
    last = max(map(plan.operations.index, named))
    return _less(plan, plan.operations[last + 1 :], ())


def find_named_steps(words: str, plan: PlanText, known: Collection[str]) -> tuple[list[str], list[str]]:
    """The plan's operations and targets that words name."""
    spoken = words_of(words)
    stems = frozenset(map(stem, spoken))
    promised = find_operations(words, known)
    operations = [name for name in plan.operations if name in promised or means(stems, name)]
    return operations, [name for name in plan.targets if any(is_called(word, name) for word in spoken)]


def keep_only(plan: PlanText, operations: Collection[str], targets: Collection[str]) -> PlanText:
    """The plan with these operations and targets, if any are named of their sort, and no others."""
    return _less(
        plan,
        [name for name in plan.operations if operations and name not in operations],
        [name for name in plan.targets if name not in targets and _has_sort_of(name, targets)],
    )


def _has_sort_of(target: str, others: Collection[str]) -> bool:
    """Whether one of the others is of the same sort: naming a file says nothing about functions."""
    return any(other.endswith("()") == target.endswith("()") for other in others)


def without_operations(plan: PlanText) -> PlanText:
    """The plan with no operation, so that each is asked for."""
    return msgspec.structs.replace(plan, operations=(), places={})


def _less(plan: PlanText, operations: Collection[str], targets: Collection[str]) -> PlanText:
    """The plan without these, and without the changes that speak of them.

    An operation without its last target goes too: what was to be done there may not be done anywhere.
    """
    left = tuple(name for name in plan.targets if name not in targets)
    places = {
        name: tuple(target for target in plan.targets_of(name) if target not in targets)
        for name in plan.operations
        if name not in operations
    }
    kept = {name: found for name, found in places.items() if found or not plan.targets_of(name)}
    if plan.targets and not left:
        kept = {}
    return msgspec.structs.replace(
        plan,
        operations=tuple(kept),
        places=kept,
        targets=left,
        changes=tuple(change for change in plan.changes if not _speaks_of(change, operations, targets)),
    )


def _speaks_of(change: str, operations: Collection[str], targets: Collection[str]) -> bool:
    spoken = words_of(change)
    stems = frozenset(map(stem, spoken))
    return any(means(stems, name) for name in operations) or any(points_at(spoken, name) for name in targets)


_FILE_STEMS = frozenset({"fil", "file"})
# "Show me the diff first" puts the whole plan off, though it names something the plan does not.
_COMES_BEFORE = lazy_pattern(r"\b(?:first|before|until|till|beforehand)\b")

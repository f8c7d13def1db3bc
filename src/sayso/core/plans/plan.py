"""A plan: what its text or structure names, and Sayso's own rendering of what a yes to it would cover.

Reading never grants. A yes covers what the rendering lists, operation by operation with its targets, and
nothing else. What the policy blocks or asks for each time is listed as such.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec

from sayso.core import words
from sayso.core.model import Risk, Tier
from sayso.core.plans import reading
from sayso.core.plans.promised_names import find_operations, find_promised_targets
from sayso.core.policy import Policy
from sayso.core.session.plan_text import PlanText
from sayso.core.text.unmask import undisguised
from sayso.core.words import visible

LONGEST_PLAN = 20_000
"""A longer text is not read as a plan, and a longer rendering covers nothing: nobody agrees to all of it."""


def read_plan(text: str, known: Collection[str]) -> PlanText:
    """Read the text of an assistant's message. `known` are the operations the policy declares."""
    blocks = reading.split_statements(text) if len(text) <= LONGEST_PLAN else []
    promises = list(reading.find_promises(blocks))
    places = _places([find_operations(promise, known) for promise in promises])
    return add_rendering(
        PlanText(
            text="",
            targets=_each(lambda promise: find_promised_targets(promise, known), promises),
            changes=_each(reading.find_changes, promises),
            scope=reading.find_scope(blocks),
            success=reading.find_success(blocks),
            operations=tuple(places),
            places=places,
        )
    )


def plan_from_parts(
    targets: Iterable[str],
    changes: Iterable[str],
    scope: str | None,
    success: str | None,
    operations: Iterable[str],
) -> PlanText:
    """A plan given as structure: each operation on each target. What cannot be shown as is does not count."""
    return add_rendering(PlanText("", tuple(targets), tuple(changes), scope, success, tuple(operations)))


def beside_policy(plan: PlanText, policy: Policy) -> PlanText:
    """The plan, rendered with what of it no yes can cover under this policy."""
    blocked = tuple(name for name in plan.operations if _is_blocked(name, policy))
    asked = tuple(name for name in plan.operations if name not in blocked and _is_always_asked(name, policy))
    return add_rendering(msgspec.structs.replace(plan, blocked=blocked, asked=asked))


def _is_blocked(operation: str, policy: Policy) -> bool:
    entry = policy.entry(operation)
    if entry.tier is None:
        return policy.settings.unlisted == "block"
    return entry.tier is Tier.BLOCKED or entry.trusted_channel


def _is_always_asked(operation: str, policy: Policy) -> bool:
    entry = policy.entry(operation)
    return entry.asks_always(entry.floor or Risk.MODERATE) or entry.floor is Risk.HIGH


# --- reading ------------------------------------------------------------------------------------------------


def _each(find: Callable[[str], list[str]], promises: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found for promise in promises for found in find(promise)))


def _places(promised: list[dict[str, list[str]]]) -> dict[str, tuple[str, ...]]:
    """Each operation with its targets; one that never says where is for those that the others are for."""
    anywhere = tuple(
        dict.fromkeys(target for each in promised for found in each.values() for target in found)
    )
    found = {name: _targets_for(name, promised) for name in dict.fromkeys(_names(promised))}
    return {name: targets or anywhere for name, targets in found.items()}


def _names(promised: list[dict[str, list[str]]]) -> Iterator[str]:
    return (name for each in promised for name in each)


def _targets_for(operation: str, promised: list[dict[str, list[str]]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(target for each in promised for target in each.get(operation, ())))


# --- rendering ----------------------------------------------------------------------------------------------


def add_rendering(plan: PlanText) -> PlanText:
    """The plan with its rendering as `text`; names that a person would not see as they are drop out."""
    targets, operations = _drop_disguised(plan.targets), _drop_disguised(plan.operations)
    plan = msgspec.structs.replace(
        plan,
        targets=targets,
        operations=operations,
        places={name: _drop_disguised(plan.targets_of(name)) for name in operations},
        changes=tuple(visible(change) for change in plan.changes if change.strip()),
        scope=visible(plan.scope) if plan.scope and plan.scope.strip() else None,
        success=visible(plan.success) if plan.success and plan.success.strip() else None,
    )
    text = "\n".join(_lines(plan))
    if len(text) <= LONGEST_PLAN:
        return msgspec.structs.replace(plan, text=text)
    nothing = PlanText("", blocked=plan.blocked, adjustments=plan.adjustments[-1:])
    return msgspec.structs.replace(nothing, text="\n".join(_lines(nothing))[:LONGEST_PLAN])


def _lines(plan: PlanText) -> Iterator[str]:
    """One entry a line behind a dash, so that no entry can pass for another line of the rendering."""
    yield words.PLAN
    yield f"{words.PLAN_COVERS}:"
    for operation in plan.operations_covered:
        yield f"- {operation}"
        yield from (f"  - {target}" for target in plan.targets_of(operation))
    if not plan.operations_covered:
        yield f"- {words.PLAN_COVERS_NOTHING}"
    yield from _block(words.PLAN_ASKS, plan.asked)
    yield from _block(words.PLAN_BLOCKED, plan.blocked)
    yield from _block("Changes", plan.changes)
    yield from _block("Scope", [plan.scope] if plan.scope else ())
    yield from _block("Success", [plan.success] if plan.success else ())
    yield from _block(words.PLAN_ADJUSTED, [visible(change) for change in plan.adjustments])


def _block(title: str, entries: Collection[str]) -> Iterator[str]:
    if entries:
        yield f"{title}:"
        yield from (f"- {entry}" for entry in entries)


def _drop_disguised(entries: Iterable[str]) -> tuple[str, ...]:
    whole = (entry for entry in entries if entry.strip() and visible(entry) == entry and undisguised(entry))
    return tuple(dict.fromkeys(whole))

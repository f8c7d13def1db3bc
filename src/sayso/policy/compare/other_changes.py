"""Differences between two policies besides decisions, and whether they loosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sayso.core.policy import COOLING_HOURS, UNDO_DAYS, Domain, Policy
from sayso.policy.build import settings_to_dict
from sayso.policy.compare.other_change import OtherChange
from sayso.policy.compare.reading_changes import find_reading_changes
from sayso.policy.compare.team_changes import find_team_changes


def find_other_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """Settings that shape grants, contacts, details of proposals, and how calls become operations."""
    yield from _setting_changes(a, b)
    yield from _phrase_changes(a, b)
    yield from find_team_changes(a.team, b.team)
    for name in dict.fromkeys((*a.domains, *b.domains)):
        yield from _domain_changes(name, a.domains.get(name), b.domains.get(name))
    yield from find_reading_changes(a, b)
    yield from _accepted_changes(a, b)
    yield from _word_changes(a, b)
    for name in (name for name in a.workflows if name not in b.workflows):
        yield OtherChange(f"workflow {name}", "declared", "not declared, so it may declare anything", True)


_STRICTER_SETTING: dict[str, Callable[[Any, Any], bool]] = {
    "grant_pins": lambda before, after: after == "exact",
    "on_failure": lambda before, after: after == "clear",
    "task_idle_turns": lambda before, after: after < before,
    "trust_hook_messages": lambda before, after: not after,
    "notices": lambda before, after: False,
    "question_lasts": lambda before, after: after < before,
    "approval_lasts": lambda before, after: after < before,
    "open_questions": lambda before, after: after < before,
    "questions_per_hour": lambda before, after: after < before,
}

_STRICTER_DETAIL: dict[str, Callable[[Any, Any], bool]] = {
    "cooling_period_hours": lambda before, after: _is_no_shorter(before, after, COOLING_HOURS),
    "undo_window_days": lambda before, after: _is_no_shorter(before, after, UNDO_DAYS),
    "require_diff": lambda before, after: bool(after),
    "content_from": lambda before, after: before is None,
}


def _is_no_shorter(before: float | None, after: float | None, usual: float) -> bool:
    return (usual if after is None else after) >= (usual if before is None else before)


def _setting_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    first, second = settings_to_dict(a.settings), settings_to_dict(b.settings)
    for name, stricter in _STRICTER_SETTING.items():
        before, after = getattr(a.settings, name), getattr(b.settings, name)
        if before != after:
            loosens = not stricter(before, after)
            yield OtherChange(
                f"settings.{name}", _format_value(first[name]), _format_value(second[name]), loosens
            )


def _phrase_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """More ways to stop and refuse, and fewer to agree, are stricter."""
    for kind in ("stop", "refuse", "assent"):
        before, after = set(getattr(a.phrases, kind)), set(getattr(b.phrases, kind))
        loosens = bool(after - before if kind == "assent" else before - after)
        if before != after:
            yield OtherChange(f"phrases.{kind}", _join_phrases(before), _join_phrases(after), loosens)


def _join_phrases(phrases: set[str]) -> str:
    return ", ".join(sorted(phrases)) or "nothing"


def _accepted_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """An accepted reading more is looser, one less is stricter."""
    before, after = ({name for name, one in each.table.items() if one.accepted} for each in (a, b))
    for name in sorted(before ^ after):
        was, now = ("accepted" if name in each else "nothing" for each in (before, after))
        yield OtherChange(f"operations.{name}.reading", was, now, name in after)


def _word_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """Yield other words for what people are asked about: nobody can tell whether they still fit."""
    reasons = [
        (f"operations.{name}.reason", a.table[name].reason, b.table[name].reason)
        for name in a.table
        if name in b.table
    ]
    titles = [(f"categories.{name}", words, b.categories.get(name)) for name, words in a.categories.items()]
    for what, before, after in (*reasons, *titles):
        if before and before != after:
            yield OtherChange(what, before, after or "nothing", True)


def _domain_changes(name: str, a: Domain | None, b: Domain | None) -> Iterator[OtherChange]:
    first, second = a or Domain(), b or Domain()
    for detail, stricter in _STRICTER_DETAIL.items():
        before, after = getattr(first, detail), getattr(second, detail)
        if before != after:
            yield OtherChange(
                f"{name}.{detail}", _format_value(before), _format_value(after), not stricter(before, after)
            )


def _format_value(value: object) -> str:
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

"""Differences between two policies besides decisions, and whether they loosen."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sayso.core.model import Tier
from sayso.core.policy import COOLING_HOURS, UNDO_DAYS, Domain, Policy, Tool
from sayso.policy.build import settings_to_dict
from sayso.policy.compare.other_change import OtherChange
from sayso.policy.compare.team_changes import find_team_changes


def find_other_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """Settings that shape grants, contacts, details of proposals, and how calls become operations."""
    yield from _setting_changes(a, b)
    yield from _phrase_changes(a, b)
    yield from find_team_changes(a.team, b.team)
    for kind in ("vip_contacts", "family_contacts"):
        yield from _contact_changes(kind, getattr(a, kind), getattr(b, kind))
    for name in dict.fromkeys((*a.domains, *b.domains)):
        yield from _domain_changes(name, a.domains.get(name), b.domains.get(name))
    yield from _tool_changes(a, b)
    for name in dict.fromkeys((*a.programs, *b.programs)):
        yield from _program_changes(name, a.programs.get(name), b.programs.get(name))
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


def _contact_changes(kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[OtherChange]:
    """A contact is somebody who can be written to: fewer of them is stricter."""
    for name in dict.fromkeys((*a, *b)):
        before, after = a.get(name), b.get(name)
        if before != after:
            yield OtherChange(
                f"{kind}.{name}", _format_value(before), _format_value(after), after is not None
            )


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


def _tool_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """Yield the differences in how a tool's calls become operations.

    Which of two readings is stricter depends on a call's arguments, so every change counts as loosened,
    unless all it does is to make more calls a blocked operation, or to read each call in one more way.
    """
    chains = (a.readings or (a,), b.readings or (b,))
    if len({one.tools for readings in chains for one in readings}) == 1:
        return
    for name in dict.fromkeys(tool.tool for readings in chains for one in readings for tool in one.tools):
        before, after = (dict.fromkeys(_entries_for(one, name) for one in readings) for readings in chains)
        if before.keys() != after.keys():
            adds = before.keys() <= after.keys()
            loosens = not adds and not all(_only_blocks(one, chain, b) for one in before for chain in after)
            yield OtherChange(f"tool {name}", _format_readings(before), _format_readings(after), loosens)


def _program_changes(name: str, a: object, b: object) -> Iterator[OtherChange]:
    """What is said of a program makes command lines low risk as well as high: every change may loosen."""
    if a != b:
        before, after = ("not described" if one is None else "described otherwise" for one in (a, b))
        yield OtherChange(f"program {name}", "described" if a is not None else before, after, True)


def _only_blocks(before: tuple[Tool, ...], after: tuple[Tool, ...], policy: Policy) -> bool:
    """Return whether the entries are the same but for new ones, each of which denies every call it is for."""
    new = [tool for tool in after if tool not in before]
    return tuple(tool for tool in after if tool in before) == before and all(
        tool.operation is not None
        and tool.resolve is None
        and tool.command is None
        and policy.entry(tool.operation).tier is Tier.BLOCKED
        for tool in new
    )


def _entries_for(policy: Policy, name: str) -> tuple[Tool, ...]:
    """Every entry that could be used for calls of tools with such a name, in order."""
    return tuple(tool for tool in policy.tools if _overlap(tool.tool, name))


def _overlap(one: str, other: str) -> bool:
    """Return whether some name may fit both patterns; told generously."""
    wild = any(c in "*?[" for c in one) and any(c in "*?[" for c in other)
    return wild or fnmatch.fnmatchcase(one, other) or fnmatch.fnmatchcase(other, one)


def _format_readings(chains: Iterable[tuple[Tool, ...]]) -> str:
    """All ways in which calls of a tool are read: what they find adds up."""
    return ", and also ".join(map(_format_entries, chains))


def _format_entries(chain: tuple[Tool, ...]) -> str:
    return ", then ".join(_format_entry(tool) for tool in chain) or "unlisted"


def _format_entry(tool: Tool) -> str:
    """An entry in words: every part of it, since each can change what a call comes to."""
    made = " ".join(part for part in (tool.resolve, tool.operation or tool.domain) if part)
    told = {
        "when": tool.when,
        "risk": None if tool.risk is None else tool.risk.word,
        "from": tool.source,
        "context": tool.context,
        "target": tool.target,
        "command": tool.command,
        "ignore": " and ".join(tool.ignore),
        "title": tool.title,
    }
    return " ".join((made, *(f"{name} {said}" for name, said in told.items() if said)))


def _format_value(value: object) -> str:
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

"""What `sayso install` would change, in a few lines that fit a terminal. `show_changes` has every letter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sayso.doors.agents.agent import Wanted, WantedEntries, WantedFile
from sayso.doors.agents.settings import json_edit
from sayso.doors.agents.settings.changes import Change, list_own_entries
from sayso.doors.agents.settings.registration import is_hook_command

LABEL = 28


def summarize_changes(
    agent: str, wanted: Sequence[Wanted], changes: Sequence[Change], command: str
) -> list[str]:
    """Return what changes in each file of this agent, and once the command that all the hooks run."""
    needed = [pair for pair in zip(wanted, changes, strict=True) if pair[1].is_needed]
    lines = [line for one, change in needed for line in _describe(agent, one, change)]
    adds = any(
        any(_own_entries(one, change.after).values())
        for one, change in needed
        if isinstance(one, WantedEntries)
    )
    return [*lines, f"Each of them runs: {command}"] if adds else lines


def _describe(agent: str, one: Wanted, change: Change) -> Iterator[str]:
    if isinstance(one, WantedFile):
        yield f"{change.path}: {_describe_own_file(agent, change)}"
        return
    before, after = _own_entries(one, change.before), _own_entries(one, change.after)
    if change.after is None:
        yield f"{change.path} is removed, as it was not there before"
        return
    if not any(after.values()):
        yield f"{change.path}: {sum(map(len, before.values()))} hooks of Sayso's go, the rest stays"
        return
    yield f"{change.path}: only this changes" if change.before else f"{change.path}: a new file"
    text = change.before or ""
    known = json_edit.load_value(json_edit.parse_text(text)) if text.strip() else {}
    yield from (f"  + {name:{LABEL}} {value}" for name, value in one.values.items() if name not in known)
    for where, entries in after.items():
        name = ".".join(where)
        if entries == before[where]:
            continue
        yield from (f"  - {name:{LABEL}} {_facts(entry)} (an older one)" for entry in before[where])
        yield from (f"  + {name:{LABEL}} {_facts(entry)}" for entry in entries)


def _describe_own_file(agent: str, change: Change) -> str:
    if change.after is None:
        return "removed"
    kind = "a new file" if change.before is None else "Sayso's own file, replaced"
    executable = ", executable" if change.executable else ""
    count = len(change.after.splitlines())
    lines, them = ("line", "it") if count == 1 else ("lines", "them")
    return f"{kind} of {count} {lines}{executable} (sayso install {agent} --diff shows {them})"


def _own_entries(one: WantedEntries, text: str | None) -> dict[tuple[str, ...], list[Any]]:
    return {where: list_own_entries(json_edit.list_items(text or "", where)) for where in one.lists}


def _facts(entry: Any) -> str:
    """Return what an entry says beside its command."""
    return ", ".join(f"{name} {value}" for name, value in _scalars(entry))


def _scalars(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _scalars(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _scalars(inner, name)
    elif not is_hook_command(value) and (name, value) != ("type", "command"):
        yield name, value if isinstance(value, str) else json.dumps(value)

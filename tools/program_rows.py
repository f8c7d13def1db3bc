"""Faults of the program data that compiling it does not show: rows that contradict themselves, or say nothing.

`writes` below means an effect that changes files and is not high anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML

from sayso.core.model import Risk
from sayso.reading.shell.commands.kinds import RUN_KINDS, WRITTEN_KINDS
from sayso.reading.shell.programs.compile import NO_OPERANDS, compile_files, inherit_entry, split_options
from sayso.reading.shell.programs.known import (
    HARMLESS_KINDS,
    KnownProgram,
    ProgramEffect,
    build_program,
    default_effect,
)

WIDEST = 200
"""Columns: a person reviews these files."""
_DECIDES_ITSELF = frozenset({"tar", "copying", "unzip", "archive7", "patching", "plist", "git_checkout"})
"""Code that judges what is written, whatever the row says of operands."""


class Row(msgspec.Struct, frozen=True):
    """A program or subcommand as it is written, with what it takes from a row it is like, and as it is loaded."""

    name: str
    entry: Mapping[str, Any]
    written: Mapping[str, Any]
    made: KnownProgram


def find_faults(folder: Path) -> list[str]:
    """Return every fault of the data files in this folder."""
    files = {path.name: path.read_text() for path in sorted(folder.glob("*.yaml"))}
    wide = [
        f"{name}:{number}: wider than {WIDEST} columns"
        for name, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > WIDEST
    ]
    read = YAML(typ="safe")
    return wide + find_contradictions({name: read.load(text) for name, text in files.items()})


def find_contradictions(files: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the faults of these files' rows."""
    operations = frozenset(name for file in files.values() for name in file.get("operations") or ())
    made = compile_files(files.items())
    entries = {
        str(names): entry for file in files.values() for names, entry in (file.get("programs") or {}).items()
    }
    table = {name: entry for names, entry in entries.items() for name in names.split()}
    return [
        f"{row.name}: {fault}"
        for name, entry in ((names.split()[0], entry) for names, entry in entries.items())
        for row in _walk(name, entry, build_program(name, made["programs"][name]), table)
        for fault in (*_find_unknown(row, operations), *_find_doubled(row), *_find_faults_of(row))
    ]


def _walk(name: str, entry: Any, made: KnownProgram, table: Mapping[str, Any]) -> Iterator[Row]:
    written = inherit_entry(name, dict(entry or {}), table)
    yield Row(name, entry or {}, written, made)
    for names, below in (written.get("subcommands") or {}).items():
        each = str(names).split()[0]
        inner = made.subcommand(each)
        assert inner is not None, each  # noqa: S101 - it was compiled from this entry
        yield from _walk(f"{name} {each}", below, inner, table)


def _effects(row: Row) -> Iterator[Mapping[str, Any]]:
    yield row.written
    yield from row.written.get("modes") or ()
    yield from (row.written.get("adds") or {}).values()


def _find_unknown(row: Row, operations: frozenset[str]) -> Iterator[str]:
    for one in _effects(row):
        if one.get("is", row.made.effect and row.made.effect.operation) not in {*operations, None}:
            yield f"{one['is']} is not an operation of operations.yaml"


def _find_doubled(row: Row) -> Iterator[str]:
    """Find options, modes and subcommands that are there twice, and those that nothing can choose."""
    options = [keys for keys, _, _ in split_options(row.name, row.entry.get("options"))]
    names = [key for keys in options for key in keys]
    yield from (f"{key} is listed twice" for key, count in Counter(names).items() if count > 1)
    below = Counter(name for names in row.written.get("subcommands") or () for name in str(names).split())
    yield from (f"its subcommand {name} is there twice" for name, count in below.items() if count > 1)
    if row.made.table.number:
        yield from (
            f"{key} is read as a number"
            for key, *others in options
            if not others and key[1:].isdigit() and len(key) == 2
        )
    for place, mode in enumerate(row.made.modes):
        for earlier in row.made.modes[:place]:
            wider = not earlier.any_of or (mode.any_of and mode.any_of <= earlier.any_of)
            same = earlier.count in (None, mode.count)
            if wider and same and earlier.all_of <= mode.all_of and earlier.none_of <= mode.none_of:
                yield f"its mode {place + 1} is never chosen"


def _find_faults_of(row: Row) -> Iterator[str]:
    made, said = row.made, row.written.get("operands")
    if made.subcommands and not made.alone:
        return
    kinds = made.table.named
    for addition in made.additions:
        if addition.effect.risk is Risk.LOW:
            yield f"{_spell(addition.any_of)} adds nothing: its effect is low"
    uses = [(made.effect, said, frozenset[str]())]
    for mode, written in zip(made.modes, row.written.get("modes") or (), strict=True):
        uses.append((mode.effect, written.get("operands", said), mode.any_of | mode.all_of))
        decided = made.special in _DECIDES_ITSELF
        if (
            not decided
            and "operands" in written
            and _writes(mode.effect)
            and not _names_written(written["operands"])
        ):
            yield f"what {_spell(mode.any_of | mode.all_of)} writes is only read: {written['operands']}"
    for effect, operands, chosen in uses:
        if effect is None or effect.risk is not Risk.LOW or effect == default_effect(effect.operation):
            continue
        risky = [
            kind for kind in map(str, (operands or "").split()) if kind.rstrip("*") not in HARMLESS_KINDS
        ]
        risky += [name for name in chosen if kinds[name].kind not in HARMLESS_KINDS]
        if risky and default_effect(effect.operation).risk is not Risk.LOW:
            yield f"it is called low in spite of {_spell(risky)}"
    if made.special in _DECIDES_ITSELF:
        return
    if said is not None and _writes(made.effect) and not _names_written(said):
        yield f"what it writes is only read: {said}"
    changing = [effect for effect, _, _ in uses] + [one.effect for one in made.additions]
    if said is None and any(map(_writes, changing)):
        yield "it writes, and its operands are not named"


def _writes(effect: ProgramEffect | None) -> bool:
    return effect is not None and effect.writes and effect.risk is not Risk.HIGH


def _names_written(operands: str | None) -> bool:
    """Return whether these operands say what is written. Whatever the project runs by is written as well."""
    kinds = {kind.rstrip("*") for kind in (operands or "").split()}
    return not kinds.isdisjoint(WRITTEN_KINDS | RUN_KINDS | NO_OPERANDS)


def _spell(names: Any) -> str:
    return " ".join(sorted(names)) or "it"

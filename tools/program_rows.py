"""Faults of the program data that compiling does not find: rows that contradict themselves or say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML

from sayso.core.model import Risk
from sayso.reading.shell.commands.kinds import RUN_KINDS, WRITTEN_KINDS
from sayso.reading.shell.programs.compile import (
    HARMLESS_KINDS,
    NO_OPERANDS,
    compile_files,
    inherit_entry,
    split_options,
)
from sayso.reading.shell.programs.known import (
    KnownProgram,
    ProgramEffect,
    UsageMode,
    build_program,
    default_effect,
)
from sayso.reading.verbs import READ_VERBS, verb_of

WIDEST = 200
"""Columns: a person reviews these files."""
_DECIDES_ITSELF = frozenset({"tar", "copying", "unzip", "archive7", "patching", "plist", "git_checkout"})
"""Code that judges what is written, whatever the row says of operands."""


class Row(msgspec.Struct, frozen=True):
    """A program or subcommand: as it is written, with what it takes from a row it is like, and as loaded."""

    name: str
    entry: Mapping[str, Any]
    written: Mapping[str, Any]
    made: KnownProgram


class Use(msgspec.Struct, frozen=True):
    """One way to use a program: its effect, its operands as they are written, and what chooses it."""

    effect: ProgramEffect | None
    operands: str | None
    chosen: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        """True if it changes files and is not high anyway."""
        return self.effect is not None and self.effect.writes and self.effect.risk is not Risk.HIGH

    @property
    def reads(self) -> bool:
        """True if it only reads files, as it is told."""
        name = "" if self.effect is None else self.effect.operation
        return name.startswith("files.") and verb_of(name) in READ_VERBS

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its operands."""
        return frozenset(kind.rstrip("*") for kind in (self.operands or "").split())

    @property
    def says_what(self) -> bool:
        """True if its operands say what is written. What the project runs by is written as well."""
        return not self.kinds.isdisjoint(WRITTEN_KINDS | RUN_KINDS | NO_OPERANDS)


def find_faults(folder: Path) -> list[str]:
    """Return every fault of the data files in this folder."""
    read = YAML(typ="safe")
    texts = {path.name: path.read_text() for path in sorted(folder.glob("*.yaml"))}
    wide = [
        f"{name}:{number}: wider than {WIDEST} columns"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > WIDEST
    ]
    return wide + find_contradictions({name: read.load(text) for name, text in texts.items()})


def find_contradictions(files: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the faults of these files' rows."""
    operations = {name for file in files.values() for name in file.get("operations") or ()}
    made = compile_files(files.items())["programs"]
    entries: dict[str, Any] = {}
    for file in files.values():
        entries |= file.get("programs") or {}
    table = {name: entry for names, entry in entries.items() for name in names.split()}
    return [
        f"{row.name}: {fault}"
        for names, entry in entries.items()
        for row in _walk(names.split()[0], entry, build_program(names, made[names.split()[0]]), table)
        for fault in (*_find_unknown(row, operations), *_find_useless(row), *_find_harmful(row))
    ]


def _walk(name: str, entry: Any, made: KnownProgram, table: Mapping[str, Any]) -> Iterator[Row]:
    written = inherit_entry(name, dict(entry or {}), table)
    yield Row(name, entry or {}, written, made)
    for names, below in (written.get("subcommands") or {}).items():
        each = str(names).split()[0]
        inner = made.subcommand(each)
        assert inner is not None, each  # noqa: S101 - it was compiled from this entry
        yield from _walk(f"{name} {each}", below, inner, table)


def _find_unknown(row: Row, operations: set[str]) -> Iterator[str]:
    said = (row.written, *(row.written.get("modes") or ()), *(row.written.get("adds") or {}).values())
    for one in said:
        if one.get("is") not in {*operations, None}:
            yield f"{one['is']} is not an operation of operations.yaml"


def _find_useless(row: Row) -> Iterator[str]:
    """Find what is there twice, and what nothing can choose or changes nothing."""
    options = [keys for keys, _, _ in split_options(row.name, row.entry.get("options"))]
    below = [name for names in row.written.get("subcommands") or () for name in str(names).split()]
    yield from (f"{name} is there twice" for name in _doubled(key for keys in options for key in keys))
    yield from (f"its subcommand {name} is there twice" for name in _doubled(below))
    if row.made.table.number:
        yield from (f"{keys[0]} is read as a number" for keys in options if _is_digit(keys))
    for addition in row.made.additions:
        if addition.effect.risk is Risk.LOW:
            yield f"{_spell(addition.any_of)} adds nothing: its effect is low"
    known = {option.name for option in row.made.table.named.values()} | {"always", "tracked", "none"}
    for name in sorted((row.made.deep | row.made.follows) - known):
        yield f"{name} is not the first name of an option"
    modes = row.made.modes
    for place, mode in enumerate(modes):
        if any(_covers(earlier, mode) for earlier in modes[:place]):
            yield f"its mode {place + 1} is never chosen"


def _doubled(names: Iterable[str]) -> Iterator[str]:
    return (name for name, count in Counter(names).items() if count > 1)


def _is_digit(keys: list[str]) -> bool:
    return len(keys) == 1 and len(keys[0]) == 2 and keys[0][1:].isdigit()


def _covers(earlier: UsageMode, later: UsageMode) -> bool:
    """True if the earlier mode fits wherever the later one does."""
    named = not earlier.any_of or (later.any_of and later.any_of <= earlier.any_of)
    counted = earlier.count in (None, later.count)
    together = earlier.all_of <= later.all_of and earlier.none_of <= later.none_of
    return bool(named and counted and together)


def _find_harmful(row: Row) -> Iterator[str]:
    """Find effects that say another thing than the operands and options beside them."""
    said = row.written.get("operands")
    base = Use(row.made.effect, said)
    written = row.written.get("modes") or ()
    uses = [
        Use(mode.effect, one.get("operands", said), mode.any_of | mode.all_of)
        for mode, one in zip(row.made.modes, written, strict=True)
    ]
    if row.made.subcommands:
        yield from (
            f"{_spell(use.chosen)} writes only without a subcommand: name it under adds"
            for use in uses
            if use.writes and use.chosen
        )
    for use in (base, *uses):
        yield from _find_risky(row.made, use)
    if row.made.special in _DECIDES_ITSELF or (row.made.subcommands and not row.made.alone):
        return
    added = [Use(one.effect, said, one.any_of) for one in row.made.additions]
    for use in added:
        if use.writes and said is not None and not use.says_what:
            yield f"what {_spell(use.chosen)} adds is only read: {said}"
    if said is None and any(use.writes and use.operands is None for use in (base, *uses, *added)):
        yield "it writes, and its operands are not named"
    named = [use for use, one in zip(uses, written, strict=True) if "operands" in one]
    for use in (base, *named):
        told = use.says_what or any(row.made.table.named[name].kind in WRITTEN_KINDS for name in use.chosen)
        if use.writes and use.operands is not None and not told:
            yield f"what {_spell(use.chosen)} writes is only read: {use.operands}"


def _is_lowered(effect: ProgramEffect | None) -> bool:
    """True if a row calls an operation low that is not."""
    if effect is None or effect.risk is not Risk.LOW:
        return False
    return default_effect(effect.operation).risk is not Risk.LOW


def _find_risky(made: KnownProgram, use: Use) -> Iterator[str]:
    if use.reads and use.says_what and WRITTEN_KINDS.issuperset(use.kinds):
        yield f"{_spell(use.chosen)} only reads, and what it is given is written: {use.operands}"
    if use.effect is None or not _is_lowered(use.effect):
        return
    if use.effect.operation.startswith("secrets."):
        yield f"{_spell(use.chosen)} is called low, and it is about secrets"
    harmless = HARMLESS_KINDS | NO_OPERANDS
    kinds = [kind for kind in (use.operands or "").split() if kind.rstrip("*") not in harmless]
    options = [name for name in use.chosen if made.table.named[name].kind not in HARMLESS_KINDS]
    if kinds or options:
        yield f"{_spell(use.chosen)} is called low in spite of {_spell((*kinds, *options))}"


def _spell(names: Iterable[str]) -> str:
    return " ".join(sorted(names)) or "it"

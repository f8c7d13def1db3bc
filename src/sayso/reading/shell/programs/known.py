"""Programs and what is known of them: the data files, compiled, and those that the operator's policy adds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.model import Risk
from sayso.reading.shell.programs.options import OptionTable
from sayso.reading.shell.programs.shipped import load_compiled
from sayso.reading.verbs import DELETE_VERBS, READ_VERBS, verb_of

NO_PROGRAMS: Mapping[str, Any] = {}


class ProgramEffect(msgspec.Struct, frozen=True, array_like=True):
    """What a command does, in one sense: the operation, its risk, and a sentence."""

    operation: str
    risk: Risk
    why: str | None = None

    @property
    def writes(self) -> bool:
        """True if it changes files: then what the command is given is written."""
        return self.operation.startswith("files.") and verb_of(self.operation) not in READ_VERBS

    @property
    def deletes(self) -> bool:
        """True if the files are lost."""
        return self.writes and verb_of(self.operation) in DELETE_VERBS


class UsageMode(msgspec.Struct, frozen=True):
    """A way to use a program, chosen by its options: the first that fits decides."""

    any_of: frozenset[str]
    all_of: frozenset[str]
    none_of: frozenset[str]
    count: int | None
    effect: ProgramEffect | None
    operands: tuple[str, ...] | None


class Addition(msgspec.Struct, frozen=True):
    """What options add to whatever the command does besides."""

    any_of: frozenset[str]
    effect: ProgramEffect


class KnownProgram(msgspec.Struct, frozen=True):
    """What is known of a program or of one of its subcommands, as it is compiled."""

    effect: ProgramEffect | None
    table: OptionTable
    operands: tuple[str, ...]
    modes: tuple[UsageMode, ...]
    additions: tuple[Addition, ...]
    subcommands: dict[str, Any]
    special: str | None
    skip: int
    alone: bool
    """It may be run without a subcommand."""
    helps: bool
    prefixes: str
    """Subcommands may be abbreviated: the `first` that fits counts, or the `only` one."""
    drops: tuple[str, ...]
    """First operands that change nothing, like `eval` of yq."""
    deep: frozenset[str]
    """Options by which it reads whole folders, hidden files and all."""
    follows: frozenset[str]
    """Options by which it goes through links to folders."""
    starts: tuple[str, ...]
    """Subcommands that stand for all names with a beginning, like `list-*`."""
    name: str = ""

    def subcommand(self, name: str) -> KnownProgram | None:
        """The subcommand of this name; the first, or the only one, that it may abbreviate; one for many."""
        known = self.subcommands
        found = known.get(name)
        if found is None and self.prefixes:
            fitting = [one for one in known if one.startswith(name) and one[-1] != "*"]
            sure = fitting and (self.prefixes == "first" or len(fitting) == 1)
            found = known[fitting[0]] if sure else None
        if found is None:
            found = next((known[one] for one in self.starts if name.startswith(one[:-1])), None)
        if found is None or isinstance(found, KnownProgram):
            return found
        made = build_program(f"{self.name} {name}", found)
        if name in known:
            known[name] = made
        return made


def build_program(name: str, made: int | Mapping[str, Any]) -> KnownProgram:
    """A program from its compiled entry, or from the place of one in the shipped data."""
    encoded = _data().entries[made] if isinstance(made, int) else msgspec.json.encode(made)
    return msgspec.structs.replace(_PROGRAM.decode(encoded), name=name)


def find_program(name: str, added: Mapping[str, Any] = NO_PROGRAMS) -> KnownProgram | None:
    """What is known of this program: by the data, else by what the operator's policy adds."""
    found = find_shipped(name)
    return found if found is not None or name not in added else _build_added(name, added)


def find_addition(name: str, added: Mapping[str, Any]) -> KnownProgram | None:
    """What the operator's policy says of a program that is known already: it may raise what that does."""
    return _build_added(name, added) if name in added and find_shipped(name) is not None else None


def _build_added(name: str, added: Mapping[str, Any]) -> KnownProgram:
    from sayso.reading.shell.programs.compile import ProgramCompiler

    compiler = ProgramCompiler(added, _data().operations, named_set("tame_programs"))
    return build_program(name, compiler.compile(name, added[name]))


def find_shipped(name: str) -> KnownProgram | None:
    """Look a program up in the data that comes with Sayso."""
    return _build_shipped(name) if name in _data().programs else None  # so no made-up name is kept


@functools.cache
def _build_shipped(name: str) -> KnownProgram:
    return build_program(name, _data().programs[name])


class _ShippedData(msgspec.Struct, frozen=True):
    """The data files, compiled. A program is decoded when it is first looked up: most commands need a few."""

    operations: dict[str, tuple[str, str | None]]
    sets: dict[str, list[str]]
    programs: dict[str, int]
    """The place of each program's entry."""
    entries: list[msgspec.Raw]


_PROGRAM = msgspec.json.Decoder(KnownProgram)
_SHIPPED_DATA = msgspec.json.Decoder(_ShippedData)


@functools.cache
def _data() -> _ShippedData:
    return _SHIPPED_DATA.decode(load_compiled())


def find_own_risk(operation: str) -> Risk | None:
    """The risk of an operation by its own row; None if the data has none."""
    return default_effect(operation).risk if operation in _data().operations else None


@functools.cache
def default_effect(operation: str) -> ProgramEffect:
    """The risk and the sentence of an operation where a program's data says nothing else."""
    risk, why = _data().operations.get(operation, ("high", None))
    return ProgramEffect(operation, Risk[risk.upper()], why)


@functools.cache
def named_set(name: str) -> frozenset[str]:
    """One of the lists of names in the data: variables, git keys and the like."""
    return frozenset(_data().sets[name])

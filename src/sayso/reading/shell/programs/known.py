"""Programs and what is known of them: the data files, compiled, and those that the operator's policy adds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.model import Risk
from sayso.reading.shell.programs.options import Option, OptionTable
from sayso.reading.shell.programs.shipped import load_compiled
from sayso.reading.verbs import DELETE_VERBS, READ_VERBS, verb_of

NO_PROGRAMS: Mapping[str, Any] = {}
HARMLESS_KINDS = frozenset(
    {"text", "read", "list", "search", "public", "rev", "jq", "document", "rights", "suffix"}
)
_RISKS = {"low": Risk.LOW, "moderate": Risk.MODERATE, "high": Risk.HIGH}


class ProgramEffect(msgspec.Struct, frozen=True):
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
    """What is known of a program or of one of its subcommands."""

    name: str
    effect: ProgramEffect | None
    table: OptionTable
    operands: tuple[str, ...]
    modes: tuple[UsageMode, ...]
    additions: tuple[Addition, ...]
    subcommands: Mapping[str, Any]
    special: str | None
    skip: int
    alone: bool
    """It may be run without a subcommand."""
    helps: bool
    prefixes: str
    """Subcommands may be abbreviated: the `first` that fits counts, or the `only` one."""
    drops: tuple[str, ...]
    """First operands that change nothing, like `eval` of yq."""
    deep: frozenset[str] = frozenset()
    """Options by which it reads whole folders, hidden files and all."""
    follows: frozenset[str] = frozenset()
    """Options by which it goes through links to folders."""
    starts: tuple[str, ...] = ()
    """Subcommands that stand for all names with a beginning, like `list-*`."""
    parent: KnownProgram | None = None

    def subcommand(self, name: str) -> KnownProgram | None:
        """The subcommand of this name, with the options of its parents taken over where it says so."""
        return _subcommand(self, name)


def find_program(name: str, added: Mapping[str, Any] = NO_PROGRAMS) -> KnownProgram | None:
    """What is known of this program: by the data, else by what the operator's policy adds."""
    found = find_shipped(name)
    return found if found is not None or name not in added else _build_added(name, added)


def find_addition(name: str, added: Mapping[str, Any]) -> KnownProgram | None:
    """What the operator's policy says of a program that is known already: it may raise what that does."""
    return _build_added(name, added) if name in added and find_shipped(name) is not None else None


def _build_added(name: str, added: Mapping[str, Any]) -> KnownProgram:
    from sayso.reading.shell.programs.compile import compile_entry

    return build_program(name, compile_entry(name, added[name], added))


def find_shipped(name: str) -> KnownProgram | None:
    """Look a program up in the data that comes with Sayso."""
    return _build_shipped(name) if name in _data().programs else None  # so no made-up name is kept


@functools.cache
def _build_shipped(name: str) -> KnownProgram:
    return build_program(name, msgspec.json.decode(_data().entries[_data().programs[name]]))


class _ShippedData(msgspec.Struct, frozen=True):
    """The data files, compiled. A program is decoded when it is first looked up: most commands need a few."""

    operations: dict[str, tuple[str, str | None]]
    sets: dict[str, list[str]]
    programs: dict[str, int]
    """The place of each program's entry."""
    entries: list[msgspec.Raw]


_SHIPPED_DATA = msgspec.json.Decoder(_ShippedData)


@functools.cache
def _data() -> _ShippedData:
    return _SHIPPED_DATA.decode(load_compiled())


@functools.cache
def default_effect(operation: str) -> ProgramEffect:
    """The risk and the sentence of an operation where a program's data says nothing else."""
    risk, why = _data().operations.get(operation, ("high", None))
    return ProgramEffect(operation, _RISKS[risk], why)


def find_own_risk(operation: str) -> Risk | None:
    """The risk of an operation by its own row; None if the data has none."""
    return _RISKS[_data().operations[operation][0]] if operation in _data().operations else None


@functools.cache
def named_set(name: str) -> frozenset[str]:
    """One of the lists of names in the data: variables, git keys and the like."""
    return frozenset(_data().sets[name])


def _subcommand(program: KnownProgram, name: str) -> KnownProgram | None:
    known = program.subcommands
    raw = known.get(name)
    if raw is None and program.prefixes:
        fitting = [one for one in known if one.startswith(name) and one[-1] != "*"]
        sure = fitting and (program.prefixes == "first" or len(fitting) == 1)
        raw = known[fitting[0]] if sure else None
    if raw is None:
        raw = next((known[one] for one in program.starts if name.startswith(one[:-1])), None)
    if raw is None:
        return None
    if isinstance(raw, KnownProgram):
        return raw
    made = build_program(f"{program.name} {name}", raw, program)
    if isinstance(known, dict) and name in known:
        known[name] = made
    return made


def build_effect(raw: Mapping[str, Any], base: ProgramEffect | None = None) -> ProgramEffect | None:
    """The effect that an entry names; what it leaves out comes from the operation, or from `base`."""
    operation = raw.get("is")
    if operation is None and base is None:
        return None
    found = base if operation is None else default_effect(operation)
    assert found is not None  # noqa: S101 - one of the two is there
    risk = _RISKS[raw["risk"]] if "risk" in raw else found.risk
    return ProgramEffect(found.operation, risk, raw.get("why", found.why))


def build_program(name: str, raw: Mapping[str, Any], parent: KnownProgram | None = None) -> KnownProgram:
    """A program from its compiled entry."""
    effect = build_effect(raw, parent.effect if parent is not None and "is" not in raw else None)
    named = {
        key: Option(canonical, takes, kind)
        for key, (canonical, takes, kind) in raw.get("options", {}).items()
    }
    if parent is not None:
        named = {**parent.table.named, **named} if raw.get("inherits") else named
    additions = tuple(
        Addition(frozenset(one["with"]), build_effect(one, effect) or default_effect("shell.run"))
        for one in raw.get("adds", ())
    )
    if parent is not None and raw.get("inherits"):
        additions = (*parent.additions, *additions)
    modes = tuple(_build_mode(one, effect) for one in raw.get("modes", ()))
    harmful = any(option.kind not in HARMLESS_KINDS for option in named.values()) or bool(additions)
    style = raw.get("style", parent.table.style if parent is not None else "gnu")
    table = OptionTable(
        named,
        style=style,
        stops=bool(raw.get("stops") or raw.get("subcommands")),
        number=bool(raw.get("number")),
        plus=any(key[:1] == "+" for key in named),
        tame=name in named_set("tame_programs")
        and not harmful
        and all(map(_is_tame, modes))
        and not raw.get("subcommands")
        and not raw.get("special"),
        wary=raw.get("special") == "remote" or (parent is not None and parent.table.wary),
    )
    return KnownProgram(
        name=name,
        effect=effect,
        table=table,
        operands=tuple(raw.get("operands", ("text*",))),
        modes=modes,
        additions=additions,
        subcommands=dict(raw.get("subcommands", {})),
        special=raw.get("special"),
        skip=raw.get("skip", 0),
        alone=raw.get("alone", False),
        helps=raw.get("helps", True),
        prefixes=raw.get("prefixes", ""),
        drops=tuple(raw.get("drops", "").split()),
        deep=frozenset(raw.get("deep", "").split()),
        follows=frozenset(raw.get("follows", "").split()),
        starts=tuple(one for one in raw.get("subcommands", ()) if one[-1] == "*" != one),
        parent=parent,
    )


def _is_tame(mode: UsageMode) -> bool:
    kinds = {kind.removesuffix("*") for kind in mode.operands or ()}
    return (mode.effect is None or mode.effect.risk is Risk.LOW) and kinds <= HARMLESS_KINDS


def _build_mode(raw: Mapping[str, Any], base: ProgramEffect | None) -> UsageMode:
    return UsageMode(
        frozenset(raw.get("with", ())),
        frozenset(raw.get("all", ())),
        frozenset(raw.get("without", ())),
        raw.get("count"),
        build_effect(raw, base),
        tuple(raw["operands"]) if "operands" in raw else None,
    )

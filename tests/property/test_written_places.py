"""Whatever program and option writes a file: at a place that no agent may change, it is never just an edit.

Each row of the program data is used in every way that it lists. The row says what it does and which operands
it only reads. The reading of the whole line must agree, wherever the place stands.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from sayso.core.model import Risk
from sayso.reading.shell.programs.known import KnownProgram, ProgramEffect, find_shipped
from sayso.reading.shell.programs.shipped import load_compiled
from tests.support.shell_lines import Reader

PLACES = (
    "AGENTS.md", "CLAUDE.md", ".claude/settings.json", ".codex/config.toml", ".cursor/mcp.json",
    ".sayso.yaml", ".vscode/tasks.json", ".github/copilot-instructions.md", ".git/config",
    ".git/hooks/pre-commit", ".envrc", "~/.bashrc", "~/.ssh/config", "~/.config/sayso/policy.yaml",
    "/etc/hosts", "../other/a.py",
)  # fmt: skip
FOLDERS = (".git/hooks", ".claude", ".codex", ".cursor", ".vscode", ".github", "src", "../other", "../.ssh")
READ = frozenset({"read", "list", "search", "public", "document"})
RUN = frozenset({"project", "target", "script", "module"})
WRITTEN = frozenset({"write", "edit", "create", "delete", "into", "sources"})
FILLERS = {
    "sed": "s/a/b/", "awk": "1", "jq": ".", "sql": "1", "rights": "644", "rev": "HEAD",
    "pair": "if=notes.txt", "setting": "A=b", "signal": "1", "run": "ls", "suffix": "~", "url": "x",
    "template": "x", "binding": "up:up",
}  # fmt: skip
JUDGED_BY_CODE = frozenset({"tar", "unzip", "archive7", "patching", "plist"})
"""Tests of their own are about what these write: an archive or a patch names it, or a command in a word."""


class Use(msgspec.Struct, frozen=True):
    """A program with its subcommands, the options it is given, and the kinds of its operands."""

    words: str
    options: str
    kinds: tuple[str, ...]
    written: frozenset[int]
    """The places among its operands that it writes."""

    def line(self, written: int | None, place: str) -> str:
        """Return the command with this place as one of its operands."""
        operands = [place if at == written else _fill(kind) for at, kind in enumerate(self.kinds)]
        return " ".join(filter(None, (self.words, self.options, *operands)))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    folder = home / "work"
    for name in (
        ".git/hooks",
        ".claude",
        ".codex",
        ".cursor",
        ".vscode",
        ".github",
        "src",
        "../other",
        "../.ssh",
    ):
        (folder / name).mkdir(parents=True)
    for name in (*(one for one in PLACES if one[0] not in "~/"), "notes.txt"):
        (folder / name).write_text("x\n")
    return Reader(folder, home)


def _fill(kind: str) -> str:
    return FILLERS.get(kind, "notes.txt" if kind in READ | RUN | WRITTEN else "x")


def _programs() -> Iterator[tuple[str, KnownProgram]]:
    seen: set[int] = set()
    for name, entry in msgspec.json.decode(load_compiled())["programs"].items():
        if entry not in seen:
            seen.add(entry)
            found = find_shipped(name)
            assert found is not None
            yield from _walk(name, found)


def _walk(words: str, program: KnownProgram) -> Iterator[tuple[str, KnownProgram]]:
    if program.alone or not program.subcommands:
        yield words, program
    for name in tuple(program.subcommands):
        found = program.subcommand(name)
        assert found is not None
        yield from _walk(f"{words} {name if name != '*' else 'other'}", found)


def _ways(program: KnownProgram) -> Iterator[tuple[str, ...]]:
    """Yield no option, each option alone, and those that a mode wants together."""
    yield ()
    names = dict.fromkeys(option.name for option in program.table.named.values())
    yield from ((name,) for name in names if name not in ("--help", "--version"))
    for mode in program.modes:
        if mode.all_of:
            yield from (tuple(sorted(mode.all_of | {name})) for name in (mode.any_of or mode.all_of))


def _uses(words: str, program: KnownProgram) -> Iterator[Use]:
    if program.special in JUDGED_BY_CODE:
        return
    for chosen in _ways(program):
        for count in range(len(program.operands) + 2):
            effect, kinds, named = _what_the_row_says(program, frozenset(chosen), count)
            effects = [
                effect,
                *(one.effect for one in program.additions if not one.any_of.isdisjoint(chosen)),
            ]
            if not any(one is not None and one.writes for one in effects) or len(kinds) < count:
                continue
            plain = tuple(kind.removesuffix("*") for kind in kinds[:count])
            wanted = WRITTEN | RUN | (frozenset() if named is not None and named.writes else READ)
            written = frozenset(at for at, kind in enumerate(plain) if kind in wanted)
            yield Use(words, " ".join(_spell(program, name) for name in chosen), plain, written)


def _what_the_row_says(
    program: KnownProgram, chosen: frozenset[str], count: int
) -> tuple[ProgramEffect | None, tuple[str, ...], ProgramEffect | None]:
    """Return its effect, the kinds of operands, and the effect that these stand beside."""
    for mode in program.modes:
        any_of = not mode.any_of or mode.any_of & chosen
        if any_of and mode.all_of <= chosen and not mode.none_of & chosen and mode.count in (None, count):
            if mode.operands is None:
                return mode.effect, program.operands, program.effect
            return mode.effect, mode.operands, mode.effect
    return program.effect, program.operands, program.effect


def _spell(program: KnownProgram, name: str, value: str | None = None) -> str:
    option = program.table.named[name]
    if option.takes != ":" and value is None:
        return name
    joined = option.takes == "?"
    given = _fill(option.kind) if value is None else value
    return f"{name}{'=' if name[:2] == '--' else ''}{given}" if joined else f"{name} {given}"


@pytest.mark.parametrize("place", PLACES)
def test_what_a_program_writes_is_never_an_ordinary_edit_of_a_guarded_place(
    reader: Reader, place: str
) -> None:
    uses = [use for words, program in _programs() for use in _uses(words, program)]
    lines = {use.line(at, place) for use in uses for at in use.written}
    assert len(lines) > 500, "the rows that write are there"
    wrong = [line for line in lines if reader.risk(line) is not Risk.HIGH]
    assert not wrong, f"{len(wrong)}: {sorted(wrong)[:20]}"


@pytest.mark.parametrize("place", PLACES)
def test_the_value_of_an_option_that_is_written_is_never_an_ordinary_edit_of_a_guarded_place(
    reader: Reader, place: str
) -> None:
    lines = {
        f"{words} {_spell(program, name, place)}"
        for words, program in _programs()
        for name, option in program.table.named.items()
        if option.kind in WRITTEN and option.takes
    }
    assert len(lines) > 100, "the options that write are there"
    wrong = [line for line in lines if reader.risk(line) is not Risk.HIGH]
    assert not wrong, f"{len(wrong)}: {sorted(wrong)[:20]}"


def test_a_program_that_writes_and_names_no_place_writes_where_it_runs(reader: Reader) -> None:
    uses = {
        use.line(None, "")
        for words, program in _programs()
        for use in _uses(words, program)
        if not use.written and WRITTEN.isdisjoint(use.kinds)
    }
    assert len(uses) > 50
    wrong = [line for line in uses if reader.risk(f"cd ../other && {line}") is not Risk.HIGH]
    assert not wrong, f"{len(wrong)}: {sorted(wrong)[:20]}"

"""Builds, tests and small programs whose words mean something by their shape."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

import msgspec

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import Change, PatchedFile, PatchReading, names_in
from sayso.reading.patches.read import read_patch
from sayso.reading.paths.file_content import read_whole
from sayso.reading.shell.commands.usage import judge_by_data
from sayso.reading.shell.files.guard import judge_guard_mentions
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import Argument, ParsedOptions
from sayso.reading.shell.specials.local_tools import folders_up
from sayso.reading.shell.specials.wrappers import judge_wrapper, read_named
from sayso.reading.shell.state import ChangedFiles, ShellState
from sayso.reading.shell.value import Value

_PAIRS = frozenset({"--arg", "--argjson", "--slurpfile", "--rawfile", "--argfile"})


def judge_pairs(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """jq's options with two values: `--arg NAME VALUE`, `--slurpfile NAME FILE`."""
    rest = list(invocation.arguments)
    kept: list[Argument] = []
    while rest and rest[0].text != "--":
        one = rest.pop(0)
        if one.text in _PAIRS and any(value.value.may_bring_options for value in rest[:2]):
            judge.doubt("what follows it may be any option", one.start, one.end)
        if one.text not in _PAIRS or len(rest) < 2:
            kept.append(one)
            continue
        if one.text not in ("--arg", "--argjson"):
            judge_path(judge, "files.read", rest[1], invocation.state)
        del rest[:2]
    judge_by_data(judge, program, msgspec.structs.replace(invocation, arguments=(*kept, *rest)))


def judge_project_code(judge: Judge, program: KnownProgram, invocation: Invocation) -> ParsedOptions:
    """Judge a program that runs code which files of the project name, whatever it is asked for."""
    before = len(judge.findings)
    parsed = judge_by_data(judge, program, invocation)
    if all(one.risk is Risk.LOW for one in judge.findings[before:]) and names_code(judge, invocation.state):
        judge.record(
            "scripts.run", Risk.MODERATE, "runs code of the project", invocation.start, invocation.end
        )
    return parsed


def _by_file(*files: str) -> dict[str, str]:
    """Files, each with the first name of its path in lower case."""
    return {file: file.partition("/")[0].lower() for file in files}


_NAMING_FILES = _by_file(
    "mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml", "tox.ini", ".pylintrc", "pylintrc", ".flake8",
    ".ansible-lint", ".config/ansible-lint.yml", "package.json",
)  # fmt: skip
_RUNNING_FILES = _by_file(
    ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".cargo/config", ".cargo/config.toml", "rust-toolchain",
    "rust-toolchain.toml", ".pylint.d",
)  # fmt: skip
_NAMES_CODE = lazy_pattern(r"(?i)plugin|hook|rulesdir|packageManager|yarnPath")


def names_code(judge: Judge, state: ShellState) -> bool:
    """Return whether a file of this folder, or of one above it, names code that such a program runs."""
    for folder in state.folders:
        above = list(folders_up(folder, judge.where.workspace))
        if not above or any(map(_holds_names, above)):
            return True
    return False


def _holds_names(folder: str) -> bool:
    there = _list_first_names(folder)
    return any(os.path.lexists(f"{folder}/{name}") for name in _choose(_RUNNING_FILES, there)) or any(
        mentions(f"{folder}/{name}", _NAMES_CODE, 200_000) for name in _choose(_NAMING_FILES, there)
    )


def _list_first_names(folder: str) -> frozenset[str] | None:
    """The names in a folder, folded; None if they do not tell which files can be opened there."""
    try:
        names = "/".join(os.listdir(folder))  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return None
    return frozenset(names.lower().split("/")) if names.isascii() else None


def _choose(files: dict[str, str], there: frozenset[str] | None) -> Iterable[str]:
    """The files of which the first name is there."""
    return files if there is None else [file for file, first in files.items() if first in there]


def mentions(path: str, pattern: re.Pattern[str], most: int) -> bool:
    """Return whether a file says this; one that is there and cannot be read may do so."""
    try:
        return pattern.search(read_whole(path, most).decode("utf-8", "replace")) is not None
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True


_LOOKS_AT_PATCH = frozenset({"--dry-run", "--check", "--stat", "--numstat", "--summary"})
_OTHERWISE = frozenset({"--recount", "--inaccurate-eof", "-d", "-n", "-c", "-u"})
"""Options with which a patch is read in another way, or in another folder."""
_UNDONE: dict[Change, Change] = {"write": "delete", "delete": "write", "edit": "edit"}


def judge_patching(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A patch changes the files that it names: they are read from it, where it can be read."""
    earlier = invocation.state.changes.copy()
    parsed = judge_by_data(judge, program, invocation)
    chosen = {option.name: value for option, value in parsed.options}
    if _LOOKS_AT_PATCH & chosen.keys() and "--apply" not in chosen:
        return
    if program.name in ("apply_patch", "applypatch"):
        texts = [one.text for one in parsed.operands]
    else:
        files = [value for option, value in parsed.options if option.name == "-i" and value is not None]
        files += parsed.operands[1:] if program.name == "patch" else parsed.operands
        texts = [_read_patch(one, invocation.state, earlier) for one in files]
    texts = texts or [None if invocation.body is None else invocation.body.text]
    strip = _strip_of(chosen, -1 if program.name == "patch" else 1)
    for text in texts:
        found = PatchReading() if text is None else read_patch(text, strip)
        if strip is None or not found.complete or _OTHERWISE & chosen.keys():
            why = "which files the patch changes cannot be told"
            judge.record("files.edit", Risk.HIGH, why, invocation.start, invocation.end)
        lines = Argument(Value("\n".join(found.unread)), invocation.start, invocation.end)
        judge_guard_mentions(judge, (lines,), invocation.state)
        unread = (PatchedFile(name, "edit") for name in names_in(found.unread))
        for file in dict.fromkeys((*found.files, *unread)):
            change = _UNDONE[file.change] if "-R" in chosen else file.change
            _judge_patched(judge, change, file.path, chosen, invocation)


def _strip_of(chosen: Mapping[str, Argument | None], usual: int) -> int | None:
    """Return how many folders a patch's names lose; None if that cannot be told."""
    if "-p" not in chosen:
        return usual
    text = (chosen["-p"].text if chosen["-p"] is not None else None) or ""
    return int(text) if text.isdecimal() and len(text) < 4 else None


def _judge_patched(
    judge: Judge, change: Change, path: str, chosen: Mapping[str, Argument | None], invocation: Invocation
) -> None:
    """Judge the change of a file in the folder that an option names."""
    folder = chosen.get("--directory", chosen.get("-d"))
    base = Value("") if folder is None else folder.value
    text = None if base.text is None else f"{base.text}/{path}" if base.text and path[0] != "/" else path
    value = Value(path) if text is None else msgspec.structs.replace(base, text=text)
    judge_path(judge, f"files.{change}", Argument(value, invocation.start, invocation.end), invocation.state)


def _read_patch(file: Argument, state: ShellState, earlier: ChangedFiles) -> str | None:
    try:
        return read_named(file, state, earlier, 1_000_000)
    except FileNotFoundError:
        return None


def judge_contained(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A command in a container: its files are the container's, so a script there is not known."""
    state = invocation.state.copy()
    state.changes = ChangedFiles([""])
    judge_wrapper(judge, program, msgspec.structs.replace(invocation, state=state))

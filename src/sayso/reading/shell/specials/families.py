"""Programs whose words mean something by their shape: databases, archives, remotes, settings."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders, operation_at_path
from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.usage import judge_by_data, may_be_several, names_chosen
from sayso.reading.shell.files.deep import secret_under
from sayso.reading.shell.files.guard import bar
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.specials.git_config import read_own_keys
from sayso.reading.shell.specials.unpacking import UNTOLD
from sayso.reading.shell.specials.wrappers import judge_wrapper, known_part, parse_and_judge
from sayso.reading.shell.state import ChangedFiles, ShellState
from sayso.reading.shell.value import Value

_HARMLESS_WHEN_READONLY = lazy_pattern(
    r"(?i)\s*(?:select|drop|delete|update|insert)\b(?:(?!\b(?:vacuum|attach|pragma|load|into)\b)[\w\s',*=<>])*;?\s*"
)

_READS_ARCHIVE7 = ("-slt", "-p", "-scrc", "-m", "-t", "-r", "-ba", "-bb", "-bd", "-y", "-x", "-i")
_STORES = ("s3://", "gs://")
"""Places at a store of the account itself."""


class _Words(NamedTuple):
    """Words that mean something by their shape, beside what the program's data says."""

    shape: str
    """A pattern of a word as far as it is known, with a NUL for what is not."""
    operation: str
    why: str | None = None
    operands: bool = True
    """The values of options do not count."""
    unless: frozenset[str] = frozenset()


_SHAPED = {
    "settings": [_Words(r"(?s).*[=\0].*", "system.change")],
    "clock": [
        _Words(r"(?s)(?!\+).*", "system.change", "sets the clock", unless=frozenset({"-j", "-n", "-v", "-r"}))
    ],
    "options_file": [_Words(r"(?s)@.*", "shell.run", "it takes options from a file", operands=False)],
    "git_push": [_Words(r"(?s)[+:].*|.*\0", "git.push_force")],  # forced, and deleted
    "processes": [  # letters without a dash are BSD options: `e` shows the environment of every process
        _Words(r"[^\W\d_]*e[^\W\d_]*", "shell.environment"),
        _Words(r"(?s)-(?!-).*E[^\0]*", "shell.environment", operands=False),
    ],
}


def judge_shaped(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`sysctl name=value`, `date 1200`, `git push +main` …: as their data says, and by the shape of words."""
    parsed = judge_by_data(judge, program, invocation)
    for row in _SHAPED[program.special or ""]:
        words = parsed.operands if row.operands else invocation.arguments
        for one in words if row.unless.isdisjoint(names_chosen(parsed)) else ():
            text = f"{one.value.prefix}\0" if one.text is None else one.text
            if re.fullmatch(row.shape, text):
                effect = default_effect(row.operation)
                judge.record(row.operation, effect.risk, row.why or effect.why or "", one.start, one.end)


def judge_sampled(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`sample PROCESS`: shows what a process does; without one it does nothing that is known."""
    if not judge_by_data(judge, program, invocation).operands:
        judge.doubt("it is given nothing to do", invocation.start, invocation.end)


def judge_directory(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`dscl NODE -read …`: reading a directory service, or changing it."""
    words = parse_and_judge(judge, program, invocation).operands
    action = (words[1].text or "").lstrip("-") if len(words) > 1 else ""
    reads = action in ("read", "readall", "list", "search", "diff", "readpl")
    judge.effect(
        default_effect("system.read" if reads else "system.change"), invocation.start, invocation.end
    )


def judge_plist(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`plutil`: `-lint`, `-p`, `-extract KEY raw` and what goes to `-o -` read; the rest changes the file."""
    parsed = parse_and_judge(judge, program, invocation)
    chosen, operands = names_chosen(parsed), parsed.operands
    to_output = any(option.name == "-o" and value and value.text == "-" for option, value in parsed.options)
    is_raw = "-extract" in chosen and bool(operands) and operands[0].text == "raw"
    writes = "-convert" in chosen or ("-extract" in chosen and not is_raw)
    changes = bool(chosen & {"-insert", "-replace", "-remove", "-create"}) or (writes and not to_output)
    for one in operands[1 if "-extract" in chosen else 0 :]:
        judge_path(judge, "files.edit" if changes else "files.read", one, invocation.state)
    if changes or not operands:
        effect = default_effect("files.edit" if changes else "shell.inspect")
        judge.effect(effect, invocation.start, invocation.end)


def judge_archive7(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`7z COMMAND …`: list, test, hash, benchmark and information read; the rest writes."""
    command, start, end = invocation.arguments[:1], invocation.start, invocation.end
    name = command[0].text if command else "i"
    if name in ("-h", "--help", "i"):
        judge.effect(default_effect("shell.inspect"), start, end)
    elif name in ("l", "t", "h", "b"):
        judge.effect(default_effect("files.read"), start, end)
        _read_archive7(judge, program, invocation)
    else:
        judge.effect(default_effect("files.write"), start, end)
        if name in ("x", "e"):
            judge.record("files.write", Risk.HIGH, UNTOLD, start, end)
        for one in invocation.arguments[1:]:
            _write_archive7(judge, one, invocation.state)


def _write_archive7(judge: Judge, one: Argument, state: ShellState) -> None:
    """What it packs or writes; an option names the folder that it writes into."""
    place = known_part(one).removeprefix("-o")
    if any(secret_under(judge, folder, one.text) for folder in state.folders):
        judge.record("files.read", Risk.HIGH, "it packs what holds secrets", one.start, one.end)
    if place[:1] != "-":
        value = Value(place, home=place[:1] == "~")
        judge_path(judge, "files.write", Argument(value, one.start, one.end), state)


def _read_archive7(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """What it reads; after an archive that is listed or tested come names of what is in it."""
    command, *rest = invocation.arguments
    has_archive = False
    for one in rest:
        text = known_part(one)
        if text[:1] == "@" or (text[:1] == "-" and "@" in text):
            judge.doubt("it prints names from a file", one.start, one.end)
        elif text[:1] == "-":
            if not text.startswith(_READS_ARCHIVE7):
                judge.doubt(f"{program.name} {text[:40]} is not known", one.start, one.end)
        elif one.value.may_be_option:
            judge.doubt("an argument of it may be any option", one.start, one.end)
        elif not has_archive or command.text not in ("l", "t"):
            judge_path(judge, "files.read", one, invocation.state)
            has_archive = True


def judge_database(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`sqlite3 FILE SQL`: statements that read; without any it takes commands from its input."""
    arguments = _without_second(invocation.arguments, "-lookaside")
    parsed = parse_and_judge(judge, program, invocation, arguments)
    chosen, start, end = names_chosen(parsed), invocation.start, invocation.end
    if chosen & {"-help", "--help", "-version", "--version"}:
        judge.effect(default_effect("shell.inspect"), start, end)
        return
    file, given = parsed.operands[:1], parsed.operands[1:]
    for one in given:
        if "-readonly" not in chosen or _HARMLESS_WHEN_READONLY.fullmatch(one.text or "(") is None:
            judge_kind(judge, "sql", one, program, invocation)
    if any(map(may_be_several, file)):
        judge.doubt("the name of a file may be taken for a statement", start, end)
    silent = invocation.body is None and chosen & {"-readonly", "-safe"}
    if not given and "-cmd" not in chosen and not silent:
        judge.doubt("it takes commands from its standard input", start, end)
    if file and file[0].text != ":memory:":
        judge_path(judge, "files.read", file[0], invocation.state)
    judge.effect(default_effect("database.read"), start, end)


def _without_second(arguments: tuple[Argument, ...], name: str) -> tuple[Argument, ...]:
    """An option that takes two values, as one that takes one."""
    at = next((i for i, one in enumerate(arguments) if one.text == name), None)
    return arguments if at is None else (*arguments[: at + 2], *arguments[at + 3 :])


def judge_remote(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge a program that asks a remote: as its data says, if each word is literal and names no other place.

    Its settings belong to the workspace or the user, so it runs in the workspace.
    """
    for one in invocation.arguments:
        text = one.text
        if text is None or one.value.wild or one.value.home or (judge.where.home or "~") in text:
            judge.doubt("what it asks the remote for is not known until it runs", one.start, one.end)
        elif "://" in text[5 if text.startswith(_STORES) else 0 :]:
            judge.doubt("it names an address, or a file by one", one.start, one.end)
    workspace = judge.where.workspace
    for folder in invocation.state.folders:
        if workspace and folder != workspace and not f"{folder}/".startswith(f"{workspace}/"):
            judge.doubt("the folder it works in may name another remote", invocation.start, invocation.end)
    parsed = judge_by_data(judge, program, invocation)
    many = "remote*" in program.operands or "--multiple" in names_chosen(parsed)
    for one in parsed.operands if many else parsed.operands[: program.operands.count("remote")]:
        _judge_name_of_remote(judge, one, invocation)


def _judge_name_of_remote(judge: Judge, name: Argument, invocation: Invocation) -> None:
    """Judge a remote of git by its name: one that the repository does not configure may be a folder."""
    for folder in invocation.state.folders:
        _, keys = read_own_keys(judge.quick.find_real(folder or "/")) or ("", [])
        if f"remote.{name.text}.url" not in [key for key, _ in keys]:
            judge.doubt("the repository configures no remote of this name", name.start, name.end)


def judge_socket(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`nc`, `socat`: connections; one to a socket of the guard is barred."""
    judge.effect(default_effect("network.api"), invocation.start, invocation.end)
    for one in invocation.arguments:
        text = one.text or ""
        for piece in (text, *text.replace(",", ":").split(":")):
            if "/" in piece or "sayso" in piece:
                _judge_socket_path(judge, piece[max(piece.find("/"), 0) :], one, invocation.state)


def _judge_socket_path(judge: Judge, path: str, at: Argument, state: ShellState) -> None:
    for folder in state.folders:
        where = CallFolders(folder or judge.where.folder, judge.where.workspace, judge.where.home)
        found = operation_at_path("files.write", path, judge.policy, where, ())
        if found.barred is not None:
            bar(judge, found.name.partition(".")[2], found.barred, at.start, at.end)


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


def judge_contained(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A command in a container: its files are the container's, so a script there is not known."""
    state = invocation.state.copy()
    state.changes = ChangedFiles([""])
    judge_wrapper(judge, program, msgspec.structs.replace(invocation, state=state))

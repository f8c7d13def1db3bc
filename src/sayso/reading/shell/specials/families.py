"""Programs whose words mean something by their shape: databases, archives, remotes, settings."""

from __future__ import annotations

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.usage import (
    judge_by_data,
    judge_option_values,
    may_be_several,
    report_problem,
)
from sayso.reading.shell.files.deep import secret_under
from sayso.reading.shell.files.guard import bar
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument, parse_options
from sayso.reading.shell.value import Value

_HARMLESS_WHEN_READONLY = lazy_pattern(
    r"(?i)\s*(?:select|drop|delete|update|insert)\b(?:(?!\b(?:vacuum|attach|pragma|load|into)\b)[\w\s',*=<>])*;?\s*"
)

_STORES = ("s3://", "gs://")
"""Places at a store of the account itself."""


def judge_settings(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`sysctl name` shows a setting, `sysctl name=value` changes it."""
    parsed = judge_by_data(judge, program, invocation)
    for one in parsed.operands if parsed is not None else ():
        if one.text is None or "=" in one.text:
            judge.effect(default_effect("system.change"), one.start, one.end)


def judge_sampled(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`sample PROCESS`: shows what a process does; without one it does nothing that is known."""
    parsed = judge_by_data(judge, program, invocation)
    if parsed is not None and not parsed.operands:
        judge.doubt("it is given nothing to do", invocation.start, invocation.end)


def judge_directory(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`dscl NODE -read …`: reading a directory service, or changing it."""
    parsed = parse_options(program.table, invocation.arguments)
    report_problem(judge, parsed, program, invocation)
    action = parsed.operands[1].text if len(parsed.operands) > 1 else None
    reads = action is not None and action.lstrip("-") in (
        "read",
        "readall",
        "list",
        "search",
        "diff",
        "readpl",
    )
    effect = default_effect("system.read" if reads else "system.change")
    judge.effect(effect, invocation.start, invocation.end)


def judge_plist(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`plutil`: `-lint`, `-p`, `-extract KEY raw` and what goes to `-o -` read; the rest changes the file."""
    parsed = parse_options(program.table, invocation.arguments)
    chosen = {option.name for option, _ in parsed.options}
    to_output = any(option.name == "-o" and value and value.text == "-" for option, value in parsed.options)
    is_raw = "-extract" in chosen and bool(parsed.operands) and parsed.operands[0].text == "raw"
    changes = not chosen.isdisjoint({"-insert", "-replace", "-remove", "-create"})
    changes = changes or (not to_output and ("-convert" in chosen or ("-extract" in chosen and not is_raw)))
    if changes:
        judge.effect(default_effect("files.edit"), invocation.start, invocation.end)
    report_problem(judge, parsed, program, invocation)
    judge_option_values(judge, parsed, program, invocation)
    for one in parsed.operands[1 if "-extract" in chosen else 0 :]:
        judge_path(judge, "files.edit" if changes else "files.read", one, invocation.state)
    if not parsed.operands and not changes:
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def judge_archive7(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`7z COMMAND …`: list, test, hash, benchmark and information read; the rest writes."""
    arguments = invocation.arguments
    if not arguments or arguments[0].text in ("-h", "--help", "i"):
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        return
    command = arguments[0].text
    if command not in ("l", "t", "h", "b"):
        judge.effect(default_effect("files.write"), invocation.start, invocation.end)
        if command in ("x", "e"):
            why = "which files it brings cannot be told"
            judge.record("files.write", Risk.HIGH, why, invocation.start, invocation.end)
        for one in arguments[1:]:
            text = one.text or one.value.prefix
            place = text.removeprefix("-o")
            _judge_packed(judge, one, invocation)
            if place[:1] != "-":
                judge_path(
                    judge,
                    "files.write",
                    Argument(Value(place, home=place[:1] == "~"), one.start, one.end),
                    invocation.state,
                )
        return
    judge.effect(default_effect("files.read"), invocation.start, invocation.end)
    _read_archive7(judge, program, invocation)


def _read_archive7(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """What it reads; after an archive that is listed or tested come names of what is in it."""
    command, *rest = invocation.arguments
    has_archive = False
    for one in rest:
        text = one.text or one.value.prefix
        if text[:1] == "@" or (text[:1] == "-" and "@" in text):
            judge.doubt("it prints names from a file", one.start, one.end)
        elif text[:1] == "-":
            if not text.startswith(
                ("-slt", "-p", "-scrc", "-m", "-t", "-r", "-ba", "-bb", "-bd", "-y", "-x", "-i")
            ):
                judge.doubt(f"{program.name} {text[:40]} is not known", one.start, one.end)
        elif one.value.may_be_option:
            judge.doubt("an argument of it may be any option", one.start, one.end)
        elif not has_archive or command.text not in ("l", "t"):
            judge_path(judge, "files.read", one, invocation.state)
            has_archive = True


def _judge_packed(judge: Judge, one: Argument, invocation: Invocation) -> None:
    if any(secret_under(judge, folder, one.text) for folder in invocation.state.folders):
        judge.record("files.read", Risk.HIGH, "it packs what holds secrets", one.start, one.end)


def judge_database(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`sqlite3 FILE SQL`: statements that read; without any it takes commands from its input."""
    arguments = _without_second(invocation.arguments, "-lookaside")
    parsed = parse_options(program.table, arguments)
    report_problem(judge, parsed, program, invocation)
    judge_option_values(judge, parsed, program, invocation)
    chosen = {option.name for option, _ in parsed.options}
    if chosen & {"-help", "--help", "-version", "--version"}:
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        return
    readonly = "-readonly" in chosen
    given = [*parsed.operands[1:]]
    commands = [value for option, value in parsed.options if option.name == "-cmd" and value is not None]
    for one in given:
        if not readonly or _HARMLESS_WHEN_READONLY.fullmatch(one.text or "(") is None:
            judge_kind(judge, "sql", one, program, invocation)
    silent = invocation.body is None and ("-readonly" in chosen or "-safe" in chosen)
    if any(may_be_several(one) for one in parsed.operands[:1]):
        judge.doubt("the name of a file may be taken for a statement", invocation.start, invocation.end)
    if not given and not commands and not silent:
        judge.doubt("it takes commands from its standard input", invocation.start, invocation.end)
    if parsed.operands and parsed.operands[0].text != ":memory:":
        judge_path(judge, "files.read", parsed.operands[0], invocation.state)
    judge.effect(default_effect("database.read"), invocation.start, invocation.end)


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
        if text is None or one.value.wild or one.value.home:
            judge.doubt("what it asks the remote for is not known until it runs", one.start, one.end)
        elif "://" in text[5 if text.startswith(_STORES) else 0 :]:
            judge.doubt("it names an address, or a file by one", one.start, one.end)
    workspace = judge.where.workspace
    for folder in invocation.state.folders:
        if workspace and folder != workspace and not f"{folder}/".startswith(f"{workspace}/"):
            judge.doubt("the folder it works in may name another remote", invocation.start, invocation.end)
    judge_by_data(judge, program, invocation)


def judge_socket(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`nc`, `socat`: connections; one to a socket of the guard is barred."""
    judge.effect(default_effect("network.api"), invocation.start, invocation.end)
    for one in invocation.arguments:
        text = one.text
        if text is None:
            continue
        for piece in (text, *text.replace(",", ":").split(":")):
            if "/" in piece or "sayso" in piece:
                path = Argument(
                    Value(piece[piece.find("/") :] if "/" in piece else piece), one.start, one.end
                )
                _judge_socket_path(judge, path, invocation)


def _judge_socket_path(judge: Judge, path: Argument, invocation: Invocation) -> None:
    from sayso.reading.path_operations import CallFolders, operation_at_path

    for folder in invocation.state.folders:
        where = CallFolders(folder or judge.where.folder, judge.where.workspace, judge.where.home)
        found = operation_at_path("files.write", path.text, judge.policy, where, ())
        if found.barred is not None:
            bar(judge, found.name.partition(".")[2], found.barred, path.start, path.end)

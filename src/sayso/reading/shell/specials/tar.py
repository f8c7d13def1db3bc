"""tar: its old style, and archives that are read, written, or lie on another machine."""

from __future__ import annotations

from itertools import product

import msgspec

from sayso.core.model import Risk
from sayso.reading.shell.commands.usage import judge_by_data, names_chosen
from sayso.reading.shell.files.deep import NamesTaken, secret_under
from sayso.reading.shell.files.paths import judge_path, judge_path_into
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument, ParsedOptions
from sayso.reading.shell.specials.unpacking import judge_unpacked
from sayso.reading.shell.specials.wrappers import known_part
from sayso.reading.shell.state import ChangedFiles, join_path
from sayso.reading.shell.value import Value

_RENAMES = frozenset({"--transform", "--one-top-level", "--show-transformed-names"})
_WRITES = frozenset({"-c", "-r", "-u", "-A", "--delete"})


def judge_tar(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge tar as its data says; then its archive, its folder and what goes in."""
    earlier = invocation.state.changes.copy()
    arguments = _set_old_style(program, invocation.arguments)
    parsed = judge_by_data(judge, program, msgspec.structs.replace(invocation, arguments=arguments))
    chosen = names_chosen(parsed)
    writes = not _WRITES.isdisjoint(chosen)
    for option, value in parsed.options:
        if option.name == "-f" and value is not None:
            if ":" in known_part(value).partition("/")[0]:
                judge.effect(default_effect("network.api"), value.start, value.end)
            judge_path(judge, "files.write" if writes else "files.read", value, invocation.state)
        elif option.name == "-C" and value is not None and "-t" not in chosen:
            judge_folder = judge_path if writes else judge_path_into
            judge_folder(judge, "files.read" if writes else "files.write", value, invocation.state)
    if writes:
        for one in parsed.operands:
            judge_path(judge, "files.read", one, invocation.state)
        _judge_contents(judge, parsed, invocation)
    elif "-x" in chosen and "-O" not in chosen and parsed.problem is None:
        _judge_extraction(judge, parsed, invocation, earlier)


def _judge_contents(judge: Judge, parsed: ParsedOptions, invocation: Invocation) -> None:
    """Judge the contents of the folders that are packed."""
    given = [(option.name, value.text) for option, value in parsed.options if value is not None]
    excluded = tuple(text for name, text in given if name == "--exclude" and text)
    starts = [text for name, text in given if name == "-C"] or ["."]
    for one, folder in product(parsed.operands, invocation.state.folders):
        tops = [None if folder is None or text is None else join_path(folder, text) for text in starts]
        below = (secret_under(judge, top, one.text, NamesTaken(excluded)) for top in tops)
        secret = next(filter(None, below), None)
        if secret is not None:
            judge.record("files.read", Risk.HIGH, f"it packs {secret}", one.start, one.end)
            return


def _judge_extraction(
    judge: Judge, parsed: ParsedOptions, invocation: Invocation, earlier: ChangedFiles
) -> None:
    """The files that come out of the archive, under the names that the options give them."""
    given = {option.name: value for option, value in parsed.options if value is not None}
    strip = given["--strip-components"].text or "" if "--strip-components" in given else "0"
    archive = given.get("-f", Argument(Value(None), invocation.start, invocation.end))
    if not strip.isdigit() or _RENAMES & names_chosen(parsed):
        archive, strip = Argument(Value(None), archive.start, archive.end), "0"
    judge_unpacked(judge, archive, given.get("-C"), invocation, earlier, int(strip))


def _set_old_style(program: KnownProgram, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`tfI A B`: letters without a dash as the first word, whose values are the next words in turn."""
    first = arguments[0] if arguments else None
    if first is None or not first.text or not first.text.isalpha():
        return arguments
    rest = list(arguments[1:])
    found: list[Argument] = []
    for letter in first.text:
        found.append(Argument(Value(f"-{letter}"), first.start, first.end))
        option = program.table.named.get(f"-{letter}")
        if option is not None and option.takes == ":" and rest:
            found.append(rest.pop(0))
    return (*found, *rest)

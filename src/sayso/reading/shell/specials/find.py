"""find's expressions, and fd's: the commands they run, what they delete and write."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.places import is_secret
from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.usage import names_chosen
from sayso.reading.shell.files.deep import LinkUse, secret_under, texts_of
from sayso.reading.shell.files.guard import (
    OWN,
    bar_change_of_program,
    finds_program,
)
from sayso.reading.shell.files.names import FOLLOWS_LINKS, finds_plain
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument, ParsedOptions
from sayso.reading.shell.specials.wrappers import parse_and_judge, put_in
from sayso.reading.shell.value import Value

_FOUND = Value(None, vetted=True, prefix="./")
_SECRET = Value(None, prefix="./")
_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_BATCHES = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_SHOWS_NO_CONTENT = frozenset(
    {"ls", "wc", "stat", "file", "du", "basename", "dirname", "echo", "realpath", "test"}
)
_SHOWS_HIDDEN = ("-H", "-u", "-I", "--hidden", "--no-ignore", "--unres")
_NEWER = lazy_pattern(r"-newer[aBcm][aBcmt]")
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def judge_find(  # noqa: C901 - one branch for each kind of word
    judge: Judge, program: KnownProgram, invocation: Invocation
) -> None:
    """Judge an expression word by word."""
    words = list(invocation.arguments)
    here = 0
    while here < len(words):
        one, text = words[here], words[here].text or ""
        option = program.table.named.get(text)
        count = 0 if option is None or not option.takes else 2 if option.name == "-fprintf" else 1
        here += 1
        values = words[here : here + count]
        if one.value.may_be_option or any(each.value.may_bring_options for each in values):
            judge.doubt("a word of find's expression is not known", one.start, one.end)
        if text in _RUNS:
            found = _note_words(_found_by(judge, invocation), invocation)
            here = _judge_command(judge, words, here, text, invocation, found)
        elif text == "-delete":
            judge.record("files.delete", Risk.HIGH, "deletes every file that it finds", one.start, one.end)
            if finds_program(_note_words(_FOUND, invocation)):
                bar_change_of_program(judge, one)
        elif option is not None:
            here += count
            if option.kind != "text" and values:
                judge_kind(judge, option.kind, values[0], program, invocation)
        elif text[:1] == "-" and text != "-":
            here += 1
            if not _NEWER.fullmatch(text):
                judge.doubt(f"find {text[:40]} is not known", one.start, one.end)
        elif one.text is not None and text not in ("(", ")", "!", ",", "\\(", "\\)"):
            judge_path(judge, "files.list", one, invocation.state)
    judge.effect(default_effect("files.list"), invocation.start, invocation.end)


def _note_words(found: Value, invocation: Invocation) -> Value:
    """Keep the search words with what is found if they name Sayso."""
    words = " ".join([invocation.name, *(one.text or one.value.source for one in invocation.arguments)])
    return found if OWN.search(words) is None else msgspec.structs.replace(found, source=words)


def _looks_for_secrets(words: list[str]) -> bool:
    """Return whether it looks for names that secrets have: then what it finds holds secrets."""
    return any(
        name in _NAMES and is_secret(value) and before not in ("!", "-not")
        for before, name, value in zip(["", *words], words, words[1:], strict=False)
    )


def _found_by(judge: Judge, invocation: Invocation) -> Value:
    """The name of a file that was found: fit to be read where none of them can hold secrets."""
    words = [one.text or "" for one in invocation.arguments]
    starts = list(itertools.takewhile(lambda one: one[:1] not in "-(!", words)) or ["."]
    command = next((i for i, one in enumerate(words) if one in _RUNS or one in _BATCHES), len(words))
    if finds_plain(words[:command], invocation.state) or not _SHOWS_NO_CONTENT.isdisjoint(
        words[command + 1 : command + 2]
    ):
        return _FOUND
    follows = not FOLLOWS_LINKS.isdisjoint(words[:command])
    return _SECRET if _looks_for_secrets(words) else _found_below(judge, starts, invocation, follows=follows)


def _found_below(
    judge: Judge, starts: Sequence[str | None], invocation: Invocation, *, follows: bool, hidden: bool = True
) -> Value:
    """The same for all that lies below these, or for what is not hidden."""
    links = LinkUse(follows=follows)
    places = itertools.product(invocation.state.folders, starts)
    found = (secret_under(judge, *place, hidden=hidden, links=links) for place in places)
    return _FOUND if all(one is None for one in found) else _SECRET


def _judge_command(
    judge: Judge, words: list[Argument], here: int, kind: str, invocation: Invocation, found: Value
) -> int:
    """The command of -exec up to its `;` or `+`; the place after it."""
    filled = (i for i in range(here + 1, len(words)) if words[i].text == "+" and words[i - 1].text == "{}")
    closed = (i for i in range(here, len(words)) if words[i].text == ";")
    end = min(next(filled, len(words)), next(closed, len(words)))
    inner = tuple(put_in(one, "{}", found, begins=True) for one in words[here:end])
    state = invocation.state.copy()
    if kind in ("-execdir", "-okdir"):
        state.folders = (None,)
    if kind in ("-ok", "-okdir"):
        judge.doubt("find asks for each file and waits", words[here - 1].start, words[here - 1].end)
    if inner:
        judge.run(inner, state, inner[0].start, inner[-1].end)
    else:
        judge.doubt("find is given no command", invocation.start, invocation.end)
    return end + 1


def judge_fd(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """fd: `-x` and `-X` take the rest as a command."""
    arguments = invocation.arguments
    at = next((i for i, one in enumerate(arguments) if one.text in _BATCHES), len(arguments))
    before, command = arguments[:at], arguments[at + 1 :]
    parsed = parse_and_judge(judge, program, invocation, before)
    for one in parsed.operands[1:]:
        judge_path(judge, "files.list", one, invocation.state)
    judge.effect(default_effect("files.list"), invocation.start, invocation.end)
    if not command:
        if at < len(arguments):
            judge.doubt("fd is given no command", invocation.start, invocation.end)
        return
    found = _note_words(_found_by_fd(judge, parsed, before, command, invocation), invocation)
    inner = tuple(put_in(one, "{}", found, begins=True) for one in command)
    if not any("{" in (one.text or "") for one in command):
        inner = (*inner, Argument(found, invocation.start, invocation.end))
    judge.run(inner, invocation.state.copy(), inner[0].start, invocation.end)


def _found_by_fd(
    judge: Judge,
    parsed: ParsedOptions,
    before: tuple[Argument, ...],
    command: tuple[Argument, ...],
    invocation: Invocation,
) -> Value:
    """The name of a file that fd finds: it passes hidden files over unless it is told."""
    sought = [(one.text or "").replace("\\", "").strip("^$") for one in parsed.operands[:1]]
    sought += [f"x.{value.text}" for option, value in parsed.options if option.name == "-e" and value]
    if command[0].text not in _SHOWS_NO_CONTENT and any(map(is_secret, sought)):
        return _SECRET
    if any((one.text or "-H").startswith(_SHOWS_HIDDEN) for one in before):
        return _found_by(judge, invocation)
    starts = texts_of(parsed.operands[1:]) or ["."]
    follows = "-L" in names_chosen(parsed)
    return _found_below(judge, starts, invocation, follows=follows, hidden=False)

"""find's expressions, and fd's: the commands they run, what they delete and write."""

from __future__ import annotations

import itertools

import msgspec

from sayso.core.model import Risk
from sayso.reading.paths.places import is_secret
from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.usage import judge_option_values, report_problem
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
from sayso.reading.shell.programs.options import Argument, parse_options
from sayso.reading.shell.value import Value

_FOUND = Value(None, vetted=True, prefix="./")
_SECRET = Value(None, prefix="./")
_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_BATCHES = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_SHOWS_NO_CONTENT = frozenset(
    {"ls", "wc", "stat", "file", "du", "basename", "dirname", "echo", "realpath", "test"}
)
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def judge_find(  # noqa: C901 - one branch for each kind of word
    judge: Judge, program: KnownProgram, invocation: Invocation
) -> None:
    """Judge an expression word by word."""
    words = list(invocation.arguments)
    named = program.table.named
    here, paths = 0, 0
    while here < len(words):
        one = words[here]
        text = one.text
        here += 1
        if text is None:
            if one.value.may_be_option:
                judge.doubt("a word of find's expression is not known", one.start, one.end)
            continue
        if text in _RUNS:
            found = _note_words(_found_by(judge, invocation), invocation)
            here = _judge_command(judge, words, here, text, invocation, found)
        elif text == "-delete":
            judge.record("files.delete", Risk.HIGH, "deletes every file that it finds", one.start, one.end)
            if finds_program(_note_words(_FOUND, invocation)):
                bar_change_of_program(judge, one)
        elif text in named:
            option = named[text]
            count = 2 if option.name == "-fprintf" else 1 if option.takes else 0
            values = words[here : here + count]
            here += count
            if any(each.value.may_bring_options for each in values):
                judge.doubt("a word of find's expression is not known", one.start, one.end)
            if option.kind != "text" and values:
                judge_kind(judge, option.kind, values[0], program, invocation)
        elif text[:1] == "-" and text != "-":
            if not _is_newer(text):
                judge.doubt(f"find {text[:40]} is not known", one.start, one.end)
            here += 1
        elif text not in ("(", ")", "!", ",", "\\(", "\\)"):
            paths += 1
            if one.value.may_be_option:
                judge.doubt("a word of find's expression is not known", one.start, one.end)
            judge_path(judge, "files.list", one, invocation.state)
    judge.effect(default_effect("files.list"), invocation.start, invocation.end)


def _is_newer(text: str) -> bool:
    return len(text) == 8 and text.startswith("-newer") and text[6] in "aBcm" and text[7] in "aBcmt"


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
    if finds_plain(words[:command], invocation.state) or (
        command + 1 < len(words) and words[command + 1] in _SHOWS_NO_CONTENT
    ):
        return _FOUND
    if _looks_for_secrets(words):
        return _SECRET
    follows = not FOLLOWS_LINKS.isdisjoint(words[:command])
    for folder in invocation.state.folders:
        if any(
            secret_under(judge, folder, one, links=LinkUse(follows=follows)) is not None for one in starts
        ):
            return _SECRET
    return _FOUND


def _found_plain(judge: Judge, starts: list[str | None], invocation: Invocation, *, follows: bool) -> Value:
    """The same for what passes hidden files over."""
    for folder in invocation.state.folders:
        if any(
            secret_under(judge, folder, one, hidden=False, links=LinkUse(follows=follows)) is not None
            for one in starts
        ):
            return _SECRET
    return _FOUND


def _judge_command(
    judge: Judge, words: list[Argument], here: int, kind: str, invocation: Invocation, found: Value
) -> int:
    """The command of -exec up to its `;` or `+`; the place after it."""
    end = here
    while end < len(words) and words[end].text != ";":
        if words[end].text == "+" and end > here and words[end - 1].text == "{}":
            break
        end += 1
    inner = tuple(_fill(one, found) for one in words[here:end])
    state = invocation.state.copy()
    if kind in ("-execdir", "-okdir"):
        state.folders = (None,)
    if kind in ("-ok", "-okdir"):
        judge.doubt("find asks for each file and waits", words[here - 1].start, words[here - 1].end)
    if not inner:
        judge.doubt("find is given no command", invocation.start, invocation.end)
    else:
        judge.run(inner, state, inner[0].start, inner[-1].end)
    return end + 1


def _fill(one: Argument, found: Value) -> Argument:
    """`{}` becomes the name of a file that was found, which never begins with a dash."""
    text = one.text
    if text is None or "{}" not in text:
        return one
    if text.startswith("{}"):
        return Argument(found, one.start, one.end)
    if " " in text.strip():
        return Argument(Value(None, source=found.source), one.start, one.end)
    return Argument(Value(None, prefix=text.partition("{}")[0], source=found.source), one.start, one.end)


def judge_fd(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """fd: `-x` and `-X` take the rest as a command."""
    arguments = invocation.arguments
    at = next(
        (i for i, one in enumerate(arguments) if one.text in ("-x", "-X", "--exec", "--exec-batch")), None
    )
    before = arguments if at is None else arguments[:at]
    parsed = parse_options(program.table, before)
    report_problem(judge, parsed, program, invocation)
    judge_option_values(judge, parsed, program, invocation)
    for one in parsed.operands[1:]:
        judge_path(judge, "files.list", one, invocation.state)
    judge.effect(default_effect("files.list"), invocation.start, invocation.end)
    if at is None:
        return
    hidden = any(
        (one.text or "-H").startswith(("-H", "-u", "-I", "--hidden", "--no-ignore", "--unres"))
        for one in before
    )
    starts = texts_of(parsed.operands[1:]) or ["."]
    follows = any(option.name == "-L" for option, _ in parsed.options)
    found = (
        _found_by(judge, invocation) if hidden else _found_plain(judge, starts, invocation, follows=follows)
    )
    sought = [(one.text or "").replace("\\", "").strip("^$") for one in parsed.operands[:1]]
    sought += [
        f"x.{value.text}" for option, value in parsed.options if option.name == "-e" and value is not None
    ]
    shows = at + 1 < len(arguments) and arguments[at + 1].text not in _SHOWS_NO_CONTENT
    found = _note_words(_SECRET if shows and any(map(is_secret, sought)) else found, invocation)
    inner = tuple(_fill(one, found) for one in arguments[at + 1 :])
    if not inner:
        judge.doubt("fd is given no command", invocation.start, invocation.end)
        return
    if not any("{" in (one.text or "") for one in arguments[at + 1 :]):
        inner = (*inner, Argument(found, invocation.start, invocation.end))
    judge.run(inner, invocation.state.copy(), inner[0].start, invocation.end)

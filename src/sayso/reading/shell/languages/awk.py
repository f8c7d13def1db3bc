"""awk programs: those that write, run, read other files or load code are not low risk."""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.value import Value

_TOKEN = lazy_pattern(
    r"""(?P<string>"(?:\\.|[^"\\\n])*")|(?P<comment>\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*|\.\d+)"""
    r"""|(?P<joined>\\\r?\n)|(?P<space>[ \t\r\n;]+)|(?P<append>>>)"""
    r"""|(?P<operator>\|&|\|\||&&|[<>=!+\-*/%^]=|\+\+|--|\*\*=?|!~|[-+*%^~!<>|?:,(){}\[\]=$@/])""",
    re.VERBOSE | re.DOTALL,
)
_RUNS = frozenset(
    {"system", "getline", "close", "fflush", "extension", "eval", "ENVIRON", "PROCINFO", "ARGV", "ARGC"}
)
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout"})
_BEFORE_REGEX = frozenset("(,{}!~&|;=<>?:+-*%^[") | {"&&", "||", "!~", "~", "return", "print", "in", "", "=="}


def judge_awk(  # noqa: C901 - one branch for each thing that awk can do
    judge: Judge, program: str, at: Argument, invocation: Invocation
) -> None:
    """Judge an awk program."""
    tokens = _tokens(program)
    if tokens is None:
        judge.doubt("its awk program is not understood", at.start, at.end)
        return
    printing, depth, opened = False, 0, 0
    for index, (kind, text) in enumerate(tokens):
        if kind == "name" and text in _RUNS and text not in ("close", "fflush"):
            judge.doubt(
                f"its awk program uses {text}, which can run programs or show secrets", at.start, at.end
            )
            return
        if text == "@":
            judge.doubt("its awk program loads others, or calls what a value names", at.start, at.end)
            return
        if kind == "name" and text in ("print", "printf"):
            printing, opened = True, depth
        elif text in "([{" and text:
            depth += 1
        elif text in ")]}" and text:
            depth -= 1
            if text == "}":
                printing = False
        elif kind == "space" and (";" in text or "\n" in text):
            printing = False
        elif text in ("|", "|&"):
            judge.doubt("its awk program runs a program through a pipe", at.start, at.end)
            return
        elif (
            printing
            and depth == opened
            and text in (">", ">>")
            and not _judge_output(judge, tokens, index, at, invocation)
        ):
            return


def _judge_output(
    judge: Judge, tokens: list[tuple[str, str]], index: int, at: Argument, invocation: Invocation
) -> bool:
    """`print > FILE`; False if there is nothing more to say."""
    rest = [one for one in tokens[index + 1 :] if one[0] != "space" or ";" in one[1]]
    target = rest[0] if rest else ("", "")
    after = rest[1][1] if len(rest) > 1 else "}"
    if target[0] != "string" or after[:1] not in ("}", ";", "\n"):
        judge.doubt("its awk program writes to a file that is not known", at.start, at.end)
        return False
    name = target[1][1:-1]
    if name not in _HARMLESS_TARGETS:
        judge_path(judge, "files.write", Argument(Value(name), at.start, at.end), invocation.state)
    return True


def _tokens(program: str) -> list[tuple[str, str]] | None:
    """The tokens of a program; None if it is not understood."""
    found: list[tuple[str, str]] = []
    here, before = 0, ""
    while here < len(program):
        if program[here] == "/" and (
            before in _BEFORE_REGEX or (before in ("}", "{", ")") and _starts(found))
        ):
            end = _regex_end(program, here)
            if end is None:
                return None
            found.append(("regex", program[here:end]))
            here, before = end, "regex"
            continue
        match = _TOKEN.match(program, here)
        if match is None:
            return None
        kind, text = match.lastgroup or "", match[0]
        here = match.end()
        if kind in ("comment", "joined"):
            continue
        found.append((kind, text))
        if kind != "space":
            before = text
        elif ";" in text or "\n" in text:
            before = ";"
    return found


def _starts(found: list[tuple[str, str]]) -> bool:
    return not found or found[-1][1] in ("}", "{") or (found[-1][0] == "space" and ("\n" in found[-1][1]))


def _regex_end(program: str, here: int) -> int | None:
    """Just after the slash that ends a regular expression."""
    here += 1
    bracket = False
    while here < len(program):
        one = program[here]
        if one == "\\":
            here += 2
            continue
        if one == "\n":
            return None
        if one == "[" and not bracket:
            bracket = True
            here += 1 + (program[here + 1 : here + 2] == "^")
            here += program[here : here + 1] == "]"
            continue
        if one == "]":
            bracket = False
        elif one == "/" and not bracket:
            return here + 1
        here += 1
    return None

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
_REGEX = lazy_pattern(r"(?P<regex>/(?:\\.|\[\^?+\]?+(?:\\.|[^\]\n\\])*+\]|[^\n/\\\[])*+/)", re.DOTALL)
_RUNS = frozenset({"system", "getline", "extension", "eval", "ENVIRON", "PROCINFO", "ARGV", "ARGC"})
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout"})
_BEFORE_REGEX = frozenset("(,{}!~&|;=<>?:+-*%^[") | {"&&", "||", "!~", "~", "return", "print", "in", "", "=="}


_WANTS_MORE = frozenset({",", "&&", "||", "?", ":"})


def judge_awk(judge: Judge, program: str, at: Argument, invocation: Invocation) -> None:
    """Judge an awk program."""
    tokens = _tokens(program)
    if tokens is None:
        judge.doubt("its awk program is not understood", at.start, at.end)
        return
    printing, depth, opened = False, 0, 0
    for index, (kind, text) in enumerate(tokens):
        why = _why_risky(kind, text)
        if why is not None:
            judge.doubt(f"its awk program {why}", at.start, at.end)
            return
        if kind == "name" and text in ("print", "printf"):
            printing, opened = True, depth
        elif text in ("(", "[", "{"):
            depth += 1
        elif text in (")", "]", "}"):
            depth, printing = depth - 1, printing and text != "}"
        elif kind == "space":  # a line may end inside parentheses, and behind what wants more
            ends = "\n" in text and depth == opened and tokens[index - 1][1] not in _WANTS_MORE
            printing = printing and ";" not in text and not ends
        elif (printing and depth == opened and text in (">", ">>")) and not _judge_output(
            judge, tokens[index + 1 :], at, invocation
        ):
            return


def _why_risky(kind: str, text: str) -> str | None:
    """Return what a token does that is not understood."""
    if kind == "name" and text in _RUNS:
        return f"uses {text}, which can run programs or show secrets"
    if text == "@":
        return "loads others, or calls what a value names"
    return "runs a program through a pipe" if text in ("|", "|&") else None


def _judge_output(judge: Judge, tokens: list[tuple[str, str]], at: Argument, invocation: Invocation) -> bool:
    """`print > FILE`; False if there is nothing more to say."""
    rest = [one for one in tokens if one[0] != "space" or ";" in one[1]]
    (kind, target), (_, after) = [*rest, ("", "}"), ("", "}")][:2]
    if kind != "string" or after[:1] not in ("}", ";", "\n"):
        judge.doubt("its awk program writes to a file that is not known", at.start, at.end)
        return False
    if target[1:-1] not in _HARMLESS_TARGETS:
        judge_path(judge, "files.write", Argument(Value(target[1:-1]), at.start, at.end), invocation.state)
    return True


def _tokens(program: str) -> list[tuple[str, str]] | None:
    """The tokens of a program; None if it is not understood."""
    found: list[tuple[str, str]] = []
    here, before = 0, ""
    while here < len(program):
        last, text = found[-1] if found else ("space", "\n")
        begins = text in ("}", "{") or (last == "space" and "\n" in text)
        is_regex = program[here] == "/" and (
            before in _BEFORE_REGEX or (before in ("}", "{", ")") and begins)
        )
        match = (_REGEX if is_regex else _TOKEN).match(program, here)
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

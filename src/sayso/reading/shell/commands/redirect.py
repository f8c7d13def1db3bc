"""Redirections: what they write, what they read, and what they put on a program's standard input."""

from __future__ import annotations

from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.grammar.braces import spread_braces
from sayso.reading.shell.grammar.syntax import Redirection, Substitution
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.value import Value

_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_HARMLESS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


def judge_redirection(judge: Judge, one: Redirection, value: Value | None, state: ShellState) -> Value | None:
    """Judge a redirection to this value; return what it puts on the standard input."""
    if value is None:
        if one.operator not in ("<&-", ">&-", "<<"):
            judge.doubt("a redirection is not understood", one.start, one.end)
        return None
    if value.odd is not None:
        judge.doubt(value.odd, one.start, one.end)
    if one.operator == "<<":
        return value if value.text is not None else Value(None, vetted=value.vetted)
    assert one.target is not None  # noqa: S101 - it has a value
    if one.operator == "<<<":
        if any(isinstance(part, Substitution) and not part.quoted for part in one.target.parts):
            judge.doubt("a here-string runs commands", one.start, one.end)
        return value
    if value.odd is not None:
        return None
    if len(spread_braces(one.target)) != 1:
        judge.doubt("a redirection goes to several files", one.start, one.end)
    text = value.text or ""
    if one.operator not in (">&", "<&") or not (text.isdigit() or text == "-"):
        _judge_target(judge, one, value, state)
    reads = one.operator in ("<", "<>") and value.text != "/dev/null"
    return Value(None) if reads else None


def _judge_target(judge: Judge, one: Redirection, value: Value, state: ShellState) -> None:
    writes = one.operator in _WRITES or one.operator == ">&"
    inner = value.text is None and value.prefix == "/dev/fd/"
    if one.operator != "<" and not writes:
        judge.doubt("a redirection is not understood", one.start, one.end)
    elif not inner and not (writes and value.text in _HARMLESS):
        operation = "files.write" if writes else "files.read"
        judge_path(judge, operation, Argument(value, one.start, one.end), state)

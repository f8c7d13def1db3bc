"""fzf's key bindings: some of their actions run commands."""

from __future__ import annotations

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.languages.template import judge_template
from sayso.reading.shell.programs.options import Argument

_RUNS = lazy_pattern(r"(?:^|[:+,])\s*(execute(?:-silent)?|execute-multi|become)\b")
_MAY_RUN = lazy_pattern(
    r"(?:reload(?:-sync)?|(?<![-\w])(?:change-)?preview|transform-[\w-]+)(?=[^\w(\[:+,-])|(?<![-\w])(?:bg-)?transform(?![-\w])"
)
_READS = lazy_pattern(
    r"(reload(?:-sync)?|preview|transform(?:-[\w-]+)?|bg-transform(?:-[\w-]+)?|change-preview)(?:\((?P<a>[^)]*)\)|\[(?P<b>[^\]]*)\]|:(?P<c>.*))"
)


def judge_binding(judge: Judge, text: str, at: Argument, invocation: Invocation) -> None:
    """Judge the bindings of `--bind`."""
    if _RUNS.search(text):
        judge.doubt("a key runs a command", at.start, at.end)
        return
    if _MAY_RUN.search(text):
        judge.doubt("a key runs a command", at.start, at.end)
        return
    for match in _READS.finditer(text):
        inner = match["a"] or match["b"] or match["c"] or ""
        if inner:
            judge_template(judge, inner, at, invocation)

"""Command lines with places for names in them, as fzf's previews have."""

from __future__ import annotations

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.options import Argument

_PLACE = lazy_pattern(r"\{[-+\w.,:/]*\}")


def judge_template(judge: Judge, text: str, at: Argument, invocation: Invocation) -> None:
    """Judge a command whose `{}` is quoted by the program and becomes a name."""
    judge.script(_PLACE.sub("a-name", text).replace("\\ ", " "), invocation.state.copy(), at.start, at.end)

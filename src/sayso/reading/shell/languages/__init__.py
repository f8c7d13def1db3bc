"""Small languages that programs take on their command lines: sed, awk, jq, SQL, find's expressions."""

from __future__ import annotations

import glob

from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import Argument


def _fits_names(pattern: str, invocation: Invocation) -> bool:
    """Return whether the shell puts names of files in the place of this text; in doubt, yes."""
    for folder in invocation.state.folders:
        if folder is None or next(glob.iglob(pattern, root_dir=folder), None) is not None:  # noqa: PTH207 - as a shell
            return True
    return False


def read_language(
    name: str, judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation
) -> None:
    """Judge a text in this language; one that is not known is never low risk."""
    text = value.text
    if text is None or (value.value.wild and _fits_names(text, invocation)):
        judge.doubt(f"what {program.name} is told to do is not known", value.start, value.end)
        return
    if name == "sed":
        from sayso.reading.shell.languages.sed import judge_sed

        judge_sed(judge, text, value, invocation)
    elif name == "awk":
        from sayso.reading.shell.languages.awk import judge_awk

        judge_awk(judge, text, value, invocation)
    elif name == "sql":
        from sayso.reading.shell.languages.sql import judge_sql

        judge_sql(judge, text, value, program)
    elif name == "fzf":
        from sayso.reading.shell.languages.fzf import judge_binding

        judge_binding(judge, text, value, invocation)
    else:
        from sayso.reading.shell.languages.jq import judge_jq

        judge_jq(judge, text, value)

"""Languages that programs take on their command lines: sed, awk, jq, SQL, fzf's bindings."""

from __future__ import annotations

import glob

from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.languages.awk import judge_awk
from sayso.reading.shell.languages.sed import judge_sed
from sayso.reading.shell.languages.small import judge_binding, judge_jq, judge_sql
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import Argument

LANGUAGES = {"sed": judge_sed, "awk": judge_awk, "jq": judge_jq, "sql": judge_sql, "binding": judge_binding}


def _fits_names(pattern: str, invocation: Invocation) -> bool:
    """Return whether the shell puts names of files in the place of this text; in doubt, yes."""
    return any(
        folder is None or next(glob.iglob(pattern, root_dir=folder), None) is not None  # noqa: PTH207 - as a shell
        for folder in invocation.state.folders
    )


def read_language(
    name: str, judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation
) -> None:
    """Judge a text in this language."""
    text = value.text
    if text is None or (value.value.wild and _fits_names(text, invocation)):
        judge.doubt(f"what {program.name} is told to do is not known", value.start, value.end)
    else:
        LANGUAGES[name](judge, text, value, invocation)

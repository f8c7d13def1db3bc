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


def read_language(
    name: str, judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation
) -> None:
    """Judge a text in this language."""
    text = value.text
    fits = value.value.wild and any(  # the shell may put names of files in its place
        folder is None or next(glob.iglob(text or "", root_dir=folder), None) is not None  # noqa: PTH207 - as a shell
        for folder in invocation.state.folders
    )
    if text is None or fits:
        judge.doubt(f"what {program.name} is told to do is not known", value.start, value.end)
    else:
        LANGUAGES[name](judge, text, value, invocation)

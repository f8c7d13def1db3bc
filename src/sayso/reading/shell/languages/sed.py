"""sed scripts: which of their commands write files or run programs."""

from __future__ import annotations

import re

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.value import Value

_TO_MARK = r"""(?:
    \\. | (?!MARK)(?:
        [^\\\[]
        | \[(?!\^?+.[^\]]*+\])(?:\\.|(?!MARK)[^\\])*+  # nothing closes this bracket, nor a later one
        # sed and its relatives do not agree on a delimiter in brackets: such a text is not read
        | \[(?=(?!MARK)\^?+(?!MARK).(?:(?!MARK)[^\]])*+\])\^?+\]?+(?:\\[^\]]|(?!\[\^?\])[^\]\\])*+(?:\\\])?+
    )
)*+MARK"""
"""All up to the next delimiter that neither a backslash nor a bracket hides, and the delimiter."""


def _delimited(mark: str) -> str:
    return _TO_MARK.replace("MARK", f"(?P={mark})")


def _address(mark: str) -> str:
    start = rf"(?:\\(?![\n\\])|(?=/))(?P<{mark}>.)"
    return rf"(?>\s*+(?:\d++(?:~\d++)?+|\$|[+~]\d++)|[ \t]*+(?:{start}{_delimited(mark)}[IM]*+)?+)"


_COMMAND = lazy_pattern(
    rf"""[ \t\n;{{}}]*+(?:\Z|\#[^\n]*+|
        {_address("first")}(?:[ \t]*+,{_address("last")})?+[ \t!]*+
        (?:[{{}}=dDgGhHnNpPxFz]|
            (?:[qQlL][ \t0-9]*+|[:btT][ \t]*+[\w.-]*+(?![ \t]*\#)|[aic](?:[^\\\n]|\\.?)*+
            |y(?P<y>[^\n\\]){_delimited("y") * 2}
            |s(?P<s>[^\n\\]){_delimited("s") * 2}(?P<flags>[gpiImM0-9e]*+)(?:w(?P<output>[^\n]*+))?+
            |(?P<command>[rRwW])(?=[^\n]*\S)(?P<file>[^\n]*+)|(?P<run>e)[^\n]*+
            )[ \t]*+(?=[;\n}}\#]|\Z)
        )
    )""",
    re.VERBOSE | re.DOTALL,
)
"""A command with its addresses, or what stands between commands."""


def judge_sed(judge: Judge, script: str, at: Argument, invocation: Invocation) -> None:
    """Judge a sed script."""
    effects = _effects(script)
    if effects is None:
        judge.doubt("its sed script is not understood", at.start, at.end)
        return
    for operation, name in effects:
        if operation == "shell.run":
            judge.record(operation, Risk.HIGH, "its sed script runs a program", at.start, at.end)
        else:
            judge_path(judge, operation, Argument(Value(name), at.start, at.end), invocation.state)


def _effects(script: str) -> list[tuple[str, str]] | None:
    """Return the files that a script reads and writes, and the programs it runs. None if it is not read."""
    found: list[tuple[str, str]] = []
    here = 0
    while here < len(script):
        one = _COMMAND.match(script, here)
        if one is None:
            return None
        here = one.end()
        if one["file"] is not None:
            found.append(("files.read" if one["command"] in "rR" else "files.write", one["file"].strip()))
        found += [("shell.run", "")] * (one["run"] or one["flags"] or "").count("e")
        if one["output"] is not None:
            found.append(("files.write", one["output"].strip() or "?"))
    return found

"""The lenient reading: finds danger in the words of the raw line, also where the line cannot be parsed.

It never proves anything safe. Where the line was parsed, only words in the place of a program count, so that
`echo 'rm -rf /'` stays what it is; where it was not, every word does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import CannotTell
from sayso.reading.shell.judge import Finding, InnerCommand, Judge, TooMuch
from sayso.reading.shell.programs.known import find_program, named_set
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.value import Value
from sayso.reading.shell.walk import walk_words

_TOKEN = lazy_pattern(
    r"""(?P<blank>[ \t]+|\\\n)|(?P<break>[;&|\n(){}`<>]+|\$\()"""
    r"""|(?P<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|(){}`<>'"\\])+)|(?P<odd>.)""",
    re.DOTALL,
)
_QUOTES = lazy_pattern(r"\\(.)|'([^']*)'|\"((?:\\.|[^\"\\])*)\"", re.DOTALL)
_ASSIGNS = lazy_pattern(r"[A-Za-z_]\w*\+?=")
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "!", "time", "{", "in", "coproc"}
)
_WRITES = lazy_pattern(
    r""">[>|]?[ \t]*(?P<file>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|(){}`<>'"\\])+)""", re.DOTALL
)
_MOST_WORDS = 200
_MOST_COMMANDS, _MOST_WRITTEN = 500, 100
"""How much of a line is looked at that cannot be parsed."""
_NAMES = lazy_pattern(r"[\w.-]+")
_NO_QUOTES = str.maketrans("", "", "'\"\\\n")
_WORD = lazy_pattern(r"[^\s;&|(){}`<>'\"\\,=]+")
_SEPARATOR = lazy_pattern(r"[;&|\n]")


def find_danger(judge: Judge, line: str, *, parsed: bool) -> list[Finding]:
    """Dangerous commands among the words of this line."""
    if named_set("dangerous").isdisjoint(_NAMES.findall(line.translate(_NO_QUOTES))):
        return []
    rows = _commands(line) if parsed else _every_start(line)
    dangerous = (row for row in rows if row[0][0].rpartition("/")[2] in named_set("dangerous"))
    return [one for row in dangerous for one in _run_words(judge, *row) if one.risk is Risk.HIGH]


def find_marked_commands(judge: Judge, line: str) -> list[Finding]:
    """What the policy marks among the commands of a line that cannot be parsed: a shell runs some of them.

    It runs what stands before an error. Only words in the place of a program count, and files that something
    is written to.
    """
    rows: dict[tuple[str, ...], tuple[int, int]] = {}
    written = ((["tee", _unquote(one["file"])], *one.span()) for one in _WRITES.finditer(line))
    for words, start, end in (*islice(written, _MOST_WRITTEN), *_commands(line)):
        if find_program(words[0].rpartition("/")[2], judge.added) is not None:
            rows.setdefault(tuple(words[:_MOST_WORDS]), (start, end))
    found = (
        one
        for words, span in islice(rows.items(), _MOST_COMMANDS)
        for one in _run_words(judge, list(words), *span)
    )
    return find_marked(judge, found)


def find_marked(judge: Judge, findings: Iterable[Finding]) -> list[Finding]:
    """Return those of which the policy says that no consent covers them, each operation once."""
    return list(
        {one.operation: one for one in findings if one.barred or judge.policy.mark_of(one.operation)}.values()
    )


def _run_words(judge: Judge, words: list[str], start: int, end: int) -> list[Finding]:
    """Findings of a known program with these words."""
    name = words[0].rpartition("/")[2]
    if find_program(name, judge.added) is None:
        return []
    own = judge.start_again(judge.added)
    own.window = None
    arguments = tuple(Argument(Value(word), start, end) for word in (name, *words[1:]))
    state = ShellState((judge.where.folder,), judge.where.home)
    try:
        walk_words(own, InnerCommand(arguments, state, start, end))
    except (CannotTell, TooMuch, RecursionError):
        return [Finding("shell.run", Risk.HIGH, "it is nested too deeply", start, end)]
    return own.findings


def _commands(line: str) -> list[tuple[list[str], int, int]]:
    """Rows of words between operators, assignments and keywords left out."""
    found: list[tuple[list[str], int, int]] = []
    words: list[str] = []
    start = end = 0
    for match in (*_TOKEN.finditer(line), None):
        kind = "break" if match is None else match.lastgroup
        if kind == "break" and words:
            found.append((words, start, end))
            words = []
        elif match is not None and kind == "word":
            if not words and (_ASSIGNS.match(match[0]) or match[0] in _KEYWORDS):
                continue
            start, end = start if words else match.start(), match.end()
            words.append(_unquote(match[0]))
    return found


def _every_start(line: str) -> list[tuple[list[str], int, int]]:
    """Every word of an unparsed line may be a program, whatever quotes and dollars stand around it."""
    words = list(islice(_WORD.finditer(line, 0, 10_000), 400))
    dangerous = named_set("dangerous")
    found: list[tuple[list[str], int, int]] = []
    for place in [i for i, word in enumerate(words) if word[0].rpartition("/")[2] in dangerous][:40]:
        start = words[place].start()
        part = _SEPARATOR.split(line[start:], maxsplit=1)[0]
        found.append(([word[0] for word in words[place : place + 20]], start, start + len(part.rstrip())))
    return found


def _unquote(word: str) -> str:
    return _QUOTES.sub(lambda found: found[1] or found[2] or found[3] or "", word)

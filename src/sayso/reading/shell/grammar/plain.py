"""Lines of plain words: no grammar is needed to read them, and most lines are such.

- Words of letters, digits and a few marks that mean nothing to a shell, or an asterisk, or a tilde at their
  beginning; text in single quotes, also behind such letters; text in double quotes without `$`, backquote,
  backslash and `!`; a variable by itself, in double quotes or not.
- `NAME=word` before a command, and redirections to a plain word behind it.
- `&&`, `||`, `|` and `;` between commands.

All else is read by the grammar, and a property test holds the two against each other.
"""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import (
    Assignment,
    Command,
    Literal,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Variable,
    Word,
)

_TOKEN = lazy_pattern(
    r"""[ ]*(?:([A-Za-z0-9_./:@%+,=*-][A-Za-z0-9_./:@%+,=*^-]*(?:(?<![:=])~[A-Za-z0-9_./:@%+,=*^-]*)*"""
    r"""|~/[\w./:@%+,=-]*|\{\}|\\;)(?=[ ]|;|$)"""
    r"""|'([^'\n]*)'(?=[ ]|;|$)|"([^"$`\\!\n]*)"(?=[ ]|;|$)|(&&|\|\||\||;)(?=[ ])"""
    r"""|([0-9]?(?:>>|>&(?=[0-9](?:[ ;]|$))|>|<|&>>|&>))[ ]?([\w./:@%+,-]+)(?=[ ]|;|$)"""
    r"""|(-[\w-]*=?)'([^'\n]*)'(?=[ ]|;|$)|"?\$([A-Za-z_]\w*)"?(?=[ ]|;|$))"""
)
_WORD, _QUOTED, _OPERATOR, _TARGET, _JOINED, _NAME = 1, (2, 3), 4, 6, 8, 9
"""The last group of each kind of token."""
_BARE_LINE = lazy_pattern(r"[A-Za-z0-9_./:@%+,=-]+(?: [A-Za-z0-9_./:@%+,=-]+)*")
_ASSIGNS = lazy_pattern(r"([A-Za-z_]\w*)=([\w./:@%+,-]+)")
_RESERVED = frozenset(
    """if then else elif fi case esac for select while until do done in function coproc { } {} export
    declare typeset local readonly unset unsetenv""".split()  # noqa: SIM905 - a list of them would be a page
)


def parse_plain(line: str) -> Sequence | None:  # noqa: C901 - what a command is made of, in its order
    """The syntax of a line of plain words; None if it is not one. All else is for the grammar."""
    if not line.isprintable() or not line.isascii():
        return None
    rows: list[tuple[str, list[Simple]]] = []
    assigned: tuple[Assignment, ...] = ()
    redirected: tuple[Redirection, ...] = ()
    words: list[Word] = []
    match, joiner = _TOKEN.match, ";"
    here = last = 0
    first, size = -1, len(line.rstrip(" "))
    while here < size:
        found = match(line, here)
        if found is None:
            return None
        here, kind = found.end(), found.lastindex
        if kind == _OPERATOR:
            if not words and not assigned:
                return None
            _add(rows, joiner, Simple(assigned, tuple(words), redirected, first, last))
            assigned, words, redirected, joiner, first = (), [], (), found[4], -1
            continue
        last = here
        if kind == _WORD and not redirected and (words or _may_begin(found[1], assigned)):
            start = found.start(1)
            words.append(_bare_word(found[1], start, here))
        elif kind == _TARGET and words:
            start, target = found.start(5), Word(found[6], found.start(6), here, found[6])
            made = Redirection(found[5].lstrip("0123456789"), target, None, start, here)
            redirected = (*redirected, made)
        elif redirected:
            return None
        elif kind == _WORD and (assigns := _ASSIGNS.fullmatch(found[1])) is not None:
            start = found.start(1)
            value = Word(assigns[2], start + assigns.start(2), here, assigns[2])
            assigned = (*assigned, Assignment(assigns[1], value))
        else:
            start = here - len(found[0].lstrip(" "))
            word = _read_marked(found, line[start:here], start)
            if word is None or (kind == _JOINED and not words):
                return None
            words.append(word)
        if first < 0:
            first = start
    if not words and not assigned:
        return None
    _add(rows, joiner, Simple(assigned, tuple(words), redirected, first, last))
    return Sequence(tuple((joiner, _pipe(row)) for joiner, row in rows))


def _add(rows: list[tuple[str, list[Simple]]], joiner: str, command: Simple) -> None:
    if joiner == "|":
        rows[-1][1].append(command)
    else:
        rows.append((joiner, [command]))


def _pipe(row: list[Simple]) -> Command:
    return Pipeline(tuple(row), row[0].start, row[-1].end) if len(row) > 1 else row[0]


def _may_begin(text: str, assigned: tuple[Assignment, ...]) -> bool:
    """Return whether this may be the name of a program, also behind assignments."""
    return "=" not in text and text not in _RESERVED and not (assigned and ":" in text)


def _read_marked(found: re.Match[str], text: str, start: int) -> Word | None:
    """Text in quotes, also behind other text, or a variable."""
    kind, end = found.lastindex or 0, found.end()
    if kind in _QUOTED:
        return Word(text, start, end, found[kind], (Literal(found[kind], quoted=True),))
    if kind == _NAME:
        made = Word(text, start, end, None, (Variable(found[9], quoted=text[0] == '"'),))
        return made if (text[0] == '"') == (text[-1] == '"') else None
    if kind == _JOINED:
        return Word(text, start, end, None, (Literal(found[7]), Literal(found[8], quoted=True)))
    return None


def split_bare(line: str) -> list[str] | None:
    """The words of one command that mean nothing to a shell, with single blanks between them; None if not."""
    if _BARE_LINE.fullmatch(line) is None:
        return None
    texts = line.split(" ")
    return None if "=" in texts[0] or texts[0] in _RESERVED else texts


def _bare_word(text: str, start: int, end: int) -> Word:
    if "*" in text or text[0] == "~":
        return Word(text, start, end, None, (Literal(text),))
    return Word(text, start, end, text if text != "\\;" else ";")

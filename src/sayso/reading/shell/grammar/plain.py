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
_WORD, _OPERATOR, _TARGET, _JOINED, _NAME = 1, 4, 6, 8, 9
"""The last group of each kind of token; the others are text in quotes."""
_BARE_LINE = lazy_pattern(r"[A-Za-z0-9_./:@%+,=-]+(?: [A-Za-z0-9_./:@%+,=-]+)*")
_ASSIGNS = lazy_pattern(r"([A-Za-z_]\w*)=([\w./:@%+,-]+)")
_RESERVED = frozenset(
    """if then else elif fi case esac for select while until do done in function coproc { } export
    declare typeset local readonly unset unsetenv""".split()  # noqa: SIM905 - a list of them would be a page
)


def parse_plain(line: str) -> Sequence | None:  # noqa: C901 - what a command is made of, in its order
    """The syntax of a line of plain words; None if it is not one. All else is for the grammar."""
    if not line.isprintable() or not line.isascii():
        return None
    items: list[tuple[str, Command]] = []
    piped: list[Simple] = []
    assigned, words, redirected = list[Assignment](), list[Word](), list[Redirection]()
    match, joiner = _TOKEN.match, ";"
    here = first = last = 0
    line = f"{line.rstrip(' ')} ; "
    while here < len(line) - 1:
        found = match(line, here)
        if found is None:
            return None
        here, kind = found.end(), found.lastindex
        if kind == _OPERATOR:
            if not words and not assigned:
                return None
            piped.append(Simple(tuple(assigned), tuple(words), tuple(redirected), first, last))
            assigned, words, redirected = [], [], []
            if found[4] != "|":
                items.append((joiner, _pipe(piped)))
                piped, joiner = [], found[4]
            continue
        start = here - len(found[0].lstrip(" "))
        if not words and not assigned:
            first = start
        if kind == _TARGET and words:
            target = Word(found[6], found.start(6), here, found[6])
            redirected.append(Redirection(found[5].lstrip("0123456789"), target, None, start, here))
        elif redirected or kind == _TARGET:
            return None
        elif words or kind != _WORD or "=" not in found[1]:
            word = _read_word(found, line[start:here], start, begins=not words, behind=bool(assigned))
            if word is None:
                return None
            words.append(word)
        elif (assigns := _ASSIGNS.fullmatch(found[1])) is not None:
            value = Word(assigns[2], start + assigns.start(2), here, assigns[2])
            assigned.append(Assignment(assigns[1], value))
        else:
            return None
        last = here
    return Sequence(tuple(items))


def _pipe(piped: list[Simple]) -> Command:
    return Pipeline(tuple(piped), piped[0].start, piped[-1].end) if len(piped) > 1 else piped[0]


def _read_word(found: re.Match[str], text: str, start: int, *, begins: bool, behind: bool) -> Word | None:
    """One word; None if the grammar must read it. It may begin a command, also behind assignments."""
    kind, end = found.lastindex or 0, found.end()
    if kind == _WORD:
        if begins and (text in _RESERVED or text == "{}" or (behind and ":" in text)):
            return None
        if "*" in text or text[0] == "~":
            return Word(text, start, end, None, (Literal(text),))
        return Word(text, start, end, text if text != "\\;" else ";")
    if kind == _NAME:
        quoted = text[0] == '"'
        return (
            Word(text, start, end, None, (Variable(found[9], quoted),))
            if quoted == (text[-1] == '"')
            else None
        )
    if kind == _JOINED:
        parts = Literal(found[7]), Literal(found[8], quoted=True)
        return None if begins else Word(text, start, end, None, parts)
    return Word(text, start, end, found[kind], (Literal(found[kind], quoted=True),))


def split_bare(line: str) -> list[str] | None:
    """The words of one command that mean nothing to a shell, with single blanks between them; None if not."""
    if _BARE_LINE.fullmatch(line) is None:
        return None
    texts = line.split(" ")
    return None if "=" in texts[0] or texts[0] in _RESERVED else texts

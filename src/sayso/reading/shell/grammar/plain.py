"""Lines of plain words: no grammar is needed to read them, and most lines are such.

Words of letters, digits and a few marks that mean nothing to a shell, or an asterisk; text in single quotes;
text in double quotes without `$`, backquote, backslash and `!`; and `&&`, `||`, `|` and `;` between commands.
All else is read by the grammar, and a property test holds the two against each other.
"""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import Command, Literal, Pipeline, Sequence, Simple, Word

_TOKEN = lazy_pattern(
    r"""[ ]*(?:([\w./:@%+,=*-](?:[\w./:@%+,=*^-]|(?<![:=])~)*|\{\}|\\;)(?=[ ]|;|$)|'([^'\n]*)'(?=[ ]|;|$)"""
    r"""|"([^"$`\\!\n]*)"(?=[ ]|;|$)|(&&|\|\||\||;)(?=[ ]))"""
)
_BARE_LINE = lazy_pattern(r"[\w./:@%+,=-]+(?: [\w./:@%+,=-]+)*", re.ASCII)
_RESERVED = frozenset(
    """if then else elif fi case esac for select while until do done in function time coproc { } export
    declare typeset local readonly unset unsetenv""".split()  # noqa: SIM905 - a list of them would be a page
)


def parse_plain(line: str) -> Sequence | None:
    """The syntax of a line of plain words; None if it is not one."""
    if not line.isascii():
        return None
    match = _TOKEN.match
    items: list[tuple[str, Command]] = []
    piped: list[Simple] = []
    words: list[Word] = []
    joiner, here, size = ";", 0, len(line.rstrip(" "))
    while here < size:
        found = match(line, here)
        if found is None:
            return None
        here = found.end()
        kind = found.lastindex
        if kind == 1:
            text = found[1]
            if not words and ("=" in text or text in _RESERVED or text == "{}"):
                return None
            words.append(_bare_word(text, found.start(1), here))
        elif kind == 4:
            if not words:
                return None
            piped.append(Simple((), tuple(words), (), words[0].start, words[-1].end))
            words = []
            if found[4] != "|":
                items.append((joiner, _join(piped)))
                piped, joiner = [], found[4]
        else:
            quoted = found[2] if kind == 2 else found[3]
            start = found.start(kind or 0) - 1
            words.append(Word(line[start:here], start, here, quoted, (Literal(quoted, quoted=True),)))
    if not words:
        return None
    piped.append(Simple((), tuple(words), (), words[0].start, words[-1].end))
    items.append((joiner, _join(piped)))
    return Sequence(tuple(items))


def split_bare(line: str) -> list[str] | None:
    """The words of one command that mean nothing to a shell, with single blanks between them; None if not."""
    if _BARE_LINE.fullmatch(line) is None:
        return None
    texts = line.split(" ")
    return None if "=" in texts[0] or texts[0] in _RESERVED else texts


def _bare_word(text: str, start: int, end: int) -> Word:
    if "*" in text:
        return Word(text, start, end, None, (Literal(text),))
    return Word(text, start, end, text if text != "\\;" else ";")


def _join(piped: list[Simple]) -> Command:
    return piped[0] if len(piped) == 1 else Pipeline(tuple(piped), piped[0].start, piped[-1].end)

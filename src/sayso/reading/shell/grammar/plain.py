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

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import (
    Assignment,
    Command,
    Literal,
    Part,
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
_WORD, _SINGLE, _DOUBLE, _OPERATOR, _TARGET, _JOINED, _NAME = 1, 2, 3, 4, 6, 8, 9
"""The last group of each kind of token."""
_BARE_LINE = lazy_pattern(r"[A-Za-z0-9_./:@%+,=-]+(?: [A-Za-z0-9_./:@%+,=-]+)*")
_ASSIGNS = lazy_pattern(r"([A-Za-z_]\w*)=([\w./:@%+,-]+)")
_RESERVED = frozenset(
    """if then else elif fi case esac for select while until do done in function coproc { } export
    declare typeset local readonly unset unsetenv""".split()  # noqa: SIM905 - a list of them would be a page
)


class _PlainReader(msgspec.Struct, gc=False):
    """Reads the tokens of one line in their order. What it does not take is for the grammar."""

    items: list[tuple[str, Command]] = []
    piped: list[Simple] = []
    words: list[Word] = []
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    joiner: str = ";"
    start: int = 0
    end: int = 0

    def take_word(self, text: str, start: int, end: int) -> bool:
        if self.redirections:
            return False
        if not self.words:
            if "=" in text:
                return self._take_assignment(text, start, end)
            if text in _RESERVED or text == "{}" or (self.assignments and ":" in text):
                return False
            if not self.assignments:
                self.start = start
        self.words.append(_bare_word(text, start, end))
        self.end = end
        return True

    def _take_assignment(self, text: str, start: int, end: int) -> bool:
        found = _ASSIGNS.fullmatch(text)
        if found is None:
            return False
        if not self.assignments:
            self.start = start
        value = Word(found[2], start + found.start(2), end, found[2])
        self.assignments = (*self.assignments, Assignment(found[1], value))
        self.end = end
        return True

    def take_parts(self, text: str, start: int, value: str | None, parts: tuple[Part, ...]) -> bool:
        """A word that is more than its letters."""
        if self.redirections:
            return False
        if not self.words and not self.assignments:
            self.start = start
        self.end = start + len(text)
        self.words.append(Word(text, start, self.end, value, parts))
        return True

    def take_redirection(self, operator: str, start: int, target: Word) -> bool:
        if not self.words:
            return False
        made = Redirection(operator.lstrip("0123456789"), target, None, start, target.end)
        self.redirections = (*self.redirections, made)
        self.end = target.end
        return True

    def end_command(self, operator: str) -> bool:
        if not self.words and not self.assignments:
            return False
        self.piped.append(
            Simple(self.assignments, tuple(self.words), self.redirections, self.start, self.end)
        )
        self.words, self.assignments, self.redirections = [], (), ()
        if operator != "|":
            piped = self.piped
            command = piped[0] if len(piped) == 1 else Pipeline(tuple(piped), piped[0].start, piped[-1].end)
            self.items.append((self.joiner, command))
            self.piped, self.joiner = [], operator
        return True


def parse_plain(line: str) -> Sequence | None:
    """The syntax of a line of plain words; None if it is not one."""
    if not line.isprintable() or not line.isascii():
        return None
    match, reader = _TOKEN.match, _PlainReader()
    here, size = 0, len(line.rstrip(" "))
    while here < size:
        found = match(line, here)
        if found is None:
            return None
        here, kind = found.end(), found.lastindex
        if kind == _WORD:
            text = found[1]
            start = here - len(text)
            if not reader.words or reader.redirections:
                if not reader.take_word(text, start, here):
                    return None
                continue
            reader.words.append(_bare_word(text, start, here))
            reader.end = here
        elif kind == _OPERATOR:
            if not reader.end_command(found[4]):
                return None
        elif not _take(reader, found, line):
            return None
    return Sequence(tuple(reader.items)) if reader.end_command(";") else None


def _take(reader: _PlainReader, found: re.Match[str], line: str) -> bool:
    """A token that is neither a bare word nor an operator between commands."""
    kind, end = found.lastindex, found.end()
    if kind == _TARGET:
        return reader.take_redirection(
            found[5], found.start(5), Word(found[6], found.start(6), end, found[6])
        )
    if kind == _JOINED and reader.words:
        parts = (Literal(found[7]), Literal(found[8], quoted=True))
        return reader.take_parts(f"{found[7]}'{found[8]}'", found.start(7), None, parts)
    if kind == _NAME:
        return _take_variable(reader, found, line)
    if kind not in (_SINGLE, _DOUBLE):
        return False
    quoted, start = found[kind], found.start(kind) - 1
    return reader.take_parts(line[start:end], start, quoted, (Literal(quoted, quoted=True),))


def _take_variable(reader: _PlainReader, found: re.Match[str], line: str) -> bool:
    """`$name` or `"$name"`; with one quote, the other stands elsewhere."""
    start, end = found.start(_NAME) - 1, found.end()
    opened = start > 0 and line[start - 1] == '"'
    if opened != (line[end - 1] == '"'):
        return False
    return reader.take_parts(line[start - opened : end], start - opened, None, (Variable(found[9], opened),))


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

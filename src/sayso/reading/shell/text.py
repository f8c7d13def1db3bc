"""The text that a shell parses: a line without its continuations, and the way back to the line.

A backslash before a line's end joins the next line to it, as POSIX 2.2.1 says: not in single quotes, in a
comment, behind another backslash, or in a here-document whose delimiter is quoted. Where shells disagree,
or where it takes more than quotes to tell, the line is not understood.
"""

from __future__ import annotations

import re
from bisect import bisect_right

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import CannotTell

_CONTINUES = "\\\n"
_CODE, _QUOTED, _BRACE, _QUOTED_BRACE = ")", '"', "}", '"}'
"""Where the scanner is, named by the end of it."""
_PLAIN = lazy_pattern(r"[^\\'\"`$(){}#<\n]+")
_ARITHMETIC = lazy_pattern(r"\$?\(\([^()'\"`\\\n$]*\)\)")
_SINGLE = lazy_pattern(r"'[^']*'")
_ANSI = lazy_pattern(r"\$'(?:[^'\\]|\\[^'])*'")
_DELIMITER = lazy_pattern(r"<<(-?)[ \t]*((?:[\w.+-]|'[^'\n]*'|\"[^\"$`\\\n]*\"|\\[^\n])+)(?=[\s;&|)<>]|$)")
_NEW_WORD = " \t\n;&|()"
_UNSURE = "a backslash at the end of a line stands where shells read it in different ways"


class ShellText(msgspec.Struct, frozen=True):
    """A text without continuations. `removed` are the places in it where one stood in the line."""

    text: str
    removed: tuple[int, ...] = ()

    def place_in_line(self, at: int) -> int:
        """Return the place in the line of this place in the text."""
        return at + 2 * bisect_right(self.removed, at)


def join_lines(line: str) -> ShellText:
    """Return the text that a shell parses. CannotTell if that is not sure."""
    return _Scanner(line).scan() if _CONTINUES in line else ShellText(line)


class _Scanner:
    """Copies a line, continuations left out, and keeps track of quotes, substitutions and here-documents."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.here = 0
        self.kept: list[str] = []
        self.size = 0
        self.removed: list[int] = []
        self.inside = [_CODE]
        self.waiting: list[tuple[str, bool, bool]] = []
        """Here-documents that begin at the next line: delimiter, whether it is quoted, whether tabs go."""

    def scan(self) -> ShellText:
        while self.here < len(self.line):
            self._step()
        if len(self.inside) > 1 or self.waiting:
            raise CannotTell(_UNSURE, 0, len(self.line))
        return ShellText("".join(self.kept), tuple(self.removed))

    def _step(self) -> None:
        plain = _PLAIN.match(self.line, self.here)
        if plain is not None:
            if len(self.inside) > 1 and re.search(r"\bcase\b", plain[0]):
                raise self._unsure()  # its patterns end with parentheses that nothing opens
            self._take(len(plain[0]))
            return
        mark = self.line[self.here]
        if mark == "\\":
            if self.line.startswith(_CONTINUES, self.here):
                self._leave_out()
            else:
                self._take(2)
        elif self.inside[-1] in (_QUOTED, _QUOTED_BRACE):
            self._step_in_quotes(mark)
        else:
            self._step_in_code(mark)

    def _step_in_quotes(self, mark: str) -> None:
        if mark == self.inside[-1][-1]:
            self.inside.pop()
        elif mark == "$" or mark == "`":
            self._open()
            return
        elif self.inside[-1] == _QUOTED_BRACE and mark in "'\"{":
            raise self._unsure()
        self._take(1)

    def _step_in_code(self, mark: str) -> None:
        if mark == "'":
            self._take_match(_SINGLE)
        elif mark == '"':
            self.inside.append(_QUOTED)
            self._take(1)
        elif mark == "#" and self.inside[-1] == _CODE and self._begins_word():
            self._take(self._line_end() - self.here)
        elif mark == "\n":
            self._take(1)
            if self.inside[-1] == _CODE:
                self._take_documents()
        elif mark == "<" and self.inside[-1] == _CODE and self.line.startswith("<<", self.here):
            self._take_delimiter()
        elif mark in "$`(":
            self._open()
        else:
            if mark == self.inside[-1] and len(self.inside) > 1:
                self.inside.pop()
            self._take(1)

    def _open(self) -> None:
        """Go into a substitution, an expansion or a group."""
        line, here = self.line, self.here
        if line.startswith("$'", here) and self.inside[-1] not in (_QUOTED, _QUOTED_BRACE):
            self._take_match(_ANSI)
        elif line.startswith(("$((", "(("), here):
            self._take_match(_ARITHMETIC)
        elif line.startswith("${", here):
            self.inside.append(_QUOTED_BRACE if self.inside[-1] in (_QUOTED, _QUOTED_BRACE) else _BRACE)
            self._take(2)
        elif line.startswith(("$(", "("), here):
            self.inside.append(_CODE)
            self._take(2 if line[here] == "$" else 1)
        elif line[here] == "`":
            end = line.find("`", here + 1)
            if end < 0 or "\\" in line[here:end]:
                raise self._unsure()
            self._take(end + 1 - here)
        else:
            self._take(1)

    def _take_delimiter(self) -> None:
        if self.line.startswith("<<<", self.here):
            self._take(3)
            return
        found = _DELIMITER.match(self.line, self.here)
        if found is None:
            raise self._unsure()
        word = re.sub(r"['\"\\]", "", found[2])
        self.waiting.append((word, word != found[2], found[1] == "-"))
        self._take(found.end() - self.here)

    def _take_documents(self) -> None:
        """Copy the here-documents that begin here."""
        waiting, self.waiting = self.waiting, []
        for delimiter, quoted, tabs in waiting:
            while self._take_document_line(quoted=quoted, tabs=tabs) != delimiter:
                if self.here >= len(self.line):
                    raise self._unsure()

    def _take_document_line(self, *, quoted: bool, tabs: bool) -> str:
        """Copy a line of a here-document and return it; where it is expanded, with those joined to it."""
        first = len(self.kept)
        while True:
            end = self._line_end()
            text = self.line[self.here : end]
            if not quoted and (len(text) - len(text.rstrip("\\"))) % 2 and end < len(self.line):
                if "$(" in text or "`" in text or "${" in text:
                    raise self._unsure()
                self._take(len(text) - 1)
                self._leave_out()
                continue
            self._take(len(text))
            break
        whole = "".join(self.kept[first:])
        self._take(min(1, len(self.line) - self.here))
        return whole.lstrip("\t") if tabs else whole

    def _begins_word(self) -> bool:
        last = next((one[-1] for one in reversed(self.kept) if one), "\n")
        return last in _NEW_WORD

    def _line_end(self) -> int:
        end = self.line.find("\n", self.here)
        return len(self.line) if end < 0 else end

    def _take_match(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.line, self.here)
        if found is None:
            raise self._unsure()
        self._take(found.end() - self.here)

    def _take(self, count: int) -> None:
        self.kept.append(self.line[self.here : self.here + count])
        self.size += count
        self.here += count

    def _leave_out(self) -> None:
        self.removed.append(self.size)
        self.here += 2

    def _unsure(self) -> CannotTell:
        return CannotTell(_UNSURE, self.here, len(self.line))

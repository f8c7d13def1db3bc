"""The part of JavaScript that only computes: a strict reader, which refuses what it does not know."""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.languages.pure_names import (
    NODE_CLASSES,
    NODE_METHODS,
    NODE_PLACES,
    NODE_VALUES,
)

_DEEPEST = 40
_BLANKS = lazy_pattern(r"(?:[ \t\n]|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|\A#![^\n]*)*+")
_NAME = lazy_pattern(r"[A-Za-z_$][\w$]*", re.ASCII)
_STRING = r"'(?:[^'\\\n]|\\(?s:.))*'|\"(?:[^\"\\\n]|\\(?s:.))*\""
_NUMBER = (
    r"(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|"
    r"(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)n?(?![\w$])"
)
_REGEX = r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*(?![\w$])"
_LITERAL = lazy_pattern(f"{_STRING}|{_NUMBER}|{_REGEX}", re.ASCII)
_KEY = lazy_pattern(r"\d{1,9}(?![\w$.])|'[^'\\\n]*'|\"[^\"\\\n]*\"", re.ASCII)
_DECLARE = lazy_pattern(r"(?:const|let)\b(?!\$)")
_RETURN = lazy_pattern(r"return\b(?!\$)")
_TARGET = lazy_pattern(r"[A-Za-z_$][\w$]*|(?:\[[\w$\s,.]*\]|\{[\w$\s,.]*\})(?=\s*=)", re.ASCII)
_PARAMETERS = lazy_pattern(r"(?:\([\w$\s,.\[\]{}]*\)|[A-Za-z_$][\w$]*)\s*=>", re.ASCII)
_EQUALS = lazy_pattern(r"=(?![=>])")
_ASSIGN = lazy_pattern(r"(?:\*\*|[-+*/%&|^]|<<|>>>?|&&|\|\||\?\?)?=(?![=>])")
_BINARY = lazy_pattern(
    r"\*\*?|[/%^]|\+(?!\+)|-(?!-)|<<|>>>?|[<>]=?|[!=]==?|&&?|\|\|?|\?\?|(?:in|instanceof)\b(?!\$)"
)
_PREFIX = lazy_pattern(r"[!~]|\+(?!\+)|-(?!-)|\.\.\.|(?:typeof|void)\b(?!\$)")
_DOT = lazy_pattern(r"\??\.(?!\d)")
_SPREAD = lazy_pattern(r"\.\.\.")
_CHUNK = lazy_pattern(r"(?s)(?:[^`\\$]|\\.|\$(?!\{))*+")
_HOLE = lazy_pattern(r"\$\{")
_DENIED = lazy_pattern(r"constructor|prototype|caller|callee|arguments|__.*", re.DOTALL)
_SEMICOLON, _COMMA, _COLON, _QUESTION, _TICK = map(lazy_pattern, (";", ",", ":", r"\?", "`"))
_ROUND, _ROUND_END, _SQUARE, _SQUARE_END, _BRACE, _BRACE_END = map(
    lazy_pattern, (r"\(", r"\)", r"\[", r"\]", r"\{", r"\}")
)


class UnsureError(Exception):
    """The text leaves the subset."""


class NodeText:
    """A text of JavaScript, read token by token: as in JavaScript, the place decides how a token is read.

    Precedence is of no interest, but which binding a name means is: `names` are those declared around it.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text + "\n}", 0, 0

    def program(self) -> None:
        """Read the whole text; raise UnsureError where it leaves the subset."""
        self.statements(frozenset())
        if self.at != len(self.text):
            self.refuse()

    def take(self, pattern: re.Pattern[str]) -> str:
        """Return the next token if the pattern matches it, and pass it."""
        found = pattern.match(self.text, self.after_blanks())
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def need(self, pattern: re.Pattern[str]) -> str:
        """Pass the next token, which the pattern must match."""
        return self.take(pattern) or self.refuse()

    def refuse(self) -> str:
        raise UnsureError

    def after_blanks(self) -> int:
        found = _BLANKS.match(self.text, self.at)
        return found.end() if found else self.at

    def statements(self, names: frozenset[str]) -> None:
        """Read statements up to the brace that ends their block."""
        while not self.take(_BRACE_END):
            if self.take(_SEMICOLON):
                continue
            if self.take(_DECLARE):
                names = self.declared(names)
            elif self.take(_BRACE):
                self.refuse()  # a block looks like an object
            elif not self.take(_RETURN) or not self.ends():
                self.expressions(names)
            if not self.ends():
                self.refuse()

    def ends(self) -> bool:
        """Return True where JavaScript ends a statement: a line end does where a name follows."""
        after = self.after_blanks()
        return bool(
            _SEMICOLON.match(self.text, after)
            or _BRACE_END.match(self.text, after)
            or ("\n" in self.text[self.at : after] and _NAME.match(self.text, after))
        )

    def declared(self, names: frozenset[str]) -> frozenset[str]:
        """Read what follows `const` or `let`; return the names with the new ones."""
        while True:
            names |= self.bound(self.need(_TARGET))
            self.need(_EQUALS)
            self.expression(names)
            if not self.take(_COMMA):
                return names

    def bound(self, pattern: str) -> frozenset[str]:
        """Return the names of a pattern. Each may be the name of a property as well."""
        found = frozenset(_NAME.findall(pattern))
        if any(_DENIED.fullmatch(name) for name in found):
            self.refuse()
        return found

    def expressions(self, names: frozenset[str]) -> None:
        """Read expressions between commas."""
        self.expression(names)
        while self.take(_COMMA):
            self.expression(names)

    def items(self, names: frozenset[str], end: re.Pattern[str]) -> None:
        """Read expressions between commas up to a closing bracket."""
        while not self.take(end):
            self.expression(names)
            if not self.take(_COMMA):
                self.need(end)
                return

    def expression(self, names: frozenset[str]) -> None:
        """Read operands and what joins them, without their precedence."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse()
        going = True
        while going:
            while self.take(_PREFIX):
                pass
            parameters = self.take(_PARAMETERS)
            if parameters:
                self.arrow(names | self.bound(parameters))
                break
            name = self.operand(names)
            if self.take(_ASSIGN):
                going = name in names or bool(self.refuse())
            elif not self.take(_BINARY):
                going = bool(self.take(_QUESTION))
                if going:
                    self.expression(names)
                    self.need(_COLON)
        self.depth -= 1

    def arrow(self, names: frozenset[str]) -> None:
        """Read the body of a function."""
        if self.take(_BRACE):
            self.statements(names)
        else:
            self.expression(names)

    def operand(self, names: frozenset[str]) -> str:
        """Read a value with its members and calls; return the name if it is a name alone."""
        name = self.take(_NAME)
        if name:
            self.named(name, names)
        elif self.take(_TICK):
            self.template(names)
        elif self.take(_ROUND):
            self.items(names, _ROUND_END)
        elif self.take(_SQUARE):
            self.items(names, _SQUARE_END)
        elif self.take(_BRACE):
            self.object(names)
        else:
            self.need(_LITERAL)
        start = self.at
        while self.member(names):
            pass
        return name if self.at == start else ""

    def named(self, name: str, names: frozenset[str]) -> None:
        """Pass a name: one declared around it, a listed value, or a listed member of a listed place."""
        if name in names or name in NODE_VALUES:
            return
        if name == "new" and self.need(_NAME) in NODE_CLASSES - names:
            return
        while name in NODE_PLACES:
            self.need(_DOT)
            member = self.need(_NAME)
            if member in NODE_PLACES[name]:
                return
            name = f"{name}.{member}"
        self.refuse()

    def member(self, names: frozenset[str]) -> bool:
        """Read one member or call after a value."""
        if self.take(_ROUND):
            self.items(names, _ROUND_END)
            return True
        if self.take(_DOT):
            name = self.need(_NAME)
        elif self.take(_SQUARE):
            name = self.need(_KEY).strip("'\"")
            self.need(_SQUARE_END)
        else:
            return False
        called = _ROUND.match(self.text, self.after_blanks())
        if _DENIED.fullmatch(name) or (called and name not in NODE_METHODS):
            self.refuse()
        return True

    def template(self, names: frozenset[str]) -> None:
        """Read the rest of a template literal."""
        while True:
            found = _CHUNK.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.text[self.at : self.at + 1] == "`":
                self.at += 1
                return
            self.need(_HOLE)
            self.expressions(names)
            self.need(_BRACE_END)

    def object(self, names: frozenset[str]) -> None:
        """Read the rest of an object literal."""
        while not self.take(_BRACE_END):
            if self.take(_SPREAD):
                self.expression(names)
            else:
                key = self.take(_NAME) or self.need(_KEY)
                if _DENIED.fullmatch(key.strip("'\"")):
                    self.refuse()
                if self.take(_COLON):
                    self.expression(names)
                elif key not in names:
                    self.refuse()
            if not self.take(_COMMA):
                self.need(_BRACE_END)
                return

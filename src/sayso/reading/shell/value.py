"""Values of words: what a shell would hand to a program, as far as that is known."""

from __future__ import annotations

import msgspec

MAX_CHOICES = 32
MAX_TEXT = 20_000
"""Characters of one value. A longer one is not followed."""


class Value(msgspec.Struct, frozen=True, gc=False):
    """The value of one word, as far as it can be told."""

    text: str | None
    """The text; of a pattern, the pattern; None if not known."""
    wild: bool = False
    vetted: bool = False
    """Not known, and nothing that it was made from names a secret: see the module."""
    odd: str | None = None
    prefix: str = ""
    """How an unknown one begins."""
    home: bool = False
    """It begins with an unquoted tilde."""
    choices: tuple[Value, ...] = ()
    """It is one of these, and nobody can tell which."""
    dashless: bool = False
    """A pattern that fits no name with a dash before it, as the folder is now."""
    splits: bool = False
    """Not known, and not quoted: the shell may make several words of it."""
    source: str = ""
    """How the commands are written that make an unknown one, where they speak of Sayso."""

    @property
    def may_be_option(self) -> bool:
        """True if a program may take this for an option, and nobody can tell which."""
        if self.choices:
            return any(one.may_be_option or (one.text or "")[:1] == "-" for one in self.choices)
        if self.text is None:
            return not self.prefix or self.prefix[0] == "-"
        return self.wild and not self.dashless and self.text[:1] in "*?["

    @property
    def may_bring_options(self) -> bool:
        """True if the shell may make several words of this, and nobody can tell which."""
        return self.splits or (self.wild and not self.dashless and (self.text or "")[:1] in ("*", "?", "["))

"""Findings: what one part of a line does, how risky that is, and where in the line it stands."""

from __future__ import annotations

import msgspec

from sayso.core.model import Risk

MAX_FINDINGS = 400
"""Findings in one line. More make the line one that cannot be told."""


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One thing that a line does."""

    operation: str
    risk: Risk
    why: str
    start: int
    end: int
    barred: str | None = None
    own_row: bool = False
    """Only the operation's own row makes it risky, and it is all that the line does."""


class TooMuch(Exception):
    """The line does more than is followed."""

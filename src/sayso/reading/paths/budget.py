"""The budget of file system lookups for one call: enough for any honest one, and never more.

What a call is given to read costs looks at the file system. All the readings of one call share one number of
them. Once they are spent, nobody can tell what the rest is: it counts by its spelling alone, and the call is
of high risk.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any

MAX_LOOKS = 20_000
"""Looks for one call. A plain path takes 30 to 60, by how deep its folder is."""


class LookBudget:
    """The looks that one call has cost so far, and what was seen: the same path is looked at once."""

    def __init__(self) -> None:
        self.made = 0
        self.too_deep = False
        self.seen: dict[Any, Any] = {}

    @property
    def spent(self) -> bool:
        return self.made >= MAX_LOOKS

    @property
    def unread(self) -> bool:
        """Whether there is more in the call than was followed."""
        return self.spent or self.too_deep


_open: ContextVar[LookBudget | None] = ContextVar("looks", default=None)


class share_budget:  # noqa: N801  it is read as `with share_budget():`, and made for every call
    """Around all that is read of one call. What is opened inside another is part of it."""

    _token: Token[LookBudget | None] | None = None

    def __enter__(self) -> LookBudget:
        outer = _open.get()
        if outer is not None:
            return outer
        mine = LookBudget()
        self._token = _open.set(mine)
        return mine

    def __exit__(self, *error: object) -> None:
        if self._token is not None:
            _open.reset(self._token)


def current_budget() -> LookBudget:
    """The looks of the call that is being read; outside of one, each question has its own."""
    return _open.get() or LookBudget()


def may_look(cost: int) -> bool:
    """Return whether there are looks left for this; if so, they are taken."""
    looks = current_budget()
    if looks.spent:
        return False
    looks.made += cost
    return True

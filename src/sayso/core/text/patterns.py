"""Patterns that are compiled when they are first used: most runs of a program need few of them.

Reading what people write takes hundreds of patterns. To compile all of them would cost every start of the
command line more than the rest of its work.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """Stands in for a compiled pattern until somebody uses it."""

    __slots__ = ("_compiled", "flags", "pattern")

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags
        self._compiled: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> Any:
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
        return getattr(self._compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled when it is first used. A mistake in it shows then, so each needs a test."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))

"""Patterns that are compiled when they are first used: most runs of a program need few of them.

Reading what people write takes hundreds of patterns. To compile all of them would cost every start of the
command line more than the rest of its work.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast


class LazyPattern:
    """Stands in for a compiled pattern until somebody uses it, and keeps what was used of it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(_compile(self.pattern, self.flags), name)
        self.__dict__[name] = found
        return found


@cache
def _compile(pattern: str, flags: int) -> re.Pattern[str]:
    return re.compile(pattern, flags)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled when it is first used. A mistake in it shows then, so each needs a test."""
    return cast("re.Pattern[str]", LazyPattern(pattern, int(flags)))

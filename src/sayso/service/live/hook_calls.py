"""The calls that hooks were answered about, by what the host will call them when it prompts or reports their end.

It is a memory of this process. What it has forgotten is decided again, or not known to have ended.
"""

from __future__ import annotations

import threading

MOST = 10_000


class HookCalls:
    """The calls that were allowed, by session and name; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[tuple[str, str], str] = {}

    def remember(self, session: str, names: tuple[str, ...], call: str) -> None:
        with self._lock:
            for name in names:
                self._calls.pop((session, name), None)
                self._calls[session, name] = call
            while len(self._calls) > MOST:
                del self._calls[next(iter(self._calls))]

    def find(self, session: str, name: str) -> str | None:
        with self._lock:
            return self._calls.get((session, name))

    def take(self, session: str, names: tuple[str, ...]) -> str | None:
        """Return the call of the first name that has one, and forget it: it has ended."""
        with self._lock:
            found = next(
                (self._calls[session, name] for name in names if (session, name) in self._calls), None
            )
            for key in [key for key, call in self._calls.items() if key[0] == session and call == found]:
                del self._calls[key]
        return found

"""The calls that hooks were answered about, by what the host calls them when another hook comes to them; and
the sessions of hosts.

It is a memory of this process. What it has forgotten is decided again, or not known to have ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

MOST = 10_000
MOST_CANARIES = 100
SAME_CALL = 60.0
"""How many seconds after a call was allowed another event may still be about it."""


class _Allowed(msgspec.Struct):
    """A call that was allowed, when, and the events that have asked about it."""

    call: str
    at: float
    events: set[str]


class HookCalls:
    """The calls that were allowed, by session and name; the oldest are forgotten first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._calls: dict[tuple[str, str], _Allowed] = {}
        self._canaries: dict[tuple[str, str], None] = {}
        self._sessions: dict[str, str] = {}

    def note_session(self, place: str, session: str) -> None:
        """This was the session stored under this name; which one it is now is looked up every time."""
        with self._lock:
            self._sessions.pop(place, None)
            self._sessions[place] = session
            while len(self._sessions) > MOST:
                del self._sessions[next(iter(self._sessions))]

    def last_session(self, place: str) -> str | None:
        return self._sessions.get(place)

    def note_canary(self, agent: str, name: str) -> None:
        """The agent's program has sent this canary's name as a message."""
        with self._lock:
            self._canaries[agent, name] = None
            while len(self._canaries) > MOST_CANARIES:
                del self._canaries[next(iter(self._canaries))]

    def knows_canary(self, agent: str, name: str) -> bool:
        return (agent, name) in self._canaries

    def remember(self, session: str, names: tuple[str, ...], call: str, event: str) -> None:
        with self._lock:
            for name in names:
                known = self._calls.pop((session, name), None)
                if known is None or known.call != call:
                    known = _Allowed(call, self._clock(), set())
                known.events.add(event)
                self._calls[session, name] = known
            while len(self._calls) > MOST:
                del self._calls[next(iter(self._calls))]

    def find_for_other_event(self, session: str, name: str, event: str) -> str | None:
        """Return the call allowed under this name just now, if this event has not asked about it yet."""
        with self._lock:
            known = self._calls.get((session, name))
            if known is None or event in known.events or self._clock() - known.at > SAME_CALL:
                return None
            return known.call

    def find(self, session: str, names: tuple[str, ...]) -> str | None:
        """Return the call of the first name that has one."""
        with self._lock:
            known = (self._calls.get((session, name)) for name in names)
            return next((one.call for one in known if one is not None), None)

    def forget(self, session: str, call: str) -> None:
        """The call has ended."""
        with self._lock:
            for key in [key for key, one in self._calls.items() if key[0] == session and one.call == call]:
                del self._calls[key]

"""Results handed on inside a process: whoever made the same call meanwhile gets the very object it returned.

- The ledger keeps the JSON form of a result. A caller in this process who came before the call ended gets
  what the function returned, or the error it raised, like the one who ran it.
- A result is held only while somebody is under way who came before it: nothing stays in memory for later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from sayso.doors.python.calls.results import Result
from sayso.gate.forks import begin_in_each_process


class HandingOn:
    """The results of calls that this process runs, for those who are under way."""

    def __init__(self) -> None:
        self._under_way: dict[object, float] = {}
        self._results: dict[str, tuple[float, Result]] = {}
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: nobody holds the lock."""
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Return how many results are held now."""
        return len(self._results)

    @contextmanager
    def under_way(self, began: float) -> Iterator[None]:
        """Around a run or retry that began at this moment of the monotonic clock."""
        mark = object()
        with self._lock:
            self._under_way[mark] = began
        try:
            yield
        finally:
            with self._lock:
                del self._under_way[mark]
                self._drop_unwanted()

    @contextmanager
    def ending(self, call: str, result: Result) -> Iterator[None]:
        """Around writing down the end of a call: its result is there before anybody can read of the end."""
        with self._lock:
            self._results[call] = inf, result
        try:
            yield
        finally:
            with self._lock:
                self._results[call] = time.monotonic(), result
                self._drop_unwanted()

    def find(self, call: str, began: float) -> Result | None:
        """Return the call's result for a caller that came before its end."""
        with self._lock:
            ended, result = self._results.get(call, (-inf, None))
        return result if began <= ended else None

    def _drop_unwanted(self) -> None:
        oldest = min(self._under_way.values(), default=inf)
        self._results = {call: one for call, one in self._results.items() if one[0] >= oldest}

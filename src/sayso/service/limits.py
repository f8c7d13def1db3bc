"""How much one token may ask for: so many requests a second, and so many waits at a time."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sayso.service.problems import Refused

MOST_KNOWN = 10_000


class Limits:
    """A bucket for each token: a request takes one drop, and drops come back at a steady rate."""

    def __init__(
        self, rate: float, burst: int, waits: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._most_waits = rate, float(burst), waits
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}
        self._waits: Counter[str] = Counter()

    def take(self, token: str) -> None:
        """One request of this token; refused, with the time to come back, if it made too many."""
        now = self._clock()
        with self._lock:
            left, at = self._buckets.get(token, (self._burst, now))
            left = min(self._burst, left + (now - at) * self._rate)
            if len(self._buckets) >= MOST_KNOWN and token not in self._buckets:
                self._buckets.clear()
            self._buckets[token] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            seconds = math.ceil((1 - left) / self._rate) if self._rate > 0 else 60
            raise Refused(429, "too_many", "too many requests with this token", after=seconds)

    @contextmanager
    def waiting(self, token: str) -> Iterator[None]:
        """While something waits for this token; refused if too much does already."""
        with self._lock:
            if self._waits[token] >= self._most_waits:
                raise Refused(429, "too_many", "too much waits with this token already", after=1)
            self._waits[token] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waits[token] -= 1
                if not self._waits[token]:
                    del self._waits[token]

    @property
    def waits(self) -> int:
        with self._lock:
            return self._waits.total()

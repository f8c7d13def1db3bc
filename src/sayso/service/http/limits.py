"""Limits for each token: requests and bytes a second, and the number of waits at a time."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sayso.core.durations import COME_BACK_AFTER, HOUR
from sayso.service.http.problems import RequestRefused

MOST_KNOWN = 10_000
FREE_BYTES = 4_096
"""So much of every body costs nothing: an ordinary call is counted as a request and no more."""


class Buckets:
    """A bucket for each token. What is taken comes back at a steady rate, up to the brim."""

    def __init__(self, rate: float, brim: float, clock: Callable[[], float]) -> None:
        self._rate, self._brim, self._clock = rate, brim, clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._left)

    def take(self, token: str, amount: float = 1.0) -> int:
        """Take so much; 0 if it was there, else the seconds until it is, and nothing is taken."""
        now = self._clock()
        with self._lock:
            left = self._left_at(token, now)
            if len(self._left) >= MOST_KNOWN and token not in self._left:
                self._left.clear()
            enough = left >= amount
            self._left[token] = (left - amount if enough else left, now)
        return 0 if enough else self._seconds_until(amount, left)

    def look(self, token: str, amount: float) -> int:
        """Return what `take` would say, without taking anything."""
        with self._lock:
            left = self._left_at(token, self._clock())
        return 0 if left >= amount else self._seconds_until(amount, left)

    def _left_at(self, token: str, now: float) -> float:
        left, at = self._left.get(token, (self._brim, now))
        return min(self._brim, left + (now - at) * self._rate)

    def _seconds_until(self, amount: float, left: float) -> int:
        return max(1, math.ceil((amount - left) / self._rate)) if self._rate > 0 else COME_BACK_AFTER


class Limits:
    """What each token has left. Nobody's requests count against anybody else."""

    def __init__(
        self,
        rate: float,
        burst: int,
        waits: int,
        *,
        all_waits: int | None = None,
        bytes_rate: float = 1e15,
        bytes_burst: float = 1e15,
        refused: float = 1e15,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests = Buckets(rate, float(burst), clock)
        self._bytes = Buckets(bytes_rate, float(bytes_burst), clock)
        self._refused, self._most_refused = Buckets(refused / HOUR, refused, clock), refused
        self._lock = threading.Lock()
        self._most_waits, self._most_of_all = waits, all_waits or math.inf
        self._waits: Counter[str] = Counter()

    def take(self, token: str) -> None:
        """One request of this token; refused, with the time to come back, if it made too many."""
        seconds = self._requests.take(token)
        if seconds:
            raise RequestRefused(429, "too_many", "too many requests with this token", after=seconds)

    def take_bytes(self, token: str, size: int) -> None:
        """A body of this size, before it is read; refused if this token sent too much of late."""
        seconds = self._bytes.take(token, size - FREE_BYTES) if size > FREE_BYTES else 0
        if seconds:
            raise RequestRefused(
                429,
                "too_much",
                "too many bytes with this token",
                hint="send less, or come back later; `sayso serve --body-rate` sets how much is too much",
                after=seconds,
            )

    def check_refused(self, token: str, size: int) -> None:
        """A large call of this size, before it is decided; refused if too much of this token was denied."""
        seconds = self._refused.look(token, size)
        if seconds:
            raise RequestRefused(
                429,
                "too_much",
                "the calls of this token that were denied of late hold too many bytes: "
                f"{self._most_refused:,.0f} an hour at most",
                hint="make only calls that may run, or come back later; `sayso serve --held` sets how much",
                after=seconds,
            )

    def note_refused(self, token: str, size: int) -> None:
        """A large call of this size was denied. Nobody will run it, but it is kept."""
        self._refused.take(token, size)

    @contextmanager
    def waiting(self, token: str, *, operator: bool = False) -> Iterator[None]:
        """While something waits for this token; refused if too much does already.

        Everybody's waits together have a limit as well, which does not hold for operators.
        """
        with self._lock:
            full = self._waits.total() >= self._most_of_all and not operator
            if full or self._waits[token] >= self._most_waits:
                raise RequestRefused(429, "too_many", "too much waits with this token already", after=1)
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

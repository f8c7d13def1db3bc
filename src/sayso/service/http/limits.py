"""Limits for each token: calls and bytes a second, and the number of waits at a time.

A call counts once: what follows it (its heartbeats, its end, waiting for it) has a wider limit of its own. An
operator's requests are never counted.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sayso.core.durations import COME_BACK_AFTER, HOUR
from sayso.gate.people.tokens import Token
from sayso.service.http.problems import RequestRefused

MOST_KNOWN = 10_000
FOLLOW_UPS = 8
"""How many requests may follow each call."""
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

    def take(self, token: str, amount: float = 1.0, *, rate: float | None = None) -> int:
        """Take so much; 0 if it was there, else the seconds until it is, and nothing is taken.

        A token with a `rate` of its own has a brim in the same proportion.
        """
        now = self._clock()
        with self._lock:
            left = self._left_at(token, now, rate)
            if len(self._left) >= MOST_KNOWN and token not in self._left:
                self._left.clear()
            enough = left >= amount
            self._left[token] = (left - amount if enough else left, now)
        return 0 if enough else self._seconds_until(amount, left, rate)

    def seconds_to_wait(self, token: str, amount: float) -> int:
        """Return the seconds until so much is there, 0 if it is; nothing is taken."""
        with self._lock:
            left = self._left_at(token, self._clock())
        return 0 if left >= amount else self._seconds_until(amount, left)

    def _left_at(self, token: str, now: float, own: float | None = None) -> float:
        rate = self._rate if own is None else own
        brim = self._brim if own is None else max(1.0, own * self._brim / self._rate)
        left, at = self._left.get(token, (brim, now))
        return min(brim, left + (now - at) * rate)

    def _seconds_until(self, amount: float, left: float, own: float | None = None) -> int:
        rate = self._rate if own is None else own
        return max(1, math.ceil((amount - left) / rate)) if rate > 0 else COME_BACK_AFTER


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
        self._calls = Buckets(rate, float(burst), clock)
        self._follow_ups = Buckets(rate * FOLLOW_UPS, float(burst * FOLLOW_UPS), clock)
        self._bytes = Buckets(bytes_rate, float(bytes_burst), clock)
        self._refused, self._most_refused = Buckets(refused / HOUR, refused, clock), refused
        self._lock = threading.Lock()
        self._most_waits, self._most_of_all = waits, all_waits or math.inf
        self._waits: Counter[str] = Counter()

    def take(self, token: Token, *, follows_call: bool = False) -> None:
        """One request of this token; refused, with the time to come back, if it made too many."""
        if token.role == "operator":
            return
        if follows_call:
            own = None if token.rate is None else token.rate * FOLLOW_UPS
            seconds = self._follow_ups.take(token.id, rate=own)
        else:
            seconds = self._calls.take(token.id, rate=token.rate)
        if seconds:
            raise RequestRefused(429, "too_many", "too many requests with this token", after=seconds)

    def take_bytes(self, token: Token, size: int) -> None:
        """A body of this size, before it is read; refused if this token sent too much of late."""
        if token.role == "operator" or size <= FREE_BYTES:
            return
        seconds = self._bytes.take(token.id, size - FREE_BYTES)
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
        seconds = self._refused.seconds_to_wait(token, size)
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
        """While something waits for this token; refused if too much does already, but never for an operator.

        Everybody's waits together have a limit as well.
        """
        with self._lock:
            full = self._waits.total() >= self._most_of_all or self._waits[token] >= self._most_waits
            if full and not operator:
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

"""One open transaction of a database: what differs between SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sayso.store.contract import (
    Ahead,
    StoreError,
)
from sayso.store.sql.known import KnownRows


class Connection(Protocol):
    """One open transaction of a database. Its own errors come out as StoreError, and end the transaction."""

    local: bool
    """Whether the database lives on this machine."""
    joins: bool
    """Whether what is `put` waits, to be joined with what is like it."""
    now: float
    """Its clock, as it was read last."""
    known: KnownRows

    @property
    def number(self) -> int:
        """Which transaction of the database this is; 0 where whoever writes is alone."""

    def was_committed(self, number: int) -> bool | None:
        """Return what became of another one, as far as it concerns this one."""

    def rows(self, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]: ...

    def change(self, statement: str, parameters: Sequence[object]) -> int:
        """Return how many rows it added, changed or took away."""

    def put(self, statement: str, parameters: Sequence[object], otherwise: str = "") -> None:
        """Add rows, or change what this transaction holds: it may be done any time before the next read.

        That nothing was changed is an error if one is given for it.
        """

    def read_ahead(self, wanted: Ahead, known: KnownRows) -> None:
        """Get to know what is wanted and not known, if that is quicker than to read it one by one."""

    def hold(self, what: str) -> bool:
        """Until the end of this transaction no other that writes gets past its own `hold` of the same.

        True if it was taken just now, so that what was read before may be old.
        """

    def failure(self, why: str) -> StoreError:
        """The error to raise. With it the transaction is lost, whoever catches it."""

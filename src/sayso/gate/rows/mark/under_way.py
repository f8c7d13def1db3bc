"""What a thread has under way on a store, as far as the mark is concerned."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sayso.gate.rows.mark.file import Added
from sayso.gate.rows.mark.versions import Raised


class Under:
    """The transaction that a thread has under way: since when it reads, or what it raises and has seen."""

    __slots__ = (
        "added",
        "alone",
        "before",
        "committed",
        "covered",
        "holds",
        "in_batch",
        "looks",
        "promised",
        "raised",
        "reading",
        "used",
        "used_since",
        "was_committed",
    )

    def __init__(self) -> None:
        self.reading: int | None = None
        self.committed = True
        self.used: dict[bytes, int] | None = None
        """What it went by, each with the version that was known, or that the row had."""
        self.used_since = 0
        """The tick before all of that."""
        self.promised: set[bytes] = set()
        """In a batch: what it has raised itself."""
        self.in_batch = False
        self.looks = True
        """Whether the file is read with the next look at a version."""
        self.alone = False
        """Whether nobody else writes meanwhile, so that the file is read once."""
        self.holds = False
        """Whether it keeps other processes from writing the file."""
        self.raised: Raised | None = None
        self.added: tuple[Raised, Added] | None = None
        """The versions of the last commit, and where they are in the file, if they can be settled there."""
        self.covered: Raised | None = None
        """What was not synced yet when it last committed: the sync that it waits for covers no more."""
        self.before: Any = None
        self.was_committed: Callable[[int], bool | None] | None = None
        """How it asks what became of another transaction."""


class UnderOfThread(threading.local):
    """Each thread has its own, in a plain object: that is quicker to read."""

    def __init__(self) -> None:
        self.under = Under()

"""What begins again in a process that was forked: there nobody gives back a lock that another thread held."""

from __future__ import annotations

import os
from typing import Any, Protocol
from weakref import WeakSet


class BeginsAgain(Protocol):
    def begin_process(self) -> None:
        """Begin in a new process."""


_known: WeakSet[Any] = WeakSet()


def begin_in_each_process(one: BeginsAgain) -> None:
    """Begin in this process, and in every one that is forked from it."""
    one.begin_process()
    _known.add(one)


def _begin_in_child() -> None:
    for one in _known:
        one.begin_process()


os.register_at_fork(after_in_child=_begin_in_child)

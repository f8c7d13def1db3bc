"""How tasks and threads of a program run one at a time, and how sync code shares what async code does."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any


class Worker:
    """A task or thread that pauses and is resumed; whoever resumes it waits until it pauses or ends."""

    def __init__(self, event: Callable[[], Any]) -> None:
        self.go, self.rests = event(), event()
        self.done = False
        self.error: BaseException | None = None
        self.kept: object = None
        """The task itself: the event loop keeps no hold of it."""


def finish(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("something was awaited in sync code")


def caught(work: Callable[[], None], failed: list[BaseException]) -> None:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - whoever started the thread is told
        failed.append(error)

"""A program on the other end of a connection, what it does aside, and what is asked of people."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from sayso.doors.remote.connected import Connected
from sayso.gate.questions.answer import QuestionStanding
from tests.support.service_process import PATIENCE

T = TypeVar("T")


class Tasks:
    """A program with functions that need consent, and what it did."""

    def __init__(self, gate: Connected, *, wait: float | None = None) -> None:
        self.gate = gate
        self.made: list[str] = []

        @gate.requires_consent("tasks.create", risk="moderate", reason="writes to your list", wait=wait)
        def create_task(title: str) -> str:
            self.made.append(title)
            return title.upper()

        @gate.requires_consent("tasks.read")
        def read_tasks() -> list[str]:
            return self.made

        @gate.requires_consent("tasks.wipe")
        def wipe() -> None:
            self.made.append("wiped")

        self.create, self.read, self.wipe = create_task, read_tasks, wipe


class Aside:
    """Something that runs in a thread of its own, and its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._found: list[Any] = []
        self._thread = threading.Thread(target=lambda: self._found.append(work()), daemon=True)
        self._thread.start()

    def result(self) -> Any:
        self._thread.join(PATIENCE)
        assert self._found, "it did not come to an end"
        return self._found[0]


def asked(operator: Connected, count: int = 1) -> list[str]:
    """The open questions, once there are so many."""
    return [str(one["id"]) for one in _until(operator, lambda found: len(found) >= count)]


def asked_for(operator: Connected, operation: str) -> str:
    """The open question about this operation alone, once there is one."""

    def about(question: dict[str, Any]) -> bool:
        return [item["operation"] for item in question["items"]] == [operation]

    found = _until(operator, lambda questions: any(map(about, questions)))
    return str(next(filter(about, found))["id"])


def say(operator: Connected, question: str, given: str, **how: Any) -> QuestionStanding:
    """The answer of somebody who was shown the whole call."""
    (seen,) = [str(one["digest"]) for one in operator.questions() if one["id"] == question]
    return operator.answer(question, given, seen=seen, **how)


def _until(operator: Connected, enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    for _ in range(int(PATIENCE * 20)):
        found = operator.questions()
        if enough(found):
            return found
        threading.Event().wait(0.05)
    raise AssertionError("nothing was asked")

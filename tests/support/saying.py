"""A surface where somebody says at once what a test wants said."""

from __future__ import annotations

import queue
from collections.abc import Callable

import msgspec

from sayso.core.audit.notices import Notice
from sayso.gate.questions.surface import AskedQuestion, Reply

Say = Callable[[AskedQuestion], Reply | None]


class SayingPerson:
    """Says it when a question is shown; it comes back as any answer does."""

    polls = True

    def __init__(self, say: Say, name: str = "person") -> None:
        self.say, self.name = say, name
        self._said: queue.SimpleQueue[Reply] = queue.SimpleQueue()

    def able(self) -> bool:
        return True

    def show(self, shown: AskedQuestion, key: str) -> str:
        said = self.say(shown)
        if said is not None:
            self._said.put(msgspec.structs.replace(said, question=shown.question.id))
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """It was answered at once."""

    def tell(self, notice: Notice, key: str) -> None:
        """Notices change nothing here."""

    def fetch(self, seconds: float) -> tuple[Reply, ...]:
        try:
            return (self._said.get(timeout=seconds),)
        except queue.Empty:
            return ()

"""The inbox: questions wait in the store until somebody answers them, with `sayso approve` for example."""

from __future__ import annotations

import logging
import threading

from sayso.gate.questions.surface import AskedQuestion, Reply

log = logging.getLogger("sayso.inbox")


class Inbox:
    """For programs whose operator looks at the store from elsewhere: another terminal, another process."""

    name = "inbox"

    def able(self) -> bool:
        return True

    def ask(self, asked: AskedQuestion, over: threading.Event) -> Reply | None:
        """Nothing to show: the question is in the store. Who looks there answers it."""
        log.info("question %s is in the inbox", asked.question.id)
        return None

    def tell(self, notice: str) -> None:
        """Nobody looks here; and a notice may hold what an agent wrote, so it does not go to the log."""

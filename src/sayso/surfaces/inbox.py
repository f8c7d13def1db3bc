"""The inbox: questions wait in the store until somebody answers them, with `sayso approve` for example."""

from __future__ import annotations

import logging

from sayso.core.audit.notices import Notice
from sayso.gate.questions.surface import AskedQuestion, Reply

log = logging.getLogger("sayso.inbox")


class Inbox:
    """For programs whose operator looks at the store from elsewhere: another terminal, another process."""

    name = "inbox"
    polls = False
    takes_notices = False

    def able(self) -> bool:
        return True

    def show(self, shown: AskedQuestion, key: str) -> str:
        """Nothing to show: the question is in the store. Who looks there answers it."""
        log.info("question %s is in the inbox", shown.question.id)
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """Do nothing: the store shows how it ended."""

    def tell(self, notice: Notice, key: str) -> None:
        """Nobody looks here; and a notice may hold what an agent wrote, so it does not go to the log."""

    def fetch(self, seconds: float) -> tuple[Reply, ...]:
        return ()

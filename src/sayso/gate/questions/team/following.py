"""Following the approvals of questions that are shown: one thread, for as long as any waits for several."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from sayso.gate.forks import begin_in_each_process
from sayso.gate.gate import Gate

log = logging.getLogger("sayso.surfaces")
LOOK_AGAIN = 1.0
"""How often it looks without a change of the store: a rule may let more people in after a while."""


class ApprovalFollower:
    """Looks at the questions that it is told of after every change of the store."""

    def __init__(self, gate: Gate, look: Callable[[str], None]) -> None:
        self._gate, self._look = gate, look
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: it shows no question, and has no thread that follows one."""
        self._lock = threading.Lock()
        self._followed: set[str] = set()
        self._following = False

    def follow(self, question: str) -> None:
        """From now on, look at this one."""
        with self._lock:
            self._followed.add(question)
            if self._following:
                return
            self._following = True
        threading.Thread(target=self._run, name="sayso-approvals", daemon=True).start()

    def leave(self, question: str) -> None:
        with self._lock:
            self._followed.discard(question)

    def _run(self) -> None:
        mark = 0
        while True:
            with self._lock:
                followed = list(self._followed)
                if not followed:
                    self._following = False
                    return
            try:
                for question in followed:
                    self._look(question)
                mark = self._gate.store.wait_for_change(mark, LOOK_AGAIN)
            except Exception:  # the question stays as it is shown, and its answer is counted as ever
                log.exception("the approvals of a question cannot be followed")
                with self._lock:
                    self._followed.clear()

"""Keeping leases alive: one thread for all calls of a process that are running."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sayso.core.errors import SaysoError
from sayso.core.ledger import LEASE
from sayso.gate.forks import begin_in_each_process
from sayso.gate.telemetry import log_lease_lost

BEAT = LEASE / 3


class LeaseKeeper:
    """Says for every call held here that its holder is alive. Its thread ends once nothing is held."""

    def __init__(self, beat: Callable[[str, int], None]) -> None:
        self._say = beat
        self._held: dict[str, int] = {}
        self._of_parent: set[tuple[str, int]] = set()
        """What was running here when this process was forked: that is for its parent to end."""
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: it holds no call of the one that it was forked from, and has no thread."""
        self._of_parent |= self._held.items()
        self._held = {}
        self._lock = threading.Lock()
        self._beating = False

    def hold(self, call: str, fence: int) -> None:
        with self._lock:
            self._held[call] = fence
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="sayso-leases", daemon=True).start()

    def drop(self, call: str) -> None:
        with self._lock:
            self._held.pop(call, None)

    def is_of_parent(self, call: str, fence: int) -> bool:
        return (call, fence) in self._of_parent

    def _beat(self) -> None:
        while True:
            time.sleep(BEAT)  # most calls are over by then, and cost no thread of their own
            with self._lock:
                held = dict(self._held)
                if not held:
                    self._beating = False
                    return
            for call, fence in held.items():
                self._beat_one(call, fence)

    def _beat_one(self, call: str, fence: int) -> None:
        try:
            self._say(call, fence)
        except SaysoError as error:
            log_lease_lost(call, error)

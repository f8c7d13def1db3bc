"""Keeping leases alive: one thread for all calls of a process that are running."""

from __future__ import annotations

import threading
import time

from sayso.core.errors import SaysoError
from sayso.core.ledger import LEASE
from sayso.gate.gate import Gate
from sayso.gate.lease import keep_alive
from sayso.gate.telemetry import lease_lost

BEAT = LEASE / 3


class Keeper:
    """Says for every call held here that its holder is alive. Its thread ends once nothing is held."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._held: dict[str, int] = {}
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
            keep_alive(self._gate, call, fence)
        except SaysoError as error:
            lease_lost(call, error)

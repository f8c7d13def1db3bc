"""Waiting for calls that somebody else runs."""

from __future__ import annotations

import asyncio

from sayso.core.durations import LONGEST_WAIT
from sayso.core.ledger import IN_PROGRESS
from sayso.gate.gate import Gate, current_gate
from sayso.gate.ledger.recovery import recover_call
from sayso.gate.row_watcher import RowWatcher
from sayso.store.contract import Reader


class CallEndings:
    """Wakes whoever waits until nobody runs a call any more. A call whose holder died becomes ambiguous."""

    def __init__(self, gate: Gate) -> None:
        self._opened = gate
        self._watcher = RowWatcher(gate, _is_over, "sayso-endings")

    @property
    def _gate(self) -> Gate:
        self._opened = current_gate(self._opened)
        return self._opened

    @property
    def waiting(self) -> int:
        """Return how many wait here."""
        return self._watcher.waiting

    def wait(self, call: str, seconds: float) -> None:
        """Wait until the call is over or the time is up, LONGEST_WAIT at most."""
        self._watcher.wait(call, min(seconds, LONGEST_WAIT))
        recover_call(self._gate, call)

    async def await_end(self, call: str, seconds: float, left: asyncio.Future[None] | None = None) -> None:
        """Do the same in a coroutine. It also ends when `left` is done: whoever waits is gone."""
        await self._watcher.await_over(call, min(seconds, LONGEST_WAIT), left)
        await asyncio.to_thread(recover_call, self._gate, call)

    def let_go(self) -> None:
        """Wake everybody who waits, and let nobody wait any more."""
        self._watcher.let_go()


def _is_over(tx: Reader, call: str) -> bool:
    """Return whether the call has ended, or its holder's lease has."""
    row = tx.call(call)
    if row is None or row.state not in IN_PROGRESS:
        return True
    return row.lease_until is not None and row.lease_until <= tx.now

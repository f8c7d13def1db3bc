"""A store that could not be written the last time.

- It is tried again, so that an idle service learns that it can.
- Until then nothing is permitted, not even where a permit writes nothing: nobody could take it back.
"""

from __future__ import annotations

from sayso.core.model import Verdict
from sayso.gate.gate import Gate, writing
from sayso.store.contract import StoreUnwritable

TRIED = "tried"
"""When that was tried last. The row says nothing else: it is there to be written."""


def refuse_to_permit(gate: Gate, verdict: Verdict) -> None:
    """Refuse to answer that something may run, while the store is known not to be writable."""
    fault = gate.store.fault if verdict is Verdict.ALLOW else None
    if fault is not None:
        raise StoreUnwritable(fault.message, hint=fault.hint)


def try_to_write(gate: Gate) -> None:
    """Write something, if the last write failed and another may succeed."""
    fault = gate.store.fault
    if fault is not None and not fault.closed:
        with writing(gate) as tx:
            tx.set_meta(TRIED, f"{tx.now}")

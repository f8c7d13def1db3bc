"""A store that could not be written the last time: try again, so that an idle service learns that it can."""

from __future__ import annotations

from sayso.gate.gate import Gate, writing

TRIED = "tried"
"""When that was tried last. The row says nothing else: it is there to be written."""


def try_to_write(gate: Gate) -> None:
    """Write something, if the last write failed and another may succeed."""
    fault = gate.store.fault
    if fault is not None and not fault.closed:
        with writing(gate) as tx:
            tx.set_meta(TRIED, f"{tx.now}")

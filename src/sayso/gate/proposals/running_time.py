"""Running time: seconds during which the store's clock and the machine's own counter agree.

A clock can be set. What a machine has been running for cannot, so of both the smaller growth counts:

- Each look adds what has passed since the last look of anybody by the store's clock, but never more than this
  machine has been running since its own last look, less what was added meanwhile.
- A clock set forward adds nothing but what really passed; one set back adds nothing at all, and while it is
  not trusted no time counts.
- When a proposal is filed or applied, the looks of all other machines are dropped: what they ran before does
  not count for it.
- If the stored total does not count, it begins again at the highest one that a proposal knows.
- A machine that was off, or that looks for the first time, adds nothing for the time before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import msgspec

from sayso.core.proposals.proposal import Proposal
from sayso.gate.gate import Gate, time_trusted
from sayso.gate.sealed_values import (
    TamperedValue,
    find_value,
    lock_values,
    read_value_of_epoch,
    value_name,
    write_value,
)
from sayso.store.contract import MetaRow, Writer

MOST_MACHINES = 16
NAME = value_name("running-time", "total")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_OWN_ID = str(uuid4())


class MachineTime(msgspec.Struct, frozen=True):
    """Since which start a machine has been running, and for how many seconds."""

    boot: str
    seconds: float


class _Look(msgspec.Struct, frozen=True):
    """The last look of a machine: its counter then, and the total."""

    seconds: float
    total: float


class _RunningTime(msgspec.Struct, frozen=True):
    total: float
    at: float
    machines: dict[str, _Look]


MachineClock = Callable[[], MachineTime]


def read_machine_time() -> MachineTime:
    """Return how long this machine has been running. If its start has no name, only this process counts."""
    counter = getattr(time, "CLOCK_BOOTTIME", None)
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        boot = _OWN_ID
    seconds = time.monotonic() if counter is None else time.clock_gettime(counter)
    return MachineTime(boot, seconds)


def look_at_time(
    gate: Gate, tx: Writer, machine: MachineClock = read_machine_time, *, alone: bool = False
) -> float:
    """Add what has passed, and return the running time of this store in seconds.

    `alone`: from here on only this machine counts, until others look again.
    """
    lock_values(tx, "running-time")
    before = _read_before(gate, tx)
    here = machine()
    passed = (
        _time_since(before, before.machines.get(here.boot), here, tx.now) if time_trusted(gate, tx) else 0.0
    )
    total = before.total + passed
    others = [(boot, look) for boot, look in before.machines.items() if boot != here.boot and not alone]
    machines = dict([*others[-(MOST_MACHINES - 1) :], (here.boot, _Look(here.seconds, total))])
    write_value(gate, tx, NAME, _RunningTime(total, tx.now, machines))
    return total


def _read_before(gate: Gate, tx: Writer) -> _RunningTime:
    try:
        return read_value_of_epoch(gate, tx, NAME, _RunningTime) or _RunningTime(0.0, tx.now, {})
    except TamperedValue:
        names = [row.name for row in tx.every(MetaRow) if row.name.startswith(value_name("proposal", "p_"))]
        found = [find_value(gate, tx, name, Proposal) for name in names]
        known = (max(one.proposed_ran, one.applied_ran or 0.0) for one in found if one is not None)
        return _RunningTime(max(known, default=0.0), tx.now, {})


def _time_since(before: _RunningTime, own: _Look | None, here: MachineTime, now: float) -> float:
    if own is None:
        return 0.0
    by_clock = now - before.at
    by_machine = here.seconds - own.seconds - (before.total - own.total)
    return max(0.0, min(by_clock, by_machine))

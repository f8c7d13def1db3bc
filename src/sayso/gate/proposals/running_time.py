"""Running time: seconds during which the store's clock and the machine's own counter agree.

A clock can be set. What a machine has been running for cannot, so of both the smaller growth counts:

- Each look adds what has passed since the last look of anybody by the store's clock, but never more than this
  machine has been running since its own last look, less what was added meanwhile.
- A clock set forward adds nothing but what really passed; one set back adds nothing at all.
- A machine that was off, or that looks for the first time, adds nothing for the time before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import msgspec

from sayso.gate.gate import Gate
from sayso.gate.sealed_values import lock_values, read_value_of_epoch, value_name, write_value
from sayso.store.contract import Writer

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


def look_at_time(gate: Gate, tx: Writer, machine: MachineClock = read_machine_time) -> float:
    """Add what has passed, and return the running time of this store in seconds."""
    lock_values(tx, "running-time")
    before = read_value_of_epoch(gate, tx, NAME, _RunningTime) or _RunningTime(0.0, tx.now, {})
    here = machine()
    total = before.total + _passed(before, before.machines.get(here.boot), here, tx.now)
    others = [(boot, look) for boot, look in before.machines.items() if boot != here.boot]
    machines = dict([*others[-(MOST_MACHINES - 1) :], (here.boot, _Look(here.seconds, total))])
    write_value(gate, tx, NAME, _RunningTime(total, tx.now, machines))
    return total


def _passed(before: _RunningTime, own: _Look | None, here: MachineTime, now: float) -> float:
    if own is None:
        return 0.0
    by_clock = now - before.at
    by_machine = here.seconds - own.seconds - (before.total - own.total)
    return max(0.0, min(by_clock, by_machine))

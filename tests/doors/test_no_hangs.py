"""Whoever waits is woken, and looking at what other threads do holds nobody up."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from sayso import Sayso
from sayso.gate.open import open_gate
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY
from tests.support.people import Person, answer_open, sends

GARBAGE_WHILE_LOOKING = """
import gc, sys, threading
from sayso.doors.python.calls.holding import _top_of

class Cycle:
    def __init__(self):
        self.me, self.local = self, threading.local()
        self.local.value = 1

there, stay = threading.Semaphore(0), threading.Event()

def wait():
    there.release()
    stay.wait()

threads = [threading.Thread(target=wait, daemon=True) for _ in range(40)]
for one in threads:
    one.start()
for one in threads:
    there.acquire()
_top_of(0)
gc.collect()
gc.disable()
for _ in range(50):
    Cycle()
gc.set_threshold(gc.get_count()[0] + 15, 1000, 1000)
gc.enable()
_top_of(threads[0].ident)
assert gc.isenabled()
print("looked")
"""


def test_garbage_that_ends_while_threads_are_looked_at_does_not_hang_the_process() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", GARBAGE_WHILE_LOOKING], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "looked\n"), ran.stderr


class Stumbling(MemoryStore):
    """A store whose first look for changes fails in a way nobody expected."""

    def __init__(self) -> None:
        super().__init__()
        self.stumbled = threading.Event()

    def wait_for_change(self, seen: int, timeout: float) -> int:
        if not self.stumbled.is_set():
            self.stumbled.set()
            raise ValueError("a fault of the driver")
        return super().wait_for_change(seen, timeout)


@pytest.mark.parametrize("times", [1, 2])
def test_no_waiter_is_forgotten_after_the_watch_for_answers_failed(times: int) -> None:
    person = Person()
    gate = Sayso(open_gate(load_preset("gateway"), store := Stumbling(), key=KEY), [person])
    sent, found = sends(gate), []
    for at in range(times):
        store.stumbled.clear()
        arguments = {"to": f"person {at}"}
        waiting = threading.Thread(
            target=lambda given=arguments: found.append(_run(gate, given)), daemon=True
        )
        waiting.start()
        person.waits_to_be_asked()
        assert store.stumbled.wait(60)
        answer_open(gate, "once")
        waiting.join(60)
    assert [result.status for result in found] == ["ok"] * times
    assert len(sent) == times


def _run(gate: Sayso, arguments: dict[str, Any]) -> Any:
    """A run that is made again as long as nobody has answered: a watch that failed wakes who waits."""
    result = gate.run("send", arguments, wait=590)
    while result.status == "timeout":
        result = gate.retry(result.operation_id or "", wait=590)
    return result

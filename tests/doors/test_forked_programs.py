"""A process that was forked: what other threads of its parent were at, and held, is not its own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from sayso import Sayso
from sayso.core import ledger
from sayso.doors.approval_manager import ApprovalManager
from sayso.doors.python.calls import lease_keeper
from sayso.doors.python.calls.lease_keeper import LeaseKeeper
from sayso.doors.python.calls.shared_results import HandingOn
from sayso.gate import decoding
from sayso.gate.open import open_gate
from sayso.gate.policy.live import LivePolicyFile
from sayso.gate.policy.projects import ProjectFiles
from sayso.gate.questions.asker import Asker
from sayso.gate.row_watcher import RowWatcher
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.by_hand import KEY

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def in_a_child(work: Callable[[], bool]) -> bool:
    """What this gives in a forked process."""
    child = os.fork()
    if child == 0:
        done = False
        try:
            done = work()
        finally:
            os._exit(0 if done else 1)
    return os.waitpid(child, 0)[1] == 0


def wait_for(there: Callable[[], bool]) -> None:
    """For some ten seconds at most."""
    for _ in range(5_000):
        if there():
            return
        time.sleep(0.002)


def live_file(tmp_path: Path) -> LivePolicyFile:
    gate = open_gate(load_preset("balanced"), MemoryStore(), key=KEY)
    return LivePolicyFile(gate, tmp_path / "policy.yaml")


def asker(_: Path) -> Asker:
    return Asker(open_gate(load_preset("balanced"), MemoryStore(), key=KEY), ())


LOCKED: dict[str, Callable[[Path], Any]] = {
    "the policy": live_file,
    "files of projects": lambda _: ProjectFiles(),
    "results that are handed on": lambda _: HandingOn(),
    "leases": lambda _: LeaseKeeper(lambda call, fence: None),
    "decoders": lambda _: decoding,
    "questions that are shown": asker,
    "approvals that are followed": lambda tmp_path: asker(tmp_path)._approvals,  # noqa: SLF001
}


@pytest.mark.parametrize("what", LOCKED)
def test_what_another_thread_held_is_free_in_a_forked_process(what: str, tmp_path: Path) -> None:
    """That thread is not there to give it back."""
    locked = LOCKED[what](tmp_path)
    with locked._lock:  # noqa: SLF001
        assert in_a_child(lambda: locked._lock.acquire(blocking=False))  # noqa: SLF001


def test_a_forked_process_keeps_its_own_calls_alive_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls of a parent that died become ambiguous, whoever it had forked."""
    told: list[str] = []
    monkeypatch.setattr(lease_keeper, "BEAT", 0.001)
    keeper = LeaseKeeper(lambda call, fence: told.append(call))
    keeper.hold("of the parent", 1)
    wait_for(lambda: bool(told))

    def child() -> bool:
        told.clear()
        keeper.hold("of the child", 1)
        wait_for(lambda: bool(told))
        return set(told) == {"of the child"}

    assert in_a_child(child)
    keeper.drop("of the parent")


def test_a_forked_process_learns_of_answers_while_its_parent_waits_for_another() -> None:
    """The thread that looks for answers stays behind."""
    gate = open_gate(load_preset("balanced"), MemoryStore(), key=KEY)
    watcher = RowWatcher(gate, lambda tx, name: tx.meta(name) is not None, "answers")
    parents = threading.Thread(target=watcher.wait, args=("of the parent", 60.0), daemon=True)
    parents.start()
    wait_for(lambda: watcher.waiting == 1)

    def child() -> bool:
        answered = threading.Event()
        watcher.register("of the child", answered.set)
        with gate.store.write() as tx:
            tx.set_meta("of the child", "answered")
        return answered.wait(20.0)

    assert in_a_child(child)
    watcher.let_go()
    parents.join()


def test_a_forked_process_may_ask_while_its_parent_does() -> None:
    parent, asked, answered = os.getpid(), threading.Event(), threading.Event()

    def ask(_: object) -> bool:
        if os.getpid() == parent:
            asked.set()
            answered.wait(60.0)
        return True

    manager = ApprovalManager("paranoid", ask)
    parents = threading.Thread(target=manager.request_approval, args=("shell.run", {"line": 1}, "risky"))
    parents.start()
    assert asked.wait(60.0)
    assert in_a_child(lambda: manager._locks.asking.acquire(blocking=False))  # noqa: SLF001
    assert in_a_child(lambda: manager.request_approval("shell.run", {"line": 2}, "risky"))
    answered.set()
    parents.join()


@pytest.mark.parametrize("leaves", ["returns", "raises"])
def test_a_process_that_is_forked_inside_a_call_does_not_end_it(leaves: str, tmp_path: Path) -> None:
    """Else the parent's call would count as over, or as failed and free to run again, while it runs."""
    store = SqliteStore(tmp_path / "store.db")
    parent = os.getpid()

    def states() -> list[str]:
        with store.read() as tx:
            return [row.state for row in tx.calls(states=get_args(ledger.State))]

    with Sayso(open_gate(load_preset("balanced"), store, key=KEY)) as gate:

        @gate.requires_consent("tasks.read", risk="low")
        def fork() -> int:
            child = os.fork()
            if child == 0 and leaves == "raises":
                raise SystemExit
            return child and os.waitpid(child, 0)[1]

        try:
            of_child = fork()
        finally:
            if os.getpid() != parent:
                os._exit(0 if states() == ["running"] else 1)
        assert of_child == 0
        assert states() == ["succeeded"]

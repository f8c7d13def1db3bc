"""Many callers in one batch, struck at a boundary of it: each is told what is stored, and no more."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sayso.gate.audit.verifying.verify import verify_audit
from sayso.service.http import batches
from sayso.store.contract import Store, StoreError
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.crash.mortal import Fate, MortalStore
from tests.crash.together import CALLERS, Together, gate_on, open_at, stored
from tests.support.postgres_place import new_schema


def full_disk() -> None:
    raise StoreError("the disk is full")


@pytest.fixture(params=["sqlite", "postgres"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    opened: list[Store] = []

    def make() -> Store:
        store: Store = SqliteStore(tmp_path / "s.db")
        if request.param == "postgres":
            store.close()
            store = PostgresStore(address)
        opened.append(store)
        return store

    address = new_schema(request.getfixturevalue("postgres_server")) if request.param == "postgres" else ""
    yield make
    for store in opened:
        store.close()


@pytest.mark.parametrize("after", [1, 9, 40, 77, 120])
def test_a_full_disk_in_a_batch_is_told_to_whoever_it_undid(
    make_store: Callable[[], Store], tmp_path: Path, after: int
) -> None:
    answers: dict[int, Any] = {}
    passed: list[str] = []
    fate = Fate(0, lambda name, commits: passed.append(name), full_disk)
    with asyncio.Runner() as runner:
        one = Together(MortalStore(make_store(), fate), tmp_path, runner)
        passed.clear()
        fate.strike_after(after)
        one.call_all(answers.__setitem__)
    kept_before = "after the commit" in passed[after - 1]  # then whoever is told of a failure may have a call
    states = stored(gate_on(make_store(), tmp_path), one.session)
    assert len(answers) == CALLERS
    assert fate.struck
    for number, answer in answers.items():
        allowed, runs = answer.get("status") == "allowed", states.get(f"caller {number}") == "running"
        assert allowed == runs or (runs and kept_before), answer
    assert any(answer.get("code") in ("store", "batch_lost") for answer in answers.values())


def test_many_at_once_share_few_transactions(make_store: Callable[[], Store], tmp_path: Path) -> None:
    """Otherwise nothing in this file happens in the middle of a batch."""
    answers: dict[int, Any] = {}
    fate = Fate(0)
    with asyncio.Runner() as runner:
        one = Together(MortalStore(make_store(), fate), tmp_path, runner)
        before = fate.commits
        one.call_all(answers.__setitem__)
    assert {answer["status"] for answer in answers.values()} == {"allowed"}
    assert fate.commits - before <= CALLERS // 2
    assert batches.MOST >= CALLERS


KILLED = """
import asyncio, os, sys
from pathlib import Path
from tests.crash.mortal import Fate, MortalStore
from tests.crash.together import Together, open_at
fate = Fate(0)
with asyncio.Runner() as runner:
    one = Together(MortalStore(open_at(sys.argv[3]), fate), Path(sys.argv[1]), runner)
    os.write(1, (one.session + "\\n").encode())
    fate.strike_after(int(sys.argv[2]))
    one.call_all(lambda number, answer: os.write(1, f"{number} {answer.get('status')}\\n".encode()))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "s.db")
    return new_schema(request.getfixturevalue("postgres_server"))


@pytest.mark.parametrize("after", [1, 5, 23, 64, 101, 128, 160, 200])
def test_nobody_is_told_allowed_by_a_service_that_is_killed_before_it_is_stored(
    place: str, tmp_path: Path, after: int
) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(after), place]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == -signal.SIGKILL, done.stderr
    session, *answers = done.stdout.splitlines()
    with closing(open_at(place)) as store:
        gate = gate_on(store, tmp_path)
        states = stored(gate, session)
        assert verify_audit(gate).clean
    for number, status in (line.split() for line in answers):
        assert status == "allowed"
        assert states[f"caller {number}"] == "running"

"""Batches of many callers whose writes or commit really fail: each is told what is stored, and no more.

Nothing here stands around the store: the system refuses to let its files grow, or the server ends its own
connection. Stores that do not hear of it show that these tests would notice.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sayso.gate.audit.verifying.verify import verify_audit
from sayso.store.contract import StoreError
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.crash.together import CALLERS, Together, find_lies, gate_on
from tests.support.postgres_place import Server, new_schema
from tests.support.repository import ROOT

PATIENCE = 180.0


def call_cramped(path: Path, room: int, ears: str = "hears") -> tuple[str, dict[str, str]]:
    """The session, and what callers of a process were told while its files could only grow so far."""
    command = [sys.executable, "-m", "tests.crash.cramped", str(path), str(room), ears]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True)
    session, told = json.loads(done.stdout)
    return session, told


def count_told(told: dict[str, str], when: str) -> Counter[str]:
    return Counter(said for name, said in told.items() if name.startswith(when))


@pytest.mark.parametrize("room", [0, 3_000, 100_000, 200_000])
def test_on_a_full_disk_every_caller_is_told_what_is_stored(tmp_path: Path, room: int) -> None:
    session, told = call_cramped(tmp_path / "s.db", room)
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        gate = gate_on(store, tmp_path)
        assert find_lies(gate, session, told) == []
        assert verify_audit(gate).clean
    full = count_told(told, "full")
    assert full["ended"] < CALLERS  # what did not fail itself failed to end
    assert room or full["store"] + full["batch_lost"] == CALLERS
    for when in ("before", "after"):
        assert count_told(told, when) == {"ended": CALLERS}


def test_a_commit_on_a_full_disk_that_nobody_hears_of_would_be_noticed(tmp_path: Path) -> None:
    session, told = call_cramped(tmp_path / "s.db", 3_000, "deaf")
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        lies = find_lies(gate_on(store, tmp_path), session, told)
    assert any("was told allowed, and is None" in lie for lie in lies)


# The trigger counts with a sequence, which no rollback sets back, and ends the very backend it runs in. Where
# it is deferred, that is in the middle of COMMIT: all of the batch is written, and nothing of it is kept.
TERMINATE = "PERFORM pg_terminate_backend(pg_backend_pid())"
CUT = """
CREATE SEQUENCE cuts;
CREATE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE n bigint := nextval('cuts');
BEGIN
    IF {when} THEN {end}; END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON calls {timing} FOR EACH ROW EXECUTE FUNCTION cut_off();
"""
FEWEST_LOST = {"n = 1": 0, "n = 20": 0, "n % 3 = 0": 5, "n > 0": CALLERS}
"""When a connection is cut, and how many calls are lost with that: one that is cut once is tried again."""
IN_COMMIT, AT_ONCE = "DEFERRABLE INITIALLY DEFERRED", "NOT DEFERRABLE"


class DeafStore(PostgresStore):
    """Takes every commit for one that was kept: broken on purpose."""

    def _commit(self, transaction: Any, *, urgent: bool) -> None:
        with suppress(StoreError):
            super()._commit(transaction, urgent=urgent)


@pytest.fixture
def address(postgres_server: str) -> str:
    return new_schema(postgres_server)


def connect_patiently(address: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect as soon as the server lets anybody in: after a crash it recovers first."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return psycopg.connect(address, autocommit=True)
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.05)


def call_cut_off(store: PostgresStore, address: str, folder: Path, cut: str) -> tuple[str, dict[str, str]]:
    """The session, and what callers were told whose connections to the server were cut."""
    with closing(store), asyncio.Runner() as runner:
        one = Together(store, folder, runner)
        told = one.call_and_end_all("before")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(cut.encode())
        told |= one.call_and_end_all("cut")
        with connect_patiently(address) as connection:
            [(calls,)] = connection.execute("SELECT last_value FROM cuts").fetchall()
            assert calls > 1
            connection.execute("DROP TRIGGER cut ON calls")
        told |= one.call_and_end_all("after")
    return one.session, told


@pytest.mark.parametrize("timing", [IN_COMMIT, AT_ONCE], ids=["in-commit", "at-a-write"])
@pytest.mark.parametrize("when", FEWEST_LOST)
def test_cut_off_by_the_server_every_caller_is_told_what_is_stored(
    address: str, tmp_path: Path, timing: str, when: str
) -> None:
    session, told = call_cut_off(
        PostgresStore(address), address, tmp_path, CUT.format(when=when, timing=timing, end=TERMINATE)
    )
    with closing(PostgresStore(address)) as store:
        gate = gate_on(store, tmp_path)
        assert find_lies(gate, session, told) == []
        assert verify_audit(gate).clean
    cut = count_told(told, "cut")
    assert cut["ended"] + cut["batch_lost"] == CALLERS
    assert cut["batch_lost"] >= FEWEST_LOST[when]
    for name in ("before", "after"):
        assert count_told(told, name) == {"ended": CALLERS}


def test_where_a_server_is_killed_in_a_commit_every_caller_is_told_what_is_stored(tmp_path: Path) -> None:
    """Kill -9: the server takes all its other connections down, and has to recover what was committed."""
    kill = "EXECUTE format('COPY (SELECT) TO PROGRAM %L', 'kill -9 ' || pg_backend_pid())"
    cut = CUT.format(when="n = 20", timing=IN_COMMIT, end=kill)
    with closing(Server()) as server:
        address = new_schema(server.address)
        with closing(psycopg.connect(address, autocommit=True)) as bystander:
            session, told = call_cut_off(PostgresStore(address), address, tmp_path, cut)
            with pytest.raises(psycopg.OperationalError):
                bystander.execute("SELECT 1")
        with closing(PostgresStore(address)) as store:
            gate = gate_on(store, tmp_path)
            assert find_lies(gate, session, told) == []
            assert verify_audit(gate).clean


def test_a_commit_that_was_cut_off_and_nobody_hears_of_would_be_noticed(address: str, tmp_path: Path) -> None:
    cut = CUT.format(when="n = 20", timing=IN_COMMIT, end=TERMINATE)
    session, told = call_cut_off(DeafStore(address), address, tmp_path, cut)
    with closing(PostgresStore(address)) as store:
        lies = find_lies(gate_on(store, tmp_path), session, told)
    assert any("was told allowed, and is None" in lie for lie in lies)

"""Locks, full disks, servers and connections that go away: never an allow by failure, and then it goes on."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from sayso.core.model import Verdict
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate, load_open_session
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.rows.sessions import RowSelection
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import list_grants, revoke_all
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.contract import Store, StoreBusy, StoreError
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.crash.jobs import KEY
from tests.crash.lives import edit
from tests.crash.mortal import Fate, MortalStore
from tests.support.answers import answer_question
from tests.support.asking import push
from tests.support.postgres_place import Server, new_schema
from tests.support.repository import ROOT

POLICY = load_preset("chat")
PATIENCE = 180.0
PAGE = 4_096

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


def gate_on(store: Store) -> Gate:
    return open_gate(POLICY, store, key=KEY)


def consenting(gate: Gate) -> str:
    """A session in which a push is allowed."""
    session = open_session(gate, agent="tester", owner="host")
    record_message(gate, session, "Grant standing consent for: git push")
    return session


def approved(gate: Gate) -> tuple[str, Attempt]:
    """A session in which one call was approved and has not run yet."""
    session = open_session(gate, agent="tester", owner="host")
    attempt = start_call(gate, edit(session), holder="one")
    assert attempt.question is not None
    assert answer_question(gate, attempt.question, "once", by="ana").yours
    return session, attempt


def allows(gate: Gate, session: str) -> bool:
    return authorize(gate, push(session)).decision.verdict is Verdict.ALLOW


def counted(gate: Gate, session: str) -> tuple[int, int]:
    """How often the standing consent was used, and how many decisions were written down."""
    with gate.store.read() as tx:
        kept = load_open_session(gate, tx, session, RowSelection()).kept
        entries = tx.entries("main", limit=1_000_000)
    used = sum(grant.used for grant in kept.spent.values())
    return used, sum(row.event == "DECIDED" and row.session == session for row in entries)


@contextmanager
def held_by_another_process(path: Path) -> Iterator[None]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=pipe, stdout=pipe, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        assert process.stdin is not None
        process.stdin.close()


def test_a_file_locked_by_another_process_is_busy_and_allows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteStore(path, busy=0.05)) as store:
        gate = gate_on(store)
        session, (_, attempt) = consenting(gate), approved(gate)
        with held_by_another_process(path):
            for _ in range(2):
                with pytest.raises(StoreBusy):
                    allows(gate, session)
                with pytest.raises(StoreBusy):
                    retry_call(gate, attempt.call, holder="one")
                with pytest.raises(StoreBusy):
                    revoke_all(gate, session, by="operator")
            assert counted(gate, session) == (0, 0)
        assert allows(gate, session)
        assert retry_call(gate, attempt.call, holder="one").runs
        assert counted(gate, session) == (1, 1)
        assert verify_audit(gate).clean


class Cramped(SqliteStore):
    """A store whose file may not grow beyond so many pages, as on a full disk."""

    pages = 0

    def _connect(self, *, writes: bool) -> sqlite3.Connection:
        connection = super()._connect(writes=writes)
        if self.pages:
            connection.execute(f"PRAGMA max_page_count = {self.pages}")
        return connection


def test_a_database_that_cannot_grow_allows_exactly_what_it_wrote_down(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteStore(path)) as store:
        session = consenting(gate_on(store))
    with closing(Cramped(path)) as store:
        store.pages = path.stat().st_size // PAGE + 8
        gate = gate_on(store)
        allowed, refused, told = 0, 0, set[str]()
        while refused < 3:
            try:
                allowed += allows(gate, session)
            except StoreError as error:
                told.add(error.message)
                refused += 1
        assert allowed > 0
        assert told == {f"{path} cannot grow: the disk is full"}
    with closing(SqliteStore(path)) as store:
        gate = gate_on(store)
        assert counted(gate, session) == (allowed, allowed)
        assert allows(gate, session)
        assert verify_audit(gate).clean


def test_files_that_may_not_grow_allow_exactly_what_was_written_down_and_then_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.crash.full_disk", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True)
    allowed = int(done.stdout)
    assert allowed > 1
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        gate = gate_on(store)
        with store.read() as tx:
            [session] = tx.sessions()
        assert counted(gate, session.id) == (allowed, allowed)
        assert verify_audit(gate).clean


def test_a_server_that_is_stopped_allows_nothing_and_started_again_goes_on() -> None:
    with closing(Server()) as server, closing(PostgresStore(new_schema(server.address), busy=1.0)) as store:
        gate = gate_on(store)
        session, (_, attempt) = consenting(gate), approved(gate)
        assert allows(gate, session)
        server.stop()
        for _ in range(2):
            with pytest.raises(StoreError):
                allows(gate, session)
            with pytest.raises(StoreError):
                retry_call(gate, attempt.call, holder="one")
        server.start()
        assert allows(gate, session)
        assert counted(gate, session) == (2, 2)
        tries = [retry_call(gate, attempt.call, holder="one").runs for _ in range(2)]
        assert tries == [True, False]
        assert verify_audit(gate).clean


def cut_all(address: str) -> None:
    """End every other connection to the database."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_connection_cut_at_any_write_of_a_start_spends_nothing_or_runs_once(postgres_server: str) -> None:
    """At every boundary in turn, until a start passes without having met its fate."""
    address = new_schema(postgres_server)
    lost = kept = 0
    with closing(PostgresStore(address, busy=5.0, connections=2)) as store:
        gate = gate_on(store)
        for at in range(1, 100):
            session, attempt = approved(gate)
            fate = Fate(at, blow=lambda: cut_all(address))
            struck = open_gate_like(gate, MortalStore(store, fate))
            try:
                ran = retry_call(struck, attempt.call, holder="one")
            except StoreError:
                assert [one.used for one in list_grants(gate, session)] == [0], at
                ran = retry_call(gate, attempt.call, holder="two")
                lost += 1
            else:
                kept += 1
            assert ran.runs, at
            assert not retry_call(gate, attempt.call, holder="three").runs, at
            end_call(gate, attempt.call, ran.fence, "succeeded")
            if not fate.struck:
                break
        assert verify_audit(gate).clean
    assert lost >= 8
    assert kept == 2  # after the commit, and not at all


def open_gate_like(gate: Gate, store: Store) -> Gate:
    """The same gate on a store that passes everything on."""
    return Gate(store, gate.policy, gate.sealer, key=gate.key)

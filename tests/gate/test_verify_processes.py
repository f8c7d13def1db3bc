"""Several processes verify the trail: they find what one finds, and nothing that goes wrong looks clean."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import msgspec
import psycopg
import pytest

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.core.policy import compile_policy
from sayso.gate import words
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.audit.prune import erase_value, prune_audit
from sayso.gate.audit.verifying import workers
from sayso.gate.audit.verifying.verify import AuditReport, verify_audit
from sayso.gate.gate import Gate
from sayso.gate.open import find_reader_place, open_gate, open_reader
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import make_key
from sayso.gate.summaries.add_up import add_up
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.forging import forged_event
from tests.support.postgres_place import new_schema

pytestmark = pytest.mark.slow

WIDTH = 256
ENTRIES = 6 * WIDTH + 40
THREE = 3


@pytest.fixture(autouse=True)
def _short_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans of one tile, so that a trail of a few hundred entries has several."""
    monkeypatch.setattr(workers, "SPAN", WIDTH)
    monkeypatch.setattr(workers, "FEWEST_SPANS", 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sayso.db"


@pytest.fixture
def gate(file: Path) -> Iterator[Gate]:
    with closing(SqliteStore(file)) as store:
        gate = open_gate(compile_policy(), store, key=make_key("test"), marks=file.parent)
        write_entries(gate)
        yield gate


def write_entries(gate: Gate, count: int = ENTRIES) -> None:
    with gate.store.write(durable=False) as tx:
        for n in range(count):
            sensitive = {"note": b"%d" % n} if n % 300 == 7 else None
            record(tx, forged_event("DECIDED", number=n), session="s", sensitive=sensitive)
    sign_audit(gate)
    add_up(gate, least=1)


def verify_twice(gate: Gate) -> AuditReport:
    """What one process and several find, which must be the same."""
    alone = verify_audit(gate)
    assert verify_audit(gate, processes=THREE) == alone
    return alone


Damage = Callable[[sqlite3.Connection], object]
DAMAGES: dict[str, Damage] = {
    "none": lambda db: None,
    "a body edited": lambda db: db.execute(
        "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'number', 'numbed') AS BLOB)"
        " WHERE seq = 700"
    ),
    "an entry deleted": lambda db: db.execute("DELETE FROM entries WHERE seq = 600"),
    "the last of a span deleted": lambda db: db.execute("DELETE FROM entries WHERE seq = 512"),
    "the first of a span deleted": lambda db: db.execute("DELETE FROM entries WHERE seq = 513"),
    "a span deleted": lambda db: db.execute("DELETE FROM entries WHERE seq BETWEEN 513 AND 768"),
    "all but the newest deleted": lambda db: db.execute("DELETE FROM entries WHERE seq < 1500"),
    "the newest deleted": lambda db: db.execute("DELETE FROM entries WHERE seq > 900"),
    "an entry before the first": lambda db: db.execute(
        "INSERT INTO entries SELECT place - 13, at, event, session, prev, hash, body"
        " FROM entries WHERE seq = 9"
    ),
    "an entry far beyond the last": lambda db: db.execute(
        "INSERT INTO entries SELECT place + (1 << 39), at, event, session, prev, hash, body"
        " FROM entries WHERE seq = 9"
    ),
    "two entries exchanged over a border": lambda db: db.executescript(
        "UPDATE entries SET place = 0 WHERE seq = 512;"
        "UPDATE entries SET place = place - 1 WHERE seq = 513;"
        "UPDATE entries SET place = (1 << 40) + 513 WHERE place = 0"
    ),
    "a hash at a border": lambda db: db.execute("UPDATE entries SET hash = zeroblob(32) WHERE seq = 512"),
    "a link at a border": lambda db: db.execute("UPDATE entries SET prev = zeroblob(32) WHERE seq = 513"),
    "a hash that is none": lambda db: db.execute("UPDATE entries SET hash = x'00' WHERE seq = 800"),
    "a column": lambda db: db.execute("UPDATE entries SET session = 'other' WHERE seq IN (300, 1000)"),
    "a time": lambda db: db.execute("UPDATE entries SET at = at + 1 WHERE seq = 1030"),
    "a body gone": lambda db: db.execute("UPDATE entries SET body = NULL WHERE seq = 700"),
    "all bodies gone": lambda db: db.execute("UPDATE entries SET body = NULL"),
    "a kept hash": lambda db: db.execute('UPDATE nodes SET hash = zeroblob(32) WHERE "index" = 2'),
    "a kept value": lambda db: db.execute("UPDATE secrets SET value = x'31'"),
    "kept values gone": lambda db: db.execute("DELETE FROM secrets"),
    "a value that no entry commits to": lambda db: db.execute(
        "INSERT INTO secrets SELECT stream, seq, 'other', salt, value FROM secrets LIMIT 1"
    ),
    "a value beside an entry that commits to none": lambda db: db.execute(
        "INSERT INTO secrets SELECT stream, seq + 1, name, salt, value FROM secrets LIMIT 1"
    ),
    "a value beyond the last entry": lambda db: db.execute(
        "INSERT INTO secrets SELECT stream, 1 << 62, name, salt, value FROM secrets LIMIT 1"
    ),
    "a value before the first entry": lambda db: db.execute(
        "INSERT INTO secrets SELECT stream, -9223372036854775808, name, salt, value FROM secrets LIMIT 1"
    ),
    "a value of a stream that is none": lambda db: db.execute(
        "INSERT INTO secrets SELECT 'elsewhere', seq, name, salt, value FROM secrets LIMIT 1"
    ),
    "a total": lambda db: db.execute(
        "UPDATE summaries SET body = (SELECT body FROM summaries AS other WHERE kind = 'found' LIMIT 1)"
        " WHERE kind = 'decided/3600'"
    ),
    "a total gone": lambda db: db.execute("DELETE FROM summaries WHERE kind = 'decided/86400'"),
    "a total that cannot be read": lambda db: db.execute(
        "UPDATE summaries SET body = x'FF' WHERE kind = 'through'"
    ),
    "everything after a place rewritten": lambda db: db.execute(
        "UPDATE entries SET body = (SELECT body FROM entries WHERE seq = 3) WHERE seq > 1100"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_several_processes_find_what_one_finds(gate: Gate, file: Path, damage: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        DAMAGES[damage](db)
    assert verify_twice(gate).clean is (damage == "none")


def test_what_entries_say_of_others_is_heard_across_spans(gate: Gate) -> None:
    """Reports of tampering, erased values, other streams and pruned bodies."""
    with gate.store.write() as tx:
        record(tx, events.TamperingFound(finding="planted"))
    erase_value(gate, 309, "note")
    with gate.store.write() as tx:
        for n in range(700):
            record(tx, forged_event("DECIDED", number=n), stream="worker")
    write_entries(gate, 700)
    assert verify_twice(gate).tampering.entries == 1
    prune_audit(gate, 600)
    write_entries(gate, 700)
    verified = verify_twice(gate)
    assert verified.clean, verified.reports
    assert [report.pruned for report in verified.reports] == [599, 0]


def test_entries_written_and_pruned_meanwhile_are_no_fault(gate: Gate) -> None:
    def meanwhile(stream: str, entries: int) -> None:
        if entries == 2 * WIDTH:
            write_entries(gate, 600)
            prune_audit(gate, 1_000)

    verified = verify_audit(gate, progress=meanwhile, processes=THREE)
    assert verified.clean, verified.reports
    assert verified.reports[0].entries > ENTRIES + 600


def test_progress_counts_up_to_the_last_entry(gate: Gate) -> None:
    told: list[int] = []
    verified = verify_audit(gate, progress=lambda _, entries: told.append(entries), processes=THREE)
    assert told == sorted(told)
    assert told[:2] == [WIDTH, 2 * WIDTH]
    assert told[-1] == verified.reports[0].entries


def test_a_store_in_memory_and_a_short_trail_start_no_process(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_BOOT", "this is no Python")
    here = open_gate(compile_policy(), MemoryStore(), key=make_key("test"))
    write_entries(here)
    assert verify_audit(here, processes=THREE).clean
    monkeypatch.setattr(workers, "FEWEST_SPANS", 50)
    assert verify_audit(gate, processes=THREE).clean


@pytest.mark.parametrize(
    "boot",
    [
        "import sys; sys.exit(0)",
        "import sys; sys.stdin.buffer.readline(); sys.stdin.buffer.read(100); sys.exit(0)",
        "import os; os.kill(os.getpid(), 9)",
        "import sys; sys.stdout.buffer.write(bytes(8)); sys.stdout.flush(); sys.stdin.read()",
        "import sys; sys.stdout.buffer.write(bytes(7) + bytes([200, 1])); sys.exit(0)",
    ],
)
def test_a_process_that_ends_or_talks_nonsense_never_makes_a_clean_trail(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, boot: str
) -> None:
    monkeypatch.setattr(workers, "_BOOT", boot)
    monkeypatch.setattr(workers, "AHEAD", 1)
    monkeypatch.setattr(workers, "check_span", _nothing_done_here)
    with pytest.raises(workers.VerifyFailed, match="ended early"):
        verify_audit(gate, processes=THREE)


def _nothing_done_here(*_: object) -> None:
    return None


def test_a_process_checks_the_summaries_meanwhile(
    gate: Gate, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        DAMAGES["a total"](db)
    monkeypatch.setattr(workers, "check_summaries", _nothing_done_here)
    (finding,) = verify_audit(gate, processes=2).reports[0].findings
    assert finding.text == words.wrong_summaries(MAIN)


def test_an_error_in_a_process_fails_the_verification(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    place = find_reader_place(gate.store)
    assert place is not None
    other = msgspec.structs.replace(place, identity=(1, 1))
    monkeypatch.setattr(workers, "find_reader_place", lambda _: other)
    monkeypatch.setattr(workers, "check_span", _nothing_done_here)
    with pytest.raises(workers.VerifyFailed, match="was replaced"):
        verify_audit(gate, processes=THREE)


def test_an_interrupted_verification_leaves_no_process_behind(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def watch(*given: object, **named: object) -> subprocess.Popen[bytes]:
        started.append(start(*given, **named))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", watch)

    def interrupt(stream: str, entries: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify_audit(gate, progress=interrupt, processes=THREE)
    assert len(started) == THREE - 1
    assert all(process.poll() is not None for process in started)


def test_a_program_that_verifies_is_not_run_again_by_its_processes(gate: Gate, file: Path) -> None:
    program = file.parent / "program.py"
    program.write_text(
        dedent(f"""
        import sys
        sys.path[:] = {sys.path!r}
        from sayso.gate.audit.verifying import workers
        workers.SPAN, workers.FEWEST_SPANS = {WIDTH}, 1
        from sayso.gate.audit.verifying.verify import verify_audit
        from sayso.gate.open import audit_gate
        from sayso.gate.rows.keys import make_key
        from sayso.store.sqlite.store import SqliteStore
        print("begun")
        gate = audit_gate(SqliteStore({str(file)!r}), make_key("test"))
        print(verify_audit(gate, rows=False, processes=3).reports[0].entries)
        """)
    )
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["begun", str(verify_audit(gate).reports[0].entries)]


def test_processes_only_read(gate: Gate, file: Path) -> None:
    place = find_reader_place(gate.store)
    assert place is not None
    with closing(open_reader(place)) as reader, reader.read() as tx:
        newest = tx.head(MAIN)
        assert newest is not None
        assert newest.seq > ENTRIES
        with pytest.raises(Exception, match="cannot be written"):
            tx._connection.change("DELETE FROM entries", ())  # type: ignore[attr-defined]  # noqa: SLF001


def test_several_processes_read_postgresql(postgres_server: str) -> None:
    from sayso.store.postgres.store import PostgresStore

    address = new_schema(postgres_server)
    with closing(PostgresStore(address)) as store:
        gate = open_gate(compile_policy(), store, key=make_key("test"))
        write_entries(gate)
        assert verify_twice(gate).clean
        with psycopg.connect(address) as by_hand:
            by_hand.execute("UPDATE entries SET session = 'x' WHERE seq = 600")
        assert verify_twice(gate).found == 2, "the entry, and what was added up of it"

"""What cannot be written down does not run: the entry comes first, whichever way the call is made."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso import Sayso
from sayso.doors.python.calls.results import EndUnrecorded
from sayso.doors.python.workflow import Step
from sayso.gate.open import open_gate
from sayso.policy import load_file
from sayso.store.contract import CallRow, StoreError
from sayso.store.sqlite.store import SqliteStore
from tests.support.gates import KEY
from tests.support.people import Person

FULL = "CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'no room for the audit'); END"


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def gate(policy: Path, tmp_path: Path, ran: list[str]) -> Iterator[Sayso]:
    """A gate in which sending is granted for good."""
    store = SqliteStore(tmp_path / "s.db")
    with Sayso(open_gate(load_file(policy), store, key=KEY), [Person("always")]) as opened:

        @opened.capability()
        @opened.requires_consent("mail.send", risk="moderate", wait=60)
        def send(to: str) -> None:
            ran.append(to)

        @opened.capability("bare")
        def bare() -> None:
            ran.append("bare")

        opened.workflow("day", [Step("only", bare)])
        send("first")
        send("second")
        assert ran == ["first", "second"]
        full(tmp_path / "s.db", FULL)
        yield opened
        full(tmp_path / "s.db", "DROP TRIGGER full")
        assert opened.run("send", {"to": "third"}).ok


def full(path: Path, statement: str) -> None:
    """What a disk without room does to the audit, and to nothing else."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(("name", "params"), [("send", {"to": "x"}), ("bare", {}), ("day", {})])
def test_a_run_whose_entry_cannot_be_written_does_not_run(
    gate: Sayso, ran: list[str], name: str, params: dict[str, str]
) -> None:
    for result in (gate.run(name, params), asyncio.run(gate.arun(name, params))):
        assert result.status == "error"
    assert ran == ["first", "second"]


def test_a_direct_call_whose_entry_cannot_be_written_does_not_run(gate: Sayso, ran: list[str]) -> None:
    @gate.requires_consent("mail.send", risk="moderate")
    def now(to: str) -> None:
        ran.append(to)

    @gate.requires_consent("mail.send", risk="moderate")
    async def later(to: str) -> None:
        ran.append(to)

    with pytest.raises(StoreError):
        now("x")
    with pytest.raises(StoreError):
        asyncio.run(later("x"))
    assert ran == ["first", "second"]


def test_a_click_whose_entry_cannot_be_written_covers_nothing(gate: Sayso, ran: list[str]) -> None:
    with pytest.raises(StoreError), gate.user_initiated("dashboard.send"):
        ran.append("clicked")
    assert ran == ["first", "second"]


def test_a_call_whose_end_cannot_be_written_says_that_it_was_started(
    policy: Path, tmp_path: Path, ran: list[str]
) -> None:
    place = tmp_path / "s.db"
    with Sayso(open_gate(load_file(policy), SqliteStore(place), key=KEY), [Person("always")]) as opened:

        @opened.requires_consent("mail.send", risk="moderate", wait=60)
        def send(to: str) -> None:
            ran.append(to)
            full(place, FULL)

        with pytest.raises(EndUnrecorded, match="was started") as direct:
            send("first")
        full(place, "DROP TRIGGER full")
        result = opened.run("send", {"to": "second"})
        full(place, "DROP TRIGGER full")
        with opened.gate.store.read() as tx:
            calls = {row.id: row.state for row in tx.every(CallRow)}
    assert ran == ["first", "second"]
    assert result.status == "error"
    for text in (str(direct.value), result.reason or ""):
        assert "was started" in text
        assert "nothing was allowed" not in text
    assert set(calls.values()) == {"running"}, "nobody claims to know how they ended"
    assert result.operation_id in calls

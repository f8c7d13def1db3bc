"""What is asked of a process, and what it leaves behind for the others to read."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import SigningKey
from sayso.policy import load_preset
from sayso.store.contract import GrantRow, Reader, Store

KEY = SigningKey("crash", bytes(range(32)))
BEGAN = 1_800_000_000.0
ALL_STATES = (
    "pending", "allowed", "running", "waiting", "succeeded",
    "failed", "ambiguous", "denied", "expired", "cancelled",
)  # fmt: skip


class Job(msgspec.Struct, frozen=True):
    """Live through a script and die at a point of it (0: never), or recover what one that died has left.

    Or take back, as an operator in another process, all that is granted.
    """

    what: Literal["live", "recover", "revoke"]
    script: str
    address: str
    folder: str
    at: int = 0

    def file(self, name: str) -> Path:
        return Path(self.folder) / name


class Point(msgspec.Struct, frozen=True):
    """A boundary: what happens there, how much was committed by then, and which calls had taken effect."""

    name: str
    commits: int
    effects: tuple[int, ...]


class Seen(msgspec.Struct, frozen=True):
    """Everything of a store that does not differ from one run of a script to the next."""

    sessions: tuple[tuple[bool, int], ...] = ()
    questions: tuple[tuple[str, str | None, str | None], ...] = ()
    calls: tuple[tuple[str, int, bytes | None], ...] = ()
    grants: tuple[tuple[str, tuple[str, ...]], ...] = ()
    events: tuple[str, ...] = ()
    checkpoints: int = 0


class Reference(msgspec.Struct, frozen=True):
    """A run of a script that nobody killed: its boundaries, and what each commit left."""

    points: tuple[Point, ...]
    seen: tuple[Seen, ...]


class Recovered(msgspec.Struct, frozen=True):
    """What a fresh process found, and what came of going on from there."""

    found: Seen
    went_on: Seen
    lapsed: int
    ran: tuple[int, ...]
    effects: tuple[int, ...]
    spent_twice: tuple[str, ...]
    verified: bool
    epoch: str | None
    push: str


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> float:
        return self.now


def opened(address: str, clock: Clock) -> Store:
    """The store at this address; PostgreSQL has a clock of its own."""
    if "host=" in address:
        from sayso.store.postgres.store import PostgresStore

        return PostgresStore(address, connections=2)
    from sayso.store.sqlite.store import SqliteStore

    return SqliteStore(address, clock=clock)


def gate_on(store: Store, job: Job) -> Gate:
    return open_gate(load_preset("chat"), store, key=KEY, marks=Path(job.folder))


def look(store: Store) -> Seen:
    with store.read() as tx:
        return _seen(tx)


def _seen(tx: Reader) -> Seen:
    sessions = tx.sessions(open_only=False)
    grants = [grant for session in sessions for grant in tx.grants(session.id)]
    return Seen(
        tuple((row.ended_at is not None, row.spends) for row in sessions),
        tuple((row.state, row.answer, row.by) for row in tx.questions(state=None)),
        tuple((row.state, row.fence, row.result) for row in tx.calls(states=ALL_STATES)),
        tuple((_named(row), tuple(spend.what for spend in tx.spends([row.id]))) for row in grants),
        tuple(row.event for row in tx.entries("main")),
        len(tx.checkpoints(limit=100)),
    )


def _named(row: GrantRow) -> str:
    """A grant by what it is for; the digest of a call is another in every session."""
    return "call" if row.kind == "call" else f"{row.kind} {row.value}"


def effects(job: Job) -> tuple[int, ...]:
    """The numbers of the calls that took effect, in that order, each as often as it did."""
    file = job.file("effects")
    return tuple(int(line) for line in file.read_text("utf-8").split()) if file.exists() else ()


def take_effect(job: Job, number: int) -> None:
    """What a tool does to the world: here, a line in a file."""
    with job.file("effects").open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")

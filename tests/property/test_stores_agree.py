"""Whatever is done with a gate, in whatever order, comes to the same on every store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.policy import load_preset
from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.property.acts import Act, Side
from tests.support.gates import Clock
from tests.support.postgres_place import new_schema
from tests.support.rows import each_row

EVERY = bool(os.environ.get("SAYSO_ALL"))
SEQUENCES, SEQUENCES_ON_POSTGRES = (1_000, 300) if EVERY else (40, 15)
STEPS = 80

KEY = make_key("agree")
POLICY = load_preset("chat")
OFTEN = ("authorize", "authorize", "answer", "answer", "start", "start", "retry", "retry", "end", "hear")
NAMES = (
    *4 * OFTEN, "task", "give", "give", "revoke", "resolve", "open", "revoke all", "end session",
    "ask a lot", "ask a lot", *4 * ("hold", "enter", "release"), *2 * ("park", "unpark"),
)  # fmt: skip
TIMES = (1.0, 29.0, 30.0, 59.0, 61.0, 600.0, 900.0, 7_199.0, 7_200.0, 86_400.0)


def acts(seed: int, names: Sequence[str]) -> Iterator[Act]:
    """A session is opened, and then anything may happen, what leads to consent more often."""
    made = Random(seed)
    yield ("open", 0, 0)
    for _ in range(STEPS):
        yield (made.choice(names), made.randrange(31), made.randrange(31))


def gate_on(store: Store) -> Gate:
    return open_gate(POLICY, store, key=KEY)


@each_row("seed", range(SEQUENCES))
def test_memory_and_sqlite_agree_on_every_step_as_time_goes_by(seed: int) -> None:
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(SqliteStore(Path(folder) / "store.db", clock=clock)) as file,
    ):
        memory, sqlite = Side(gate_on(MemoryStore(clock=clock))), Side(gate_on(file))
        for act in acts(seed, (*NAMES, "pass", "pass", "recover", "recover", "reconcile")):
            if act[0] == "pass":
                clock.now += TIMES[act[1] % len(TIMES)]
            else:
                assert sqlite.do(act) == memory.do(act), act


@pytest.fixture(scope="module")
def postgres(postgres_server: str) -> Iterator[Gate]:
    with closing(PostgresStore(new_schema(postgres_server))) as store:
        yield gate_on(store)


@pytest.mark.parametrize("seed", range(SEQUENCES_ON_POSTGRES))
def test_memory_and_postgres_agree_on_every_step(postgres: Gate, seed: int) -> None:
    memory, server = Side(gate_on(MemoryStore())), Side(postgres)
    for act in acts(seed, NAMES):
        assert server.do(act) == memory.do(act), act

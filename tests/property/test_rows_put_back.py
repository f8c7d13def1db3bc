"""Whatever rows are put back to whatever moment of a random life, nothing that was over comes true again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sayso.gate import call_rows
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.rows.row_seals import Sealer
from tests.property.row_acts import ACTS
from tests.property.row_attacks import Life
from tests.property.row_endings import ENDINGS, POLICY
from tests.support.by_hand import Place, memory_place, postgres_place, sqlite_place
from tests.support.gates import Clock
from tests.support.postgres_place import new_schema

EVERY = bool(os.environ.get("SAYSO_ALL"))
LIVES, LIVES_IN_MEMORY, LIVES_ON_POSTGRES = (1_000, 1_000, 300) if EVERY else (12, 12, 3)
ATTACKS, STEPS = 4, 9
MEMORY = Path("/dev/shm")  # noqa: S108  where there is one, nothing waits for a disk


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


def play(place: Place, seed: int) -> None:
    life = Life(place, seed, ACTS + ENDINGS)
    for _ in range(ATTACKS):
        life.live(STEPS)
        life.attack()


@pytest.mark.parametrize("seed", range(LIVES))
def test_nothing_that_was_over_comes_true_again_on_sqlite(seed: int) -> None:
    with folder() as marks, closing(sqlite_place(marks, Clock(), POLICY)) as place:
        play(place, seed)


@pytest.mark.parametrize("seed", range(LIVES_IN_MEMORY))
def test_nothing_that_was_over_comes_true_again_in_memory(seed: int) -> None:
    with folder() as marks, closing(memory_place(marks, Clock(), POLICY)) as place:
        play(place, seed)


@pytest.mark.parametrize("seed", range(LIVES_ON_POSTGRES))
def test_nothing_that_was_over_comes_true_again_on_postgres(postgres_server: str, seed: int) -> None:
    with folder() as marks, closing(postgres_place(new_schema(postgres_server), marks, POLICY)) as place:
        play(place, seed)


def without_the_mark(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Watermark, "version", lambda self, kind, name, **more: 0)
    patch.setattr(Watermark, "committed_version", lambda self, kind, name: 0)


def without_versions_of_values(patch: pytest.MonkeyPatch) -> None:
    check = Sealer.is_current

    def lax(self: Sealer, kind: str, name: str, version: int, **more: Any) -> bool:
        return kind == "value" or check(self, kind, name, version, **more)

    patch.setattr(Sealer, "is_current", lax)


def without_calls_named_by_sessions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(call_rows, "find_fault", lambda gate, tx, row: None)


def without_missing_reviews(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sealer, "review_times", lambda self, marked, rows: self.reviews(rows))


FAULTS = {
    without_the_mark: 0,
    without_versions_of_values: 1,
    without_calls_named_by_sessions: 61,
    without_missing_reviews: 2,
}
"""Each with the life that noticed it. That one is tried first; if lives have changed, the others are."""


@pytest.mark.parametrize(("fault", "known"), FAULTS.items())
def test_a_gate_that_forgets_one_check_is_found_out(
    fault: object, known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The property can fail: each of these gates lets something come true again."""
    assert callable(fault)
    fault(monkeypatch)
    for seed in (known, *range(120)):
        with folder() as marks, closing(memory_place(marks, Clock(), POLICY)) as place:
            try:
                play(place, seed)
            except AssertionError:
                return
    pytest.fail("nobody noticed")

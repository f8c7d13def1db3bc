"""A gate as programs open it, with a person in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso import Sayso
from sayso.gate.open import open_gate
from sayso.policy import load_file
from tests.support.gates import KEY, Clock, clock, embedded, no_settings
from tests.support.people import Person

__all__ = ["clock", "no_settings"]

POLICY = """
extends: [gateway]
domains:
  tasks: {autonomous: [], requires_approval: [list, create, delete], blocked: [wipe]}
  mail: {autonomous: [], requires_approval: [send], blocked: []}
operations:
  tasks.purge: {always_ask: true}
"""


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def gate(store_kind: str, clock: Clock, person: Person, policy: Path, tmp_path: Path) -> Iterator[Sayso]:
    with (
        embedded(store_kind, tmp_path, clock) as store,
        Sayso(open_gate(load_file(policy), store, key=KEY), [person]) as opened,
    ):
        yield opened

"""Whatever is nested in whatever, granted and revoked meanwhile: each call comes out as the model says."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.property.nesting_draws import programs
from tests.property.nesting_model import Model
from tests.property.nesting_play import Player
from tests.property.nestings import (
    HIGH,
    LOW,
    MODERATE,
    WORLDS,
    Call,
    Click,
    Pause,
    Program,
    Revoke,
    SafeCaller,
    Spawn,
    Stage,
    Start,
    Tool,
)

EXAMPLES, ON_SQLITE = (2_000, 300) if os.environ.get("SAYSO_ALL") else (80, 20)
MOST_ASKED = 60
"""Beyond so many questions an hour everything is denied, which is another matter."""
patient = settings(deadline=None, suppress_health_check=list(HealthCheck))

either_way = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def difference(program: Program, store: Store, *, is_async: bool) -> str | None:
    """Where the gate and the model first disagree, in words; None if they agree on everything."""
    expected = Model(program)
    if expected.asked > MOST_ASKED:
        return None
    player = Player(program, store, is_async=is_async)
    with closing(player.sayso):
        player.play()
        found = player.decisions()
    for number, (real, modelled) in enumerate(zip(found, expected.decisions, strict=False), 1):
        if real != modelled:
            return f"decision {number} is {real}, the model says {modelled}"
    if found != expected.decisions:
        return f"the gate decided {found}, the model {expected.decisions}"
    if player.events != expected.events:
        return f"what happened is {player.events}, the model says {expected.events}"
    return None


@pytest.mark.parametrize("world", WORLDS)
def test_every_call_comes_out_as_the_model_says(world: str) -> None:
    @settings(patient, max_examples=EXAMPLES)
    @given(programs(world))
    def compare(program: Program) -> None:
        for is_async in (False, True):
            found = difference(program, MemoryStore(), is_async=is_async)
            assert found is None, f"{'async' if is_async else 'sync'}: {found}\n{program!r}"

    compare()


NOTE, PAY, RING = Tool("desk.note", MODERATE), Tool("desk.pay", HIGH), Tool("desk.ring", MODERATE)
TASK = Tool("tasks.create", LOW)
FOUND = {
    "a workflow trusted for good starts unasked": Program(
        "desk", (Start(0, "always"), Start(0)), ((Stage(("desk.note",), ()),),)
    ),
    "what was approved as lowered is passed on as lowered": Program(
        "desk", (SafeCaller("desk.pay", MODERATE, (Call(PAY, answer="once", body=(Call(PAY, 1),)),)),)
    ),
    "and not in full once the safe caller is gone": Program(
        "desk",
        (SafeCaller("desk.pay", MODERATE, (Spawn((Call(PAY, 0, "once", (Pause(), Call(PAY, 1))),), 1),)),),
    ),
    "what an individual step leaves behind is not carried by the call around it": Program(
        "desk",
        (Call(NOTE, answer="once", body=(Start(0, "once"),)),),
        ((Stage(("desk.note",), (Spawn((Pause(), Call(RING)), 1),), individual=True),),),
    ),
    "nor is a run inside the step carried by the call around the step": Program(
        "desk",
        (Call(NOTE, answer="once", body=(Start(1, "once"),)),),
        (
            (Stage(("desk.look",), (Call(RING),)),),
            (Stage(("desk.note",), (Start(0, "once"),), individual=True),),
        ),
    ),
    "a lasting answer that is revoked lends nothing to what still runs on it": Program(
        "gateway", (Call(TASK, answer="always", body=(Revoke("tasks.create"), Call(TASK))),)
    ),
    "and takes the unused approval that came with it along": Program(
        "gateway",
        (Start(0), Start(0)),
        (
            (
                Stage(
                    ("tasks.create",),
                    (
                        Click((Revoke("tasks.create"), Call(TASK, 1), Revoke())),
                        Call(TASK, 1, "always"),
                    ),
                ),
            ),
        ),
    ),
}
"""What was wrong once."""


@either_way
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str, is_async: bool) -> None:
    assert difference(FOUND[name], MemoryStore(), is_async=is_async) is None, FOUND[name]


@either_way
def test_it_does_so_on_a_file_too(is_async: bool) -> None:
    @settings(patient, max_examples=ON_SQLITE)
    @given(programs("desk"))
    def compare(program: Program) -> None:
        with tempfile.TemporaryDirectory() as folder:
            found = difference(program, SqliteStore(Path(folder) / "store.db"), is_async=is_async)
        assert found is None, f"{found}\n{program!r}"

    compare()

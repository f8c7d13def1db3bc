"""A process killed with SIGKILL at any boundary of its writes loses nothing, and nothing runs twice."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from tests.crash.jobs import Job, Point, Recovered, Reference, Seen
from tests.crash.nursery import Nursery
from tests.support.postgres_place import new_schema

EVERY = bool(os.environ.get("SAYSO_ALL"))
SCRIPTS = ("asking", "consent", "holding", "looking after")
FEWEST = 10
"""Points for each script, so at least 40 on each database."""

Place = Callable[[str], Job]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Makes a new store for a script, each time it is called."""
    numbers = iter(range(10_000))

    def new(script: str) -> Job:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        if request.param == "sqlite":
            return Job("live", script, str(folder / "store.db"), str(folder))
        return Job("live", script, new_schema(request.getfixturevalue("postgres_server")), str(folder))

    return new


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_process_killed_at_a_write_loses_nothing_and_nothing_runs_twice(
    place: Place, processes: Nursery, script: str
) -> None:
    reference = undisturbed(place(script), processes)
    points = chosen(reference.points)
    assert len(points) >= FEWEST
    for number in points:
        point = reference.points[number - 1]
        expected = reference.seen[point.commits]
        check(point, expected, killed_and_recovered(place(script), processes, number))


def undisturbed(job: Job, processes: Nursery) -> Reference:
    assert processes.run(job) == 0
    return msgspec.json.decode(job.file("reference").read_bytes(), type=Reference)


def chosen(points: Sequence[Point]) -> list[int]:
    """Every point, if everything is asked for. Otherwise those at effects, and one in every transaction:

    by turns after its first write, before its commit, and after it.
    """
    if EVERY:
        return list(range(1, len(points) + 1))
    found = [number for number, point in enumerate(points, 1) if "the effect" in point.name]
    ends = [number for number, point in enumerate(points, 1) if point.name.endswith("after the commit")]
    begins = [1, *(end + 1 for end in ends)]
    for turn, (begin, end) in enumerate(zip(begins, ends, strict=False)):
        found.append((min(begin + 1, end), end - 1, end)[turn % 3])
    return sorted(set(found))


def killed_and_recovered(job: Job, processes: Nursery, at: int) -> Recovered:
    assert processes.run(msgspec.structs.replace(job, at=at)) == -signal.SIGKILL
    assert processes.run(msgspec.structs.replace(job, what="recover")) == 0
    return msgspec.json.decode(job.file("recovered").read_bytes(), type=Recovered)


def check(point: Point, expected: Seen, recovered: Recovered) -> None:
    """All that was committed is there, all else is not; and going on from there repeats nothing."""
    assert recovered.found == expected, point
    assert recovered.spent_twice == (), point
    assert recovered.verified, point
    running = sum(state == "running" for state, _, _ in expected.calls)
    ambiguous = sum(state == "ambiguous" for state, _, _ in expected.calls)
    assert recovered.lapsed == running, point
    after = [state for state, _, _ in recovered.went_on.calls]
    assert after.count("ambiguous") == running + ambiguous, point
    assert "running" not in after, point
    check_effects(point, expected, recovered)
    check_questions(point, expected, recovered)


def check_effects(point: Point, expected: Seen, recovered: Recovered) -> None:
    """Each call took effect once at most, and only one that was still to be approved runs after the death."""
    assert max(Counter(recovered.effects).values(), default=0) <= 1, point
    assert recovered.effects == (*point.effects, *recovered.ran), point
    still = ("pending", "allowed")
    to_run = [number for number, (state, _, _) in enumerate(expected.calls, 1) if state in still]
    assert set(recovered.ran) <= set(to_run), point


def check_questions(point: Point, expected: Seen, recovered: Recovered) -> None:
    """What was open can be answered, once; what was answered stays as it was."""
    before, after = expected.questions, recovered.went_on.questions[: len(expected.questions)]
    for old, new in zip(before, after, strict=True):
        assert new == (("answered", "once", "ben") if old[0] == "open" else old), point

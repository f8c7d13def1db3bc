"""Runs of the judge over a range of seeds: by several processes, in chunks that need not be run again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import msgspec

from tests.shell_judge.court import Court, Report
from tests.shell_judge.generate import make_line
from tests.shell_judge.proofs import prove_recorders

CHUNK = 10_000


class Chunk(msgspec.Struct, frozen=True):
    """A range of seeds that was judged, and the outcome: one line of the file of a run."""

    first: int
    count: int
    report: Report


def judge_seeds(first: int, count: int) -> Report:
    """Judge the lines of these seeds, in a fence that has proved its recorders."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        court = Court(place / "shared", place)
        try:
            prove_recorders(court)
            return court.judge([(seed, make_line(seed)) for seed in range(first, first + count)])
        finally:
            court.close()


def run_seeds(first: int, count: int, jobs: int, progress: Path) -> Iterator[Chunk]:
    """Judge the chunks that the file does not have yet, and write down each; yield all that there are."""
    done = read_progress(progress)
    wanted = [(at, min(CHUNK, first + count - at)) for at in range(first, first + count, CHUNK)]
    yield from (done[one] for one in wanted if one in done)
    with ProcessPoolExecutor(jobs) as pool, progress.open("ab") as file:
        waiting = {pool.submit(judge_seeds, *one): one for one in wanted if one not in done}
        for future in as_completed(waiting):
            chunk = Chunk(*waiting[future], future.result())
            file.write(msgspec.json.encode(chunk) + b"\n")
            file.flush()
            yield chunk


def read_progress(progress: Path) -> dict[tuple[int, int], Chunk]:
    """The chunks of the file. A last line that was cut short does not count."""
    lines = progress.read_bytes().split(b"\n")[:-1] if progress.exists() else []
    chunks = [msgspec.json.decode(line, type=Chunk) for line in lines]
    return {(one.first, one.count): one for one in chunks}

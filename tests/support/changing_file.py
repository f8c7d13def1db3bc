"""A policy file that another process keeps changing, and what it must have said when something was decided.

The process writes random versions: each of three operations is free, asked about or blocked, and some
versions are broken. Both sides note when they did what, by the clock that all processes of a machine share.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

ACTIONS = ("read", "send", "purge")
RANKS = {"allow": 0, "ask": 1, "deny": 2}
TIERS = ("autonomous", "requires_approval", "blocked")
BROKEN = "domains: {mail: {autonomous: [read], sending: ["


class Version(NamedTuple):
    """A version of the file: how strict it is with each action, and when it was there for certain."""

    ranks: dict[str, int]
    since: int
    until: int


class Outcome(NamedTuple):
    """What was decided about an action, and between which moments."""

    action: str
    rank: int
    began: int
    ended: int


def version_text(tiers: Sequence[int], more: str = "") -> str:
    lists = [[name for name, tier in zip(ACTIONS, tiers, strict=True) if tier == each] for each in range(3)]
    said = ", ".join(f"{tier}: [{', '.join(names)}]" for tier, names in zip(TIERS, lists, strict=True))
    return f"domains:\n  mail: {{{said}}}\n{more}"


def write_in_place(file: Path, text: str) -> None:
    fresh = file.with_suffix(".fresh")
    fresh.write_text(text)
    fresh.replace(file)


class ChangingFile:
    """The process that changes the file, so many times whenever it is told to."""

    def __init__(self, file: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def change(self, seed: int, times: int) -> list[Version]:
        """Let it change the file; what it wrote, and when."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{seed} {times}\n")
        self.process.stdin.flush()
        noted = [json.loads(self.process.stdout.readline()) for _ in range(times)]
        ends = [one["began"] for one in noted[1:]] + [time.monotonic_ns()]
        return [Version(one["ranks"], one["ended"], end) for one, end in zip(noted, ends, strict=True)]

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def find_looser(outcomes: Sequence[Outcome], versions: Sequence[Version]) -> list[str]:
    """Every decision that was looser than the file was at that time, or had been when a decision saw it."""
    found = []
    seen_at = {}  # when a decision was made of which we know that it saw this version
    for number, version in enumerate(versions):
        ends = [one.ended for one in outcomes if one.began >= version.since and one.ended <= version.until]
        if ends:
            seen_at[number] = min(ends)
    for one in outcomes:
        there = [v for v in versions if v.since <= one.began and one.ended <= v.until]
        before = [versions[number] for number, at in seen_at.items() if at <= one.began]
        wanted = max((v.ranks.get(one.action, 0) for v in (*there, *before)), default=0)
        if one.rank < wanted:
            found.append(f"{one.action} was {one.rank}, and must be {wanted}")
    return found


def _main(file: Path) -> None:
    for line in sys.stdin:
        seed, times = (int(word) for word in line.split())
        rng = Random(seed)
        for _ in range(times):
            broken = rng.random() < 0.2
            tiers = [rng.choice((0, 0, 0, 1, 1, 2)) for _ in ACTIONS]
            began = time.monotonic_ns()
            if rng.random() < 0.5:
                write_in_place(file, BROKEN if broken else version_text(tiers))
            else:  # what is half written is refused, or as strict as a file without these operations
                file.write_text(BROKEN if broken else version_text(tiers))
            ended = time.monotonic_ns()
            ranks = {} if broken else dict(zip(ACTIONS, tiers, strict=True))
            sys.stdout.write(json.dumps({"ranks": ranks, "began": began, "ended": ended}) + "\n")
            sys.stdout.flush()
            time.sleep(rng.random() / 50)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))

"""`python -m bench.shell`: the shell reading on labelled command lines, and against a bare parse of each.

The lines are those of tests/unit/reading/shell; or, where SAYSO_SHELL_CORPUS names a file of JSON objects
with `cmd`, `expect`, and maybe `strength` and `scope`, those.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML

from bench.measure import Row, Watch
from sayso.core.model import Risk
from sayso.policy.load import load_preset
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import share_budget
from sayso.reading.shell.read import ShellReading, read_line

CORPUS = "SAYSO_SHELL_CORPUS"
TABLE = Path(__file__).parents[1] / "tests/unit/reading/shell/lines.yaml"
ROUNDS = 7
TIMES_PARSE = 6
SETTLED = 2.5
"""Seconds after which a repository's files count as what they were: nobody works in one that is younger."""


class LabelledLine(msgspec.Struct, frozen=True):
    """A command line, and what its source says of it."""

    cmd: str
    expect: str
    strength: str = ""
    scope: str = ""


class Score(msgspec.Struct, frozen=True):
    """How the reading does on labelled lines."""

    safe: int
    low: int
    holes: tuple[str, ...]
    """Lines that must not run unasked, called low."""
    weak: tuple[str, ...]
    """Dangerous lines, not called high."""

    @property
    def share(self) -> float:
        return self.low / self.safe if self.safe else 1.0


def load_lines() -> list[LabelledLine]:
    """The labelled lines that there are: of the file that is named, else of the tests."""
    return load_named_lines() or load_lines_of_tests()


def load_named_lines() -> list[LabelledLine]:
    """The lines of the file that SAYSO_SHELL_CORPUS names; none if it names none."""
    named = os.environ.get(CORPUS)
    lines = Path(named).read_bytes().splitlines() if named else ()
    return [msgspec.json.decode(line, type=LabelledLine) for line in lines]


def load_lines_of_tests() -> list[LabelledLine]:
    """The lines of the tests: many are there because they are odd."""
    table: dict[str, list[str]] = YAML(typ="safe").load(TABLE.read_text())
    kinds = {"low": ("safe", ""), "moderate": ("not_safe", "must"), "high": ("dangerous", "must")}
    return [
        LabelledLine(line, *kinds[risk]) for risk, lines in table.items() if risk in kinds for line in lines
    ]


class ShellBench:
    """Reads lines in a workspace of its own."""

    def __init__(self, folder: Path) -> None:
        home = folder.resolve()
        self.folder = home / "work"
        (self.folder / "src").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.folder)], check=True)  # noqa: S603, S607
        self.where = CallFolders(str(self.folder), str(self.folder), str(home))
        self.policy = load_preset("coding")

    def read(self, line: str) -> ShellReading:
        with share_budget():
            return read_line(line, self.where, self.policy)

    def score(self, lines: list[LabelledLine]) -> Score:
        """Read every line once."""
        safe = low = 0
        holes, weak = [], []
        for one in lines:
            risk = self.read(one.cmd).risk
            if one.expect == "safe" and not one.scope:
                safe += 1
                low += risk is Risk.LOW
            if one.strength == "must" and risk is Risk.LOW:
                holes.append(one.cmd)
            if one.expect == "dangerous" and risk is not Risk.HIGH:
                weak.append(one.cmd)
        return Score(safe, low, tuple(holes), tuple(weak))


class Times(msgspec.Struct, frozen=True):
    """Of each line, the nanoseconds of its reading and of its bare parse: the best of all rounds."""

    read: tuple[int, ...]
    parsed: tuple[int, ...]

    @property
    def total(self) -> float:
        """How many times as long as all parses all readings take."""
        return sum(self.read) / sum(self.parsed)

    @property
    def median(self) -> float:
        """The same of the line in the middle."""
        return statistics.median(ours / theirs for ours, theirs in zip(self.read, self.parsed, strict=True))


def time_lines(lines: list[str], watch: Watch) -> Times:
    """Read and parse every line once a round, in turns. The best time of each line counts, on both sides."""
    from sayso.reading.shell.grammar.parse import open_parser

    parse = open_parser().parse
    with tempfile.TemporaryDirectory() as folder:
        read = ShellBench(Path(folder)).read
        time.sleep(SETTLED)
        rounds = []
        for done in range(ROUNDS + 1):
            rounds.append([(_time(read, line), _time(parse, line.encode())) for line in lines])
            watch("shell reading", done, ROUNDS)
    best = [tuple(map(min, zip(*several, strict=True))) for several in zip(*rounds[1:], strict=True)]
    return Times(tuple(one[0] for one in best), tuple(one[1] for one in best))


def _time(answer: Callable[[Any], object], question: object) -> int:
    began = time.perf_counter_ns()
    answer(question)
    return time.perf_counter_ns() - began


def shell_against_bare_parse(watch: Watch) -> list[Row]:
    """A row for the lines of the tests, and one for those of the file that is named, if one is."""
    rows = [_row("read a command line of the tests", load_lines_of_tests(), watch)]
    named = load_named_lines()
    return [*rows, _row("read a command line of the corpus", named, watch)] if named else rows


def _row(what: str, labelled: list[LabelledLine], watch: Watch) -> Row:
    """Whole readings, looks at the file system and all, against the bare parses of the same lines.

    Both sides are the total over all lines, so that the slow ones count for what they are.
    """
    lines = [one.cmd for one in labelled]
    times = time_lines(lines, watch)
    return Row(
        what,
        "tree-sitter's bare parse of it",
        sum(times.read) / len(lines) / 1e3,
        sum(times.parsed) / len(lines) / 1e3,
        "µs",
        times.total,
        f"≤ {TIMES_PARSE}×",
        times.total <= TIMES_PARSE,
        (0.0, 0.0),
    )


def main() -> int:
    """Print the figures; 1 if a line that must not run unasked is called low, or a dangerous one not high."""
    lines = load_lines()
    with tempfile.TemporaryDirectory() as folder:
        score = ShellBench(Path(folder)).score(lines)
    times = time_lines([one.cmd for one in lines], lambda *_: None)
    told: dict[str, Any] = {
        "lines": len(lines),
        "safe": score.safe,
        "safe called low": f"{score.low} ({score.share:.1%}, aim 95 %)",
        "must not run unasked, called low": list(score.holes),
        "dangerous, not called high": list(score.weak),
        "one line": f"{sum(times.read) / len(lines) / 1e3:.1f} µs, "
        f"bare parse {sum(times.parsed) / len(lines) / 1e3:.1f} µs",
        "all readings against all parses": f"{times.total:.1f}× (aim ≤ 6×)",
        "the line in the middle": f"{times.median:.1f}×",
    }
    print(json.dumps(told, indent=2, ensure_ascii=False))
    return 1 if score.holes or score.weak else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m bench.shell`: the shell reading on labelled command lines, and against a bare parse of each.

The lines are those of tests/unit/reading/shell; or, where SAYSO_SHELL_CORPUS names a file of JSON objects
with `cmd`, `expect`, and maybe `strength` and `scope`, those.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML

from bench.measure import Row, Side, Watch, race
from sayso.core.model import Risk
from sayso.policy.load import load_preset
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import share_budget
from sayso.reading.shell.read import ShellReading, read_line

CORPUS = "SAYSO_SHELL_CORPUS"
TABLE = Path(__file__).parents[1] / "tests/unit/reading/shell/lines.yaml"
ROUNDS = 15


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
    """The labelled lines that there are."""
    named = os.environ.get(CORPUS)
    if named:
        return [
            msgspec.json.decode(line, type=LabelledLine) for line in Path(named).read_bytes().splitlines()
        ]
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


def shell_against_bare_parse(watch: Watch) -> list[Row]:
    """One row: whole readings, looks at the file system and all, against the bare parses of the same lines.

    Both sides are the total over all lines, so that the slow ones count for what they are.
    """
    from sayso.reading.shell.grammar.parse import open_parser

    parser = open_parser()

    lines = [one.cmd for one in load_lines()]
    with tempfile.TemporaryDirectory() as folder:
        bench = ShellBench(Path(folder))
        ran = race(
            "shell reading",
            Side(bench.read, lines),
            Side(parser.parse, [line.encode() for line in lines]),
            ROUNDS,
            watch,
        )
    ratio = ran.left.median / ran.right.median
    return [
        Row(
            "read a command line",
            "tree-sitter's bare parse of it",
            ran.left.median / 1e3,
            ran.right.median / 1e3,
            "µs",
            ratio,
            "≤ 6×",
            ratio <= 6,
            (ran.left.spread, ran.right.spread),
        )
    ]


def main() -> int:
    """Print the figures; 1 if a line that must not run unasked is called low, or a dangerous one not high."""
    lines = load_lines()
    with tempfile.TemporaryDirectory() as folder:
        score = ShellBench(Path(folder)).score(lines)
    row = shell_against_bare_parse(lambda *_: None)[0]
    told: dict[str, Any] = {
        "lines": len(lines),
        "safe": score.safe,
        "safe called low": f"{score.low} ({score.share:.1%}, aim 95 %)",
        "must not run unasked, called low": list(score.holes),
        "dangerous, not called high": list(score.weak),
        "one line": f"{row.ours:.0f} µs, bare parse {row.theirs:.0f} µs, {row.ratio:.1f}× (aim {row.aim})",
    }
    print(json.dumps(told, indent=2, ensure_ascii=False))
    return 1 if score.holes or score.weak else 0


if __name__ == "__main__":
    sys.exit(main())

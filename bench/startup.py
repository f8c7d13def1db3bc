"""How long a command takes to start: the whole process, against an interpreter that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measure import Row, Side, Watch, race

ROUNDS = 15
COMMANDS = {("--help",): (5.7, 0), ("check", "git", "commit", "--preset", "balanced"): (12.3, 3)}
"""How often the time of a bare Python each may take, half of what it was at first; and its exit code."""
NOTHING = (sys.executable, "-I", "-S", "-c", "pass")


def commands_against_bare_python(watch: Watch) -> list[Row]:
    """`sayso --help` and `sayso check`, in a home of their own."""
    with TemporaryDirectory() as home:
        return [_measure(command, *each, Path(home), watch) for command, each in COMMANDS.items()]


def _measure(command: Sequence[str], most: float, code: int, home: Path, watch: Watch) -> Row:
    ours, theirs = _run((sys.executable, "-m", "sayso", *command), home, code), _run(NOTHING, home)
    name = f"sayso {command[0]}"
    result = race(name, ours, theirs, ROUNDS, watch)
    ratio = result.left.median / result.right.median
    return Row(
        what=f"{name}, whole process",
        against="python -I -S -c pass",
        ours=result.left.median / 1e6,
        theirs=result.right.median / 1e6,
        unit=" ms",
        ratio=ratio,
        aim=f"≤ {most:g}×",
        met=ratio <= most,
        spread=(result.left.spread, result.right.spread),
    )


def _run(command: Sequence[str], home: Path, code: int = 0) -> Side:
    environment = os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(_: object) -> None:
        ran = subprocess.run(  # noqa: S603  ourselves
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        if ran.returncode != code:
            raise AssertionError(f"{' '.join(command[1:])} ended with {ran.returncode}, not {code}")

    return Side(run, (None,))

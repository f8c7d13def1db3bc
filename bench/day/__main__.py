"""`python -m bench.day [DAY] [--list PRESET | --all]`: days of a coding agent, and the questions they bring.

`NAME.jsonl` holds what a person writes and what the agent then calls, in the form of a script for `sayso
chat`; `NAME.files.json` holds the workspace. Calls marked `must_ask` are high risk. `want` is what a careful
person wants for the call, `run` or `ask`, written before the day was first measured. The person answers as
widely as is offered: for the task if possible, else once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sayso.core.model import Risk
from sayso.gate.sessions.play import Player
from sayso.policy.load import load_preset

FOLDER = Path(__file__).parent
FIRST = "day"
DAYS = ("web", "data", "embedded", "operations", "mobile")
PRESETS = ("coding", "balanced", "chat", "trusting", "paranoid")
WIDEST_FIRST = ("task", "remember", "always", "once")
SECONDS_BETWEEN_STEPS = 60
PROJECT = {
    ".git/HEAD": "ref: refs/heads/fix-coupon\n",
    ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    "README.md": "# Orders\n",
    "docs/export.md": "CSV\n",
    "pyproject.toml": "[project]\nname = 'orders'\ndependencies = []\n",
    "src/orders/__init__.py": "",
    "src/orders/coupon.py": "USED = []\n",
    "src/orders/total.py": "def total():\n    return total\n",
    "src/web/routes.py": "routes = []\n",
    "src/web/views.py": "def list_orders(): ...\n",
    "tests/test_total.py": "def test_total(): ...\n",
    "web/node_modules/.bin/tsc": "#!/usr/bin/env node\n",
    "web/package.json": "{}\n",
    "web/src/app.js": "for (const row of rows) {}\n",
    "web/src/row.js": "export function renderRow() {}\n",
}
"""The workspace of the first day: readings look at real files."""


class Asked(msgspec.Struct, frozen=True):
    """One question of the day: what was called, and the risk it was asked at."""

    call: str
    risk: Risk
    answer: str
    needless: bool


class Day(msgspec.Struct, frozen=True):
    calls: int
    asked: tuple[Asked, ...]
    denied: tuple[str, ...]
    unasked: tuple[str, ...]
    """Calls marked `must_ask` that ran without a question."""
    missed: tuple[str, ...]
    """Calls that the person wants to be asked about, and that ran without a question."""

    @property
    def needless(self) -> int:
        """The number of questions about calls that the person wants to run."""
        return sum(one.needless for one in self.asked)


def play_day(preset: str, steps: list[dict[str, Any]], workspace: str) -> Day:
    """Play the whole day under this preset, with a person who answers each question."""
    player = Player(load_preset(preset), workspace=workspace, home=str(Path(workspace).parent / "home"))
    asked: list[Asked] = []
    denied: list[str] = []
    unasked: list[str] = []
    missed: list[str] = []
    for step in steps:
        player.step({"advance": SECONDS_BETWEEN_STEPS})
        if "hear" in step:
            player.step({"hear": step["hear"]})
            continue
        told = player.step({"call": step["call"]})
        name = _describe(step["call"])
        if told["verdict"] == "ask":
            answer = next(one for one in WIDEST_FIRST if one in told["offers"])
            asked.append(Asked(name, _risk_of(player), answer, step.get("want") == "run"))
            player.step({"answer": answer})
            told = player.step({"call": step["call"]})
        elif told["verdict"] == "allow":
            unasked += [name] if step.get("must_ask") else []
            missed += [name] if step.get("want") == "ask" else []
        if told["verdict"] == "allow":
            player.step({"outcome": "ok"})
        else:
            denied.append(name)
    calls = sum("call" in step for step in steps)
    return Day(calls, tuple(asked), tuple(denied), tuple(unasked), tuple(missed))


def read_script(day: str = FIRST) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in (FOLDER / f"{day}.jsonl").read_bytes().splitlines()]


def read_project(day: str = FIRST) -> dict[str, str]:
    """Return the files of the workspace of this day, by path."""
    if day == FIRST:
        return PROJECT
    return msgspec.json.decode((FOLDER / f"{day}.files.json").read_bytes(), type=dict[str, str])


@contextmanager
def a_workspace(day: str = FIRST) -> Iterator[str]:
    """A small project on disk. Scripts are executable."""
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve() / ("orders" if day == FIRST else day)
        for name, text in read_project(day).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
            (root / name).chmod(0o755 if text.startswith("#!") else 0o644)
        _make_environments(root)
        yield str(root)


def _make_environments(root: Path) -> None:
    """Make Python's environments as they are in use: a link to Python, and packages."""
    for lock in root.rglob("uv.lock"):
        (lock.parent / ".venv/bin").mkdir(parents=True, exist_ok=True)
        (lock.parent / ".venv/bin/python").touch()
    for python in root.rglob(".venv/bin/python"):
        python.unlink()
        python.symlink_to(sys.executable)
        (python.parents[1] / "pyvenv.cfg").touch()
        (python.parents[1] / "lib/python3/site-packages").mkdir(parents=True, exist_ok=True)


def play_named(day: str, preset: str) -> Day:
    """Play one day in a workspace of its own."""
    with a_workspace(day) as workspace:
        return play_day(preset, read_script(day), workspace)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.day", description=__doc__)
    parser.add_argument("day", nargs="?", choices=(FIRST, *DAYS), default=FIRST)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--list", metavar="PRESET", choices=PRESETS, help="print each question of one preset")
    choice.add_argument("--all", action="store_true", help="the five days with a list, under preset coding")
    options, out = parser.parse_args(), Console()
    if options.list:
        _print_questions(play_named(options.day, options.list), out)
    elif options.all:
        out.print(_table("day", {day: play_named(day, "coding") for day in DAYS}))
    else:
        out.print(_table("preset", {preset: play_named(options.day, preset) for preset in PRESETS}))
    return 0


def _print_questions(day: Day, out: Console) -> None:
    rows = [(one.risk.word, one.answer, "needless" * one.needless, one.call) for one in day.asked]
    rows += [("unasked", "", "missed", call) for call in day.missed]
    rows += [("denied", "", "", call) for call in day.denied]
    for risk, answer, judged, call in rows:
        out.print(f"{risk:<9} {answer:<9} {judged:<9} {call}", highlight=False, markup=False)


def _table(by: str, days: dict[str, Day]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="Questions in a day of work")
    heads = ("calls", "questions", "high", "needless", "missed", "high unasked", "not run")
    table.add_column(by, no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right")
    for name, day in days.items():
        high = sum(one.risk is Risk.HIGH for one in day.asked)
        few = (day.calls, len(day.asked), high, day.needless)
        rest = (day.missed, day.unasked, day.denied)
        table.add_row(name, *map(str, few), *(str(len(calls)) for calls in rest))
    return table


def _risk_of(player: Player) -> Risk:
    return (
        max((item.risk for item in player.question.items), default=Risk.HIGH)
        if player.question
        else Risk.HIGH
    )


def _describe(call: dict[str, Any]) -> str:
    told = (call["args"][key] for key in ("command", "file_path", "pattern") if key in call["args"])
    return f"{call['tool']} {next(told, '')}"


if __name__ == "__main__":
    raise SystemExit(main())

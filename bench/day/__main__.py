"""`python -m bench.day [--list PRESET]`: a day of a coding agent, and how many questions each preset asks.

`day.jsonl` holds what a person writes and what the agent then calls, 120 calls of a real kind, in the form of
a script for `sayso chat`. Calls marked `must_ask` are high risk. The person answers as widely as is offered:
for the task if possible, else once.
"""

from __future__ import annotations

import argparse
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

SCRIPT = Path(__file__).with_name("day.jsonl")
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
"""The workspace: readings look at real files."""


class Asked(msgspec.Struct, frozen=True):
    """One question of the day: what was called, and the risk it was asked at."""

    call: str
    risk: Risk
    answer: str


class Day(msgspec.Struct, frozen=True):
    calls: int
    asked: tuple[Asked, ...]
    denied: tuple[str, ...]
    unasked: tuple[str, ...]
    """Calls marked `must_ask` that ran without a question."""


def play_day(preset: str, steps: list[dict[str, Any]], workspace: str) -> Day:
    """Play the whole day under this preset, with a person who answers each question."""
    player = Player(load_preset(preset), workspace=workspace, home=str(Path(workspace).parent / "home"))
    asked: list[Asked] = []
    denied: list[str] = []
    unasked: list[str] = []
    for step in steps:
        player.step({"advance": SECONDS_BETWEEN_STEPS})
        if "hear" in step:
            player.step({"hear": step["hear"]})
            continue
        told = player.step({"call": step["call"]})
        name = _describe(step["call"])
        if told["verdict"] == "ask":
            answer = next(one for one in WIDEST_FIRST if one in told["offers"])
            asked.append(Asked(name, _risk_of(player), answer))
            player.step({"answer": answer})
            told = player.step({"call": step["call"]})
        elif step.get("must_ask"):
            unasked.append(name)
        if told["verdict"] == "allow":
            player.step({"outcome": "ok"})
        else:
            denied.append(name)
    return Day(sum("call" in step for step in steps), tuple(asked), tuple(denied), tuple(unasked))


def read_script() -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in SCRIPT.read_bytes().splitlines()]


@contextmanager
def a_workspace() -> Iterator[str]:
    """A small project on disk."""
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "orders"
        for name, text in PROJECT.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        yield str(root)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.day", description=__doc__)
    parser.add_argument("--list", metavar="PRESET", choices=PRESETS, help="print each question of one preset")
    options = parser.parse_args()
    steps, out = read_script(), Console()
    with a_workspace() as workspace:
        if options.list:
            for one in play_day(options.list, steps, workspace).asked:
                out.print(f"{one.risk.word:<9} {one.answer:<9} {one.call}", highlight=False, markup=False)
            return 0
        days = {preset: play_day(preset, steps, workspace) for preset in PRESETS}
    out.print(_table(days))
    return 0


def _table(days: dict[str, Day]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="Questions in a day of work")
    for head in ("preset", "calls", "questions", "of these high risk", "high risk unasked", "not run"):
        table.add_column(head, justify="left" if head == "preset" else "right")
    for preset, day in days.items():
        high = sum(one.risk is Risk.HIGH for one in day.asked)
        figures = (day.calls, len(day.asked), high, len(day.unasked), len(day.denied))
        table.add_row(preset, *map(str, figures))
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

"""The figures as bars in a terminal, 80 columns wide. Names are the agents' own text, shown as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from sayso.core.words import visible

if TYPE_CHECKING:
    from sayso.gate.figures.charts import Charts, Tally

WIDTH, NAME = 30, 24
MOST_HOURS, MOST_NAMES = 24, 8
ASKED, AVOIDED = "█", "░"


def chart_lines(charts: Charts) -> list[str]:
    """Bars of questions asked and avoided: by hour, by agent, by category."""
    if not charts.hours:
        return []
    return [
        "",
        f"{ASKED} asked  {AVOIDED} avoided by earlier answers",
        *_bars("By hour", charts.hours[-MOST_HOURS:], _format_hour),
        *_named_bars("By agent", charts.agents),
        *_named_bars("By category", charts.categories),
    ]


def _named_bars(title: str, tallies: tuple[Tally, ...]) -> Iterator[str]:
    """The longest bars. A name that nobody was asked about, and that spared no question, has none."""
    drawn = [one for one in tallies if one.prompts or one.avoided]
    drawn.sort(key=lambda one: -(one.prompts + one.avoided))
    if drawn:
        yield from _bars(title, tuple(drawn[:MOST_NAMES]), _format_name)
    if len(drawn) > MOST_NAMES:
        yield f"  and {len(drawn) - MOST_NAMES:,} more (--json lists all)"


def _bars(title: str, tallies: tuple[Tally, ...], name: Callable[[str], str]) -> Iterator[str]:
    most = max((one.prompts + one.avoided for one in tallies), default=0)
    yield f"{title}:"
    for one in tallies:
        asked = _scale(one.prompts, most)
        bar = ASKED * asked + AVOIDED * (_scale(one.prompts + one.avoided, most) - asked)
        yield f"  {name(one.name):<{NAME}} {bar:<{WIDTH}} {one.prompts:,} / {one.avoided:,}"


def _scale(number: int, most: int) -> int:
    """Return the length of a bar: at least one sign for what is not nothing."""
    return 0 if not number else max(1, round(number * WIDTH / most))


def _format_name(name: str) -> str:
    shown = visible(name, NAME) or "(none)"
    return shown if len(shown) <= NAME else f"{shown[: NAME - 1]}…"


def _format_hour(name: str) -> str:
    return datetime.fromtimestamp(float(name)).astimezone().strftime("%Y-%m-%d %H:00")

"""What `python -m bench --scale` measured, as a table and as bars for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.series import STORES, Measured, Point, Series

WIDTH = 80
BAR = 15
LABEL = 19
EIGHTHS = " ▏▎▍▌▋▊▉█"

TITLES: dict[Series, str] = {
    "agents": "More agents, on one service",
    "services": "More services on one store, with the same agents",
    "history": "A longer history in the store, with the same agents",
    "registered": "Many agents registered, some of them at work",
}
UNITS: dict[Series, str] = {
    "agents": "agents",
    "services": "services",
    "history": "entries",
    "registered": "registered",
}


def draw_bar(value: float, most: float, width: int = BAR) -> str:
    """A bar of up to `width` characters; what is not nothing is at least an eighth of one."""
    eighths = round(value / most * width * 8) if most > 0 else 0
    full, part = divmod(max(eighths, 1 if value > 0 else 0), 8)
    return ("█" * full + EIGHTHS[part].strip()).ljust(width)


def draw_charts(measured: Measured) -> list[str]:
    """The lines of all charts, one chart a series."""
    lines: list[str] = []
    for series in TITLES:
        points = [point for point in measured.points if point.series == series]
        if points:
            lines += [*_draw_series(series, points), ""]
    return lines


def _draw_series(series: Series, points: Sequence[Point]) -> list[str]:
    most_calls = max(point.figures.per_second for point in points)
    most_wait = max(point.figures.p99 for point in points)
    lines = [TITLES[series], f"{'':{11 + LABEL}}{'calls a second':{BAR + 9}}99 in 100 calls end within"]
    for store in STORES:
        named: str = store
        for point in points:
            if point.store == store:
                figures = point.figures
                label = f"{point.value:,} {_unit(series, point.value)}"
                calls = f"{draw_bar(figures.per_second, most_calls)} {figures.per_second:>6,.0f}"
                wait = f"{draw_bar(figures.p99, most_wait)} {figures.p99 * 1e3:>6,.0f} ms"
                lines.append(f"{named:11}{label:>{LABEL - 1}} {calls}  {wait}")
                named = ""
    return lines


def _unit(series: Series, value: int) -> str:
    unit = UNITS[series]
    return unit[:-1] if value == 1 and unit.endswith("s") else unit


def scale_table(measured: Measured) -> Table:
    headings = ("store", "agents", "of", "services", "history", "calls/s", "p50", "p99", "CPU", "memory")
    table = Table(box=SIMPLE_HEAD, padding=0, title=f"{measured.seconds:g} s each")
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=True, justify="right" if number else "left")
    for point in measured.points:
        figures = point.figures
        table.add_row(
            point.store,
            f"{figures.agents:,}",
            f"{max(point.registered, figures.agents):,}",
            f"{figures.services}",
            f"{point.history:,}",
            f"{figures.per_second:,.0f}",
            f"{figures.p50 * 1e3:,.0f}",
            f"{figures.p99 * 1e3:,.0f}",
            f"{figures.cpu * 1e3:.1f}",
            f"{figures.memory:.0f}",
        )
    table.caption = (
        "of: agents registered. history: entries before. p50, p99 and the services' CPU for a call in ms; "
        "memory of the largest service in MB"
    )
    return table

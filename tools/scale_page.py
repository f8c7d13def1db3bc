"""`python -m tools.scale_page [--check]`: write the chart and the table of docs/scale.md, or check them.

Both are made of docs/scale.json, which `make bench ARGS='--scale --save'` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import msgspec

from bench.series import STORES, Measured, Point, Series

DOCS = Path(__file__).parents[1] / "docs"
DATA, CHART, PAGE = DOCS / "scale.json", DOCS / "scale.svg", DOCS / "scale.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
EVERY = 5
"""An agent that is busy makes a call every so many seconds."""


def save_measured(measured: Measured) -> None:
    """Keep the figures, and draw the chart and the table again."""
    DATA.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=2) + b"\n")
    for path, text in make_files(measured).items():
        path.write_text(text, encoding="utf-8")


def make_files(measured: Measured) -> dict[Path, str]:
    """Return what the chart and the page must hold."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    told = f"{before}{BEGIN}\n{describe_measured(measured)}\n{END}{after}"
    return {CHART: draw_chart(measured), PAGE: told}


def find_stale() -> list[str]:
    """Return the files that are not what the figures say."""
    measured = msgspec.json.decode(DATA.read_bytes(), type=Measured)
    return [
        path.name
        for path, text in make_files(measured).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


# --- the page ---


def describe_measured(measured: Measured) -> str:
    """When and where it was measured, and a table."""
    machine = measured.machine
    where = (
        f"Measured on {measured.date}: {machine['processors']} processors for services, database and agents "
        f"together, {machine['system']}, {machine['python']}, PostgreSQL {machine['PostgreSQL']}, "
        f"load {machine['load before']} before it began, {measured.seconds:g} seconds each."
    )
    lines = [
        where,
        "",
        "| store | agents | of | services | history | calls/s | p50 | p99 | CPU | memory | carries |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for point in measured.points:
        figures = point.figures
        cells = (
            point.store,
            f"{figures.agents:,}",
            f"{max(point.registered, figures.agents):,}",
            str(figures.services),
            f"{point.history:,}",
            f"{figures.per_second:,.0f}",
            f"{figures.p50 * 1e3:,.0f} ms",
            f"{figures.p99 * 1e3:,.0f} ms",
            f"{figures.cpu * 1e3:.1f} ms",
            f"{figures.memory:.0f} MB",
            f"{figures.per_second * EVERY:,.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


# --- the chart ---

PANEL_WIDTH, PANEL_HEIGHT, MARGIN, TOP, GAP = 300, 150, 24, 70, 62
ROWS: dict[Series, str] = {
    "agents": "By the number of agents, on one service",
    "services": "By the number of services, with {crew} agents",
    "history": "By the entries in the store, with {crew} agents",
}
COLUMNS = ("calls a second", "p99 in ms (99 in 100 calls are quicker)")
STYLE = """
    .paper { fill: #ffffff } .ink { fill: #1f2328 } .faint { fill: #59636e } .line { stroke: #d1d9e0 }
    .SQLite { fill: #0969da } .PostgreSQL { fill: #bc4c00 }
    text { font: 14px system-ui, sans-serif } .title { font-weight: 600 } .value { font-size: 10.5px }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #9198a1 } .line { stroke: #3d444d }
      .SQLite { fill: #4493f8 } .PostgreSQL { fill: #f0883e }
    }"""


def draw_chart(measured: Measured) -> str:
    """Draw six small charts: calls a second and p99 against agents, services and history.

    Two beside each other, and no more, so that they can be read on a phone.
    """
    width = MARGIN + len(COLUMNS) * (PANEL_WIDTH + MARGIN)
    height = TOP + len(ROWS) * (PANEL_HEIGHT + GAP) - 10
    crew = next((p.figures.agents for p in measured.points if p.series == "services"), 0)
    machine = f"{measured.machine['processors']} processors for everything"
    body = [
        f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
        _text(MARGIN, 26, "What one machine carries", "ink title"),
        _text(MARGIN, 46, f"{machine}, {measured.machine['python']}, {measured.date}", "faint"),
    ]
    for number, store in enumerate(STORES):
        x = width - 200 + number * 85
        body += [
            f'<rect class="{store}" x="{x}" y="15" width="12" height="12"/>',
            _text(x + 17, 26, store, "ink"),
        ]
    for row, (series, title) in enumerate(ROWS.items()):
        top = TOP + row * (PANEL_HEIGHT + GAP)
        points = [point for point in measured.points if point.series == series]
        body.append(_text(MARGIN, top + 10, title.format(crew=crew), "ink title"))
        for column, what in enumerate(COLUMNS):
            left = MARGIN + column * (PANEL_WIDTH + MARGIN)
            body.append(_text(left, top + 30, what, "faint"))
            body += _draw_panel(points, left, top + 38, quick=column == 0)
    lines = "\n  ".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="Calls a second and p99 against agents, services and history">\n'
        f"  <style>{STYLE}\n  </style>\n  {lines}\n</svg>\n"
    )


def _draw_panel(points: Sequence[Point], left: int, top: int, *, quick: bool) -> list[str]:
    """One small chart: a group of bars for each value, a bar for each store."""
    values = sorted({point.value for point in points})
    if not values:
        return []
    figures = {(p.value, p.store): p.figures.per_second if quick else p.figures.p99 * 1e3 for p in points}
    most = max(figures.values())
    group = PANEL_WIDTH / len(values)
    bar = min(34.0, (group - 12) / len(STORES))
    foot = top + PANEL_HEIGHT - 20
    drawn = [f'<line class="line" x1="{left}" y1="{foot}" x2="{left + PANEL_WIDTH}" y2="{foot}"/>']
    for n, value in enumerate(values):
        middle = left + group * (n + 0.5)
        drawn.append(_text(middle, foot + 15, f"{value:,}", "faint", centred=True))
        for m, store in enumerate(STORES):
            figure = figures.get((value, store))
            if figure is not None:
                x = middle + (m - len(STORES) / 2) * bar
                tall = max(1.0, (PANEL_HEIGHT - 40) * figure / most)
                place = f'x="{x + 1:.1f}" y="{foot - tall:.1f}" width="{bar - 2:.1f}" height="{tall:.1f}"'
                drawn += [
                    f'<rect class="{store}" {place}/>',
                    _text(x + bar / 2, foot - tall - 4, f"{figure:,.0f}", "ink value", centred=True),
                ]
    return drawn


def _text(x: float, y: float, words: str, kind: str, *, centred: bool = False) -> str:
    anchor = ' text-anchor="middle"' if centred else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(words)}</text>'


def main() -> int:
    """0 if the chart and the table are current, or are now."""
    if "--check" not in sys.argv[1:]:
        save_measured(msgspec.json.decode(DATA.read_bytes(), type=Measured))
        return 0
    stale = find_stale()
    if stale:
        sys.stderr.write(
            f"not what the figures say: {', '.join(stale)}; `python -m tools.scale_page` writes them\n"
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

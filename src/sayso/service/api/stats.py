"""The figures: how much is asked, and whether that is worth it; with what charts are drawn from."""

from __future__ import annotations

import msgspec

from sayso.core.durations import ALL_TIME, DAY
from sayso.gate.figures.charts import Charts, compute_figures_and_charts
from sayso.gate.figures.figures import Figures
from sayso.gate.figures.totals import start_of_hour
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint

WEEK = 7 * DAY


class StatsView(msgspec.Struct, frozen=True):
    since: float
    figures: Figures
    charts: Charts


def get_stats(context: Context) -> StatsView:
    """The figures of the last seconds, a week unless told, from the beginning of an hour."""
    seconds = context.number("seconds", WEEK, 0, ALL_TIME)
    with context.gate.store.read() as tx:
        since = start_of_hour(max(tx.now - seconds, 0.0))
    return StatsView(since, *compute_figures_and_charts(context.gate, since=since))


LISTING = {"seconds": "How far to look back, to the beginning of that hour; a week unless told."}
ENDPOINTS = (
    Endpoint("GET", "/v1/stats", OPERATORS, "Get the figures", get_stats, result=StatsView, query=LISTING),
)

"""For those who look after the service: whether it lives, its counters, and what it can be asked."""

from __future__ import annotations

from starlette.responses import Response

from sayso.service.http.endpoints import OPERATORS, Context, Endpoint
from sayso.service.live.metrics import VERSION


def get_health(context: Context) -> Response:
    return Response("ok", media_type="text/plain")


def get_metrics(context: Context) -> Response:
    """Counters in the text format of Prometheus."""
    running = context.running
    running.trail.catch_up()
    with context.gate.store.read() as tx:
        open_now = tx.count_open()
    gauges = {
        "sayso_open_questions": ("Questions that are open.", float(open_now)),
        "sayso_waiting_callers": ("Callers that wait for an answer.", float(running.asker.waiting)),
        "sayso_open_waits": ("Waits and event streams that are open.", float(running.limits.waits)),
    }
    return Response(running.metrics.text(gauges), headers={"Content-Type": VERSION})


HEALTH = Endpoint(
    "GET", "/healthz", frozenset(), "Check that the service is up", get_health, media="text/plain"
)
METRICS = Endpoint("GET", "/metrics", OPERATORS, "Get the metrics", get_metrics, media="text/plain")
ENDPOINTS = (HEALTH, METRICS)

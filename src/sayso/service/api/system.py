"""For those who look after the service: whether it lives, its counters, and what it can be asked."""

from __future__ import annotations

from starlette.responses import Response

from sayso.service.http.endpoints import OPERATORS, Context, Endpoint
from sayso.service.http.problems import RequestRefused
from sayso.service.live.metrics import VERSION
from sayso.store.contract import StoreError

CLOSED = "the store was closed, because it cannot be relied on any more: nothing is allowed"
CLOSED_HINT = (
    "put the store's file back if it was moved or replaced; otherwise look for a full or failing disk, then "
    "restart the service: `sayso serve --restart`; its log says more"
)
UNWRITABLE = "the store cannot be written: nothing is allowed"
UNWRITABLE_HINT = (
    "make room on its disk, or see that it may be written and its server runs: the service then goes on by "
    "itself; its log says more"
)


def get_health(context: Context) -> Response:
    """Whether calls can be decided: `ok`, or a problem with the store. Strangers are told no more of it."""
    fault = context.gate.store.fault
    if fault is not None:
        what, hint = (CLOSED, CLOSED_HINT) if fault.closed else (UNWRITABLE, UNWRITABLE_HINT)
        raise RequestRefused(503, StoreError.code, what, hint=hint)
    return Response("ok", media_type="text/plain")


def get_metrics(context: Context) -> Response:
    """Counters in the text format of Prometheus. What a store that fails cannot say is left out."""
    running, store = context.running, context.gate.store
    gauges = {
        "sayso_waiting_callers": ("Callers that wait for an answer.", float(running.asker.waiting)),
        "sayso_open_waits": ("Waits and event streams that are open.", float(running.limits.waits)),
    }
    try:
        running.trail.catch_up()
        with store.read() as tx:
            gauges["sayso_open_questions"] = ("Questions that are open.", float(tx.count_open()))
    except StoreError:
        if store.fault is None:
            raise
    gauges["sayso_store_writable"] = ("Whether the store can be written.", float(store.fault is None))
    return Response(running.metrics.text(gauges), headers={"Content-Type": VERSION})


HEALTH = Endpoint(
    "GET", "/healthz", frozenset(), "Check that the service can do its work", get_health, media="text/plain"
)
METRICS = Endpoint("GET", "/metrics", OPERATORS, "Get the metrics", get_metrics, media="text/plain")
ENDPOINTS = (HEALTH, METRICS)

"""Workflow runs: how far each has come."""

from __future__ import annotations

from typing import Any

from sayso.gate.ledger.rows import UnknownCall
from sayso.gate.ledger.workflows import Progress, list_runs, run_progress
from sayso.service.http.callers import sees, sessions_seen
from sayso.service.http.endpoints import ANY, Context, Endpoint


def list_all(context: Context) -> list[Progress]:
    """Every run that is not over, oldest first; of hosts and agents, their own."""
    seen = sessions_seen(context, context.query.get("session"))
    return [one for one in list_runs(context.gate) if seen is None or one.session in seen]


def look(context: Context) -> Progress:
    name = context.parameters["run"]
    found = run_progress(context.gate, name)
    if not sees(context, found.session):
        raise UnknownCall(f"{name} is no run of a workflow")
    return found


ALL: Any = list[Progress]
IN_SESSION = {"session": "Only those of this session."}
ENDPOINTS = (
    Endpoint("GET", "/v1/runs", ANY, "Workflow runs under way", list_all, result=ALL, query=IN_SESSION),
    Endpoint("GET", "/v1/runs/{run}", ANY, "How far a run has come", look, result=Progress),
)

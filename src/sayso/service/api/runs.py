"""Workflow runs: how far each has come."""

from __future__ import annotations

from typing import Any

from sayso.gate.call_rows import UnknownCall
from sayso.gate.ledger.workflows import RunProgress, list_workflow_runs, load_run_progress
from sayso.service.http.callers import can_see, visible_sessions
from sayso.service.http.endpoints import ANY, Context, Endpoint


def list_all_runs(context: Context) -> list[RunProgress]:
    """Every run that is not over, oldest first; of hosts and agents, their own."""
    seen = visible_sessions(context, context.query.get("session"))
    return [one for one in list_workflow_runs(context.gate) if seen is None or one.session in seen]


def get_run(context: Context) -> RunProgress:
    name = context.parameters["run"]
    found = load_run_progress(context.gate, name)
    if not can_see(context, found.session):
        raise UnknownCall(f"{name} is not a run of a workflow")
    return found


ALL: Any = list[RunProgress]
IN_SESSION = {"session": "Only those of this session."}
ENDPOINTS = (
    Endpoint(
        "GET", "/v1/runs", ANY, "List workflow runs under way", list_all_runs, result=ALL, query=IN_SESSION
    ),
    Endpoint("GET", "/v1/runs/{run}", ANY, "Get the progress of a run", get_run, result=RunProgress),
)

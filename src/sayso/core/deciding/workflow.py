"""Workflow runs: what a run that was allowed to start may carry."""

from __future__ import annotations

from sayso.core.decision import Decision, operations_of
from sayso.core.durations import DAY
from sayso.core.grants import Grant, Pins
from sayso.core.model import Request, Risk
from sayso.core.policy import Policy
from sayso.core.session import Session
from sayso.core.session.numbering import new_grant


def run_source(workflow: str) -> str:
    """Return the source that run grants name."""
    return f"workflow:{workflow}"


def run_grant(
    run: str, request: Request, decision: Decision, policy: Policy, session: Session, now: float
) -> Grant:
    """The grant of one run: for the operations it declares, up to the weight it started with, never high.

    It ends with the run, and after a day at the latest. A run without anything above low carries only low.
    """
    carried = [item for item in decision.items if item.weight < Risk.HIGH]
    grant = Grant(
        id="",
        kind="run",
        value=run,
        risk=max((item.weight for item in carried), default=Risk.LOW),
        expires_at=now + DAY,
        session=session.id,
        pins=Pins(operations=operations_of(carried)),
        ends_with="run",
        bound_to=run,
        source=run_source(request.workflow or ""),
        given_by="workflow start",
    )
    return new_grant(grant, session, policy, now)

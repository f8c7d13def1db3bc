"""Checking without a store: a program that only asks for a decision needs nothing else of the gate."""

from __future__ import annotations

import msgspec

from sayso.core.deciding.decide import Trace, explain
from sayso.core.deciding.offers import with_offers
from sayso.core.decision import Decision
from sayso.core.model import Request
from sayso.core.policy import Policy
from sayso.core.session import Session, View
from sayso.gate.deciding.request import just_reviewed


class CheckResult(msgspec.Struct, frozen=True):
    """A decision without effects, with its offers and every check on the way."""

    decision: Decision
    traces: tuple[Trace, ...]


def check_alone(request: Request, policy: Policy, now: float) -> CheckResult:
    """Decide without a store: as just reviewed, with somewhere for notices to go, and nothing granted."""
    return decide_and_trace(
        request, policy, View(Session(), reviews=just_reviewed(policy, now), notices=True), now
    )


def decide_and_trace(request: Request, policy: Policy, view: View, now: float) -> CheckResult:
    """Decide in this view, and list every check on the way."""
    decision, traces = explain(request, policy, view, now)
    return CheckResult(with_offers(decision, request, policy, view, now), traces)

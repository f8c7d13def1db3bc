"""Asking a policy what it would decide without a store: nothing granted, just reviewed, notices possible."""

from __future__ import annotations

from sayso.core.deciding.decide import decide
from sayso.core.decision import Decision
from sayso.core.model import Call, Operation, Origin, Request
from sayso.core.policy import Policy
from sayso.core.session import Session, View

PROBE = "probe"
"""The tool and command of the call that is asked about; it never runs."""


def probe(
    policy: Policy,
    operation: str | Operation,
    *,
    confidence: float = 0.0,
    origin: Origin = Origin.AGENT,
    view: View | None = None,
    now: float = 0.0,
) -> Decision:
    """Decide one operation by the policy. Without a view, it counts as just reviewed."""
    one = Operation(operation) if isinstance(operation, str) else operation
    request = make_probe(one, confidence, origin)
    return decide(request, policy, view if view is not None else view_with_reviews(policy, now), now)


def make_probe(operation: Operation, confidence: float, origin: Origin) -> Request:
    """Make the request that asks about this operation."""
    return Request(
        call=Call(tool=PROBE, command=PROBE),
        operations=(operation,),
        digest=PROBE,
        arguments_digest=PROBE,
        origin=origin,
        confidence=confidence,
    )


def view_with_reviews(policy: Policy, now: float, session: Session | None = None) -> View:
    """A view in which every domain was reviewed right now."""
    return View(session or Session(), reviews=dict.fromkeys(policy.domains, now), notices=True)

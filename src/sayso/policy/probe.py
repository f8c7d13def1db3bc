"""Asking a policy what it would decide without a store: nothing granted, just reviewed, notices possible."""

from __future__ import annotations

import msgspec

from sayso.core.decide import decide
from sayso.core.decision import Decision
from sayso.core.model import Call, Operation, Origin, Request
from sayso.core.policy import Policy
from sayso.core.session import Session, View


def probe(
    policy: Policy,
    operation: str | Operation,
    *,
    confidence: float = 0.0,
    origin: Origin = Origin.AGENT,
    view: View | None = None,
    now: float = 0.0,
) -> Decision:
    """What the policy decides of one operation. Without a view, it is taken as just reviewed."""
    one = Operation(operation) if isinstance(operation, str) else operation
    request = Request(
        call=Call(tool="probe", command="probe"),
        operations=(one,),
        digest="probe",
        arguments_digest="probe",
        origin=origin,
        confidence=confidence,
    )
    return decide(request, policy, view if view is not None else reviewed_view(policy, now), now)


def reviewed_view(policy: Policy, now: float, session: Session | None = None) -> View:
    """A view in which every domain was reviewed right now."""
    return View(session or Session(), reviews=dict.fromkeys(policy.domains, now), notices=True)


def with_reviews(view: View, domain: str, reviewed: float | None) -> View:
    """The same view with one domain reviewed then, or never."""
    reviews = {} if reviewed is None else {domain: reviewed}
    return msgspec.structs.replace(view, reviews=reviews)

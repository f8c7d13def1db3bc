"""Making requests: a call, its operations and who makes it become one immutable, digested question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sayso.core.digest import call_digest, canonical, what_digest
from sayso.core.model import Call, Operation, Origin, Request
from sayso.core.policy import Policy
from sayso.policy.guarding import with_guard


def make_call(tool: str, args: Mapping[str, Any] | None = None, **where: Any) -> Call:
    """A call with its arguments in canonical bytes; what has no canonical form is refused here."""
    return Call(tool=tool, arguments=canonical(dict(args or {})), **where)


def make_request(
    call: Call,
    operations: Sequence[Operation],
    *,
    agent: str = "agent",
    session: str = "session",
    origin: Origin = Origin.AGENT,
    confidence: float = 0.0,
    workflow: str | None = None,
) -> Request:
    """The request for a call. The digest is made once, here, and nowhere else.

    Here, too, every call of every door is looked over for what it would do to the guard itself.
    """
    operations = with_guard(call, operations)
    return Request(
        call=call,
        operations=operations,
        digest=call_digest(call, [operation.name for operation in operations], agent, session),
        arguments_digest=what_digest(call),
        agent=agent,
        session=session,
        origin=origin,
        confidence=confidence,
        workflow=workflow,
    )


def restated(request: Request, state: str | None) -> Request:
    """The same request for another state of the world: another question, as the digest covers the state."""
    if state == request.call.state:
        return request
    call = msgspec.structs.replace(request.call, state=state)
    return make_request(
        call,
        request.operations,
        agent=request.agent,
        session=request.session,
        origin=request.origin,
        confidence=request.confidence,
        workflow=request.workflow,
    )


def just_reviewed(policy: Policy, now: float) -> dict[str, float]:
    """Reviews for deciding without a store: a domain counts as reviewed now, unless its file says when."""
    return {name: now for name, domain in policy.domains.items() if domain.last_reviewed is None}

"""Random grants that nearly cover a call: hits, near misses, and the very last instants of both."""

from __future__ import annotations

from random import Random
from typing import Any

from sayso.core.grants import Grant, GrantKey, GrantKind, HeldGrant, Pins
from sayso.core.model import Mode, Request, Risk, Tier
from sayso.core.policy import Policy, Terms
from tests.property.draws import NOW, likely, usually

_KINDS: dict[str, GrantKind] = {
    "approved_call": "call",
    "allowlist": "command",
    "operation_grant": "operation",
    "workflow_grant": "run",
    "remembered": "tool",
    "task_grant": "category",
    "plan": "operation",
    "retry": "retry",
}


def grants_for(
    rng: Random, aim: str, request: Request, policy: Policy, turn: int
) -> dict[GrantKey, tuple[HeldGrant, ...]]:
    """Grants that nearly cover the call: the aimed rule's surely, others now and then."""
    rows: dict[GrantKey, tuple[HeldGrant, ...]] = {}
    for rule, kind in _KINDS.items():
        if not likely(rng, 0.97 if rule == aim else 0.5 if rule == "retry" else 0.08):
            continue
        for _ in range(rng.choice((2, 3, 4)) if rule == aim else 1):
            number = sum(map(len, rows.values())) + 1
            held = _held(rng, f"g{number}", kind, rule, request, policy, turn)
            rows[held.grant.key] = (*rows.get(held.grant.key, ()), held)
    return rows


def _held(
    rng: Random, name: str, kind: GrantKind, rule: str, request: Request, policy: Policy, turn: int
) -> HeldGrant:
    if rule == "workflow_grant":
        kind = rng.choice(("run", "workflow"))
    grant = Grant(
        id=name,
        kind=kind,
        value=_value(rng, kind, request, policy),
        risk=rng.choice((Risk.HIGH, Risk.HIGH, Risk.MODERATE, Risk.LOW)),
        expires_at=usually(rng, NOW + 600, (NOW, NOW + 0.5, NOW - 0.5), 0.8),
        session=usually(rng, "session", ("elsewhere",), 0.95),
        pins=_pins(rng, kind, rule, request),
        uses=usually(rng, None, (1, 2), 0.5),
        group=usually(rng, "plan-1", ("plan-0",), 0.9) if rule == "plan" else None,
        given_at=NOW - usually(rng, 60.0, _ages(policy), 0.8),
        question=rng.choice((None, "session.q1")),
        policy=usually(rng, policy.digest, ("another policy",), 0.8),
        terms=_terms(rng, request, policy) if kind in ("call", "retry") else {},
        **_ending(rng, kind, rule, turn),
    )
    return HeldGrant(grant, used=usually(rng, 0, (1, 2), 0.8), revoked=likely(rng, 0.06))


def _ages(policy: Policy) -> tuple[float, ...]:
    """How long ago an approval may have been given: around the ends that the policy sets."""
    ends = [policy.settings.approval_lasts, 600.0, 3_600.0]
    return tuple(end + more for end in ends for more in (-0.5, 0.0, 0.5))


def _terms(rng: Random, request: Request, policy: Policy) -> dict[str, Terms]:
    """What the policy said when it was asked: mostly of some operations, and mostly what it says now."""
    terms: dict[str, Terms] = {}
    for operation in request.operations:
        if likely(rng, 0.3):
            continue
        entry = policy.entry(operation.name)
        terms[operation.name] = Terms(
            usually(rng, policy.mode, tuple(Mode), 0.8),
            usually(rng, entry.tier, (*Tier, None), 0.8),
            usually(rng, entry.always_ask, (True, False), 0.9),
            rng.choice((Risk.HIGH, Risk.HIGH, Risk.MODERATE, Risk.LOW)),
        )
    return terms


def _value(rng: Random, kind: GrantKind, request: Request, policy: Policy) -> str:
    operation = rng.choice(request.operations).name
    values = {
        "call": request.digest,
        "retry": request.digest,
        "command": (request.call.command or "git push").strip(),
        "operation": operation,
        "category": policy.entry(operation).category,
        "tool": request.call.tool,
        "workflow": "digest",
        "run": "run-1",
    }
    return usually(rng, values[kind], ("something else",), 0.95)


def _pins(rng: Random, kind: GrantKind, rule: str, request: Request) -> Pins:
    names = tuple(dict.fromkeys(operation.name for operation in request.operations))
    call = request.call
    pins: dict[str, Any] = {}
    if rule == "plan" and not likely(rng, 0.1):
        return Pins(targets=rng.choice((("a.py", "b.py"), ("a.py", "b.py"), ("a.py",), ())))
    if kind in ("call", "tool", "run", "workflow", "retry"):
        pins["operations"] = usually(rng, names, (names[:1], names[1:], None), 0.85)
    if kind == "command" or likely(rng, 0.2):
        pins["workspace"] = usually(rng, call.workspace, ("/w", "/v"), 0.8)
    if kind in ("operation", "tool") and likely(rng, 0.5):
        pins["arguments"] = usually(rng, request.arguments_digest, ("others",), 0.8)
    if kind == "operation" and likely(rng, 0.3):
        pins["tool"] = usually(rng, call.tool, ("tool",), 0.8)
    if kind == "operation" and likely(rng, 0.3):
        pins["command"] = rng.choice((call.command, "git push"))
    return Pins(**pins)


def _ending(rng: Random, kind: GrantKind, rule: str, turn: int) -> dict[str, Any]:
    """What the grant ends with, and the name of that: mostly what is going on now."""
    usual = {"category": "task", "run": "run"}.get(kind, "task" if rule == "plan" else "session")
    ends_with = usually(rng, usual, ("session", "task", "turn", "run"), 0.85)
    alive = {"session": None, "task": "task-1", "turn": str(turn), "run": "run-1"}[ends_with]
    return {"ends_with": ends_with, "bound_to": usually(rng, alive, (None, "gone"), 0.92)}

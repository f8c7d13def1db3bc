"""Reviewing the policy: what each autonomous permission was used for since last time, and when it decays.

- A review is an operator's signed act for one domain. It starts the clock of the domain's permissions again.
- What is not kept decays: it asks from then on, and nothing else has to be done.
"""

from __future__ import annotations

import msgspec

from sayso.core.audit import events
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.policy import NEVER_REVIEWED, Domain, Policy, decayed, find_review
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.figures.totals import load_totals
from sayso.gate.gate import Gate
from sayso.gate.open import check_in_force
from sayso.gate.rows.journal import record
from sayso.gate.summaries.shapes import VerdictCounts
from sayso.store.contract import Reader


class UnknownDomain(SaysoError):
    code = "unknown_domain"


class DomainDecay(msgspec.Struct, frozen=True):
    """When the permissions of a domain were reviewed or first seen, and when they decay, or did."""

    reviewed_at: float | None
    decays_at: float | None
    decayed: bool


class PermissionUse(msgspec.Struct, frozen=True):
    """How often an autonomous permission was used, asked about and refused since the last review."""

    operation: str
    used: int
    asked: int
    refused: int


class DomainReview(msgspec.Struct, frozen=True):
    """A domain as its operator reviews it."""

    domain: str
    decay: DomainDecay
    days_left: float | None
    permissions: tuple[PermissionUse, ...]


def load_domain_reviews(gate: Gate) -> list[DomainReview]:
    """Return every domain with autonomous permissions, those that decay first first."""
    with gate.store.read() as tx:
        reviews = gate.sealer.reviews(tx.reviews())
        found = [
            _review_of(gate, tx, name, domain, reviews)
            for name, domain in gate.policy.domains.items()
            if domain.autonomous
        ]
    return sorted(found, key=lambda one: (one.days_left is None, one.days_left or 0.0, one.domain))


def keep_domain(gate: Gate, domain: str, *, by: str) -> None:
    """Review a domain: its autonomous permissions hold for another interval.

    They are those of the policy in force. Whoever looks at another policy has not seen them.
    """
    if not gate.policy.domains.get(domain, Domain()).autonomous:
        raise UnknownDomain(
            f"{domain} has no autonomous permissions", hint="sayso policy review lists the domains"
        )
    check_in_force(gate)
    with operator_act(gate) as tx:
        before = next(iter(tx.reviews([domain])), None)
        tx.put_review(gate.sealer.review(domain, tx.now, by, before=before))
        record(tx, events.DomainReviewed(domain, by, gate.policy.digest), stream=gate.stream)


def find_decay(
    policy: Policy, name: str, domain: Domain, reviews: dict[str, float], now: float
) -> DomainDecay:
    """Return when a domain decays: the permission that decays first speaks for it."""
    entries = [policy.entry(f"{name}.{action}") for action in domain.autonomous]
    seen = [find_review(one, reviews) for one in entries]
    over = any(decayed(policy, one, at, now) for one, at in zip(entries, seen, strict=True))
    reviewed = _earliest(domain, seen)
    decays = policy.decay.enabled and bool(entries) and reviewed is not None
    until = reviewed + policy.decay.review_interval_days * DAY if decays and reviewed else None
    return DomainDecay(reviewed, until, over)


def _earliest(domain: Domain, seen: list[float | None]) -> float | None:
    """Return when the permission of the domain that was left alone longest was reviewed or first seen."""
    written = domain.last_reviewed if domain.last_reviewed not in (None, NEVER_REVIEWED) else None
    known = [max(filter(None, (written, at)), default=None) for at in seen]
    return min((at for at in known if at is not None), default=written)


def _review_of(gate: Gate, tx: Reader, name: str, domain: Domain, reviews: dict[str, float]) -> DomainReview:
    decay = find_decay(gate.policy, name, domain, reviews, tx.now)
    counted = load_totals(tx, decay.reviewed_at or 0.0).decided.operations
    uses = (
        (f"{name}.{action}", counted.get(f"{name}.{action}", VerdictCounts())) for action in domain.autonomous
    )
    left = None if decay.decays_at is None else (decay.decays_at - tx.now) / DAY
    return DomainReview(
        name,
        decay,
        0.0 if decay.decayed else left,
        tuple(PermissionUse(operation, one.allow, one.ask, one.deny) for operation, one in uses),
    )

"""The policy in force, as a table; and what a draft would change."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.core.policy import DAY, NEVER_REVIEWED, Domain, decayed
from sayso.gate.gate import Gate
from sayso.policy import load_text
from sayso.policy.build import write_settings
from sayso.policy.compare.beyond_operations import Beyond
from sayso.policy.compare.diff import Change, diff
from sayso.service.api.shapes import DomainTold, PolicyTold
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint


class DraftBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy file's text."""

    text: str


class DiffTold(msgspec.Struct, frozen=True):
    """What a draft decides otherwise than the policy in force. Nothing is applied."""

    loosened: tuple[Change, ...]
    tightened: tuple[Change, ...]
    beyond: tuple[Beyond, ...]
    loosens: bool


def look(context: Context) -> PolicyTold:
    """The policy in force, and for each domain when its autonomous permissions decay."""
    gate = context.gate
    with gate.store.read() as tx:
        reviews, now = gate.sealer.reviews(tx.reviews()), tx.now
    policy = gate.policy
    return PolicyTold(
        digest=policy.digest,
        mode=policy.mode.value,
        settings=write_settings(policy.settings),
        domains=tuple(_domain(gate, name, one, reviews, now) for name, one in policy.domains.items()),
        operations={name: _operation(gate, name) for name in policy.table},
        uses={name: use for name, use in context.running.uses.known(gate).items() if name in policy.table},
    )


def compare(context: Context) -> DiffTold:
    """Hold a draft against the policy in force, in every situation that can matter."""
    body: DraftBody = context.body
    found = diff(context.gate.policy, load_text(body.text, name="draft"))
    return DiffTold(found.loosened, found.tightened, found.beyond, found.loosens)


def _domain(gate: Gate, name: str, domain: Domain, reviews: dict[str, float], now: float) -> DomainTold:
    """The permission that decays first speaks for its domain."""
    policy = gate.policy
    entries = [policy.entry(f"{name}.{action}") for action in domain.autonomous]
    seen = [max(filter(None, (reviews.get(name), reviews.get(one.name))), default=None) for one in entries]
    over = any(decayed(policy, one, at, now) for one, at in zip(entries, seen, strict=True))
    reviewed = _earliest(domain, seen)
    decays = policy.decay.enabled and bool(entries) and reviewed is not None
    return DomainTold(
        name=name,
        trust_level=domain.trust_level,
        autonomous=domain.autonomous,
        requires_approval=domain.requires_approval,
        blocked=domain.blocked,
        trusted_channel_required=domain.trusted_channel_required,
        reviewed_at=reviewed,
        decays_at=reviewed + policy.decay.review_interval_days * DAY if decays and reviewed else None,
        decayed=over,
    )


def _earliest(domain: Domain, seen: list[float | None]) -> float | None:
    """When the permission of the domain that was left alone longest was reviewed or first seen."""
    written = domain.last_reviewed if domain.last_reviewed not in (None, NEVER_REVIEWED) else None
    known = [max(filter(None, (written, at)), default=None) for at in seen]
    return min((at for at in known if at is not None), default=written)


def _operation(gate: Gate, name: str) -> dict[str, Any]:
    entry = gate.policy.entry(name)
    risk = entry.risk if entry.risk is not None else entry.floor
    return {
        "tier": None if entry.tier is None else entry.tier.value,
        "risk": None if risk is None else risk.word,
        "category": entry.category,
        "category_words": entry.category_words,
        "always_ask": entry.always_ask,
        "trusted_channel": entry.trusted_channel,
        "confidence_bypass": entry.confidence_bypass,
        "reason": entry.reason,
    }


ENDPOINTS = (
    Endpoint("GET", "/v1/policy", OPERATORS, "The policy in force", look, result=PolicyTold),
    Endpoint("POST", "/v1/policy/diff", OPERATORS, "What a draft changes", compare, DraftBody, DiffTold),
)

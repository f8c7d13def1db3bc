"""The policy in force, as a table; and what a draft would change."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.core.durations import DAY
from sayso.core.policy import NEVER_REVIEWED, Domain, decayed
from sayso.gate.figures.last_uses import load_last_uses
from sayso.gate.gate import Gate
from sayso.policy import load_text
from sayso.policy.build import settings_to_dict
from sayso.policy.compare.diff import DecisionChange, compare_policies
from sayso.policy.compare.other_changes import OtherChange
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint
from sayso.service.shapes import DomainView, LastUse, PolicyView


class DraftBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy file's text."""

    text: str


class DraftDiff(msgspec.Struct, frozen=True):
    """The differences between a draft and the policy in force. Nothing is applied."""

    loosened: tuple[DecisionChange, ...]
    tightened: tuple[DecisionChange, ...]
    beyond: tuple[OtherChange, ...]
    loosens: bool


def get_policy(context: Context) -> PolicyView:
    """The policy in force, and for each domain when its autonomous permissions decay."""
    gate = context.gate
    with gate.store.read() as tx:
        reviews, now = gate.sealer.reviews(tx.reviews()), tx.now
    policy = gate.policy
    return PolicyView(
        digest=policy.digest,
        mode=policy.mode.value,
        settings=settings_to_dict(policy.settings),
        domains=tuple(
            _describe_domain(gate, name, one, reviews, now) for name, one in policy.domains.items()
        ),
        operations={name: _describe_operation(gate, name) for name in policy.table},
        uses={
            name: LastUse(use.allowed_at, use.asked_at, use.refused_at)
            for name, use in load_last_uses(gate).items()
            if name in policy.table
        },
    )


def post_policy_diff(context: Context) -> DraftDiff:
    """Hold a draft against the policy in force, in every situation that can matter."""
    body: DraftBody = context.body
    found = compare_policies(context.gate.policy, load_text(body.text, name="draft"))
    return DraftDiff(found.loosened, found.tightened, found.beyond, found.loosens)


def _describe_domain(
    gate: Gate, name: str, domain: Domain, reviews: dict[str, float], now: float
) -> DomainView:
    """The permission that decays first speaks for its domain."""
    policy = gate.policy
    entries = [policy.entry(f"{name}.{action}") for action in domain.autonomous]
    seen = [max(filter(None, (reviews.get(name), reviews.get(one.name))), default=None) for one in entries]
    over = any(decayed(policy, one, at, now) for one, at in zip(entries, seen, strict=True))
    reviewed = _earliest(domain, seen)
    decays = policy.decay.enabled and bool(entries) and reviewed is not None
    return DomainView(
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


def _describe_operation(gate: Gate, name: str) -> dict[str, Any]:
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
    Endpoint("GET", "/v1/policy", OPERATORS, "Get the policy in force", get_policy, result=PolicyView),
    Endpoint(
        "POST",
        "/v1/policy/diff",
        OPERATORS,
        "Compare a draft with the policy in force",
        post_policy_diff,
        DraftBody,
        DraftDiff,
    ),
)

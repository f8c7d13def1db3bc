"""Terms: what the policy said of an operation when a person was asked about it.

An approval ends when the policy is tightened. The digest of a policy says only that another one is in force,
not whether it is stricter; so an approval keeps the terms it was asked under, and serves while those of today
are provably no stricter. In doubt it does not serve, and the call is asked about again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from sayso.core.model import Mode, Risk, Tier
from sayso.core.policy import Policy

STRICTNESS = {Mode.TRUSTING: 0, Mode.BALANCED: 1, Mode.PARANOID: 2}


class Terms(msgspec.Struct, frozen=True, array_like=True):
    """The mode, and the tier, mark and risk of one operation."""

    mode: Mode
    tier: Tier | None
    always_ask: bool
    risk: Risk


def terms_of(policy: Policy, risks: Iterable[tuple[str, Risk]]) -> Mapping[str, Terms]:
    """The terms of each operation under this policy, at the highest risk it is named with."""
    found: dict[str, Terms] = {}
    for name, risk in risks:
        before = found.get(name)
        if before is None or before.risk < risk:
            entry = policy.entry(name)
            found[name] = Terms(policy.mode, entry.tier, entry.always_ask, risk)
    return found


def no_stricter(now: Terms, then: Terms) -> bool:
    """Return whether what the policy says now is provably no stricter than what it said then."""
    if STRICTNESS[now.mode] > STRICTNESS[then.mode] or now.risk > then.risk:
        return False
    if now.always_ask and not then.always_ask:
        return False
    return now.tier is then.tier or now.tier is Tier.AUTONOMOUS

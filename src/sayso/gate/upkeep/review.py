"""Reviewing the policy: what each autonomous permission was used for since last time, and when it decays.

- A review is an operator's signed act for one domain. It starts the clock of the domain's permissions again.
- What is not kept decays: it asks from then on, and nothing else has to be done.
"""

from __future__ import annotations

import msgspec

from sayso.core.audit import events
from sayso.core.digest import sha256
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.policy import NEVER_REVIEWED, Domain, Policy, decayed, find_review
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.figures.totals import load_totals
from sayso.gate.gate import Gate, load_reviews, time_trusted
from sayso.gate.people.signed_acts import (
    AT_A_TERMINAL,
    Acknowledgement,
    must_sign_acts,
    recording_bad_proofs,
    sign_act,
)
from sayso.gate.policy.acting_policy import check_in_force
from sayso.gate.rows.journal import record
from sayso.gate.summaries.shapes import VerdictCounts
from sayso.store.contract import Reader


class UnknownDomain(SaysoError):
    code = "unknown_domain"


class ReviewDateWrong(SaysoError):
    """The date in the policy file lies ahead or cannot be read: a review would change nothing."""

    code = "review_date"
    advice = "correct `last_reviewed` in the policy file, or leave it out"


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
    """A domain as its operator reviews it.

    `digest` is what a review names: the policy, the permissions and the review before. `signed` is whether
    the page has to sign it with a passkey.
    """

    domain: str
    decay: DomainDecay
    days_left: float | None
    permissions: tuple[PermissionUse, ...]
    digest: str
    signed: bool
    clock_trusted: bool


def load_domain_reviews(gate: Gate) -> list[DomainReview]:
    """Return every domain with autonomous permissions, those that decay first first."""
    with gate.store.read() as tx:
        decays = load_decays(gate, tx)
        found = [
            _review_of(gate, tx, name, domain, decays[name])
            for name, domain in gate.policy.domains.items()
            if domain.autonomous
        ]
    return sorted(found, key=lambda one: (one.days_left is None, one.days_left or 0.0, one.domain))


def load_decays(gate: Gate, tx: Reader) -> dict[str, DomainDecay]:
    """Return when each domain of the policy decays, as decisions see it."""
    domains = gate.policy.domains
    names = [name for domain, one in domains.items() for name in (domain, *_operations(domain, one))]
    reviews, trusted = load_reviews(gate, tx, names), time_trusted(gate, tx)
    return {
        name: find_decay(gate.policy, name, one, reviews, tx.now, trusted=trusted)
        for name, one in domains.items()
    }


def keep_domain(gate: Gate, domain: str, *, by: str, shown: Acknowledgement = AT_A_TERMINAL) -> None:
    """Review a domain: its autonomous permissions hold for another interval.

    They are those of the policy in force. Whoever looks at another policy has not seen them.
    """
    if not gate.policy.domains.get(domain, Domain()).autonomous:
        raise UnknownDomain(
            f"{domain} has no autonomous permissions", hint="sayso policy review lists the domains"
        )
    with recording_bad_proofs(gate, "keep", domain, by), operator_act(gate) as tx:
        check_in_force(gate, tx)
        if (gate.policy.domains[domain].last_reviewed or 0.0) > tx.now:
            raise ReviewDateWrong(f"{domain} has a date in the policy file that lies ahead or cannot be read")
        digest = _digest_review(gate, domain, load_decays(gate, tx)[domain])
        signature = sign_act(gate, tx, "keep", domain, digest, by=by, shown=shown)
        before = next(iter(tx.reviews([domain])), None)
        tx.put_review(gate.sealer.review(domain, tx.now, by, before=before))
        said = events.DomainReviewed(domain, by, gate.policy.digest, **signature)
        record(tx, said, stream=gate.stream)


def find_decay(
    policy: Policy,
    name: str,
    domain: Domain,
    reviews: dict[str, float],
    now: float,
    *,
    trusted: bool = True,
) -> DomainDecay:
    """Return when a domain decays: the permission that decays first speaks for it."""
    entries = [policy.entry(operation) for operation in _operations(name, domain)]
    seen = [find_review(one, reviews) for one in entries]
    over = any(decayed(policy, one, at, now) for one, at in zip(entries, seen, strict=True))
    over = over or (bool(entries) and not trusted)
    reviewed = _earliest(domain, seen)
    decays = policy.decay.enabled and bool(entries) and reviewed is not None
    until = reviewed + policy.decay.review_interval_days * DAY if decays and reviewed else None
    return DomainDecay(reviewed, until, over)


def _operations(name: str, domain: Domain) -> list[str]:
    return [f"{name}.{action}" for action in domain.autonomous]


def _digest_review(gate: Gate, name: str, decay: DomainDecay) -> str:
    """Return the digest of what a review is about. After the next review it is another one."""
    operations = _operations(name, gate.policy.domains[name])
    return sha256(msgspec.json.encode((gate.policy.digest, name, operations, decay.reviewed_at)))


def _earliest(domain: Domain, seen: list[float | None]) -> float | None:
    """Return when the permission of the domain that was left alone longest was reviewed or first seen."""
    written = domain.last_reviewed if domain.last_reviewed not in (None, NEVER_REVIEWED) else None
    known = [max(filter(None, (written, at)), default=None) for at in seen]
    return min((at for at in known if at is not None), default=written)


def _review_of(gate: Gate, tx: Reader, name: str, domain: Domain, decay: DomainDecay) -> DomainReview:
    since = decay.reviewed_at or 0.0
    counted = load_totals(tx, since if since <= tx.now else 0.0).decided.operations  # no review lies ahead
    uses = ((one, counted.get(one, VerdictCounts())) for one in _operations(name, domain))
    left = None if decay.decays_at is None else (decay.decays_at - tx.now) / DAY
    return DomainReview(
        name,
        decay,
        0.0 if decay.decayed else left,
        tuple(PermissionUse(operation, one.allow, one.ask, one.deny) for operation, one in uses),
        _digest_review(gate, name, decay),
        must_sign_acts(gate, tx),
        time_trusted(gate, tx),
    )

"""The policy in force, as a table; and what a draft would change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from sayso.core.policy import Domain
from sayso.core.proposals.proposal import Proposal
from sayso.gate.figures.last_uses import load_last_uses
from sayso.gate.gate import Gate
from sayso.gate.people.signed_acts import Acknowledgement
from sayso.gate.policy_acts.apply import (
    SUBJECT,
    CannotApply,
    PolicyStatus,
    apply_policy,
    find_file_state,
    load_policy_status,
)
from sayso.gate.proposals.roots import load_roots
from sayso.gate.rows.webauthn import Proof, act_challenge
from sayso.gate.upkeep.review import (
    DomainDecay,
    DomainReview,
    keep_domain,
    load_decays,
    load_domain_reviews,
)
from sayso.gate.upkeep.tighten import propose_to_ask
from sayso.policy import load_text
from sayso.policy.build import settings_to_dict
from sayso.policy.compare.diff import DecisionChange, compare_policies
from sayso.policy.compare.other_change import OtherChange
from sayso.service.api.asking.signed_answers import signing_with
from sayso.service.api.passkeys import OPTIONS, signing_options
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


class TightenBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The action of the domain that is to ask."""

    action: str


class ReviewBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A review of what was shown, by its digest; signed where that is needed."""

    digest: str
    proof: Proof | None = None


def get_policy(context: Context) -> PolicyView:
    """The policy in force, and for each domain when its autonomous permissions decay."""
    gate = context.gate
    with gate.store.read() as tx:
        decays = load_decays(gate, tx)
    policy = gate.policy
    return PolicyView(
        digest=policy.digest,
        mode=policy.mode.value,
        settings=settings_to_dict(policy.settings),
        domains=tuple(_describe_domain(name, one, decays[name]) for name, one in policy.domains.items()),
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


class ApplyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The policy file's digest and that of all that was shown with it; signed where that is needed."""

    content: str
    shown: str
    proof: Proof | None = None


def get_policy_file(context: Context) -> PolicyStatus:
    """Return whether the policy file of the service is in force, and what it would change.

    With `brief` nothing is compared, and without a file nothing waits.
    """
    if not context.whole_number("brief", 0, 0, 1):
        return load_policy_status(context.gate, _find_file(context))
    live = context.gate.live
    if live is None or live.path is None:
        return PolicyStatus("", "in_force", "", context.gate.policy.digest)
    state = find_file_state(context.gate, live.path)
    return PolicyStatus(str(live.path), state, "", context.gate.policy.digest)


def post_policy_apply(context: Context) -> PolicyStatus:
    """Put the file that the service was started with in force, as the operator saw it."""
    body: ApplyBody = context.body
    shown = Acknowledgement(body.shown, signing_with(context, body.proof))
    file, by = _find_file(context), context.token.name
    return apply_policy(context.gate, file, by=by, content=body.content, shown=shown)


def post_apply_challenge(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.get` to sign that this file is applied."""
    body: ApplyBody = context.body
    return signing_options(context, act_challenge("apply", SUBJECT, body.shown))


def _find_file(context: Context) -> Path:
    live = context.gate.live
    if live is None or live.path is None:
        raise CannotApply(
            "the service was not started with a policy file", hint="start it with --policy FILE"
        )
    return live.path


def get_reviews(context: Context) -> list[DomainReview]:
    """Every domain with autonomous permissions, how they were used, and when they decay."""
    return load_domain_reviews(context.gate)


def post_review(context: Context) -> list[DomainReview]:
    """Keep the autonomous permissions of a domain for another interval, as they were shown."""
    body: ReviewBody = context.body
    shown = Acknowledgement(body.digest, signing_with(context, body.proof))
    keep_domain(context.gate, context.parameters["domain"], by=context.token.name, shown=shown)
    return load_domain_reviews(context.gate)


def post_tightening(context: Context) -> Proposal:
    """Propose that a permission of this domain asks from now on."""
    body: TightenBody = context.body
    operation = f"{context.parameters['domain']}.{body.action}"
    return propose_to_ask(context.gate, load_roots(), operation, by=context.token.name)


def post_review_challenge(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.get` to sign this review; it is then sent with the proof."""
    body: ReviewBody = context.body
    return signing_options(context, act_challenge("keep", context.parameters["domain"], body.digest))


def _describe_domain(name: str, domain: Domain, decay: DomainDecay) -> DomainView:
    return DomainView(
        name=name,
        trust_level=domain.trust_level,
        autonomous=domain.autonomous,
        requires_approval=domain.requires_approval,
        blocked=domain.blocked,
        trusted_channel_required=domain.trusted_channel_required,
        reviewed_at=decay.reviewed_at,
        decays_at=decay.decays_at,
        decayed=decay.decayed,
    )


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


REVIEWS: Any = list[DomainReview]
ENDPOINTS = (
    Endpoint("GET", "/v1/policy/reviews", OPERATORS, "List domains to review", get_reviews, result=REVIEWS),
    Endpoint(
        "POST",
        "/v1/policy/reviews/{domain}",
        OPERATORS,
        "Keep a domain's autonomous permissions for another interval",
        post_review,
        ReviewBody,
        REVIEWS,
    ),
    Endpoint(
        "POST",
        "/v1/policy/reviews/{domain}/tighten",
        OPERATORS,
        "Propose that a permission asks from now on",
        post_tightening,
        TightenBody,
        Proposal,
        status=201,
    ),
    Endpoint(
        "POST",
        "/v1/policy/reviews/{domain}/challenge",
        OPERATORS,
        "Get the challenge that a passkey signs for a review",
        post_review_challenge,
        ReviewBody,
        OPTIONS,
    ),
    Endpoint("GET", "/v1/policy", OPERATORS, "Get the policy in force", get_policy, result=PolicyView),
    Endpoint(
        "GET",
        "/v1/policy/file",
        OPERATORS,
        "Compare the policy file with the policy in force",
        get_policy_file,
        result=PolicyStatus,
        query={"brief": "1: only the state, without comparing anything"},
    ),
    Endpoint(
        "POST",
        "/v1/policy/apply",
        OPERATORS,
        "Put the policy file in force",
        post_policy_apply,
        ApplyBody,
        PolicyStatus,
    ),
    Endpoint(
        "POST",
        "/v1/policy/apply/challenge",
        OPERATORS,
        "Get the challenge that a passkey signs for applying the file",
        post_apply_challenge,
        ApplyBody,
        OPTIONS,
    ),
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

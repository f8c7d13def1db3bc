"""Proposals: file, approve, reject, withdraw, apply and undo. For operators alone."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sayso.core.proposals.proposal import Proposal
from sayso.gate.open import gate_data_folder
from sayso.gate.people.signed_acts import Acknowledgement
from sayso.gate.proposals.carry_out import apply_proposal, undo_proposal, withdraw_proposal
from sayso.gate.proposals.file_proposal import (
    ProposalBody,
    approve_proposal,
    file_proposal,
    reject_proposal,
)
from sayso.gate.proposals.roots import load_roots
from sayso.gate.proposals.settle import LOCK, recover_here
from sayso.gate.proposals.view import ProposalView, view_proposal, view_proposals
from sayso.gate.rows.webauthn import Proof, act_challenge
from sayso.service.api.asking.signed_answers import signing_with
from sayso.service.api.passkeys import OPTIONS, signing_options
from sayso.service.http.callers import answerer_of
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint, Paged

PAGE = 50


class DecisionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why, for the record."""

    why: str = ""


class SignedBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An act about the proposal that was shown, by its digest; signed where that is needed."""

    digest: str
    proof: Proof | None = None


class SignBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a passkey is to sign."""

    act: Literal["approve", "undo"]
    digest: str


def list_all_proposals(context: Context) -> Paged:
    """A page of the proposals: those that have a next step first, then the past; of each the newest first."""
    skip = context.whole_number("skip", 0, 0, 1_000_000)
    recover_here(context.gate)
    found = view_proposals(context.gate, load_roots())
    more = {"skip": str(skip + PAGE)} if len(found) > skip + PAGE else None
    return Paged(list(found[skip : skip + PAGE]), more)


def get_proposal(context: Context) -> ProposalView:
    recover_here(context.gate)
    return view_proposal(context.gate, load_roots(), context.parameters["proposal"])


def post_proposal(context: Context) -> Proposal:
    """File a proposal. It changes nothing before it is approved and has cooled."""
    return file_proposal(context.gate, load_roots(), context.body, by=context.token.name, proposer="operator")


def post_approval(context: Context) -> Proposal:
    """Approve the proposal that was shown; refused if it is another one by now."""
    proposal, by = context.parameters["proposal"], context.token.name
    shown = _read_acknowledgement(context)
    return approve_proposal(context.gate, proposal, by=by, shown=shown, who=answerer_of(context))


def post_challenge(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.get` to sign this act; it is then sent with the proof."""
    body: SignBody = context.body
    return signing_options(context, act_challenge(body.act, context.parameters["proposal"], body.digest))


def _read_acknowledgement(context: Context) -> Acknowledgement:
    body: SignedBody = context.body
    return Acknowledgement(body.digest, signing_with(context, body.proof))


def post_rejection(context: Context) -> Proposal:
    body: DecisionBody = context.body
    return reject_proposal(context.gate, context.parameters["proposal"], by=context.token.name, why=body.why)


def post_withdrawal(context: Context) -> Proposal:
    body: DecisionBody = context.body
    proposal, lock = context.parameters["proposal"], gate_data_folder() / LOCK
    return withdraw_proposal(
        context.gate, load_roots(), proposal, by=context.token.name, lock=lock, why=body.why
    )


def post_apply(context: Context) -> Proposal:
    """Apply a proposal now that was approved and has cooled; the service does so by itself, too."""
    lock = gate_data_folder() / LOCK
    return apply_proposal(
        context.gate, load_roots(), context.parameters["proposal"], by=context.token.name, lock=lock
    )


def post_undo(context: Context) -> Proposal:
    lock, by = gate_data_folder() / LOCK, context.token.name
    proposal = context.parameters["proposal"]
    return undo_proposal(
        context.gate, load_roots(), proposal, by=by, lock=lock, shown=_read_acknowledgement(context)
    )


def _act(name: str, summary: str, answer: Any, body: Any = None) -> Endpoint:
    path = f"/v1/proposals/{{proposal}}/{name}"
    return Endpoint("POST", path, OPERATORS, summary, answer, body, Proposal, bare=body is not SignedBody)


ALL: Any = list[ProposalView]
ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/proposals",
        OPERATORS,
        "List proposals",
        list_all_proposals,
        result=ALL,
        query={"skip": "how many to pass over"},
    ),
    Endpoint(
        "GET", "/v1/proposals/{proposal}", OPERATORS, "Get a proposal", get_proposal, result=ProposalView
    ),
    Endpoint(
        "POST",
        "/v1/proposals",
        OPERATORS,
        "File a proposal",
        post_proposal,
        ProposalBody,
        Proposal,
        status=201,
    ),
    _act("approve", "Approve a proposal", post_approval, SignedBody),
    _act("reject", "Reject a proposal", post_rejection, DecisionBody),
    _act("withdraw", "Withdraw a proposal", post_withdrawal, DecisionBody),
    _act("apply", "Apply a proposal that has cooled", post_apply),
    _act("undo", "Undo a proposal", post_undo, SignedBody),
    Endpoint(
        "POST",
        "/v1/proposals/{proposal}/challenge",
        OPERATORS,
        "Get the challenge that a passkey signs to approve or undo a proposal",
        post_challenge,
        SignBody,
        OPTIONS,
    ),
)

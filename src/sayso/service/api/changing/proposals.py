"""Proposals: file, approve, reject, withdraw, apply and undo. For operators alone."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.core.proposals.proposal import Proposal
from sayso.gate.open import gate_data_folder
from sayso.gate.proposals.carry_out import LOCK, apply_proposal, undo_proposal
from sayso.gate.proposals.file_proposal import (
    ProposalBody,
    approve_proposal,
    file_proposal,
    reject_proposal,
    withdraw_proposal,
)
from sayso.gate.proposals.roots import load_roots
from sayso.gate.proposals.view import ProposalView, view_proposal, view_proposals
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint


class DecisionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why, for the record."""

    why: str = ""


def list_all_proposals(context: Context) -> list[ProposalView]:
    return view_proposals(context.gate, load_roots())


def get_proposal(context: Context) -> ProposalView:
    return view_proposal(context.gate, load_roots(), context.parameters["proposal"])


def post_proposal(context: Context) -> Proposal:
    """File a proposal. It changes nothing before it is approved and has cooled."""
    return file_proposal(context.gate, load_roots(), context.body, by=context.token.name, proposer="operator")


def post_approval(context: Context) -> Proposal:
    return approve_proposal(context.gate, context.parameters["proposal"], by=context.token.name)


def post_rejection(context: Context) -> Proposal:
    body: DecisionBody = context.body
    return reject_proposal(context.gate, context.parameters["proposal"], by=context.token.name, why=body.why)


def post_withdrawal(context: Context) -> Proposal:
    body: DecisionBody = context.body
    return withdraw_proposal(
        context.gate, context.parameters["proposal"], by=context.token.name, why=body.why
    )


def post_apply(context: Context) -> Proposal:
    """Apply a proposal now that was approved and has cooled; the service does so by itself, too."""
    lock = gate_data_folder() / LOCK
    return apply_proposal(
        context.gate, load_roots(), context.parameters["proposal"], by=context.token.name, lock=lock
    )


def post_undo(context: Context) -> Proposal:
    lock = gate_data_folder() / LOCK
    return undo_proposal(
        context.gate, load_roots(), context.parameters["proposal"], by=context.token.name, lock=lock
    )


def _act(name: str, summary: str, answer: Any, body: Any = None) -> Endpoint:
    path = f"/v1/proposals/{{proposal}}/{name}"
    return Endpoint("POST", path, OPERATORS, summary, answer, body, Proposal, bare=True)


ALL: Any = list[ProposalView]
ENDPOINTS = (
    Endpoint("GET", "/v1/proposals", OPERATORS, "List proposals", list_all_proposals, result=ALL),
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
    _act("approve", "Approve a proposal", post_approval),
    _act("reject", "Reject a proposal", post_rejection, DecisionBody),
    _act("withdraw", "Withdraw a proposal", post_withdrawal, DecisionBody),
    _act("apply", "Apply a proposal that has cooled", post_apply),
    _act("undo", "Undo a proposal", post_undo),
)

"""Turning a suggestion into a proposal. It still has to be approved, and to cool."""

from __future__ import annotations

from sayso.core.proposals.proposal import Proposal, ProposalRefused
from sayso.gate.gate import Gate
from sayso.gate.hindsight.suggest import Suggestion
from sayso.gate.proposals.file_proposal import LONGEST_REASON, REVERSE, ProposalBody, file_proposal
from sayso.gate.proposals.roots import POLICY_ROOT, ProposalRoots


def choose_suggestion(found: list[Suggestion], wanted: str) -> Suggestion:
    """Return the suggestion with this number in the list, or this id."""
    by_number = {str(number): one for number, one in enumerate(found, 1)}
    chosen = by_number.get(wanted) or next((one for one in found if one.id == wanted), None)
    if chosen is None:
        hint = "sayso policy suggest lists them"
        raise ProposalRefused(f"there is no suggestion {wanted[:40]!r}", hint=hint)
    return chosen


def propose_suggestion(gate: Gate, roots: ProposalRoots, chosen: Suggestion, *, by: str) -> Proposal:
    """File this suggestion as a proposal of the operator."""
    if chosen.diff is None:
        raise ProposalRefused(f"this suggestion has no change to propose: {chosen.why_not}")
    body = ProposalBody(POLICY_ROOT, chosen.diff, REVERSE, chosen.words[:LONGEST_REASON])
    return file_proposal(gate, roots, body, by=by, proposer="operator")

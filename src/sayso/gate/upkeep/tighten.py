"""Tightening at a review: a proposal that a permission asks from now on, made for the operator's own file."""

from __future__ import annotations

import os
from pathlib import Path

from sayso.core.errors import PolicyError
from sayso.core.model import Tier
from sayso.core.proposals.diffs import make_diff
from sayso.core.proposals.proposal import Proposal, ProposalRefused
from sayso.gate.gate import Gate
from sayso.gate.proposals.file_proposal import REVERSE, ProposalBody, file_proposal
from sayso.gate.proposals.files import read_file_text
from sayso.gate.proposals.roots import POLICY_ROOT, ProposalRoots
from sayso.gate.settings import POLICY_NAMES

BY_HAND = "move it to requires_approval in your policy, and file that with `sayso propose new --new FILE`"

WIDER = (
    " All that requires approval in {} asks, however confident the agent is: a file in graph form can only"
    " say so of the whole domain."
)


def propose_to_ask(gate: Gate, roots: ProposalRoots, operation: str, *, by: str) -> Proposal:
    """File the change of your policy file by which this operation asks. It waits like any other."""
    if gate.policy.entry(operation).tier is not Tier.AUTONOMOUS:
        raise ProposalRefused(f"{operation} is not autonomous", hint="it asks already")
    folder = roots.identify(POLICY_ROOT)
    used = [name for name in POLICY_NAMES if os.path.lexists(Path(folder.path) / name)]
    text = read_file_text(folder, used[0]) if used else None
    if text is None:
        raise ProposalRefused("you have no policy file of your own", hint="`sayso init` makes one")
    try:
        _check_counts(gate, text)
        after = _rewrite(text, operation)
        wider = _find_wider(text, after, operation)
    except PolicyError as error:
        raise ProposalRefused(f"your policy cannot be changed so: {error.message}", hint=BY_HAND) from error
    reason = f"At a review: {operation} asks from now on.{WIDER.format(wider) if wider else ''}"
    body = ProposalBody(POLICY_ROOT, make_diff(used[0], text, after), REVERSE, reason)
    return file_proposal(gate, roots, body, by=by, proposer="operator")


def _check_counts(gate: Gate, text: str) -> None:
    """Refuse where another file is in force than this one: changing this one would make nothing ask."""
    from sayso.policy import load_text

    policy = gate.policy
    if load_text(text, name="policy").digest not in (policy.digest, *policy.joined):
        raise ProposalRefused("your policy file is not what is in force here", hint="change the file that is")


def _rewrite(text: str, operation: str) -> str:
    """Return the policy in which this operation asks, however confident the agent is."""
    from sayso.policy import load_text
    from sayso.policy.rewrite import ignore_confidence, make_it_ask

    domain, _, action = operation.partition(".")
    asks = make_it_ask(text, domain, action)
    if not load_text(asks, name="policy").entry(operation).confidence_bypass:
        return asks
    return ignore_confidence(asks, domain, action)


def _find_wider(before: str, after: str, operation: str) -> str:
    """Return the domain that is tightened with this operation, if more of it is; else nothing.

    Refused if anything is loosened, or something beyond the domain changes.
    """
    from sayso.policy import load_text
    from sayso.policy.compare.diff import compare_policies

    wanted = load_text(after, name="policy")
    found = compare_policies(load_text(before, name="policy"), wanted)
    domain = operation.partition(".")[0]
    others = {change.operation for change in found.tightened} - {operation}
    beyond = [name for name in others if name.partition(".")[0] != domain]
    asks = wanted.entry(operation).tier is Tier.REQUIRES_APPROVAL
    if found.loosens or found.loosened or found.beyond or beyond or not asks:
        raise PolicyError("more than this one permission would change")
    return domain if others else ""

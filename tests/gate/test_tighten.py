"""Tightening at a review: a permission can be made to ask under every preset, and nothing is loosened."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.model import Tier
from sayso.core.policy import Policy
from sayso.core.proposals.diffs import apply_diff, parse_diff
from sayso.core.proposals.proposal import ProposalRefused
from sayso.gate.open import open_gate
from sayso.gate.proposals.roots import ProposalRoots
from sayso.gate.proposals.view import PolicyEffect, view_proposal
from sayso.gate.upkeep.tighten import propose_to_ask
from sayso.policy import load_text, preset_names
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY

GRAPH_FORM = """# mine
email: {autonomous: [read, search], requires_approval: [send], blocked: []}
"""


def tighten(folder: Path, text: str, operation: str) -> tuple[Policy, PolicyEffect]:
    """The policy after the proposal, and what its operator is told of it."""
    (folder / "policy.yaml").write_text(text)
    gate = open_gate(load_text(text), MemoryStore(), key=KEY)
    roots = ProposalRoots({"policy": folder})
    one = propose_to_ask(gate, roots, operation, by="ana")
    effect = view_proposal(gate, roots, one.id).effect
    assert effect is not None
    return load_text(apply_diff(parse_diff(one.diff), text) or ""), effect


@pytest.mark.parametrize("preset", preset_names())
def test_a_permission_can_be_made_to_ask_under_every_preset(tmp_path: Path, preset: str) -> None:
    text = f"extends: [{preset}]\ndomains:\n  x: {{autonomous: [a, b], requires_approval: [], blocked: []}}\n"
    autonomous = [name for name, entry in load_text(text).table.items() if entry.tier is Tier.AUTONOMOUS]
    for operation in {domain: f"{domain}.{action}" for domain, _, action in map(split, autonomous)}.values():
        policy, effect = tighten(tmp_path, text, operation)
        entry = policy.entry(operation)
        assert (entry.tier, entry.confidence_bypass) == (Tier.REQUIRES_APPROVAL, False)
        assert (effect.loosened, effect.loosens) == ((), False)
        assert all(operation in line for line in effect.tightened)


def split(operation: str) -> tuple[str, str, str]:
    return operation.partition(".")


def test_in_graph_form_the_whole_domain_stops_to_trust_confidence_and_the_proposal_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "policy.yaml").write_text(GRAPH_FORM)
    gate = open_gate(load_text(GRAPH_FORM), MemoryStore(), key=KEY)
    roots = ProposalRoots({"policy": tmp_path})
    one = propose_to_ask(gate, roots, "email.read", by="ana")
    effect = view_proposal(gate, roots, one.id).effect
    assert effect is not None
    assert not effect.loosens
    assert "email.send" in " ".join(effect.tightened)
    assert one.reason == (
        "At a review: email.read asks from now on. All that requires approval in email asks, however "
        "confident the agent is: a file in graph form can only say so of the whole domain."
    )
    after = load_text(apply_diff(parse_diff(one.diff), GRAPH_FORM) or "")
    assert after.entry("email.search").tier is Tier.AUTONOMOUS


def test_what_asks_already_is_not_proposed_again(tmp_path: Path) -> None:
    with pytest.raises(ProposalRefused, match="is not autonomous"):
        tighten(tmp_path, GRAPH_FORM, "email.send")


def test_nothing_is_proposed_for_a_file_that_is_not_in_force(tmp_path: Path) -> None:
    """A service that was started with another file: to change your own would make nothing ask."""
    (tmp_path / "policy.yaml").write_text(GRAPH_FORM.replace("send", "send, forward"))
    gate = open_gate(load_text(GRAPH_FORM), MemoryStore(), key=KEY)
    with pytest.raises(ProposalRefused, match="not what is in force"):
        propose_to_ask(gate, ProposalRoots({"policy": tmp_path}), "email.read", by="ana")

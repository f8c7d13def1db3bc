"""A proposal as people see it: what changes, as a diff and for the policy as decisions; what is next."""

from __future__ import annotations

import msgspec

from sayso.core.errors import PolicyError
from sayso.core.proposals.diffs import DiffRefused, apply_diff, parse_diff
from sayso.core.proposals.proposal import Proposal, ProposalRefused, seconds_to_cool, seconds_to_undo
from sayso.gate.gate import Gate, writing
from sayso.gate.proposals.file_proposal import list_proposals, load_proposal
from sayso.gate.proposals.files import digest_text, read_file_text
from sayso.gate.proposals.roots import POLICY_ROOT, ProposalRoots, find_folder
from sayso.gate.proposals.running_time import MachineClock, look_at_time, read_machine_time


class PolicyEffect(msgspec.Struct, frozen=True):
    """What a change of the policy would loosen and tighten, in words."""

    loosened: tuple[str, ...]
    tightened: tuple[str, ...]
    loosens: bool


class ProposalView(msgspec.Struct, frozen=True):
    """A proposal, how long until it may apply, how long it can be undone, and whether the file still fits."""

    proposal: Proposal
    cools_in: float
    undo_for: float
    fits: bool
    effect: PolicyEffect | None = None


def view_proposals(
    gate: Gate, roots: ProposalRoots, *, machine: MachineClock = read_machine_time
) -> list[ProposalView]:
    """List every proposal, newest first."""
    with writing(gate) as tx:
        ran = look_at_time(gate, tx, machine)
    return [_view(roots, one, ran, effect=False) for one in list_proposals(gate)]


def view_proposal(
    gate: Gate, roots: ProposalRoots, proposal: str, *, machine: MachineClock = read_machine_time
) -> ProposalView:
    """Return one proposal, with what a change of the policy would do."""
    with writing(gate) as tx:
        ran = look_at_time(gate, tx, machine)
        one = load_proposal(gate, tx, proposal)
    return _view(roots, one, ran, effect=True)


def _view(roots: ProposalRoots, one: Proposal, ran: float, *, effect: bool) -> ProposalView:
    text, fits = _current_text(roots, one)
    shown = None
    if effect and fits and one.root == POLICY_ROOT and one.state in ("proposed", "approved"):
        shown = _policy_effect(one, text)
    return ProposalView(one, seconds_to_cool(one, ran), seconds_to_undo(one, ran), fits, shown)


def _current_text(roots: ProposalRoots, one: Proposal) -> tuple[str | None, bool]:
    """Return the file's text, and whether it is what the proposal expects to find."""
    expected = one.after if one.state == "applied" else one.before
    try:
        text = read_file_text(find_folder(roots, one), one.path)
    except ProposalRefused:
        return None, False
    return text, digest_text(text) == expected


def _policy_effect(one: Proposal, text: str | None) -> PolicyEffect | None:
    from sayso.policy import load_preset, load_text
    from sayso.policy.compare.diff import compare_policies

    try:
        after = apply_diff(parse_diff(one.diff), text)
    except DiffRefused:
        return None
    try:
        before = load_preset("balanced") if text is None else load_text(text, name="policy")
    except PolicyError as error:
        return PolicyEffect((f"anything: the policy as it is cannot be read ({error.message})",), (), True)
    found = compare_policies(before, load_text(after or "", name="proposal"))
    beyond = [(str(change), change.loosens) for change in found.beyond]
    return PolicyEffect(
        (*map(str, found.loosened), *(text for text, loosens in beyond if loosens)),
        (*map(str, found.tightened), *(text for text, loosens in beyond if not loosens)),
        found.loosens,
    )

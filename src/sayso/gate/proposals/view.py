"""A proposal as people see it: what changes, as a diff and for the policy as decisions; what is next."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from sayso.core.errors import PolicyError
from sayso.core.policy import Policy
from sayso.core.proposals.diffs import DiffRefused, FileDiff, apply_diff, parse_diff, reverse_diff
from sayso.core.proposals.proposal import (
    Proposal,
    ProposalRefused,
    digest_proposal,
    seconds_to_cool,
    seconds_to_undo,
)
from sayso.gate.gate import Gate, time_trusted, writing
from sayso.gate.people.signed_acts import must_sign_acts
from sayso.gate.policy.acting_policy import load_policy_in_force
from sayso.gate.proposals.file_proposal import REVERSE, list_proposals, load_proposal
from sayso.gate.proposals.files import digest_text, read_file_text
from sayso.gate.proposals.roots import POLICY_ROOT, ProposalRoots, find_folder
from sayso.gate.proposals.running_time import MachineClock, look_at_time, read_machine_time
from sayso.gate.sealed_values import TamperedValue
from sayso.store.contract import Writer

HAS_NEXT_STEP = ("proposed", "approved", "applying", "undoing", "applied")


class PolicyEffect(msgspec.Struct, frozen=True):
    """What a change of the policy would loosen and tighten, in words."""

    loosened: tuple[str, ...]
    tightened: tuple[str, ...]
    loosens: bool


class ProposalView(msgspec.Struct, frozen=True):
    """A proposal, how long until it may apply, how long it can be undone, and whether the file still fits.

    `hindrance` says why it does not. `digest` is what an approval names, and `signed` whether it has to be
    signed with a passkey. The rest is told of a single proposal only: the change and the way back as they
    were understood (no way back of its own: the reverse), and what the next step does to the policy.
    """

    proposal: Proposal
    cools_in: float
    undo_for: float
    fits: bool
    hindrance: str
    clock_trusted: bool
    digest: str
    signed: bool
    change: FileDiff | None = None
    undo_change: FileDiff | None = None
    effect: PolicyEffect | None = None


class _Moment(msgspec.Struct, frozen=True):
    """What every view of one look has in common."""

    ran: float
    trusted: bool
    signed: bool


def view_proposals(
    gate: Gate, roots: ProposalRoots, *, machine: MachineClock = read_machine_time
) -> list[ProposalView]:
    """List every proposal: what waits first, then what moves by itself, then the past; newest first."""
    with writing(gate) as tx:
        now = _look(gate, tx, machine)
    return [_view(roots, one, now) for one in sorted(list_proposals(gate), key=_rank)]


def _rank(one: Proposal) -> int:
    return HAS_NEXT_STEP.index(one.state) if one.state in HAS_NEXT_STEP else len(HAS_NEXT_STEP)


def view_proposal(
    gate: Gate, roots: ProposalRoots, proposal: str, *, machine: MachineClock = read_machine_time
) -> ProposalView:
    """Return one proposal, with the change and what it would do to the policy."""
    with writing(gate) as tx:
        now = _look(gate, tx, machine)
        one = load_proposal(gate, tx, proposal)
    view = _view(roots, one, now)
    return msgspec.structs.replace(
        view,
        change=parse_diff(one.diff),
        undo_change=None if one.undo == REVERSE else parse_diff(one.undo),
        effect=_policy_effect(gate, roots, one) if view.fits else None,
    )


def _look(gate: Gate, tx: Writer, machine: MachineClock) -> _Moment:
    return _Moment(look_at_time(gate, tx, machine), time_trusted(gate, tx), must_sign_acts(gate, tx))


def _view(roots: ProposalRoots, one: Proposal, now: _Moment) -> ProposalView:
    why = _find_hindrance(roots, one) if one.state in HAS_NEXT_STEP else ""
    cools, undo = seconds_to_cool(one, now.ran), seconds_to_undo(one, now.ran)
    return ProposalView(one, cools, undo, not why, why, now.trusted, digest_proposal(one), now.signed)


def _find_hindrance(roots: ProposalRoots, one: Proposal) -> str:
    """Return why the file is not what the next step expects to find; empty if it is."""
    expected = one.after if one.state == "applied" else one.before
    try:
        text = read_file_text(find_folder(roots, one), one.path)
    except ProposalRefused as error:
        return error.message
    return "" if digest_text(text) == expected else "the file was changed meanwhile"


def _policy_effect(gate: Gate, roots: ProposalRoots, one: Proposal) -> PolicyEffect | None:
    """Return what the next step changes of the policy in force. Once it is applied, that is undoing it.

    What it loosens of the file is told as well, if that is not in force. Where the next step leaves no file,
    what is in force stays so.
    """
    if one.root != POLICY_ROOT or one.state not in ("proposed", "approved", "applied"):
        return None
    try:
        text = read_file_text(find_folder(roots, one), one.path)
        after = apply_diff(_next_change(one), text)
    except (DiffRefused, ProposalRefused):
        return None
    if after is None:
        return PolicyEffect((), (), loosens=False)
    try:
        before = load_policy_in_force(gate) or gate.policy
    except TamperedValue as error:
        return _anything(error.message)
    effect = _compare(_PolicyKey(before), after)
    own = _load_policy(text)
    if own is None or own.digest == before.digest:
        return effect
    also = _compare(_PolicyKey(own), after)  # a file that waits, or that nobody has looked at yet
    loosened = tuple(dict.fromkeys((*effect.loosened, *also.loosened)))
    return PolicyEffect(loosened, effect.tightened, effect.loosens or also.loosens)


def _load_policy(text: str | None) -> Policy | None:
    """Return the policy of this file; None if there is no file, or it is refused."""
    from sayso.policy import load_text

    try:
        return None if text is None else load_text(text, name="policy")
    except PolicyError:
        return None


class _PolicyKey:
    """A policy as a key: two of the same digest and mode decide alike."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self._key = policy, (policy.digest, policy.mode)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PolicyKey) and self._key == other._key


@lru_cache(maxsize=16)
def _compare(before: _PolicyKey, after: str) -> PolicyEffect:
    """Compare a policy with a file. That takes long, and a page that is open asks for it again and again."""
    from sayso.policy import load_text
    from sayso.policy.compare.diff import compare_policies

    try:
        wanted = load_text(after, name="proposal")
    except PolicyError as error:
        return _anything(error.message)
    found = compare_policies(before.policy, wanted)
    beyond = [(str(change), change.loosens) for change in found.beyond]
    return PolicyEffect(
        (*map(str, found.loosened), *(text for text, loosens in beyond if loosens)),
        (*map(str, found.tightened), *(text for text, loosens in beyond if not loosens)),
        found.loosens,
    )


def _anything(why: str) -> PolicyEffect:
    return PolicyEffect((f"anything: the policy cannot be read ({why})",), (), loosens=True)


def _next_change(one: Proposal) -> FileDiff:
    if one.state != "applied":
        return parse_diff(one.diff)
    return reverse_diff(parse_diff(one.diff)) if one.undo == REVERSE else parse_diff(one.undo)

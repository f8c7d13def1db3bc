"""Carrying proposals out: apply and undo; and withdrawing them.

The file and the store cannot change in one transaction. So it is written down first what is about to happen,
then the file is replaced in one step, and then it is written down that it was:

- What a crash in between left is settled by whoever comes next (`settle.py`).
- Only who has the very folder that it was proposed for carries it out. All others leave it alone.
- A file that was changed meanwhile is not overwritten: the proposal fails and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sayso.core.errors import SaysoError
from sayso.core.proposals.diffs import FileDiff, apply_diff, parse_diff, reverse_diff
from sayso.core.proposals.proposal import (
    BETWEEN,
    Proposal,
    ProposalRefused,
    ProposalState,
    check_may_apply,
    check_may_undo,
    digest_proposal,
    seconds_to_cool,
    seconds_to_undo,
)
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate, writing
from sayso.gate.open import gate_data_folder
from sayso.gate.people.passkeys import lock_passkeys
from sayso.gate.people.signed_acts import AT_A_TERMINAL, Acknowledgement, recording_bad_proofs, sign_act
from sayso.gate.policy.in_force import find_pinned
from sayso.gate.proposals.file_proposal import (
    REVERSE,
    change_state,
    end_proposal,
    has_standing_approval,
    list_proposals,
    load_proposal,
)
from sayso.gate.proposals.files import digest_text, read_file_text, replace_text
from sayso.gate.proposals.roots import (
    POLICY_ROOT,
    ProposalRoots,
    Proposer,
    check_may_propose,
    find_folder,
    is_folder_here,
    load_roots,
)
from sayso.gate.proposals.running_time import MachineClock, look_at_time, read_machine_time
from sayso.gate.proposals.settle import (
    CHANGED,
    LEASE,
    LOCK,
    carrying,
    find_texts,
    finish,
    recover_proposals,
    settle,
    settle_left,
    state_after,
)
from sayso.gate.sealed_values import lock_values
from sayso.store.contract import Reader, Writer

APPROVAL_ENDED = "whoever approved it may approve nothing any more, so the approval does not count"
APPROVE_AGAIN = "look at it again, then approve or reject it"


def apply_proposal(
    gate: Gate,
    roots: ProposalRoots,
    proposal: str,
    *,
    by: str,
    lock: Path,
    machine: MachineClock = read_machine_time,
) -> Proposal:
    """Carry out a proposal that was approved and has cooled."""
    with carrying(roots, lock) as carrier:
        settle_left(gate, roots, proposal, carrier, machine)
        with operator_act(gate) as tx:
            one = load_proposal(gate, tx, proposal)
            check_may_apply(one, look_at_time(gate, tx, machine))
            _check_place(roots, one)
            _check_unlocked(gate, tx, one)
            _hold_approval(gate, tx)
            stands = has_standing_approval(gate, tx, one)
            begin = _begin(gate, tx, one, "applying", by, carrier) if stands else None
            one = begin or _propose_again(gate, tx, one, by)
        if not stands:
            raise ProposalRefused(APPROVAL_ENDED, hint=APPROVE_AGAIN)
        return _carry_out(gate, roots, one, parse_diff(one.diff), by, machine)


def undo_proposal(
    gate: Gate,
    roots: ProposalRoots,
    proposal: str,
    *,
    by: str,
    lock: Path,
    machine: MachineClock = read_machine_time,
    shown: Acknowledgement = AT_A_TERMINAL,
) -> Proposal:
    """Take a proposal back that was applied, while it can be undone and nothing has changed since."""
    with carrying(roots, lock) as carrier:
        settle_left(gate, roots, proposal, carrier, machine)
        with recording_bad_proofs(gate, "undo", proposal, by), operator_act(gate) as tx:
            one = load_proposal(gate, tx, proposal)
            check_may_undo(one, look_at_time(gate, tx, machine))
            _check_place(roots, one)
            _check_unlocked(gate, tx, one)
            signature = sign_act(gate, tx, "undo", proposal, digest_proposal(one), by=by, shown=shown)
            one = _begin(gate, tx, one, "undoing", by, carrier, signature)
        back = reverse_diff(parse_diff(one.diff)) if one.undo == REVERSE else parse_diff(one.undo)
        return _carry_out(gate, roots, one, back, by, machine)


def withdraw_proposal(
    gate: Gate,
    roots: ProposalRoots,
    proposal: str,
    *,
    by: str,
    lock: Path,
    why: str = "",
    machine: MachineClock = read_machine_time,
) -> Proposal:
    """Withdraw a proposal that has not been applied; after a crash, once it is known that it was not."""
    with gate.store.read() as tx:
        between = load_proposal(gate, tx, proposal).state in BETWEEN
    if between:
        with carrying(roots, lock) as carrier:
            settle_left(gate, roots, proposal, carrier, machine)
    return end_proposal(gate, proposal, "withdrawn", by=by, why=why)


def _hold_approval(gate: Gate, tx: Writer) -> None:
    """Let nobody remove a passkey or revoke a token until it is written what comes of the approval."""
    lock_values(tx, "proposal")
    lock_passkeys(tx)
    tx.head(gate.stream)  # whoever revokes a token holds every stream


def _propose_again(gate: Gate, tx: Writer, one: Proposal, by: str) -> Proposal:
    """Put a proposal back to where nobody had approved it: whoever did may approve nothing any more."""
    nobody: dict[str, Any] = {"decided_by": "", "decided_at": None, "approved_as": "", "approved_with": ""}
    return change_state(gate, tx, one.id, "proposed", by=by, why=APPROVAL_ENDED, **nobody)


def _check_place(roots: ProposalRoots, one: Proposal) -> None:
    """Refuse a folder that is another one by now, and a file that whoever proposed it may not change now."""
    find_folder(roots, one)
    proposer: Proposer = "operator" if one.origin == "operator" else "trusted_channel"
    check_may_propose(roots, one.root, one.path, proposer)


def _check_unlocked(gate: Gate, tx: Reader, one: Proposal) -> None:
    """Refuse to change a policy that is locked: unlocking it is an act of its own."""
    if one.root == POLICY_ROOT and find_pinned(gate, tx):
        raise ProposalRefused("the policy is locked", hint="`sayso policy unlock`, then apply it")


def _begin(
    gate: Gate,
    tx: Writer,
    one: Proposal,
    to: ProposalState,
    by: str,
    carrier: str,
    signature: Mapping[str, Any] | None = None,
) -> Proposal:
    until = tx.now + LEASE
    return change_state(gate, tx, one.id, to, by=by, signature=signature, carrier=carrier, lease_until=until)


def _carry_out(
    gate: Gate, roots: ProposalRoots, one: Proposal, change: FileDiff, by: str, machine: MachineClock
) -> Proposal:
    """Change the file, and write down what became of it, whatever went wrong."""
    old, new = find_texts(one)
    try:
        folder = find_folder(roots, one)
        text = _apply_exactly(change, read_file_text(folder, one.path), new)
        replace_text(folder, one.path, before=old, after=text, carrying=one.id)
    except Exception as error:
        settled = settle(gate, one, by, machine, str(error))
        if settled.state == state_after(one):
            return settled
        raise
    return finish(gate, one, by, machine)


def _apply_exactly(change: FileDiff, text: str | None, after: str | None) -> str | None:
    changed = apply_diff(change, text)
    if digest_text(changed) != after:
        raise ProposalRefused(CHANGED)
    return changed


def carry_on(
    gate: Gate, roots: ProposalRoots, *, lock: Path, machine: MachineClock = read_machine_time
) -> list[Proposal]:
    """Do what is due: settle what a crash left, apply what has cooled, end what can no longer be undone.

    What was made for a folder that is not here is left to whoever has it. What could not be done once, for
    example on a full disk, waits for its operator.
    """
    moved = recover_proposals(gate, roots, lock=lock, machine=machine)
    with writing(gate) as tx:
        ran = look_at_time(gate, tx, machine)
    for one in list_proposals(gate):
        due = one.state == "approved" and not one.note and seconds_to_cool(one, ran) <= 0
        if due and is_folder_here(roots, one):
            try:
                moved.append(
                    apply_proposal(gate, roots, one.id, by=one.decided_by, lock=lock, machine=machine)
                )
            except (SaysoError, OSError):  # it is recorded with the proposal
                moved += [now for now in list_proposals(gate) if now.id == one.id]
        elif one.state == "applied" and seconds_to_undo(one, ran) <= 0:
            with writing(gate) as tx:
                moved.append(change_state(gate, tx, one.id, "settled", by=""))
    return moved


def carry_on_here(gate: Gate) -> list[Proposal]:
    """Do what is due for the folders declared on this machine."""
    return carry_on(gate, load_roots(), lock=gate_data_folder() / LOCK)

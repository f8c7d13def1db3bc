"""Carrying proposals out: apply, undo, and what a crash in between left.

The file and the store cannot change in one transaction. So it is written down first what is about to happen,
then the file is replaced in one step, and then it is written down that it was:

- A proposal in between is `applying` or `undoing`. Whoever finds one whose carrier is gone looks at the file:
  the old text means it did not happen, the new one that it did, and any other that somebody changed the file.
- The carrier holds a lock that ends with its process, and its name is in the proposal. Whoever has another
  lock, on another machine, waits until its lease is over.
- Only who has the very folder that it was proposed for carries it out. All others leave it alone.
- A file that was changed meanwhile is not overwritten: the proposal fails and says so.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sayso.core.durations import MINUTE
from sayso.core.errors import SaysoError
from sayso.core.proposals.diffs import FileDiff, apply_diff, parse_diff, reverse_diff
from sayso.core.proposals.proposal import (
    FolderElsewhere,
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
from sayso.gate.people.signed_acts import AT_A_TERMINAL, Acknowledgement, recording_bad_proofs, sign_act
from sayso.gate.policy.in_force import ROW, InForce, find_pinned
from sayso.gate.policy_acts.apply import apply_policy
from sayso.gate.proposals.file_proposal import REVERSE, change_state, list_proposals, load_proposal
from sayso.gate.proposals.files import digest_text, drop_text_beside, read_file_text, replace_text
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
from sayso.gate.sealed_values import find_value, lock_values
from sayso.store.contract import Reader, Writer

LOCK = "proposals.lock"
LEASE = 10 * MINUTE
"""Seconds until somebody with another lock may look what became of a proposal in between."""
BETWEEN = ("applying", "undoing")
CHANGED = "the file was changed meanwhile, and was left as it is"


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
    with _carrying(lock, machine) as carrier:
        _settle_left(gate, roots, proposal, carrier, machine)
        with operator_act(gate) as tx:
            one = load_proposal(gate, tx, proposal)
            check_may_apply(one, look_at_time(gate, tx, machine))
            _check_place(roots, one)
            _check_unlocked(gate, tx, one)
            one = _begin(gate, tx, one, "applying", by, carrier)
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
    with _carrying(lock, machine) as carrier:
        _settle_left(gate, roots, proposal, carrier, machine)
        with recording_bad_proofs(gate, "undo", proposal, by), operator_act(gate) as tx:
            one = load_proposal(gate, tx, proposal)
            check_may_undo(one, look_at_time(gate, tx, machine))
            _check_place(roots, one)
            _check_unlocked(gate, tx, one)
            signature = sign_act(gate, tx, "undo", proposal, digest_proposal(one), by=by, shown=shown)
            one = _begin(gate, tx, one, "undoing", by, carrier, signature)
        back = reverse_diff(parse_diff(one.diff)) if one.undo == REVERSE else parse_diff(one.undo)
        return _carry_out(gate, roots, one, back, by, machine)


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
    old, new = _texts(one)
    try:
        folder = find_folder(roots, one)
        text = _apply_exactly(change, read_file_text(folder, one.path), new)
        replace_text(folder, one.path, before=old, after=text, carrying=one.id)
    except Exception as error:
        settled = _settle(gate, one, by, machine, str(error))
        if settled.state == _state_after(one):
            return settled
        raise
    done = _finish(gate, one, by, machine)
    if one.root == POLICY_ROOT:
        _put_in_force(gate, Path(folder.path) / one.path, old, new, by)
    return done


def _put_in_force(gate: Gate, file: Path, old: str | None, new: str | None, by: str) -> None:
    """Put the changed policy in force, if the one it was made from was: what it changes was approved.

    Otherwise something else in the file waits to be applied, and this waits with it.
    """
    with gate.store.read() as tx:
        row = find_value(gate, tx, ROW, InForce)
    if row is not None and new is not None and row.content == old:
        apply_policy(gate, file, by=by, content=new)


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
    moved = _recover(gate, roots, lock, machine)
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


def _recover(gate: Gate, roots: ProposalRoots, lock: Path, machine: MachineClock) -> list[Proposal]:
    """Look at the files of proposals whose carrier is gone, and write down what became of them."""
    stuck = [one for one in list_proposals(gate) if one.state in BETWEEN and is_folder_here(roots, one)]
    if not stuck:
        return []
    with _carrying(lock, machine) as carrier:
        found = [_settle_left(gate, roots, one.id, carrier, machine) for one in stuck]
    return [one for one in found if one is not None]


def _settle_left(
    gate: Gate, roots: ProposalRoots, proposal: str, carrier: str, machine: MachineClock
) -> Proposal | None:
    """Settle a proposal that was left in between, if its carrier is gone and its folder is here.

    We hold the lock. So a carrier with our name is gone, and any other is once its lease is over.
    """
    with gate.store.read() as tx:
        one, now = load_proposal(gate, tx, proposal), tx.now
    gone = one.carrier == carrier or now >= one.lease_until
    if one.state not in BETWEEN or not gone or not is_folder_here(roots, one):
        return None
    return _settle(gate, one, one.decided_by, machine, "")


def _settle(gate: Gate, one: Proposal, by: str, machine: MachineClock, why: str) -> Proposal:
    """Look at the file, and write down what is there: the new text, the old one, or neither."""
    old, new = _texts(one)
    if one.folder is None:
        raise FolderElsewhere("nobody knows which folder this was proposed for")
    try:
        drop_text_beside(one.folder, one.path, one.id)
        found = digest_text(read_file_text(one.folder, one.path))
    except FolderElsewhere:
        raise
    except ProposalRefused as error:
        found, why = error.message, why or error.message
    if found == new:
        return _finish(gate, one, by, machine)
    to: ProposalState = "applied" if one.state == "undoing" else "approved" if found == old else "failed"
    with writing(gate) as tx:
        return _move(gate, tx, one, to, by, why if found == old else why or CHANGED)


def _state_after(one: Proposal) -> ProposalState:
    return "undone" if one.state == "undoing" else "applied"


def _texts(one: Proposal) -> tuple[str | None, str | None]:
    """Return the digests of the text that is there before, and after."""
    return (one.after, one.before) if one.state == "undoing" else (one.before, one.after)


def _finish(gate: Gate, one: Proposal, by: str, machine: MachineClock) -> Proposal:
    with operator_act(gate) as tx:
        if one.state == "undoing":
            return _move(gate, tx, one, "undone", by)
        ran = look_at_time(gate, tx, machine, alone=True)
        return _move(gate, tx, one, "applied", by, applied_at=tx.now, applied_ran=ran)


def _move(
    gate: Gate, tx: Writer, one: Proposal, to: ProposalState, by: str, why: str = "", **changes: Any
) -> Proposal:
    """Move a proposal on that we carry out; refused if somebody else has taken it over meanwhile."""
    lock_values(tx, "proposal")
    now = load_proposal(gate, tx, one.id)
    if (now.state, now.carrier, now.lease_until) != (one.state, one.carrier, one.lease_until):
        raise ProposalRefused(f"somebody else went on with it: it is {now.state}")
    return change_state(gate, tx, one.id, to, by=by, why=why, **changes)


@contextmanager
def _carrying(lock: Path, machine: MachineClock) -> Iterator[str]:
    """Hold the lock of whoever carries proposals out, and give its name; refused if somebody else does."""
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ProposalRefused("somebody else is carrying out a proposal", hint="try again") from None
        found = os.fstat(held)
        yield f"{machine().boot}/{found.st_dev}:{found.st_ino}"
    finally:
        os.close(held)

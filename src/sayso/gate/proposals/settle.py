"""Record how proposals ended that were being carried out, also after a crash.

- A proposal in between is `applying` or `undoing`. Whoever finds one whose carrier is gone looks at the file:
  the old text means it did not happen, the new one that it did, and any other that somebody changed the file.
- The carrier holds a lock that ends with its process, and the lock's name is in the proposal. Whoever has
  another lock waits until its lease is over.
- A changed policy is in force with the entry that it was changed: there is no moment between the two.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sayso.core.durations import MINUTE
from sayso.core.proposals.diffs import DiffRefused, apply_diff, parse_diff, reverse_diff
from sayso.core.proposals.proposal import (
    BETWEEN,
    FolderElsewhere,
    FolderIdentity,
    Proposal,
    ProposalRefused,
    ProposalState,
)
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate, writing
from sayso.gate.open import gate_data_folder
from sayso.gate.policy_acts.apply import digest_change, put_proposed_in_force
from sayso.gate.proposals.file_proposal import change_state, list_proposals, load_proposal
from sayso.gate.proposals.files import digest_text, drop_text_beside, read_file_text
from sayso.gate.proposals.roots import POLICY_ROOT, ProposalRoots, is_folder_here, load_roots
from sayso.gate.proposals.running_time import MachineClock, look_at_time, read_machine_time
from sayso.gate.sealed_values import lock_values
from sayso.store.contract import Writer

LOCK = "proposals.lock"
LEASE = 10 * MINUTE
"""Seconds until somebody with another lock may look what became of a proposal in between."""
CHANGED = "the file was changed meanwhile, and was left as it is"


class LockHeld(ProposalRefused):
    """Somebody else is carrying out a proposal."""


def recover_here(gate: Gate) -> list[Proposal]:
    """Settle what a crash left in the folders declared on this machine."""
    return recover_proposals(gate, load_roots(), lock=gate_data_folder() / LOCK)


def recover_proposals(
    gate: Gate, roots: ProposalRoots, *, lock: Path, machine: MachineClock = read_machine_time
) -> list[Proposal]:
    """Look at the files of proposals whose carrier is gone, and write down what became of them.

    While somebody carries one out nothing is done: whoever comes next looks again.
    """
    stuck = [one for one in list_proposals(gate) if one.state in BETWEEN and is_folder_here(roots, one)]
    if not stuck:
        return []
    try:
        with carrying(roots, lock) as carrier:
            found = [settle_left(gate, roots, one.id, carrier, machine) for one in stuck]
    except LockHeld:
        return []
    return [one for one in found if one is not None]


def settle_left(
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
    return settle(gate, one, one.decided_by, machine, "")


def settle(gate: Gate, one: Proposal, by: str, machine: MachineClock, why: str) -> Proposal:
    """Look at the file, and write down what is there: the new text, the old one, or neither."""
    old, new = find_texts(one)
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
        return finish(gate, one, by, machine)
    to: ProposalState = "applied" if one.state == "undoing" else "approved" if found == old else "failed"
    with writing(gate) as tx:
        return _move(gate, tx, one, to, by, why if found == old else why or CHANGED)


def state_after(one: Proposal) -> ProposalState:
    return "undone" if one.state == "undoing" else "applied"


def find_texts(one: Proposal) -> tuple[str | None, str | None]:
    """Return the digests of the text that is there before, and after."""
    return (one.after, one.before) if one.state == "undoing" else (one.before, one.after)


def finish(gate: Gate, one: Proposal, by: str, machine: MachineClock) -> Proposal:
    """Write down that the file was changed; a policy is in force from here on."""
    with operator_act(gate) as tx:
        if one.state == "undoing":
            done = _move(gate, tx, one, "undone", by)
        else:
            ran = look_at_time(gate, tx, machine, alone=True)
            done = _move(gate, tx, one, "applied", by, applied_at=tx.now, applied_ran=ran)
        if one.root == POLICY_ROOT and one.folder is not None:
            _put_in_force(gate, tx, one, one.folder, by)
    if gate.live is not None:
        gate.live.look_again()
    return done


def _put_in_force(gate: Gate, tx: Writer, one: Proposal, folder: FolderIdentity, by: str) -> None:
    """Put the changed policy in force; if it means something else than when it was proposed, it waits."""
    old, new = _read_texts(folder, one)
    if old is None or new is None:
        return
    file = Path(folder.path) / one.path
    if one.state == "undoing" or digest_change(file, old, new) == one.means:
        put_proposed_in_force(gate, tx, file, old=old, new=new, by=by)


def _read_texts(folder: FolderIdentity, one: Proposal) -> tuple[str | None, str | None]:
    """Return the text that was there before, and the one that is there now; None where there was no file.

    If somebody changed the file just now, neither.
    """
    change = parse_diff(one.diff)
    try:
        text = read_file_text(folder, one.path)
        before = apply_diff(change if one.state == "undoing" else reverse_diff(change), text)
    except (DiffRefused, ProposalRefused):
        return None, None
    same = (digest_text(before), digest_text(text)) == find_texts(one)
    return (before, text) if same else (None, None)


def _move(
    gate: Gate, tx: Writer, one: Proposal, to: ProposalState, by: str, why: str = "", **changes: Any
) -> Proposal:
    """Move a proposal on that we carry out; refused if somebody else has taken it over meanwhile."""
    lock_values(tx, "proposal")
    now = load_proposal(gate, tx, one.id)
    if (now.state, now.carrier, now.lease_until) != (one.state, one.carrier, one.lease_until):
        raise ProposalRefused(f"somebody else has continued with it: it is {now.state}")
    return change_state(gate, tx, one.id, to, by=by, why=why, **changes)


@contextmanager
def carrying(roots: ProposalRoots, lock: Path) -> Iterator[str]:
    """Hold the lock of whoever carries proposals out, and give its name; refused if somebody else does."""
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LockHeld("somebody else is carrying out a proposal", hint="try again") from None
        found = os.fstat(held)
        yield f"{roots.host}/{found.st_dev}:{found.st_ino}"
    finally:
        os.close(held)

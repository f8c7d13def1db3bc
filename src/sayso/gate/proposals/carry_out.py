"""Carrying proposals out: apply, undo, and what a crash in between left.

The file and the store cannot change in one transaction. So it is written down first what is about to happen,
then the file is replaced in one step, and then it is written down that it was:

- A proposal in between is `applying` or `undoing`. Whoever finds one whose carrier is gone looks at the file:
  the old text means it did not happen, the new one that it did, and any other that somebody changed the file.
- The carrier holds a lock that ends with its process.
- A file that was changed meanwhile is not overwritten: the proposal fails and says so.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sayso.core.errors import SaysoError
from sayso.core.proposals.diffs import FileDiff, apply_diff, parse_diff, reverse_diff
from sayso.core.proposals.proposal import (
    Proposal,
    ProposalRefused,
    ProposalState,
    check_may_apply,
    check_may_undo,
    seconds_to_cool,
    seconds_to_undo,
)
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate, writing
from sayso.gate.open import gate_data_folder
from sayso.gate.proposals.file_proposal import REVERSE, change_state, list_proposals, load_proposal
from sayso.gate.proposals.files import digest_text, read_file_text, replace_text
from sayso.gate.proposals.roots import ProposalRoots, load_roots
from sayso.gate.proposals.running_time import MachineClock, look_at_time, read_machine_time

LOCK = "proposals.lock"
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
    with _carrying(lock):
        with operator_act(gate) as tx:
            one = load_proposal(gate, tx, proposal)
            check_may_apply(one, look_at_time(gate, tx, machine))
            change_state(gate, tx, proposal, "applying", by=by)
        try:
            _change_file(roots, one, parse_diff(one.diff), one.before, one.after)
        except Exception as error:
            _give_up(gate, one, "failed", by, str(error))
            raise
        return _finish(gate, proposal, "applied", by, machine)


def undo_proposal(
    gate: Gate,
    roots: ProposalRoots,
    proposal: str,
    *,
    by: str,
    lock: Path,
    machine: MachineClock = read_machine_time,
) -> Proposal:
    """Take a proposal back that was applied, while it can be undone and nothing has changed since."""
    with _carrying(lock):
        with operator_act(gate) as tx:
            one = load_proposal(gate, tx, proposal)
            check_may_undo(one, look_at_time(gate, tx, machine))
            change_state(gate, tx, proposal, "undoing", by=by)
        try:
            back = reverse_diff(parse_diff(one.diff)) if one.undo == REVERSE else parse_diff(one.undo)
            _change_file(roots, one, back, one.after, one.before)
        except Exception as error:
            _give_up(gate, one, "applied", by, str(error))
            raise
        return _finish(gate, proposal, "undone", by, machine)


def _change_file(
    roots: ProposalRoots, one: Proposal, change: FileDiff, before: str | None, after: str | None
) -> None:
    """Change the file, from the text with the one digest to the text with the other, and no other."""
    folder = roots.folder(one.root)
    text = apply_diff(change, read_file_text(folder, one.path))
    if digest_text(text) != after:
        raise ProposalRefused(CHANGED)
    replace_text(folder, one.path, before=before, after=text)


def carry_on(
    gate: Gate, roots: ProposalRoots, *, lock: Path, machine: MachineClock = read_machine_time
) -> list[Proposal]:
    """Do what is due: settle what a crash left, apply what has cooled, end what can no longer be undone."""
    moved = _recover(gate, roots, lock, machine)
    with writing(gate) as tx:
        ran = look_at_time(gate, tx, machine)
    for one in list_proposals(gate):
        if one.state == "approved" and seconds_to_cool(one, ran) <= 0:
            try:
                moved.append(
                    apply_proposal(gate, roots, one.id, by=one.decided_by, lock=lock, machine=machine)
                )
            except SaysoError:  # it is recorded with the proposal
                with gate.store.read() as tx2:
                    moved.append(load_proposal(gate, tx2, one.id))
        elif one.state == "applied" and seconds_to_undo(one, ran) <= 0:
            with writing(gate) as tx:
                moved.append(change_state(gate, tx, one.id, "settled", by=""))
    return moved


def carry_on_here(gate: Gate) -> list[Proposal]:
    """Do what is due for the folders declared on this machine."""
    return carry_on(gate, load_roots(), lock=gate_data_folder() / LOCK)


def _recover(gate: Gate, roots: ProposalRoots, lock: Path, machine: MachineClock) -> list[Proposal]:
    """Look at the files of proposals whose carrier is gone, and write down what became of them."""
    stuck = [one for one in list_proposals(gate) if one.state in ("applying", "undoing")]
    if not stuck:
        return []
    moved = []
    with _carrying(lock):
        for one in stuck:
            with gate.store.read() as tx:
                now = load_proposal(gate, tx, one.id)
            if now.state != one.state:
                continue
            found = digest_text(read_file_text(roots.folder(one.root), one.path))
            done: ProposalState = "applied" if one.state == "applying" else "undone"
            undone: ProposalState = "approved" if one.state == "applying" else "applied"
            old, new = (one.before, one.after) if one.state == "applying" else (one.after, one.before)
            if found == new:
                moved.append(_finish(gate, one.id, done, one.decided_by, machine))
            else:
                to = undone if found == old else "failed"
                with writing(gate) as tx:
                    moved.append(
                        change_state(gate, tx, one.id, to, by="", why="" if found == old else CHANGED)
                    )
    return moved


def _finish(gate: Gate, proposal: str, to: ProposalState, by: str, machine: MachineClock) -> Proposal:
    with operator_act(gate) as tx:
        ran = look_at_time(gate, tx, machine)
        if to != "applied":
            return change_state(gate, tx, proposal, to, by=by)
        return change_state(gate, tx, proposal, to, by=by, applied_at=tx.now, applied_ran=ran)


def _give_up(gate: Gate, one: Proposal, to: ProposalState, by: str, why: str) -> None:
    with writing(gate) as tx:
        change_state(gate, tx, one.id, to, by=by, why=why)


@contextmanager
def _carrying(lock: Path) -> Iterator[None]:
    """Hold the lock of whoever carries proposals out; refused if somebody else does."""
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ProposalRefused("somebody else is carrying out a proposal", hint="try again") from None
        yield
    finally:
        os.close(held)

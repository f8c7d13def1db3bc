"""Filing a proposal, and what the operator decides of it: approve, reject, withdraw.

- A proposal needs a diff that applies to the file as it is, a way to undo it, and a reason.
- Filing changes nothing. Only an operator approves, and confidence has no say in it.
- Each step is one transaction with its entry, signed as an act of the operator where it is one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from sayso.core.audit import events
from sayso.core.durations import DAY, HOUR
from sayso.core.policy import COOLING_HOURS, UNDO_DAYS, Domain
from sayso.core.proposals.diffs import DiffRefused, FileDiff, apply_diff, parse_diff, reverse_diff
from sayso.core.proposals.proposal import (
    FolderIdentity,
    Proposal,
    ProposalRefused,
    ProposalState,
    check_may_approve,
    digest_proposal,
    move_proposal,
)
from sayso.core.team import EMAIL, SUBJECT
from sayso.core.words import visible
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate, writing
from sayso.gate.people.answerers import Answerer, is_vouched_for
from sayso.gate.people.signed_acts import AT_A_TERMINAL, Acknowledgement, recording_bad_proofs, sign_act
from sayso.gate.policy.acting_policy import check_in_force
from sayso.gate.policy_acts.apply import digest_change
from sayso.gate.proposals.files import LARGEST_FILE, digest_text, read_file_text
from sayso.gate.proposals.roots import POLICY_ROOT, ProposalRoots, Proposer, check_may_propose
from sayso.gate.proposals.running_time import MachineClock, look_at_time, read_machine_time
from sayso.gate.rows.journal import record
from sayso.gate.sealed_values import TamperedValue, lock_values, read_value, value_name, write_value
from sayso.gate.settings import POLICY_NAMES
from sayso.store.contract import MetaRow, Reader, Writer

SELF = "self_modification"
COOLING, UNDO = COOLING_HOURS * HOUR, UNDO_DAYS * DAY
LONGEST_REASON = 2_000
MOST_OPEN = 50
"""How many proposals may wait that operators made, and as many more from the trusted channel."""
REVERSE = "reverse"
PRUNE = f"{SELF}.prune_stale_memory"
WITHOUT_COOLING = frozenset({PRUNE, f"{SELF}.consolidate_daily_to_memory"})
"""They carry a diff and an undo, and do not have to cool in folders that were declared for that."""


class ProposalBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody proposes. `undo` is `reverse`, or a diff that leads back."""

    root: str
    diff: str
    undo: str
    reason: str


def file_proposal(
    gate: Gate,
    roots: ProposalRoots,
    wanted: ProposalBody,
    *,
    by: str,
    proposer: Proposer,
    operation: str = f"{SELF}.propose_behavioral_change",
    machine: MachineClock = read_machine_time,
) -> Proposal:
    """Check and file a proposal. It changes nothing before an operator approves it and it has cooled."""
    with _recording_refusal(gate, wanted, by, proposer):
        return _check_and_file(gate, roots, wanted, by, proposer, operation, machine)


@contextmanager
def _recording_refusal(gate: Gate, wanted: ProposalBody, by: str, proposer: Proposer) -> Iterator[None]:
    """Record why an operator's proposal was not filed; the trusted channel records its own refusals."""
    try:
        yield
    except ProposalRefused as refusal:
        if proposer == "operator":
            with operator_act(gate) as tx:
                refused = events.ProposalNotFiled(
                    by, proposer, visible(wanted.root), visible(refusal.message)
                )
                record(tx, refused, stream=gate.stream)
        raise


def _check_and_file(
    gate: Gate,
    roots: ProposalRoots,
    wanted: ProposalBody,
    by: str,
    proposer: Proposer,
    operation: str,
    machine: MachineClock,
) -> Proposal:
    checked = check_proposal(roots, wanted, proposer=proposer)
    domain = gate.policy.domains.get(SELF, Domain())
    with operator_act(gate) if proposer == "operator" else writing(gate) as tx:
        ran = look_at_time(gate, tx, machine, alone=True)  # locked in this order everywhere
        _check_room(gate, tx, proposer)
        if proposer == "operator":
            check_in_force(gate, tx)
        made = Proposal(
            id=f"p_{secrets.token_hex(8)}",
            root=wanted.root,
            path=checked.path,
            diff=wanted.diff,
            undo=wanted.undo,
            reason=wanted.reason.strip(),
            by=by,
            origin=proposer,
            before=digest_text(checked.before),
            after=digest_text(checked.after),
            proposed_at=tx.now,
            proposed_ran=ran,
            cooling=_cooling(roots, wanted, domain, operation),
            undo_window=UNDO if domain.undo_window_days is None else domain.undo_window_days * DAY,
            operation=operation,
            folder=checked.folder,
            means=_find_meaning(wanted.root, checked),
        )
        save_proposal(gate, tx, made)
        _record(gate, tx, made, by, made.reason)
    return made


def _find_meaning(root: str, checked: CheckedProposal) -> str:
    """Return the digest of what this means for the policy; nothing for another file, and for a first one."""
    if root != POLICY_ROOT or checked.before is None or checked.after is None:
        return ""
    return digest_change(Path(checked.folder.path) / checked.path, checked.before, checked.after)


class CheckedProposal(msgspec.Struct, frozen=True):
    """The file a proposal changes, and its text before and after; None for no file."""

    path: str
    before: str | None
    after: str | None
    folder: FolderIdentity


def check_proposal(roots: ProposalRoots, wanted: ProposalBody, *, proposer: Proposer) -> CheckedProposal:
    """Refuse a proposal without a reason, a diff that applies now, or a way back that leads back."""
    reason = wanted.reason.strip()
    if not reason or len(reason) > LONGEST_REASON:
        raise ProposalRefused(
            f"a proposal needs a reason of up to {LONGEST_REASON:,} characters", reason="reason"
        )
    _check_text(wanted)
    change = _read(wanted.diff)
    check_may_propose(roots, wanted.root, change.path, proposer)
    folder = roots.identify(wanted.root)
    before = read_file_text(folder, change.path)
    after = _apply(change, before)
    if after == before:
        raise ProposalRefused("the diff changes nothing", reason="changes_nothing")
    if len((after or "").encode()) > LARGEST_FILE:
        raise ProposalRefused("the file would be too large to be undone", reason="too_large")
    _check_undo(wanted.undo, change, before, after)
    if wanted.root == POLICY_ROOT:
        _check_policy(after)
        _check_only_policy(folder, change.path)
    return CheckedProposal(change.path, before, after, folder)


def _check_text(wanted: ProposalBody) -> None:
    """Refuse half characters: no file can hold them."""
    try:
        f"{wanted.diff}{wanted.undo}{wanted.reason}".encode()
    except UnicodeEncodeError:
        raise ProposalRefused(
            "a proposal is text, and this holds half a character", reason="not_text"
        ) from None


def is_proposing(operation: str) -> bool:
    """Return whether an operation only files a proposal, which it has to carry."""
    domain, _, action = operation.partition(".")
    return domain == SELF and (operation in WITHOUT_COOLING or action.startswith("propose_"))


def approve_proposal(
    gate: Gate,
    proposal: str,
    *,
    by: str,
    shown: Acknowledgement = AT_A_TERMINAL,
    who: Answerer | None = None,
) -> Proposal:
    """Approve: it takes effect once it has cooled, counted from when it was proposed.

    `who` is the id they approve by. If that is taken from them before it is applied, they approved nothing.
    """
    with recording_bad_proofs(gate, "approve", proposal, by), operator_act(gate) as tx:
        lock_values(tx, "proposal")
        one = load_proposal(gate, tx, proposal)
        check_may_approve(one)
        digest = digest_proposal(one)
        signature = sign_act(gate, tx, "approve", proposal, digest, by=by, shown=shown)
        proof = shown.signing.proof if shown.signing is not None else None
        decided: dict[str, Any] = {
            "decided_by": by,
            "decided_at": tx.now,
            "approved_as": "" if who is None else who.identity,
            "approved_with": proof.credential if proof else (who and who.passkey) or "",
        }
        return change_state(gate, tx, proposal, "approved", by=by, signature=signature, **decided)


def has_standing_approval(gate: Gate, tx: Reader, one: Proposal) -> bool:
    """Return whether whoever approved this could still approve it."""
    if not one.approved_as:
        return True
    if one.approved_as.startswith((f"{SUBJECT}:", f"{EMAIL}:")):
        team = (gate.base or gate.policy).team
        if team.person_of(one.approved_as) != one.decided_by:
            return False
    return is_vouched_for(gate, tx, one.approved_as, one.approved_with or None)


def reject_proposal(gate: Gate, proposal: str, *, by: str, why: str = "") -> Proposal:
    return end_proposal(gate, proposal, "rejected", by=by, why=why)


def list_proposals(gate: Gate) -> list[Proposal]:
    """List all proposals, newest first. One whose row does not count is void, and the others go on."""
    with gate.store.read() as tx:
        found = _load_all(gate, tx)
    return sorted(found, key=lambda one: one.proposed_at, reverse=True)


def _load_all(gate: Gate, tx: Reader) -> list[Proposal]:
    every = value_name("proposal", "p_")
    names = [row.name for row in tx.every(MetaRow) if row.name.startswith(every)]
    return [one for one in (_read_or_void(gate, tx, name) for name in names) if one is not None]


def _check_room(gate: Gate, tx: Writer, proposer: Proposer) -> None:
    """Refuse one more where too many of this proposer wait: nobody could look at all of them."""
    lock_values(tx, "proposal")
    waiting = [
        one for one in _load_all(gate, tx) if one.state in ("proposed", "approved") and one.origin == proposer
    ]
    if len(waiting) >= MOST_OPEN:
        raise ProposalRefused(
            f"{MOST_OPEN} proposals wait already",
            hint="approve, reject or withdraw some of them first",
            reason="too_many",
        )


def _read_or_void(gate: Gate, tx: Reader, name: str) -> Proposal | None:
    try:
        return read_value(gate, tx, name, Proposal)
    except TamperedValue as error:
        return Proposal(
            id=name.partition("/")[2], root="", path="", diff="", undo="", reason="", by="", origin="",
            before=None, after=None, proposed_at=0.0, proposed_ran=0.0, cooling=0.0, undo_window=0.0,
            state="void", note=error.message,
        )  # fmt: skip


def load_proposal(gate: Gate, tx: Reader, proposal: str) -> Proposal:
    found = read_value(gate, tx, value_name("proposal", proposal), Proposal) if proposal.isascii() else None
    if found is None:
        raise ProposalRefused(f"there is no proposal {proposal}", hint="sayso propose list shows them")
    return found


def save_proposal(gate: Gate, tx: Writer, one: Proposal) -> None:
    write_value(gate, tx, value_name("proposal", one.id), one)


def change_state(
    gate: Gate,
    tx: Writer,
    proposal: str,
    to: ProposalState,
    *,
    by: str,
    why: str = "",
    signature: Mapping[str, Any] | None = None,
    **changes: object,
) -> Proposal:
    """Move a proposal on, in the transaction that records it. One at a time does so."""
    lock_values(tx, "proposal")
    moved = move_proposal(load_proposal(gate, tx, proposal), to, note=why, **changes)
    save_proposal(gate, tx, moved)
    _record(gate, tx, moved, by, why, signature)
    return moved


def end_proposal(
    gate: Gate, proposal: str, to: Literal["rejected", "withdrawn"], *, by: str, why: str
) -> Proposal:
    """Decide that it is not applied."""
    with operator_act(gate) as tx:
        return change_state(gate, tx, proposal, to, by=by, why=why, decided_by=by, decided_at=tx.now)


def _record(
    gate: Gate, tx: Writer, one: Proposal, by: str, why: str, signature: Mapping[str, Any] | None = None
) -> None:
    texts = (one.before or "", one.after or "")
    said = events.ProposalChanged(
        one.id, one.state, by, one.origin, one.root, one.path, *texts, why, **(signature or {})
    )
    record(tx, said, stream=gate.stream, sensitive={"diff": msgspec.json.encode(one.diff)})


def _read(text: str) -> FileDiff:
    try:
        return parse_diff(text)
    except DiffRefused as error:
        raise ProposalRefused(
            f"a proposal needs a diff: {error.message}", hint=error.hint, reason="diff"
        ) from error


def _apply(change: FileDiff, before: str | None) -> str | None:
    try:
        return apply_diff(change, before)
    except DiffRefused as error:
        raise ProposalRefused(error.message, hint=error.hint, reason="does_not_apply") from error


def _check_undo(undo: str, change: FileDiff, before: str | None, after: str | None) -> None:
    """Refuse a way back that does not lead back."""
    if not _leads_back(undo, change, before, after):
        raise ProposalRefused(
            "the undo does not lead back", hint=f"write `{REVERSE}`, or a diff that does", reason="undo"
        )


def _leads_back(undo: str, change: FileDiff, before: str | None, after: str | None) -> bool:
    try:
        back = reverse_diff(change) if undo == REVERSE else parse_diff(undo)
        return back.path == change.path and apply_diff(back, after) == before
    except DiffRefused:
        return False


def _check_policy(text: str | None) -> None:
    from sayso.policy import load_text

    if text is None:
        raise ProposalRefused("a policy cannot be deleted by a proposal")
    load_text(text, name="proposal")


def _check_only_policy(folder: FolderIdentity, path: str) -> None:
    """Refuse a policy file beside the one in use: it would take its place, and show no difference to it."""
    used = [name for name in POLICY_NAMES if os.path.lexists(Path(folder.path) / name)]
    if used and path != used[0]:
        raise ProposalRefused(f"your policy is {used[0]}", hint="propose to change that one")


def _cooling(roots: ProposalRoots, wanted: ProposalBody, domain: Domain, operation: str) -> float:
    """Return how long it cools. Only memory declared for it is changed without, and pruning adds nothing."""
    adds = any(line.sign == "+" for hunk in _read(wanted.diff).hunks for line in hunk.lines)
    if (
        operation in WITHOUT_COOLING
        and wanted.root in roots.without_cooling
        and not (adds and operation == PRUNE)
    ):
        return 0.0
    return COOLING if domain.cooling_period_hours is None else domain.cooling_period_hours * HOUR

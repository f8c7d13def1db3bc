"""A proposal: a change of one file that a person has to approve, that waits, and that can be undone.

proposed → approved → applied → undone or settled; or rejected, withdrawn, failed. While it is carried out it
is `applying` or `undoing`, so that nobody else does the same and a crash in between is noticed.

- It may be applied once it has cooled: so much running time has passed since it was proposed.
- It can be undone for so much running time since it was applied.
- Running time is what `gate/proposals/running_time.py` counts. No clock that is set shortens it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.core.digest import sha256
from sayso.core.durations import describe_left
from sayso.core.errors import SaysoError

ARGUMENT = "proposal"
"""The argument that holds a proposal, in a request to change behaviour or memory."""
ProposalState = Literal[
    "proposed", "approved", "rejected", "withdrawn", "applying", "applied", "undoing", "undone", "settled",
    "failed", "void",
]  # fmt: skip
NEXT: dict[ProposalState, frozenset[ProposalState]] = {
    "proposed": frozenset({"approved", "rejected", "withdrawn"}),
    "approved": frozenset({"applying", "withdrawn", "failed", "proposed"}),
    "applying": frozenset({"applied", "approved", "failed"}),
    "applied": frozenset({"undoing", "settled"}),
    "undoing": frozenset({"undone", "applied", "failed"}),
    "rejected": frozenset(),
    "withdrawn": frozenset(),
    "undone": frozenset(),
    "settled": frozenset(),
    "failed": frozenset(),
    "void": frozenset(),
}
"""Which state may follow which. There is no other way. An approved one is proposed again if whoever approved
it may approve nothing any more. `void`: its row was changed outside Sayso, or is of a copy that was restored,
so nothing in it is believed."""


BETWEEN: tuple[ProposalState, ...] = ("applying", "undoing")
"""The states of a proposal that somebody carries out, or did when their process ended."""
_WHAT_ELSE: dict[ProposalState, str] = {
    "applied": "`sayso undo` takes it back",
    "applying": "it is being applied, or its process died: the outcome is known within ten minutes",
    "undoing": "it is being undone, or its process died: the outcome is known within ten minutes",
}


Reason = Literal[
    "", "no_proposal", "reason", "not_text", "diff", "does_not_apply", "changes_nothing", "too_large", "undo",
    "folder", "outside", "not_a_file", "operators_only", "own_files", "too_many",
]  # fmt: skip
"""Why a proposal is not filed, as a word for the trail; "" where there is no word for it."""


class ProposalRefused(SaysoError):
    """The proposal cannot be made, or this cannot be done with it now."""

    code = "proposal"

    def __init__(self, message: str, *, hint: str | None = None, reason: Reason = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class FolderElsewhere(ProposalRefused):
    """The folder that the proposal was made for is not here, or another one is in its place."""


class FolderIdentity(msgspec.Struct, frozen=True):
    """Which folder it is: its real path on which machine, and what the file system knows it by."""

    host: str
    path: str
    device: int
    inode: int


class Proposal(msgspec.Struct, frozen=True):
    """What is proposed, by whom and why, and how far it has come.

    `root` names the declared folder (or `policy`), `folder` is the one it was then, and `path` the file in
    it. `before` and `after` are digests of the whole text; None means no file. Times of the name `_ran`
    are running time. `approved_as` is the id of whoever approved it, `approved_with` the passkey that vouched
    for it. `carrier` is who carries it out, and until `lease_until` nobody else looks into it. `means` is the
    digest of what a change of the policy meant when it was proposed: presets can change with a new version.
    """

    id: str
    root: str
    path: str
    diff: str
    undo: str
    reason: str
    by: str
    origin: str
    before: str | None
    after: str | None
    proposed_at: float
    proposed_ran: float
    cooling: float
    undo_window: float
    state: ProposalState = "proposed"
    decided_by: str = ""
    decided_at: float | None = None
    applied_at: float | None = None
    applied_ran: float | None = None
    note: str = ""
    operation: str = ""
    folder: FolderIdentity | None = None
    carrier: str = ""
    lease_until: float = 0.0
    approved_as: str = ""
    approved_with: str = ""
    means: str = ""


def digest_proposal(one: Proposal) -> str:
    """Return the digest of what is proposed: whoever approves it names with this what they were shown."""
    what = (one.id, one.root, one.path, one.diff, one.undo, one.before, one.after)
    terms = (one.reason, one.by, one.origin, one.operation, one.cooling, one.undo_window)
    return sha256(msgspec.json.encode((what, terms)))


def move_proposal(one: Proposal, to: ProposalState, **changes: object) -> Proposal:
    """Return the proposal in its next state; refused if that does not follow."""
    if to not in NEXT[one.state]:
        raise _cannot_become(one, to)
    return msgspec.structs.replace(one, state=to, **changes)


def _cannot_become(one: Proposal, to: ProposalState) -> ProposalRefused:
    return ProposalRefused(
        f"the proposal is {one.state}: it cannot become {to}", hint=_WHAT_ELSE.get(one.state)
    )


def seconds_to_cool(one: Proposal, ran: float) -> float:
    """Return how much running time has to pass before it may be applied."""
    return max(0.0, one.proposed_ran + one.cooling - ran)


def seconds_to_undo(one: Proposal, ran: float) -> float:
    """Return for how much running time it can still be undone."""
    if one.state != "applied" or one.applied_ran is None:
        return 0.0
    return max(0.0, one.applied_ran + one.undo_window - ran)


def check_may_approve(one: Proposal) -> None:
    """Refuse what is decided already. Only its carrier moves one that is being applied."""
    if one.state != "proposed":
        raise _cannot_become(one, "approved")


def check_may_apply(one: Proposal, ran: float) -> None:
    """Refuse a proposal that nobody approved, or that has not cooled."""
    if one.state != "approved":
        raise ProposalRefused(f"the proposal is {one.state}, not approved")
    left = seconds_to_cool(one, ran)
    if left > 0:
        raise ProposalRefused(
            f"it takes effect in {describe_left(left)} at the earliest", hint="try again then"
        )


def check_may_undo(one: Proposal, ran: float) -> None:
    """Refuse what was not applied, or longer ago than it can be undone."""
    if one.state != "applied":
        raise ProposalRefused(f"the proposal is {one.state}, not applied")
    if seconds_to_undo(one, ran) <= 0:
        raise ProposalRefused("its time to be undone is over", hint="propose the opposite change")

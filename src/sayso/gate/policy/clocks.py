"""When a permission's clock starts that nobody reviewed: when the store first sees it."""

from __future__ import annotations

from sayso.core.audit import events
from sayso.core.policy import Policy
from sayso.gate import words
from sayso.gate.rows.journal import record
from sayso.gate.rows.row_seals import Sealer
from sayso.store.contract import Writer


def start_permission_clocks(tx: Writer, policy: Policy, sealer: Sealer, *, unmarked: bool) -> None:
    """Start the clock of each permission that nobody reviewed when the store first sees it.

    A deleted row does not start it again: that permission has decayed. If the store is not new and its mark
    is gone, any row may have been deleted.
    """
    every = (f"{name}.{one}" for name, domain in policy.domains.items() for one in domain.autonomous)
    marked = sealer.review_marks(every)  # before the rows are read: others may write some just now
    seen = {row.name for row in tx.reviews()}
    for operation, version in marked.items():
        if operation in seen:
            continue
        lost = unmarked or version > 0
        tx.put_review(sealer.review(operation, 0.0 if lost else tx.now, None))
        if lost:
            finding = words.deleted_outside(f"the row that says when {operation} was first seen")
            record(tx, events.TamperingFound(finding=finding))

"""Carrying rows into another epoch of the same store: sealed again, and without their consent.

A row that is not under our seal is carried as it is. It counts there as little as here, and is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.session import Plan, SessionHead, Suspension
from sayso.gate import words
from sayso.gate.rows.moves import OWN
from sayso.gate.rows.row_seals import Sealer
from sayso.store.contract import (
    KINDS,
    AnyRow,
    CallRow,
    GrantRow,
    MetaRow,
    QuestionRow,
    Reader,
    ReviewRow,
    SessionRow,
)


class Carrier:
    """Carries rows from one epoch to the next. The findings are the rows that were tampered with."""

    def __init__(self, before: Sealer, after: Sealer) -> None:
        self._before = before
        self._after = after
        self.findings: list[str] = []

    def rows(self, tx: Reader) -> Iterator[AnyRow]:
        """Every row of a store as its copy has it."""
        for kind in KINDS:
            for row in tx.every(kind):
                carried = self._carry(row)
                if carried is not None:
                    yield carried

    def _carry(self, row: AnyRow) -> AnyRow | None:
        if isinstance(row, MetaRow):
            return self._meta(row)
        if isinstance(row, SessionRow):
            return self._session(row)
        if isinstance(row, QuestionRow):
            return self._question(row)
        if isinstance(row, GrantRow) and self._before.open_grant(row) is None:
            self._doubt(f"grant {row.id}", void=self._before.is_void(row))
        if isinstance(row, CallRow) and self._before.open_call(row) is None:
            self._doubt(f"call {row.id}")
        if isinstance(row, ReviewRow) and not self._before.reviews([row]):
            self._doubt(f"the review of {row.name}")
        elif isinstance(row, ReviewRow):
            self._after.reviews([row])
        return row

    def _meta(self, row: MetaRow) -> MetaRow | None:
        if row.name in OWN:
            return None
        return MetaRow(row.name, str(self._after.epoch)) if row.name == "epoch" else row

    def _session(self, row: SessionRow) -> SessionRow:
        kept = self._before.open_session(row)
        if kept is None:
            self._doubt(f"session {row.id}")
            return row
        return self._after.session(
            row, msgspec.structs.replace(kept, head=without_consent(kept.head), spent={})
        )

    def _question(self, row: QuestionRow) -> QuestionRow:
        question = self._before.open_question(row)
        if question is None:
            self._doubt(f"question {row.id}", void=row.state != "open")
            return row
        return self._after.question(row)

    def _doubt(self, what: str, *, void: bool = False) -> None:
        """Report a row, unless it is `void` and counts for nothing anyway."""
        if not void:
            self.findings.append(words.changed_or_void(what))


def without_consent(head: SessionHead) -> SessionHead:
    """Return the session without what spares questions besides grants: this turn's orders, plans, retries.

    A stop stays in force, and so does the topic.
    """
    return msgspec.structs.replace(
        head,
        slash=None,
        slash_calls=0,
        imperatives=(),
        plan=_keep_if_open(head.plan),
        shelved=_keep_if_open(head.shelved),
        unentered={},
        suspended={name: Suspension(held.digest, 0) for name, held in head.suspended.items()},
    )


def _keep_if_open(plan: Plan | None) -> Plan | None:
    """A plan that still waits for an answer."""
    return None if plan is None or plan.accepted else plan

"""Check the sealed rows against their seals, the sessions that name them, and the mark beside the key.

- Rows that were changed, rolled back or deleted are found here, before anybody uses them.
- Also those that nobody looks up any more, because no session names them.
- Rows of an earlier epoch count for nothing, and are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sayso.core.audit.anchors import AuditFinding, FindingKind
from sayso.gate import words
from sayso.gate.call_rows import find_fault_beside
from sayso.gate.gate import Gate
from sayso.gate.rows.row_seals import SessionState
from sayso.gate.sealed_values import TamperedValue, check_value, is_value
from sayso.store.contract import (
    CallRow,
    GrantRow,
    MetaRow,
    QuestionRow,
    Reader,
    ReviewRow,
    SessionRow,
    SpendRow,
)


def check_rows(gate: Gate) -> Iterator[AuditFinding]:
    """Yield what is wrong with the rows, as of one moment."""
    with gate.store.read() as tx:
        yield from (AuditFinding(kind, 0, text) for kind, text in _find_faults(gate, tx))
        gate.sealer.doubts.take()  # told here, and nothing was tried


def _find_faults(gate: Gate, tx: Reader) -> Iterator[tuple[FindingKind, str]]:
    sessions: dict[str, SessionState] = {}
    counts: dict[str, int] = {}
    names: dict[str, set[str]] = {"session": set(), "review": set(), "value": set()}
    for row in tx.every(SessionRow):
        names["session"].add(row.id)
        kept = gate.sealer.open_session(row)
        if kept is not None:
            sessions[row.id], counts[row.id] = kept, row.spends
        elif gate.sealer.void_session(row) is None:
            yield FindingKind.EDITED, words.changed_or_restored(f"session {row.id}")
    yield from _check_session_rows(gate, tx, sessions, counts)
    for review in tx.every(ReviewRow):
        names["review"].add(review.name)
        if not gate.sealer.reviews([review]):
            yield FindingKind.EDITED, words.changed_or_restored(f"the review of {review.name}")
    for fact in tx.every(MetaRow):
        if is_value(fact.name):
            names["value"].add(fact.name)
            yield from _check_value(gate, fact)
    for kind, there in names.items():
        missing = gate.sealer.mark.missing(kind, there)
        if missing:
            yield FindingKind.DELETED, words.rows_deleted(missing, kind)


def _check_session_rows(
    gate: Gate, tx: Reader, sessions: dict[str, SessionState], counts: dict[str, int]
) -> Iterator[tuple[FindingKind, str]]:
    """The rows that belong to sessions of this epoch."""
    spends = Counter(row.session for row in tx.every(SpendRow))
    granted: set[str] = set()
    yield from _check_grants(gate, tx, granted)
    asked: set[str] = set()
    for question in tx.every(QuestionRow):
        if question.session in sessions:
            asked.add(question.id)
            yield from _check_question(gate, tx, question, sessions[question.session])
    called: set[str] = set()
    for call in tx.every(CallRow):
        called.add(call.id)
        kept = sessions.get(call.session)
        if gate.sealer.open_call(call) is None:
            yield FindingKind.EDITED, words.changed_outside(f"call {call.id}")
        elif kept is not None and (finding := find_fault_beside(call, kept)) is not None:
            yield FindingKind.EDITED, finding
    for name, kept in sessions.items():
        there = {"grant": granted, "question": asked, "call": called}
        named = {"grant": kept.spent, "question": kept.questions, "call": {**kept.calls, **kept.untried}}
        for what, wanted in named.items():
            yield from (
                (FindingKind.DELETED, words.deleted_outside(f"{what} {one}"))
                for one in wanted
                if one not in there[what]
            )
        if spends[name] != counts[name]:
            kind = FindingKind.DELETED if spends[name] < counts[name] else FindingKind.INSERTED
            yield kind, f"session {name} has {spends[name]} spends, and {counts[name]} were written"


def _check_grants(gate: Gate, tx: Reader, there: set[str]) -> Iterator[tuple[FindingKind, str]]:
    """The grants of this epoch, also those that are over. Their names are added to those that are there."""
    for row in tx.every(GrantRow):
        if not gate.sealer.is_void(row):
            there.add(row.id)
            if gate.sealer.open_grant(row) is None:
                yield FindingKind.EDITED, words.changed_outside(f"grant {row.id}")


def _check_question(
    gate: Gate, tx: Reader, row: QuestionRow, kept: SessionState
) -> Iterator[tuple[FindingKind, str]]:
    if gate.sealer.open_question(row) is None:
        yield FindingKind.EDITED, words.changed_outside(f"question {row.id}")
    elif row.state == "open" and row.id not in kept.questions and tx.now < row.expires_at:
        yield FindingKind.EDITED, words.reopened_outside(row.id)


def _check_value(gate: Gate, fact: MetaRow) -> Iterator[tuple[FindingKind, str]]:
    try:
        check_value(gate, fact.name, fact.value)
    except TamperedValue:
        yield FindingKind.EDITED, words.changed_or_restored(f"the value {fact.name[:40]}")

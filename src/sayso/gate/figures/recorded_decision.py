"""A past decision: what the trail recorded of it, and what is still stored of its call.

- The trail says what was decided.
- The ledger and the question say how each operation was decided, until the call is decided again.
- Nothing is decided again here.
"""

from __future__ import annotations

import msgspec

from sayso.core.audit.entry import MAIN, AuditEntry, read_entry
from sayso.core.audit.events import DECISIONS, Asked, DecisionEvent, read_decision
from sayso.core.conversation import words
from sayso.core.decision import Item, Question
from sayso.core.model import Request
from sayso.gate.audit.read import UnknownEntry, load_entry_row, require_body
from sayso.gate.call_rows import Record, find_record, sound_call
from sayso.gate.gate import Gate
from sayso.gate.questions.read import Read, read_question
from sayso.store.contract import CallRow, EntryRow, QuestionRow, Reader


class Consent(msgspec.Struct, frozen=True):
    """A grant that was used; `words` is None once its row is gone."""

    id: str
    words: str | None


class PastDecision(msgspec.Struct, frozen=True):
    """One decision. `items` is empty and `request` None once they are no longer stored."""

    row: EntryRow
    said: AuditEntry
    items: tuple[Item, ...]
    request: Request | None
    question: QuestionRow | None
    call: CallRow | None
    grants: tuple[Consent, ...]

    @property
    def decision(self) -> DecisionEvent:
        """The details of the entry."""
        return read_decision(self.said.details)


def load_past_decision(gate: Gate, seq: int, *, stream: str = MAIN) -> PastDecision:
    """Return what is known of the decision that this entry records; UnknownEntry if it records none."""
    with gate.store.read() as tx:
        row = load_entry_row(tx, stream, seq)
        said = read_entry(require_body(row)) if row.event in DECISIONS else None
        if said is None or said.event not in DECISIONS:
            raise UnknownEntry(f"entry {seq} of {stream} is not a decision")
        decided = read_decision(said.details)
        asked = _find_question(gate, tx, decided)
        call = _load_call(gate, tx, decided)
        grants = tuple(_load_consent(gate, tx, name) for name in decided.grants)
    kept = None if call is None else find_record(gate, call)
    question, row_of_it = (None, None) if asked is None else (asked.question, asked.row)
    items = _find_items(said.event, decided, kept, question)
    request = _find_request(decided, kept, question)
    return PastDecision(row, said, items, request, row_of_it, call, grants)


def _find_question(gate: Gate, tx: Reader, decided: DecisionEvent) -> Read | None:
    """Return its question, unless that was tampered with."""
    row = tx.question(decided.question) if decided.question else None
    question = None if row is None else read_question(gate, tx, row)
    return None if row is None or question is None else Read(row, question)


def _load_call(gate: Gate, tx: Reader, decided: DecisionEvent) -> CallRow | None:
    """Return its call in the ledger, unless that was tampered with."""
    row = tx.call(decided.call) if decided.call else None
    return None if row is None else sound_call(gate, tx, row)


def _load_consent(gate: Gate, tx: Reader, name: str) -> Consent:
    row = tx.grant(name)
    grant = None if row is None else gate.sealer.open_grant(row)
    return Consent(name, None if grant is None else words.consent_name(grant))


def _find_request(decided: DecisionEvent, kept: Record | None, asked: Question | None) -> Request | None:
    """Return the request that was decided. If a person edited the call since, the stored one is another."""
    known = [one.request for one in (kept, asked) if one is not None]
    return next((one for one in known if one.digest == decided.digest), None)


def _find_items(
    event: str, decided: DecisionEvent, kept: Record | None, asked: Question | None
) -> tuple[Item, ...]:
    """Return how each operation was decided. The ledger holds a call's last decision, maybe a later one."""
    made = (decided.digest, decided.verdict, decided.rule)
    if kept is not None and (kept.request.digest, kept.verdict.value, kept.rule) == made:
        return kept.items
    if asked is not None and event == Asked.event and asked.request.digest == decided.digest:
        return asked.items
    return ()

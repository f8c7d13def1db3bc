"""A decision of the past: what was recorded of it, and what is still kept of the call it was about.

That it was decided so is what the trail says; how each operation was decided stands in the ledger and in the
question, for as long as the call is not decided again. Nothing of this is worked out anew.
"""

from __future__ import annotations

import msgspec

from sayso.core.audit.entry import MAIN, AuditEntry, read_entry
from sayso.core.conversation import words
from sayso.core.decision import Item, Question
from sayso.core.model import Request
from sayso.gate.audit.events import ASKED, DECISIONS
from sayso.gate.audit.read import UnknownEntry, load_entry_row, require_body
from sayso.gate.call_rows import Record, find_record, sound_call
from sayso.gate.gate import Gate
from sayso.gate.questions.read import Read, read_question
from sayso.store.contract import CallRow, EntryRow, QuestionRow, Reader


class Consent(msgspec.Struct, frozen=True):
    """A grant that was used, in words while its row is there."""

    id: str
    words: str | None


class PastDecision(msgspec.Struct, frozen=True):
    """One decision. `items` is empty and `request` None where that is no longer kept."""

    row: EntryRow
    said: AuditEntry
    items: tuple[Item, ...]
    request: Request | None
    question: QuestionRow | None
    call: CallRow | None
    grants: tuple[Consent, ...]


def load_past_decision(gate: Gate, seq: int, *, stream: str = MAIN) -> PastDecision:
    """What is known of the decision that this entry records; UnknownEntry if it records none."""
    with gate.store.read() as tx:
        row = load_entry_row(tx, stream, seq)
        if row.event not in DECISIONS:
            raise UnknownEntry(f"entry {seq} of {stream} is no decision")
        said = read_entry(require_body(row))
        asked = _find_question(gate, tx, said)
        call = _load_call(gate, tx, said)
        grants = tuple(_load_consent(gate, tx, str(name)) for name in said.details.get("grants", ()))
    kept = None if call is None else find_record(gate, call)
    question, row_of_it = (None, None) if asked is None else (asked.question, asked.row)
    items, request = _find_items(said, kept, question), _find_request(said, kept, question)
    return PastDecision(row, said, items, request, row_of_it, call, grants)


def _find_question(gate: Gate, tx: Reader, said: AuditEntry) -> Read | None:
    """Its question, if that is as this gate left it."""
    name = said.details.get("question")
    row = tx.question(str(name)) if name else None
    question = None if row is None else read_question(gate, tx, row)
    return None if row is None or question is None else Read(row, question)


def _load_call(gate: Gate, tx: Reader, said: AuditEntry) -> CallRow | None:
    """Its call in the ledger, if that is as this gate left it."""
    name = said.details.get("call")
    row = tx.call(str(name)) if name else None
    return None if row is None else sound_call(gate, tx, row)


def _load_consent(gate: Gate, tx: Reader, name: str) -> Consent:
    row = tx.grant(name)
    grant = None if row is None else gate.sealer.open_grant(row)
    return Consent(name, None if grant is None else words.consent_name(grant))


def _find_request(said: AuditEntry, kept: Record | None, asked: Question | None) -> Request | None:
    """The request that was decided. A person may have edited the call since: then it is another one."""
    known = [one.request for one in (kept, asked) if one is not None]
    return next((one for one in known if one.digest == said.details.get("digest")), None)


def _find_items(said: AuditEntry, kept: Record | None, asked: Question | None) -> tuple[Item, ...]:
    """How each operation was decided. The ledger has the last decision of a call, maybe a later one."""
    decided = tuple(said.details.get(name) for name in ("digest", "verdict", "rule"))
    if kept is not None and (kept.request.digest, kept.verdict.value, kept.rule) == decided:
        return kept.items
    if asked is not None and said.event == ASKED and asked.request.digest == decided[0]:
        return asked.items
    return ()

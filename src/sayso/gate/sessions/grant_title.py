"""A grant's purpose in one line, so that grants for different calls look different."""

from __future__ import annotations

from sayso.core.deciding.titles import title_of
from sayso.core.grants import Grant
from sayso.core.model import Request
from sayso.gate.call_rows import find_record
from sayso.gate.gate import Gate
from sayso.store.contract import Reader


def call_of_grant(gate: Gate, tx: Reader, grant: Grant) -> str | None:
    """The call that the grant is for; None if it was not given for one, or is for others as well."""
    request = (
        _find_failed_call(gate, tx, grant) if grant.kind == "retry" else _find_asked_request(gate, tx, grant)
    )
    return None if request is None else title_of(request.call)


def _find_failed_call(gate: Gate, tx: Reader, grant: Grant) -> Request | None:
    row = tx.call(grant.stems[0]) if grant.stems else None
    kept = None if row is None else find_record(gate, row)
    return None if kept is None else kept.request


def _find_asked_request(gate: Gate, tx: Reader, grant: Grant) -> Request | None:
    exact = grant.kind == "call" or grant.pins.arguments is not None
    row = tx.question(grant.question) if grant.question is not None and exact else None
    asked = None if row is None else gate.sealer.open_question(row)
    if row is None or asked is None:
        return None
    return gate.sealer.open_edited(row) or asked.request

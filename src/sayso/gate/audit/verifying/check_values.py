"""Check that every value kept beside the trail belongs to an entry that commits to it.

The walk over the entries finds values that are missing or changed. Here it is the other way round: what
nobody committed to was put there from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sayso.core.audit.anchors import AuditFinding, FindingKind
from sayso.core.audit.bulk import read_raw_body
from sayso.gate.gate import Gate
from sayso.store.contract import Reader, SecretRow


def check_values(gate: Gate) -> Iterator[AuditFinding]:
    """Yield the values that no entry commits to. An entry and its values are written at once, and pruned at
    once."""
    with gate.store.read() as tx:
        for (stream, seq), rows in groupby(tx.every(SecretRow), lambda row: (row.stream, row.seq)):
            committed = _find_commitments(tx, stream, seq)
            for row in rows:
                if committed is not None and row.name not in committed and _is_kept(tx, row):
                    text = f"entry {seq} of {stream} commits to no value {row.name!r}, and one is kept"
                    yield AuditFinding(FindingKind.INSERTED, max(seq, 0), text)


def _find_commitments(tx: Reader, stream: str, seq: int) -> frozenset[str] | None:
    """The names that an entry commits to; None if it cannot be read, which is found elsewhere."""
    found = tx.entry_tuples(stream, after=seq - 1, limit=1) if seq > 0 else ()
    if not found or found[0][0] != seq or found[0][1] is None:
        return frozenset()
    told = read_raw_body(found[0][1])
    return None if told is None else frozenset(told.commitments)


def _is_kept(tx: Reader, row: SecretRow) -> bool:
    """Return whether the value is still there: others may have pruned it with its entry since."""
    return any(one.name == row.name for one in tx.secrets(row.stream, row.seq))

"""Opened receipts: a receipt together with the sensitive values that its entry commits to, and their salts.

What a person approved is recorded as a commitment, mostly in the entry of the question. So an opened receipt
may have a second part: the entry that commits to the call the first one speaks of. Each part is proven by
itself; the values count only if they are what the proven entry commits to, and the second entry only if it is
about the same question or the same call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sayso.core.audit.checkpoint import BadCheckpoint, Checkpoint, Verifier
from sayso.core.audit.commitments import RevealedValue, RevealState, SaltedValue, reveal_values
from sayso.core.audit.entry import AuditBody
from sayso.core.audit.joined_receipt import check_proof
from sayso.core.audit.receipt import Receipt

FORM = "sayso/opened-receipt/1"
MOST_PARTS = 2


class OpenedValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A committed value in its canonical bytes, and its salt, both in base64."""

    value: bytes
    salt: bytes


class OpenedPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    receipt: str
    values: Mapping[str, OpenedValue]


class OpenedReceipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    form: str
    parts: tuple[OpenedPart, ...]


class ProvenEntry(msgspec.Struct, frozen=True):
    """An entry that is in a signed trail, with the values it commits to; those not given are erased."""

    receipt: Receipt
    signed: Checkpoint
    body: AuditBody
    values: Mapping[str, RevealedValue]
    size: int
    """How many entries its stream had when that was signed."""


def format_opened(parts: Sequence[OpenedPart]) -> bytes:
    return msgspec.json.encode(OpenedReceipt(FORM, tuple(parts))) + b"\n"


def is_opened(text: bytes) -> bool:
    """Return whether this is an opened receipt, and not a plain one."""
    return text.lstrip()[:1] == b"{"


def check_opened(text: bytes, verifiers: Sequence[Verifier]) -> tuple[ProvenEntry, ...]:
    """Every entry of an opened receipt with its values; refused if any of it proves nothing."""
    try:
        opened = msgspec.json.decode(text, type=OpenedReceipt)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadCheckpoint(f"this is not an opened receipt: {error}") from error
    if opened.form != FORM or not 0 < len(opened.parts) <= MOST_PARTS:
        raise BadCheckpoint("this is not an opened receipt, or one of a form not known here")
    proven = tuple(_prove_part(part, verifiers) for part in opened.parts)
    if any(one.signed.origin != proven[0].signed.origin for one in proven):
        raise BadCheckpoint("its entries are from different trails")
    if any(not is_about(proven[0].body, one.body) for one in proven[1:]):
        raise BadCheckpoint("its entries are not about the same call")
    return proven


def is_about(entry: AuditBody, committed: AuditBody) -> bool:
    """Return whether the second entry commits to the call, or the question, that the first speaks of."""
    if entry.session != committed.session:
        return False
    question, digest = entry.details.get("question"), entry.details.get("digest")
    if digest is not None:
        same = {committed.details.get("digest"), committed.details.get("edited")}
        return digest in same and (not question or committed.details.get("question") == question)
    return bool(question) and committed.details.get("question") == question


def _prove_part(part: OpenedPart, verifiers: Sequence[Verifier]) -> ProvenEntry:
    proven = check_proof(part.receipt.encode(), verifiers)
    body = proven.body
    given = {name: SaltedValue(name, one.value, one.salt) for name, one in part.values.items()}
    if not given.keys() <= body.commitments.keys():
        raise BadCheckpoint("it holds a value that its entry does not commit to")
    values = reveal_values(body.commitments, given)
    for name, one in values.items():
        if one.state is RevealState.FORGED:
            raise BadCheckpoint(f"the value {name!r} is not what its entry commits to")
    return ProvenEntry(proven.receipt, proven.signed, body, values, proven.size)

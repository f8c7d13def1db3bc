"""Signing the audit trail as it is, and proving from it that an entry is there."""

from __future__ import annotations

from contextlib import AbstractContextManager

import msgspec

from sayso.core.audit import events
from sayso.core.audit.checkpoint import BadCheckpoint, Checkpoint, open_checkpoint, sign_checkpoint
from sayso.core.audit.entry import MAIN, AuditError, leaf_content
from sayso.core.audit.merkle import prove_inclusion, root_at
from sayso.core.audit.receipt import Receipt, check_receipt, format_receipt
from sayso.gate import words
from sayso.gate.audit.read import load_entry_row, require_body
from sayso.gate.audit.tree import (
    LOOK_AT_IT,
    TreeEnd,
    grow_tree,
    hashes_of,
    load_end,
    log_origin,
    own_verifiers,
    require_key,
    save_end,
)
from sayso.gate.gate import Gate, writing
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import SigningKey, make_signer
from sayso.store.contract import CheckpointRow, Reader, Writer

LAST_CHECKPOINT = ("fact", "checkpoints")
"""Under which name the mark keeps the number of the last checkpoint."""
PAGE = 1_000
LOOK_BACK = 20
"""Among how many of the newest checkpoints one is looked for that we signed."""


def sign_audit(gate: Gate, *, rejoin: bool = False) -> str:
    """Sign the trail as it is now; the checkpoint, which is also stored. With no news, the last one.

    Called on every operator act and on close. A trail that does not go on from what was signed last is
    refused. Other streams are joined in `main` first, with `rejoin` also those that have not grown.
    """
    key = require_key(gate)
    with gate.store.read() as tx:
        grown = [stream for stream in tx.streams() if _has_grown(tx, key, stream)]
        last = None if grown or rejoin else _find_current_checkpoint(tx, key)
    if last is not None:
        return last
    for stream in grown:
        if stream != MAIN:
            _catch_up(gate, key, stream)
    while True:
        with _writing_main(gate) as tx:
            _join_streams(tx, key, rejoin=rejoin)
            end, more = grow_tree(tx, key, MAIN)
            if not more:
                return _sign_end(gate, tx, key, end)
        rejoin = False


def prove_entry(gate: Gate, seq: int) -> bytes:
    """A receipt that shows offline that entry `seq` of `main` is in the signed trail."""
    key = require_key(gate)
    with gate.store.read() as tx:
        require_body(load_entry_row(tx, MAIN, seq))
        last = _last_signed(tx, key)
    if last is None or last[1].size < seq:
        sign_audit(gate)
    with gate.store.read() as tx:
        row, last = load_entry_row(tx, MAIN, seq), _last_signed(tx, key)
        if last is None:
            raise AuditError("no checkpoint that we signed is stored", hint=LOOK_AT_IT)
        path = prove_inclusion(seq - 1, last[1].size, hashes_of(tx, MAIN))
    receipt = Receipt(leaf_content(row.prev, require_body(row)), seq - 1, path, last[0].note.encode())
    proof = format_receipt(receipt)
    check_receipt(
        proof, own_verifiers(key), last[1].origin
    )  # what would not convince others is not handed out
    return proof


# --- the parts of a checkpoint ---


def _writing_main(gate: Gate) -> AbstractContextManager[Writer]:
    return writing(gate) if gate.stream == MAIN else gate.store.write()


def _has_grown(tx: Reader, key: SigningKey, stream: str) -> bool:
    """Return whether the tree lacks entries of its stream, or its end cannot be believed."""
    newest = tx.head(stream)
    try:
        end = load_end(tx, key, stream)
    except AuditError:
        return True
    return newest is not None and (end is None or end.size != newest.seq)


def _find_current_checkpoint(tx: Reader, key: SigningKey) -> str | None:
    """The last checkpoint, if there is nothing to sign: no stream has grown since."""
    main, last = load_end(tx, key, MAIN), _last_signed(tx, key)
    if main is None or last is None or (last[1].size, last[1].root) != (main.size, main.tree.root):
        return None
    ends = {stream: load_end(tx, key, stream) for stream in tx.streams() if stream != MAIN}
    joined = {stream: end.size for stream, end in ends.items() if end is not None and end.size}
    return last[0].note if joined.items() <= main.joined.items() else None


def _catch_up(gate: Gate, key: SigningKey, stream: str) -> None:
    more = True
    while more:
        with gate.store.write() as tx:
            _, more = grow_tree(tx, key, stream)


def _join_streams(tx: Writer, key: SigningKey, *, rejoin: bool) -> None:
    """Write into `main` how far the other streams have come, where that is news."""
    tx.head(MAIN)
    others = [stream for stream in tx.streams() if stream != MAIN]
    if not others:
        return
    main, _ = grow_tree(tx, key, MAIN)
    ends = {stream: end for stream in others if (end := load_end(tx, key, stream)) is not None and end.size}
    news = {s: end for s, end in ends.items() if rejoin or main.joined.get(s) != end.size}
    if not news:
        return
    ended = {s: events.StreamEnd(end.tree.root.hex(), end.size) for s, end in news.items()}
    record(tx, events.Joined(ended))
    joined = dict(main.joined) | {stream: end.size for stream, end in news.items()}
    save_end(tx, key, MAIN, msgspec.structs.replace(main, joined=joined))


def _sign_end(gate: Gate, tx: Writer, key: SigningKey, end: TreeEnd) -> str:
    last = _last_signed(tx, key)
    root = end.tree.root
    if last is not None:
        row, signed = last
        if signed.size > end.size or root_at(signed.size, hashes_of(tx, MAIN)) != signed.root:
            raise AuditError("the trail does not go on from its last checkpoint: not signed", hint=LOOK_AT_IT)
        if signed.size == end.size:
            return row.note
    note = sign_checkpoint(Checkpoint(log_origin(tx), end.size, root), [make_signer(key)]).decode()
    _count_checkpoint(gate, tx, key, end)
    tx.add_checkpoint(CheckpointRow(end.size, tx.now, note))
    return note


def _count_checkpoint(gate: Gate, tx: Writer, key: SigningKey, end: TreeEnd) -> None:
    """Count the checkpoint that is about to be stored, so that nobody can delete one unnoticed."""
    mark = gate.sealer.mark
    marked = mark.version(*LAST_CHECKPOINT)
    if end.last_signed < marked:
        gate.sealer.doubts.note(words.TREE_END_RESTORED)
    last = 1 + max(end.last_signed, marked)
    signed = 1 + (end.signed or _count_stored(tx))
    save_end(tx, key, MAIN, msgspec.structs.replace(end, signed=signed, last_signed=last))
    mark.note(*LAST_CHECKPOINT, last)


def _count_stored(tx: Reader) -> int:
    found = 0
    while page := len(tx.checkpoints(limit=PAGE, skip=found)):
        found += page
    return found


def _last_signed(tx: Reader, key: SigningKey) -> tuple[CheckpointRow, Checkpoint] | None:
    """The newest stored checkpoint that is ours; false ones are for `verify_audit` to find."""
    for row in tx.checkpoints(limit=LOOK_BACK):
        try:
            return row, open_checkpoint(row.note.encode(), own_verifiers(key), log_origin(tx))
        except BadCheckpoint:
            continue
    return None

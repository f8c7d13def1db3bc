"""Looking after the audit trail: checkpoints, proofs, reading it, and dropping what may be dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Literal

import msgspec

from sayso.core.audit import MAIN, AuditError, Body, Row, leaf_content, read_body
from sayso.core.audit_said import said
from sayso.core.audit_text import json_line, pruned_line, text_line
from sayso.core.checkpoint import BadCheckpoint, Checkpoint, base64, open_checkpoint, sign_checkpoint
from sayso.core.commitments import Revealed, Sealed, reveal
from sayso.core.errors import MalformedRequest, SaysoError
from sayso.core.merkle import prove_inclusion, root_at
from sayso.core.receipt import Receipt, check_receipt, format_receipt
from sayso.gate.audit_check import Verified, verify_audit
from sayso.gate.audit_tree import (
    LOOK_AT_IT,
    End,
    grow,
    hashes_of,
    keep_end,
    key_of,
    origin_of,
    stored_end,
    trusted,
)
from sayso.gate.gate import Gate, writing
from sayso.gate.journal import record
from sayso.gate.signing import Key, signer
from sayso.store.base import CheckpointRow, EntryRow, Reader, Writer

__all__ = [
    "Form", "Pruned", "Shown", "UnknownEntry", "Verified",
    "checkpoint", "erase", "export", "prove", "prune", "show", "tail", "verify_audit",
]  # fmt: skip

Form = Literal["text", "jsonl"]
PRUNE_PAGE = 20_000
READ_PAGE = 1_000
LOOK_BACK = 20
"""Among how many of the newest checkpoints one is looked for that we signed."""


class UnknownEntry(SaysoError):
    code = "unknown_entry"


class Shown(msgspec.Struct, frozen=True):
    """One entry with all that is known of it; `body` is None once it was pruned."""

    row: EntryRow
    body: Body | None
    values: dict[str, Revealed]


class Pruned(msgspec.Struct, frozen=True):
    """Through which entry of each stream bodies were dropped, and how many."""

    through: dict[str, int]
    bodies: int


# --- signing and proving ---


def checkpoint(gate: Gate, *, rejoin: bool = False) -> str:
    """Sign the trail as it stands now; the checkpoint, which is also stored. With no news, the last one.

    Called on every operator act and on close. A trail that does not go on from what was signed last is
    refused. Other streams are joined in `main` first, with `rejoin` also those that have not grown.
    """
    key = key_of(gate)
    for stream in _other_streams(gate):
        _catch_up(gate, key, stream)
    while True:
        with _writing_main(gate) as tx:
            _join(tx, key, rejoin=rejoin)
            end, more = grow(tx, key, MAIN)
            if not more:
                return _signed(tx, key, end)
        rejoin = False


def prove(gate: Gate, seq: int) -> bytes:
    """A receipt that shows offline that entry `seq` of `main` is in the signed trail."""
    key = key_of(gate)
    with gate.store.read() as tx:
        _whole(_entry(tx, MAIN, seq))
        last = _last_signed(tx, key)
    if last is None or last[1].size < seq:
        checkpoint(gate)
    with gate.store.read() as tx:
        row, last = _entry(tx, MAIN, seq), _last_signed(tx, key)
        if last is None:
            raise AuditError("no checkpoint that we signed is stored", hint=LOOK_AT_IT)
        path = prove_inclusion(seq - 1, last[1].size, hashes_of(tx, MAIN))
    receipt = Receipt(leaf_content(row.prev, _whole(row)), seq - 1, path, last[0].note.encode())
    proof = format_receipt(receipt)
    check_receipt(proof, trusted(key), last[1].origin)  # what would not convince others is not handed out
    return proof


# --- reading ---


def tail(gate: Gate, count: int = 20, *, stream: str = MAIN) -> Sequence[EntryRow]:
    """The newest entries, oldest of them first."""
    with gate.store.read() as tx:
        newest = tx.head(stream)
        return [] if newest is None else tx.entries(stream, after=max(newest.seq - count, 0), limit=count)


def show(gate: Gate, seq: int, *, stream: str = MAIN) -> Shown:
    """One entry, and of its sensitive values those that are still kept."""
    with gate.store.read() as tx:
        row = _entry(tx, stream, seq)
        kept = {secret.name: secret for secret in tx.secrets(stream, seq)}
    if row.body is None:
        return Shown(row, None, {})
    body = read_body(row.body)
    sealed = {name: Sealed(name, secret.value, secret.salt) for name, secret in kept.items()}
    return Shown(row, body, reveal(body.commitments, sealed))


def export(gate: Gate, form: Form = "text", *, stream: str | None = None) -> Iterator[str]:
    """Every entry as a line: of one stream, or of all, `main` first. Read in pages, as long as it lasts."""
    line = {"text": entry_text, "jsonl": entry_json}[form]
    with gate.store.read() as tx:
        streams = sorted(tx.streams(), key=lambda name: (name != MAIN, name)) if stream is None else [stream]
    for name in streams:
        after = 0
        while True:
            with gate.store.read() as tx:
                page = tx.entries(name, after=after, limit=READ_PAGE)
            if not page:
                break
            yield from map(line, page)
            after = page[-1].seq


def entry_text(row: EntryRow) -> str:
    """The entry as people read it; one that cannot be read says so in its place."""
    if row.body is None:
        return pruned_line(row.seq, row.stream)
    try:
        return text_line(row.body)
    except SaysoError:
        return f"- | - | - | entry {row.seq} cannot be read"


def entry_json(row: EntryRow) -> str:
    """The entry as a line of JSON; the bytes of one that cannot be read stand in `unreadable`."""
    try:
        if row.body is not None:
            read_body(row.body)
        return json_line(_row(row), row.stream).decode()
    except SaysoError:
        told = {"entry": None, "hash": row.hash.hex(), "prev": row.prev.hex(), "seq": row.seq}
        told |= {"stream": row.stream, "unreadable": base64(row.body or b"")}
        return msgspec.json.encode(told).decode()


# --- dropping ---


def prune(
    gate: Gate,
    before: int | datetime,
    *,
    by: str = "operator",
    stream: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Pruned:
    """Drop the bodies, and what is kept beside them, of all entries before this one or this time.

    The hashes stay, so the trail still verifies. A number counts in one stream (`main` unless named), a time
    in all. What is dropped was signed first, and the entry PRUNED is written before anything goes.
    """
    checkpoint(gate)
    with gate.store.read() as tx:
        every = list(tx.streams())
        if isinstance(before, int):  # too large a number is rather a slip than a wish to drop everything
            _entry(tx, stream or MAIN, before)
    streams = [stream] if stream is not None else [MAIN] if isinstance(before, int) else every
    through: dict[str, int] = {}
    bodies = 0
    for name in streams:
        first, last = _prunable(gate, name, before)
        if first <= last:
            through[name] = last
            bodies += _prune(gate, name, first, last, by, progress)
    if through:
        checkpoint(gate, rejoin=True)  # the entries that anchor other streams may be among the dropped
    return Pruned(through, bodies)


def erase(gate: Gate, seq: int, name: str, *, by: str = "operator", stream: str = MAIN) -> None:
    """Forget a sensitive value and its salt for good. The entry and its chain stay as they are."""
    with writing(gate) as tx:
        row = _entry(tx, stream, seq)
        if name not in read_body(_whole(row)).commitments:
            raise UnknownEntry(f"entry {seq} of {stream} commits to no value {name!r}")
        if not tx.erase_secret(stream, seq, name):
            raise UnknownEntry(f"the value {name!r} of entry {seq} was erased already")
        details = {"entry": seq, "name": name, "by": by}
        record(tx, "ERASED", session=row.session, details=details, stream=stream)
    checkpoint(gate)


# --- the parts of a checkpoint ---


def _writing_main(gate: Gate) -> AbstractContextManager[Writer]:
    return writing(gate) if gate.stream == MAIN else gate.store.write()


def _other_streams(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        return [stream for stream in tx.streams() if stream != MAIN]


def _catch_up(gate: Gate, key: Key, stream: str) -> None:
    more = True
    while more:
        with gate.store.write() as tx:
            _, more = grow(tx, key, stream)


def _join(tx: Writer, key: Key, *, rejoin: bool) -> None:
    """Write into `main` how far the other streams have come, where that is news."""
    tx.head(MAIN)
    others = [stream for stream in tx.streams() if stream != MAIN]
    if not others:
        return
    main, _ = grow(tx, key, MAIN)
    ends = {stream: end for stream in others if (end := stored_end(tx, key, stream)) is not None and end.size}
    news = {s: end for s, end in ends.items() if rejoin or main.joined.get(s) != end.size}
    if not news:
        return
    told = {s: {"root": end.tree.root.hex(), "size": end.size} for s, end in news.items()}
    record(tx, "JOINED", details={"streams": told})
    joined = dict(main.joined) | {stream: end.size for stream, end in news.items()}
    keep_end(tx, key, MAIN, msgspec.structs.replace(main, joined=joined))


def _signed(tx: Writer, key: Key, end: End) -> str:
    last = _last_signed(tx, key)
    root = end.tree.root
    if last is not None:
        row, signed = last
        if signed.size > end.size or root_at(signed.size, hashes_of(tx, MAIN)) != signed.root:
            raise AuditError("the trail does not go on from its last checkpoint: not signed", hint=LOOK_AT_IT)
        if signed.size == end.size:
            return row.note
    note = sign_checkpoint(Checkpoint(origin_of(tx), end.size, root), [signer(key)]).decode()
    tx.add_checkpoint(CheckpointRow(end.size, tx.now, note))
    return note


def _last_signed(tx: Reader, key: Key) -> tuple[CheckpointRow, Checkpoint] | None:
    """The newest stored checkpoint that is ours; false ones are for `verify_audit` to find."""
    for row in tx.checkpoints(limit=LOOK_BACK):
        try:
            return row, open_checkpoint(row.note.encode(), trusted(key), origin_of(tx))
        except BadCheckpoint:
            continue
    return None


# --- the parts of pruning ---


def _prunable(gate: Gate, stream: str, before: int | datetime) -> tuple[int, int]:
    """The first entry that has a body, and the last before this number or time."""
    if isinstance(before, datetime) and before.tzinfo is None:
        raise MalformedRequest("a time to prune before needs its zone")
    first = last = 0
    while True:
        with gate.store.read() as tx:
            page = tx.entries(stream, after=last, limit=READ_PAGE)
        for row in page:
            if row.seq >= before if isinstance(before, int) else row.at >= before.timestamp():
                return first or last + 1, last
            first = first or (row.seq if row.body is not None else 0)
            last = row.seq
        if not page:
            return first or last + 1, last


def _prune(
    gate: Gate, stream: str, first: int, last: int, by: str, progress: Callable[[int], None] | None
) -> int:
    dropped = 0
    for start in range(first - 1, last, PRUNE_PAGE):
        end = min(start + PRUNE_PAGE, last)
        with writing(gate) as tx:
            if start == first - 1:
                record(tx, "PRUNED", details={"through": last, "by": by}, stream=stream)
            for row in tx.entries(stream, after=start, limit=end - start):
                _erase_beside(tx, row)
            dropped += tx.prune_entries(stream, before=end + 1)
        if progress is not None:
            progress(end)
    return dropped


def _erase_beside(tx: Writer, row: EntryRow) -> None:
    if row.body is None or not _commits(row.body):
        return
    for secret in tx.secrets(row.stream, row.seq):
        tx.erase_secret(row.stream, row.seq, secret.name)


def _commits(body: bytes) -> bool:
    told = said(body)
    return told is None or bool(told.commitments)  # better one look too many


# --- rows ---


def _entry(tx: Reader, stream: str, seq: int) -> EntryRow:
    found = tx.entries(stream, after=seq - 1, limit=1) if 0 < seq < 2**53 else ()
    if not found or found[0].seq != seq:
        raise UnknownEntry(f"there is no entry {seq} in {stream}", hint="`sayso audit tail` shows the newest")
    return found[0]


def _whole(row: EntryRow) -> bytes:
    if row.body is None:
        raise AuditError(f"the body of entry {row.seq} was pruned", hint="its hash is all that is left")
    return row.body


def _row(row: EntryRow) -> Row:
    return row.seq, row.body, row.prev, row.hash


def shown_json(shown: Shown) -> dict[str, Any]:
    """An entry as `sayso audit show --json` tells it."""
    told = msgspec.json.decode(entry_json(shown.row))
    values = {n: {"state": v.state.value, "value": v.value} for n, v in shown.values.items()}
    return {**told, "values": values}

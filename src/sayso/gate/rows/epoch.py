"""The epoch of a store: its life between two restorations or copies. Seals of another epoch do not count."""

from __future__ import annotations

import secrets

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.gate import words
from sayso.gate.rows.journal import record
from sayso.gate.rows.mark.versions import FORGOTTEN_AFTER
from sayso.gate.rows.mark.watermark import EPOCH, EPOCH_ROW, Watermark, parse_epoch, refuse_moved_watermark
from sayso.gate.rows.moves import hold_streams, refuse_moved_store
from sayso.gate.rows.row_seals import JUMP
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.store.contract import Writer

LOOK_BACK = 1_000
"""Among how many of the newest entries the one is looked for that began an epoch."""


def enter_epoch(tx: Writer, marked: MarkedStore, mark: Watermark | None) -> int:
    """The epoch that this store is in, or begins now. Whoever opens it next waits for us."""
    tx.head(MAIN)  # held from here on
    refuse_moved_store(tx)
    refuse_moved_watermark(marked.mark)
    epoch = _current_epoch(tx, mark)
    marked.enter(epoch)
    return epoch


def _current_epoch(tx: Writer, mark: Watermark | None) -> int:
    """Return the epoch of this store. A restored backup begins a new one, which voids all earlier grants."""
    epoch = parse_epoch(tx.meta(EPOCH_ROW))
    if mark is None:
        return epoch
    marked = mark.version(*EPOCH)
    lacks, reached = mark.lacks, mark.reached()
    if epoch >= marked and not mark.lost and not lacks and mark.holds(tx, reached):
        _note_epoch(tx, mark, epoch, marked)
        return epoch
    begun = max(epoch, marked) + 1 + secrets.randbelow(JUMP)
    tx.set_meta(EPOCH_ROW, str(begun))
    mark.note(*EPOCH, begun)
    mark.outdate(b"sv", tx.now + FORGOTTEN_AFTER)
    if epoch < marked:
        record(tx, events.TamperingFound(finding=words.EPOCH_SET_BACK))
    if mark.lost:
        record(tx, events.TamperingFound(finding=words.LOST_MARK))
        for rival in mark.rivals:  # before the commit: a gate that still runs on one must not go on
            rival.seal(moved=True)
    why = "the mark could not be written before" if lacks else "the store does not reach its mark"
    record(tx, events.EpochBegun(begun, why=why))
    mark.follow(hold_streams(tx))  # else the next to open it would begin another epoch
    return begun


def _note_epoch(tx: Writer, mark: Watermark, epoch: int, marked: int) -> None:
    """Mark the epoch. One that no entry began is reported as tampering, and voids everything."""
    if epoch == marked:
        return
    mark.note(*EPOCH, epoch)
    said = f'"epoch":{epoch},'.encode()
    newest = tx.head("main")
    lately = tx.entries("main", after=newest.seq - LOOK_BACK, limit=LOOK_BACK) if newest is not None else ()
    begun = (row.body or b"" for row in lately if row.event == events.EpochBegun.event)
    if marked and not any(said in body for body in begun):
        record(tx, events.TamperingFound(finding=words.epoch_set(epoch)))

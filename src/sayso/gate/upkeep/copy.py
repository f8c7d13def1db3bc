"""Moving a store to another place: sealed here, copied, verified, and opened there in a new epoch.

- At every moment at most one of the two places can be written to.
- The source is sealed before the first row is read.
- All rows reach the target in one transaction. Until they are verified, the target bears the mark of an
  unfinished copy, which no gate opens.
- A copy that was interrupted continues where it stopped.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN, AuditError
from sayso.core.audit.verify import MOST_FINDINGS
from sayso.gate import words
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.audit.tree import LOOK_AT_IT
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.open import audit_gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import SigningKey
from sayso.gate.rows.mark.finding import watermark_at
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.rows.moves import (
    ARRIVING,
    PLACE,
    SEAL,
    MoveSeal,
    StoreMoved,
    UnfinishedCopy,
    hold_streams,
    load_move_seal,
    load_unfinished_copy,
    refuse_moved_store,
    refuse_sealed_store,
    save_move_state,
)
from sayso.gate.rows.row_seals import JUMP, Sealer
from sayso.gate.rows.tampering import mac_key
from sayso.gate.upkeep.fingerprint import (
    RowTally,
    all_rows,
    load_heads,
    report_progress,
    row_kind,
    tally_rows,
)
from sayso.gate.upkeep.reseal import Carrier
from sayso.store.contract import EntryRow, Reader, Store, StoreError, Writer

EMPTY_IT = "empty it, or name another"
GIVE_UP = "empty the target and run `sayso store copy` again, or give it up with `sayso store unseal`"

CopyProgress = Callable[[str, int], None]
"""Told what is being done and how many rows or entries of it are done."""


class TargetNotEmpty(StoreError):
    code = "target_not_empty"


class CopyFailed(StoreError):
    """The target does not hold what the source holds. It is not opened."""

    code = "copy_failed"


class CopyReport(msgspec.Struct, frozen=True):
    """A store that has moved: how many rows of each kind, and the head of each stream as it was sealed."""

    to: str
    epoch: int
    rows: dict[str, int]
    heads: dict[str, EntryRow]
    findings: tuple[str, ...]


class SourceContents(msgspec.Struct, frozen=True):
    """The contents of the source, which the target should match."""

    tally: RowTally
    heads: dict[str, EntryRow]
    findings: tuple[str, ...]


class Move(msgspec.Struct, frozen=True):
    """A move under way. `token` names it at both ends."""

    source: Store
    target: Store
    key: SigningKey
    came_from: str
    to: str
    by: str
    marks: Path | None
    mark: Watermark | None
    """The target's, which it shall have."""
    left: Watermark
    """The source's, which says from then on that the store has moved."""
    progress: CopyProgress
    token: str
    before: Sealer
    after: Sealer


def copy_store(
    source: Store,
    target: Store,
    key: SigningKey,
    *,
    came_from: str,
    to: str,
    by: str = "operator",
    marks: Path | None = None,
    progress: CopyProgress = lambda doing, done: None,
) -> CopyReport:
    """Move everything to an empty store. The source is sealed and stays to be read; no grant moves along.

    `came_from` and `to` name the places for people, without passwords. A trail that does not verify is not
    copied. Sessions, open questions and the ledger go on in the target.
    """
    move, seal = _prepare_move(source, target, key, came_from, to, by, marks, progress)
    if _has_arrived(move):
        sent = _read_source(move)
        with _holding(source) as old:  # whoever finished it did not live to say so here
            save_move_state(old, MoveSeal(move.token, to, finished=True))
        move.left.seal(moved=True)
    else:
        if seal is None:
            _seal_source(move)
        _announce(move)
        _fill_target(move)
        sent = _read_source(move)
        _verify(move, sent)
        _finish(move, sent.findings)
    sign_audit(audit_gate(target, key, marks))
    return CopyReport(
        to,
        move.after.epoch,
        {kind: count for kind, (count, _) in sent.tally.items()},
        sent.heads,
        sent.findings,
    )


def _prepare_move(
    source: Store,
    target: Store,
    key: SigningKey,
    came_from: str,
    to: str,
    by: str,
    marks: Path | None,
    progress: CopyProgress,
) -> tuple[Move, MoveSeal | None]:
    """Look at the source, refuse one that moved elsewhere; return the move, and the seal it has by now."""
    with source.read() as old:
        name, seal, epoch = old.meta("name"), load_move_seal(old), int(old.meta("epoch") or "1")
        place = old.meta(PLACE)
        if name is None:
            raise StoreError("nothing was ever written to the source", hint="name another with --store")
        if seal is None or seal.to != to or seal.finished:
            refuse_moved_store(old)
    token = secrets.token_hex(16) if seal is None else seal.token
    next_one = epoch + 1 + int(token, 16) % JUMP  # the same however often this move is tried
    left = Watermark() if marks is None else watermark_at(marks, name, place)
    mark = None if marks is None else watermark_at(marks, name, token)
    before = Sealer(mac_key(key), name, epoch, left)
    after = Sealer(mac_key(key), name, next_one, mark)
    after.mark.take_over(left)
    move = Move(source, target, key, came_from, to, by, marks, mark, left, progress, token, before, after)
    return move, seal


def unseal_store(
    source: Store, target: Store, key: SigningKey, *, to: str, by: str = "operator", marks: Path | None = None
) -> None:
    """Give up an unfinished copy: the source continues, and the target stays closed."""
    gate = audit_gate(source, key, marks)
    with _holding(source) as old:
        seal = load_move_seal(old)
        if seal is None:
            raise StoreError("this store is not sealed", hint="there is no seal to remove")
        if seal.finished:
            refuse_sealed_store(seal)
        if seal.to != to:
            raise StoreError(
                f"it is being copied to {seal.to}", hint="name that place: it is looked at first"
            )
        _abandon(target, seal)
        if marks is not None:  # what the copy would have been held against serves for nothing else
            watermark_at(marks, old.meta("name") or "", seal.token).seal(moved=True)
        for stream in old.streams():
            record(old, events.Unsealed(to, by), stream=stream)
        old.set_meta(SEAL, "")
        if gate.mark is not None:  # before the commit: who dies in between finds the rows still sealed
            gate.mark.seal(moved=False)
    sign_audit(gate)


# --- the steps, each of which may be the last that a process lives to do ---


def _has_arrived(move: Move) -> bool:
    """Return whether the target is finished already. One that is neither empty nor ours is refused."""
    with move.target.read() as new:
        if new.meta(PLACE) == move.token:
            return True
        here = load_unfinished_copy(new)
        if here is not None and here.token != move.token:
            raise TargetNotEmpty(f"a copy of {here.source} was begun in the target", hint=EMPTY_IT)
        if here is None or not here.whole:
            _check_empty(new)
    return False


def _seal_source(move: Move) -> None:
    """Sign and verify the trail of the source, and end each of its streams with SEALED."""
    gate = audit_gate(move.source, move.key, move.marks)
    if move.marks is not None and (gate.mark is None or gate.mark.lost):
        raise StoreError(
            words.NO_MARK_OF_SOURCE,
            hint="open it once, with `sayso sessions` for example: a new epoch begins",
        )
    sign_audit(gate)
    verified = verify_audit(gate, progress=_progress_for(move, "Verifying the source"), rows=False)
    if not verified.clean:
        raise AuditError(
            f"the audit trail of the source was changed ({verified.found} findings), so it is not copied",
            hint=LOOK_AT_IT,
        )
    with _holding(move.source) as old:
        refuse_moved_store(old)
        for stream in {MAIN, *old.streams()}:
            record(old, events.Sealed(move.to, move.by), stream=stream)
        save_move_state(old, MoveSeal(move.token, move.to))
        newest = hold_streams(old)
    _raise_watermark(gate.mark, newest)
    move.left.seal(moved=True)


def _announce(move: Move) -> None:
    with move.target.write() as new:
        if load_unfinished_copy(new) is None:
            _check_empty(new)
            save_move_state(new, UnfinishedCopy(move.token, move.came_from))


def _fill_target(move: Move) -> None:
    """All rows in one transaction: of a copy that was broken off here, the target has nothing."""
    with move.source.read() as old, move.target.write() as new:
        here = load_unfinished_copy(new)
        if here is None or here.token != move.token:
            raise TargetNotEmpty("another copy into the target was begun meanwhile", hint=EMPTY_IT)
        if here.whole:
            return
        save_move_state(
            new, msgspec.structs.replace(here, whole=True)
        )  # from here on we have the target to ourselves
        _check_empty(new)
        rows = Carrier(move.before, move.after).rows(old)
        new.put_rows(report_progress(rows, partial(move.progress, "Copying")))


def _read_source(move: Move) -> SourceContents:
    carrier = Carrier(move.before, move.after)
    with move.source.read() as old, move.after.mark.writing() as raised:
        expected = tally_rows(carrier.rows(old), partial(move.progress, "Reading the source again"))
        move.after.mark.learn(raised)  # so that the target's mark knows the target from the beginning
        return SourceContents(expected, load_heads(old), tuple(carrier.findings))


def _verify(move: Move, sent: SourceContents) -> None:
    """Read everything back and hold it against the source, row for row and as an audit trail."""
    with move.target.read() as new:
        found = tally_rows(all_rows(new), partial(move.progress, "Reading the copy"))
        ends = load_heads(new)
    wrong = [kind for kind in {**sent.tally, **found} if found.get(kind) != sent.tally.get(kind)]
    if wrong or ends != sent.heads:
        kinds = ", ".join(wrong) or "entry"
        raise CopyFailed(f"not the same in the target as in the source: rows of {kinds}", hint=GIVE_UP)
    gate = audit_gate(move.target, move.key)
    verified = verify_audit(gate, progress=_progress_for(move, "Verifying the copy"), rows=False)
    if not verified.clean:
        raise CopyFailed(f"the audit trail of the copy has {verified.found} findings", hint=GIVE_UP)
    _raise_watermark(
        move.mark, [*ends.values()]
    )  # before the copy can be opened, so that nobody finds it without


def _finish(move: Move, findings: tuple[str, ...]) -> None:
    """Open the target in its new epoch, while nobody can take the seal off the source."""
    with _holding(move.source) as old:
        seal = load_move_seal(old)
        if seal is None or seal.token != move.token:
            raise StoreMoved("the seal was removed while the store was copied", hint="begin again")
        with move.target.write() as new:
            here = load_unfinished_copy(new)
            if here is None or here.token != move.token:
                raise TargetNotEmpty("somebody else has finished or given up this copy", hint=LOOK_AT_IT)
            _begin_epoch(move, new, findings)
            new.set_meta(PLACE, move.token)
            new.set_meta(ARRIVING, "")
        save_move_state(old, msgspec.structs.replace(seal, finished=True))
    move.left.seal(moved=True)


def _begin_epoch(move: Move, new: Writer, findings: tuple[str, ...]) -> None:
    for stream in new.streams():
        begun = events.EpochBegun(move.after.epoch, why=f"copied from {move.came_from}", by=move.by)
        record(new, begun, stream=stream)
    if findings:
        record(new, events.TamperingFound(findings=findings[:MOST_FINDINGS], found=len(findings)))


def _abandon(target: Store, seal: MoveSeal) -> None:
    """See that this copy was never finished, and never will be."""
    with target.write() as new:
        if new.meta(PLACE) == seal.token:
            refuse_sealed_store(msgspec.structs.replace(seal, finished=True))
        here = load_unfinished_copy(new)
        if here is None or here.token != seal.token:
            return
        if here.whole:
            save_move_state(new, msgspec.structs.replace(here, token=""))
        else:
            new.set_meta(ARRIVING, "")


# --- the parts of them ---


def _progress_for(move: Move, doing: str) -> CopyProgress:
    return lambda stream, done: move.progress(doing, done)


@contextmanager
def _holding(store: Store) -> Iterator[Writer]:
    """A transaction in which nobody else records anything in the streams there are, or seals or unseals."""
    with store.write() as tx:
        hold_streams(tx)
        yield tx


def _check_empty(tx: Reader) -> None:
    for row in all_rows(tx):
        raise TargetNotEmpty(f"the target is not empty: it has a {row_kind(row)}", hint=EMPTY_IT)


def _raise_watermark(mark: Watermark | None, newest: Sequence[EntryRow]) -> None:
    if mark is not None and newest:
        mark.reach(*newest)

"""A store that moves: the seal on what stays behind, and the mark on a copy that is not finished.

A seal ends every stream of the audit with an entry SEALED. Nothing is recorded after it but what lets the
stream go on, so a gate that was open all the time is refused as well as one that is opened now.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, TypeVar

import msgspec

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.gate import words
from sayso.gate.decoding import decode_json
from sayso.store.contract import EntryRow, Reader, StoreError, Writer

SEAL, ARRIVING, PLACE = "sealed", "copying", "mark"
OWN = (SEAL, ARRIVING, PLACE)
"""Facts about one place, which are not true of a copy."""


class StoreMoved(StoreError):
    """The store was sealed because it moved, or is a copy that is not finished: nothing is written to it."""

    code = "store_moved"


class MoveSeal(msgspec.Struct, frozen=True):
    """The seal: where the store goes, under which name of the move, and whether it has arrived."""

    token: str
    to: str
    finished: bool = False


class UnfinishedCopy(msgspec.Struct, frozen=True):
    """The mark of an unfinished copy: of which move, where it comes from, and whether all rows are there.

    Without a token it was given up, and can never be finished.
    """

    token: str
    source: str
    whole: bool = False


Fact = TypeVar("Fact", MoveSeal, UnfinishedCopy)


def load_move_seal(tx: Reader) -> MoveSeal | None:
    return _decode_fact(tx.meta(SEAL), MoveSeal)


def load_unfinished_copy(tx: Reader) -> UnfinishedCopy | None:
    return _decode_fact(tx.meta(ARRIVING), UnfinishedCopy)


def save_move_state(tx: Writer, fact: MoveSeal | UnfinishedCopy) -> None:
    tx.set_meta(SEAL if isinstance(fact, MoveSeal) else ARRIVING, msgspec.json.encode(fact).decode())


def refuse_sealed_store(seal: MoveSeal) -> NoReturn:
    """Say where the store is now."""
    if seal.finished:
        raise StoreMoved(f"this store was moved to {seal.to}", hint="use that one; this one can only be read")
    raise StoreMoved(
        f"this store is sealed, because it is being copied to {seal.to}",
        hint="`sayso store copy` again finishes that, `sayso store unseal` gives it up",
    )


def refuse_moved_store(tx: Reader) -> None:
    """Refuse a store that is sealed, or is a copy that is not finished."""
    seal, here = load_move_seal(tx), load_unfinished_copy(tx)
    if seal is not None:
        refuse_sealed_store(seal)
    if here is not None:
        hint = "`sayso store copy` again finishes it" if here.token else "it was given up: empty this store"
        raise StoreMoved(f"the copy of {here.source} into this store was not finished", hint=hint)


def hold_streams(tx: Reader, wanted: Iterable[str] | None = None) -> list[EntryRow]:
    """Let nobody else add to these streams until this transaction ends; return their newest entries.

    Without any named, to all there are: a new one begins only while its writer holds `main`. Whoever holds
    several takes `main` first and then by name, so that no two wait for each other.
    """
    newest = tx.head(MAIN) if wanted is None or MAIN in (wanted := set(wanted)) else None
    others = sorted({*(tx.streams() if wanted is None else wanted)} - {MAIN})
    return [one for one in (newest, *map(tx.head, others)) if one is not None]


def check_goes_on(tx: Reader, last: EntryRow | None) -> None:
    """Refuse to add to a stream that ends with a seal, or to begin one in a store that is sealed."""
    if last is None:
        tx.head(MAIN)  # whoever seals the store holds this, so the next look is the truth
    elif last.event != events.Sealed.event:
        return
    refuse_moved_store(tx)
    if last is not None:
        raise StoreMoved("this store is sealed, and nothing says where it went", hint="look at the audit")


def _decode_fact(text: str | None, fact: type[Fact]) -> Fact | None:
    try:
        return decode_json(text, fact) if text else None
    except msgspec.MsgspecError as error:
        raise StoreMoved(words.changed_outside("the seal of this store"), hint=words.LOOK_AT_AUDIT) from error

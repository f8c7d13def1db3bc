"""A copy that is broken off: it is opened nowhere, finished by the next one, or given up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.core.model import Verdict
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.open import open_gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.moves import StoreMoved, load_move_seal, save_move_state
from sayso.gate.sessions.messages import record_message
from sayso.gate.upkeep.copy import CopyFailed, TargetNotEmpty, copy_store
from sayso.policy import load_preset
from sayso.store.contract import StoreError
from sayso.store.memory.store import MemoryStore
from tests.gate.copies import (
    HERE,
    THERE,
    Pair,
    consented,
    entries,
    session_on,
    verdict,
)
from tests.support.asking import edit
from tests.support.gates import KEY, Clock


class Broken(Exception):
    """Somebody pulled the plug."""


STAGES = (
    "Verifying the source",
    "Copying",
    "Reading the source again",
    "Reading the copy",
    "Verifying the copy",
)


def breaking(stage: str) -> Callable[[str, int], None]:
    def progress(doing: str, done: int) -> None:
        if doing == stage:
            raise Broken

    return progress


@pytest.mark.parametrize("stage", STAGES)
def test_a_copy_that_was_broken_off_is_opened_nowhere_and_finished_by_the_next(
    pair: Pair, stage: str
) -> None:
    old = pair.old()
    session = consented(old)
    with pytest.raises(Broken):
        pair.copy(breaking(stage))
    if stage == STAGES[0]:
        assert verdict(old, edit(session)) is Verdict.ALLOW  # nothing was sealed yet
    else:
        with pytest.raises(StoreMoved, match="being copied to the new place"):
            session_on(old)
        with pytest.raises(StoreMoved, match="the old place into this store was not finished"):
            pair.new()
    pair.copy()
    assert [row.event for row in entries(pair.source)].count("SEALED") == 1
    assert verdict(pair.new(), edit(session)) is Verdict.ASK
    assert verify_audit(pair.new()).clean
    with pytest.raises(StoreMoved, match="was moved to the new place"):
        session_on(old)


@pytest.mark.parametrize("stage", STAGES[1:])
def test_a_copy_that_was_never_finished_can_be_given_up(pair: Pair, stage: str) -> None:
    old = pair.old()
    session = consented(old)
    with pytest.raises(Broken):
        pair.copy(breaking(stage))
    with pytest.raises(StoreError, match=THERE):
        pair.unseal(to="another place")
    pair.unseal()
    assert verdict(pair.old(), edit(session)) is Verdict.ALLOW
    assert verdict(old, edit(session)) is Verdict.ALLOW
    assert verify_audit(pair.old()).clean
    if stage == "Copying":
        pair.copy()  # nothing had arrived, so the place is still good
    else:
        for refused, error in ((pair.new, StoreMoved), (pair.copy, TargetNotEmpty)):
            with pytest.raises(error):
                refused()
    with pytest.raises(StoreError):
        pair.unseal()


def test_who_died_after_the_target_was_opened_has_moved_all_the_same(pair: Pair) -> None:
    old = pair.old()
    session = consented(old)
    pair.copy()
    with pair.source.write() as tx:
        seal = load_move_seal(tx)
        assert seal is not None
        save_move_state(tx, replace(seal, finished=False))
    record_message(pair.new(), session, "the new place is in use already")
    with pytest.raises(StoreMoved, match="was moved"):
        pair.unseal()
    assert pair.copy().epoch > 1
    with pair.source.read() as tx:
        seal = load_move_seal(tx)
    assert seal is not None
    assert seal.finished
    assert [row.event for row in entries(pair.target)].count("EPOCH") == 1


def test_a_seal_taken_off_while_the_copy_is_made_keeps_the_copy_shut(pair: Pair) -> None:
    old = pair.old()

    def meddling(doing: str, done: int) -> None:
        if doing == "Verifying the copy":
            pair.unseal()

    with pytest.raises(StoreError):
        pair.copy(meddling)
    session_on(old)
    with pytest.raises(StoreMoved):
        pair.new()


def test_a_copy_is_not_opened_if_its_source_is_in_use_again_for_whatever_reason(pair: Pair) -> None:
    old = pair.old()

    def meddling(doing: str, done: int) -> None:
        if doing == "Verifying the copy":
            with pair.source.write() as tx:
                record(tx, events.Unsealed("elsewhere", "ana"))
                tx.set_meta("sealed", "")

    with pytest.raises(StoreMoved, match="seal was removed"):
        pair.copy(meddling)
    with pytest.raises(StoreMoved, match="removed outside Sayso"):
        session_on(old)
    with pytest.raises(StoreMoved):
        pair.new()


def test_a_trail_changed_after_the_seal_is_found_in_the_copy(pair: Pair) -> None:
    pair.old()
    with pytest.raises(Broken):
        pair.copy(breaking("Copying"))
    with pair.source.write() as tx:
        head = tx.head(MAIN)
        assert head is not None
        tx.put_rows([replace(head, seq=head.seq + 1)])
    with pytest.raises(CopyFailed, match="findings"):
        pair.copy()
    with pytest.raises(StoreMoved):
        pair.new()


def test_a_row_that_arrives_otherwise_than_it_left_is_noticed(pair: Pair) -> None:
    session = consented(pair.old())

    def meddling(doing: str, done: int) -> None:
        if doing == "Reading the source again":
            with pair.target.write() as tx:
                row = tx.session(session)
                assert row is not None
                tx.put_session(replace(row, user="mallory"))

    with pytest.raises(CopyFailed, match="session"):
        pair.copy(meddling)
    with pytest.raises(StoreMoved):
        pair.new()


def test_a_copy_to_one_place_is_not_finished_at_another(pair: Pair, clock: Clock) -> None:
    pair.old()
    with pytest.raises(Broken):
        pair.copy(breaking("Copying"))
    with pytest.raises(StoreMoved, match=THERE):
        pair.copy(to="somewhere else")
    stranger = MemoryStore(clock=clock)
    open_gate(load_preset("chat"), stranger, key=KEY)
    with pytest.raises(TargetNotEmpty, match=HERE):
        copy_store(stranger, pair.target, KEY, came_from="elsewhere", to=THERE)


def test_a_seal_whose_entry_alone_is_left_still_holds(pair: Pair) -> None:
    """Whoever takes the fact of the seal away leaves the entry, and nothing follows that."""
    old = pair.old()
    pair.copy()
    with pair.source.write() as tx:
        tx.set_meta("sealed", "")
    with pytest.raises(StoreMoved):
        session_on(old)
    with pair.source.write() as tx:
        tx.set_meta("sealed", "{nonsense")
    for refused in (pair.old, lambda: session_on(old)):
        with pytest.raises(StoreMoved):
            refused()


def test_recording_after_a_seal_is_refused_whatever_it_is(pair: Pair) -> None:
    pair.old()
    pair.copy()
    with pytest.raises(StoreMoved), pair.source.write() as tx:
        record(tx, events.UserInitiated())

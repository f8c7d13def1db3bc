"""Whatever becomes of the row of passkeys, a removed one signs nothing and the need to sign does not end."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.passkey_sign_in import begin_sign_in, finish_sign_in
from sayso.gate.people.passkeys import (
    list_passkeys,
    needs_proof,
    remove_passkey,
    require_passkeys,
    verify_passkey,
)
from sayso.gate.rows.mark import file as watermark_file
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.sessions import open_session
from sayso.gate.upkeep.copy import copy_store
from sayso.store.sqlite.store import SqliteStore
from tests.attack.opening import Again, opened_anew, runs_on
from tests.support.authenticator import Authenticator
from tests.support.by_hand import KEY, Place, sqlite_place
from tests.support.gates import Clock
from tests.support.signing import ORIGINS, asked, challenge, registered, signed

DAY = 86_400.0


@pytest.fixture
def place(tmp_path: Path, clock: Clock) -> Iterator[Place]:
    with closing(sqlite_place(tmp_path, clock)) as made:
        yield made


def must_be_signed(gate: Gate, risk: Risk = Risk.HIGH) -> bool:
    with gate.store.read() as tx:
        return needs_proof(gate, tx, risk)


def refuse_signature_of(gate: Gate, device: Authenticator) -> None:
    question = asked(gate)
    proof = signed(gate, device, question)
    with gate.store.read() as tx, pytest.raises(SaysoError):
        verify_passkey(gate, tx, proof, challenge(gate, question), ORIGINS)
    with pytest.raises(SaysoError):
        finish_sign_in(gate, device.get(begin_sign_in(gate)), ORIGINS)


@pytest.mark.parametrize("others", [0, 1])
def test_a_passkey_that_was_removed_signs_nothing_with_its_row_of_before(
    place: Place, again: Again, others: int
) -> None:
    device = registered(place.gate)
    for _ in range(others):
        registered(place.gate, "bob")
    copy = place.hand.copy("meta")
    remove_passkey(place.gate, list_passkeys(place.gate, "ana")[0].id, by="ana")
    place.hand.put_back(copy, [("meta", ("passkeys",))])
    gate, before = again(place), place.reported()
    refuse_signature_of(gate, device)
    assert must_be_signed(gate, Risk.LOW)
    assert place.reported() > before


@pytest.mark.parametrize("way", ["deleted", "emptied", "put back", "put back whole"])
def test_an_emptied_list_of_passkeys_does_not_end_the_need_to_sign(
    place: Place, again: Again, way: str
) -> None:
    before = place.hand.copy("meta")
    device = registered(place.gate)
    remove_passkey(place.gate, list_passkeys(place.gate, "ana")[0].id, by="ana")
    none = place.hand.copy("meta")
    registered(place.gate, "bob")
    if way == "deleted":
        place.hand.put_back(before, [("meta", ("passkeys",))])
    elif way == "emptied":
        place.hand.run("UPDATE meta SET value = '{}' WHERE name = 'passkeys'")
    else:
        place.hand.put_back(none, [("meta", ("passkeys",))] if way == "put back" else None)
    gate, reported = again(place), place.reported()
    assert must_be_signed(gate)
    refuse_signature_of(gate, device)
    assert place.reported() > reported


@pytest.mark.parametrize("chosen", [None, "high", "all"])
def test_the_need_to_sign_outlives_a_new_epoch_however_long_ago_it_began(
    place: Place, clock: Clock, monkeypatch: pytest.MonkeyPatch, chosen: str | None
) -> None:
    """The mark forgets most of an epoch that is over; that answers have to be signed is no part of that."""
    monkeypatch.setattr(watermark_file, "SPARE", 0)
    registered(place.gate)
    if chosen is not None:
        require_passkeys(place.gate, chosen, by="ana")  # type: ignore[arg-type]
    copy, epoch = place.hand.copy(), place.gate.sealer.epoch
    open_session(place.gate, agent="tester", owner="host")
    place.hand.put_back(copy)
    assert place.restart().sealer.epoch > epoch
    place.hand.run("DELETE FROM meta WHERE name = 'passkeys'")
    clock.now += 9 * DAY
    session = open_session(place.gate, agent="tester", owner="host")
    for _ in range(200):
        record_message(place.gate, session, "what is next?")
    for again in (runs_on, opened_anew, opened_anew):
        assert must_be_signed(again(place))
    assert place.reported() > 0


def test_the_need_to_sign_moves_with_the_store_though_the_row_is_taken_from_the_copy(
    place: Place, tmp_path: Path, clock: Clock
) -> None:
    registered(place.gate)
    place.close()
    there = tmp_path / "there.db"
    source, target = SqliteStore(tmp_path / "s.db", clock=clock), SqliteStore(there, clock=clock)
    with closing(source), closing(target):
        copy_store(source, target, KEY, came_from="here", to="there", marks=tmp_path)
    with closing(sqlite3.connect(there)) as database:
        database.execute("DELETE FROM meta WHERE name = 'passkeys'")
        database.commit()
    for _ in range(2):
        gate = open_gate(place.policy, SqliteStore(there, clock=clock), key=KEY, marks=tmp_path)
        with closing(gate.store):
            assert must_be_signed(gate)

"""A value that was read before is the same only while its text, its mark and the epoch are."""

from __future__ import annotations

import msgspec
import pytest

from sayso.gate.gate import Gate, writing
from sayso.gate.open import open_gate
from sayso.gate.sealed_values import ValueReading, read_value_again, value_name, write_value
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY

NAME = value_name("ratings", "q1")


class Rating(msgspec.Struct, frozen=True):
    number: int


@pytest.fixture
def gate() -> Gate:
    return open_gate(load_preset("balanced"), MemoryStore(), key=KEY)


def store_rating(gate: Gate, number: int) -> None:
    with writing(gate) as tx:
        write_value(gate, tx, NAME, Rating(number))


def put_by_hand(gate: Gate, text: str) -> None:
    with gate.marked_store.unmarked.write() as tx:
        tx.set_meta(NAME, text)


def read_rating(gate: Gate, before: ValueReading[Rating] | None = None) -> ValueReading[Rating]:
    with gate.store.read() as tx:
        return read_value_again(gate, tx, NAME, Rating, before)


def test_what_did_not_change_is_the_reading_from_before(gate: Gate) -> None:
    store_rating(gate, 1)
    first = read_rating(gate)
    assert first.value == Rating(1)
    assert read_rating(gate, first) is first


def test_a_new_value_is_read(gate: Gate) -> None:
    store_rating(gate, 1)
    first = read_rating(gate)
    store_rating(gate, 2)
    assert read_rating(gate, first).value == Rating(2)


def test_an_old_text_that_was_put_back_does_not_count_though_it_was_read_before(gate: Gate) -> None:
    store_rating(gate, 1)
    first = read_rating(gate)
    store_rating(gate, 2)
    assert first.text is not None
    put_by_hand(gate, first.text)
    again = read_rating(gate, first)
    assert again.value is None
    assert read_rating(gate, again).value is None


@pytest.mark.parametrize("text", ["", "{}", "garbage"])
def test_a_text_that_was_tampered_with_does_not_count(gate: Gate, text: str) -> None:
    store_rating(gate, 1)
    first = read_rating(gate)
    put_by_hand(gate, text)
    assert read_rating(gate, first).value is None


def test_a_value_that_was_never_there_is_none_until_it_is(gate: Gate) -> None:
    first = read_rating(gate)
    assert first.value is None
    store_rating(gate, 1)
    assert read_rating(gate, first).value == Rating(1)


def test_another_epoch_does_not_count_what_was_read_in_the_one_before(gate: Gate) -> None:
    store_rating(gate, 1)
    first = read_rating(gate)
    gate.sealer.epoch += 1
    assert read_rating(gate, first).value is None

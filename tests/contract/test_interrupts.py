"""A program that goes on after Ctrl-C, as a notebook does, can go on using its store."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from sayso.store.contract import Store
from tests.support.interrupts import interrupt_at
from tests.support.places import Open


def write(store: Store) -> None:
    with store.write() as w:
        w.set_meta("a", "1")


def write_not_durably(store: Store) -> None:
    with store.write(durable=False) as w:
        w.set_meta("a", "1")


def fail_to_write(store: Store) -> None:
    with suppress(LookupError), store.write() as w:
        w.set_meta("a", "1")
        raise LookupError


def read(store: Store) -> None:
    with store.read() as r:
        r.meta("a")


def do_many(store: Store) -> None:
    with store.batch() as batch:
        with batch.write() as w:
            w.set_meta("b", "1")
        with batch.read() as r:
            r.meta("b")
        with suppress(LookupError), batch.write() as w:
            w.set_meta("c", "1")
            raise LookupError


ALL = [write, write_not_durably, fail_to_write, read, do_many]


def in_another_thread(act: Callable[[Store], None], store: Store) -> None:
    """As above, and whatever it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act(store)
        except BaseException as error:  # noqa: BLE001  to be raised below
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("act", ALL)
def test_wherever_it_was_interrupted_everybody_can_use_it_at_once(
    make_store: Open, act: Callable[[Store], None]
) -> None:
    store, other = make_store(), make_store()
    write(store)
    for place in itertools.count(1):
        if not interrupt_at(place, lambda: act(store)):
            break
        write(other)
        in_another_thread(write, store)
        for again in ALL:
            again(store)
    assert place > 20

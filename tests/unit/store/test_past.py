"""Rows that are changed in place, seen by those who read meanwhile: against plain copies of every moment."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from sayso.store.contract import MetaRow, SecretRow, StoreError
from sayso.store.memory.past import GONE, Changes, Table, TablesThen
from sayso.store.memory.store import MemoryStore

Groups = dict[str, dict[int, int]]


class OneTable:
    def __init__(self) -> None:
        self.rows = Table[int]()


def copied(groups: Any) -> Groups:
    """What is in it; a group without rows is as good as none."""
    return {group: dict(rows.items()) for group, rows in groups.items() if len(rows)}


def change(rng: random.Random, changes: Changes, table: Table[int]) -> None:
    row = GONE if rng.random() < 0.2 else rng.randrange(1_000)
    changes.put(table, rng.choice("abc"), rng.randrange(40), row)


def test_a_reader_keeps_its_moment_whatever_is_written_kept_and_undone() -> None:
    rng = random.Random(7)
    now, changes = OneTable(), Changes()
    kept = copied(now.rows)
    reading: list[tuple[TablesThen, Groups]] = []
    for _ in range(3_000):
        for _ in range(rng.randrange(4)):
            change(rng, changes, now.rows)
        what = rng.random()
        if what < 0.4:
            changes.keep()
            kept = copied(now.rows)
        elif what < 0.6:
            changes.undo()
            assert copied(now.rows) == kept
        if rng.random() < 0.3:
            reading.append((changes.begin_reading(now), kept))
        if len(reading) > 8:
            then, wanted = reading.pop(rng.randrange(8))
            assert_is(then, wanted)
            changes.end_reading(then)
    for then, wanted in reading:
        assert_is(then, wanted)


def assert_is(then: TablesThen, wanted: Groups) -> None:
    assert copied(then.rows) == wanted
    for group, rows in then.rows.items():
        there = wanted.get(group, {})
        assert len(rows) == len(there)
        assert list(reversed(rows)) == list(rows)[::-1]
        assert [rows.get(key) for key in range(40)] == [there.get(key) for key in range(40)]


def test_rows_come_in_the_order_they_were_added() -> None:
    now, changes = OneTable(), Changes()
    for number in range(50):
        changes.put(now.rows, "a", number, number)
        changes.put(now.rows, "a", number // 2, -number)
    changes.keep()
    then = changes.begin_reading(now)
    for number in range(60):
        changes.put(now.rows, "a", number, 0)
    assert list(then.rows["a"]) == list(range(50))
    changes.undo()
    assert list(now.rows["a"]) == list(range(50))


def test_what_is_undone_in_part_leaves_what_came_before() -> None:
    now, changes = OneTable(), Changes()
    changes.put(now.rows, "a", 1, 1)
    before = changes.count()
    changes.put(now.rows, "a", 1, 2)
    changes.put(now.rows, "a", 2, 2)
    changes.undo(before)
    assert now.rows == {"a": {1: 1}}
    changes.undo()
    assert now.rows == {"a": {}}
    assert now.rows["b"] == {}


class Interrupted(dict[Any, Any]):
    """Rows that somebody presses Ctrl-C at, once, while this key gets this row."""

    key = "2"
    row: object = "old"

    def __setitem__(self, key: object, row: object) -> None:
        if (key, row) == (self.key, self.row):
            self.key = ""
            raise KeyboardInterrupt
        super().__setitem__(key, row)


def a_store_whose_undo_is_interrupted() -> MemoryStore:
    store = MemoryStore()
    rows = store._tables.meta[""] = Interrupted()  # noqa: SLF001  there is no other way to be this unlucky
    dict.update(rows, {"1": "old", "2": "old"})
    return store


def fail_in(place: Any) -> None:
    with place.write() as w:
        for name in "123":
            w.set_meta(name, "new")
        raise LookupError


def test_an_undo_that_was_interrupted_is_never_seen_and_finished_before_the_next_write() -> None:
    store = a_store_whose_undo_is_interrupted()
    with pytest.raises(KeyboardInterrupt):
        fail_in(store)
    with store.read() as r:
        assert list(r.every(MetaRow)) == [MetaRow("1", "old"), MetaRow("2", "old")]
    with store.write() as w:
        assert [w.meta(name) for name in "123"] == ["old", "old", None]
        w.set_meta("3", "newer")
    with store.read() as r:
        assert [r.meta(name) for name in "123"] == ["old", "old", "newer"]


def test_a_batch_that_could_not_undo_one_of_its_transactions_keeps_nothing() -> None:
    store = a_store_whose_undo_is_interrupted()

    def run() -> None:
        with store.batch() as batch:
            with batch.write() as w:
                w.set_meta("4", "new")
            with pytest.raises(KeyboardInterrupt):
                fail_in(batch)

    with pytest.raises(StoreError, match="not undone"):
        run()
    with store.read() as r:
        assert [r.meta(name) for name in "1234"] == ["old", "old", None, None]


def test_nothing_is_read_in_a_transaction_that_was_left() -> None:
    store = MemoryStore()
    with store.read() as reader:
        pass
    with store.write() as writer:
        pass
    with store.batch() as batch, batch.read() as part:
        pass
    for left in (reader, writer, part):
        with pytest.raises(StoreError, match="over"):
            left.meta("a")


def test_rows_that_can_be_taken_away_are_listed_alike_whatever_was_undone() -> None:
    store = MemoryStore()
    secrets = [SecretRow("main", number, "a", b"s", b"v") for number in range(5)]
    with store.write() as w:
        w.put_rows(secrets)

    def run() -> None:
        with store.write() as w:
            assert w.erase_secret("main", 2, "a")
            raise LookupError

    with pytest.raises(LookupError):
        run()
    with store.read() as r:
        assert list(r.every(SecretRow)) == secrets


def test_threads_that_read_see_whole_transactions_while_others_write() -> None:
    store, over = MemoryStore(), threading.Event()

    def write_eight(value: str, *, fail: bool) -> None:
        with store.write() as w:
            for name in range(8):
                w.set_meta(f"{name}", "wrong" if fail else value)
                w.set_meta(f"{value} {name}", "")
            if fail:
                raise LookupError

    def write(number: int) -> None:
        for step in range(300):
            with suppress(LookupError):
                write_eight(f"{number} {step}", fail=step % 3 == 0)

    def read() -> int:
        looks = 0
        while not over.is_set():
            with store.read() as r:
                first = r.meta("0")
                assert {r.meta(f"{name}") for name in range(8)} == {first}
                assert first != "wrong"
                assert len(list(r.every(MetaRow))) % 8 == 0
            looks += 1
        return looks

    with ThreadPoolExecutor(4) as pool:
        reading = [pool.submit(read) for _ in range(2)]
        for done in [pool.submit(write, number) for number in range(2)]:
            done.result()
        over.set()
        assert all(one.result() for one in reading)

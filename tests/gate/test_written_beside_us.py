"""Others write on the same server while we read: what is older than theirs was not tampered with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import msgspec
import pytest

from sayso.gate.gate import Gate, load_reviews, writing
from sayso.gate.open import open_gate
from sayso.gate.rows.mark.versions import Raised
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.sealed_values import TamperedValue, read_value, value_name, write_value
from sayso.policy import load_preset
from sayso.store.contract import ReviewRow, Writer
from sayso.store.postgres.store import PostgresStore
from tests.support.gates import KEY
from tests.support.postgres_place import new_schema

PATIENCE = 30.0
NAME = value_name("ratings", "q1")


class Rating(msgspec.Struct, frozen=True):
    number: int


@pytest.fixture
def gate(postgres_server: str) -> Iterator[Gate]:
    store = PostgresStore(new_schema(postgres_server))
    yield open_gate(load_preset("balanced"), store, key=KEY)
    store.close()


def write_rating(gate: Gate, tx: Writer) -> None:
    write_value(gate, tx, NAME, Rating(2))


def read_rating(gate: Gate, tx: Writer) -> object:
    return read_value(gate, tx, NAME, Rating)


def write_review(gate: Gate, tx: Writer) -> None:
    before = next(iter(tx.reviews(["files"])), None)
    tx.put_review(gate.sealer.review("files", tx.now, "ana", before=before))


def read_review(gate: Gate, tx: Writer) -> object:
    return load_reviews(gate, tx, ["files"])["files"] > 0


Write = Callable[[Gate, Writer], None]
Read = Callable[[Gate, Writer], object]
KINDS = pytest.mark.parametrize(
    ("write", "read", "first"),
    [(write_rating, read_rating, Rating(1)), (write_review, read_review, True)],
    ids=["value", "review"],
)


def write_first(gate: Gate) -> None:
    with writing(gate) as tx:
        write_value(gate, tx, NAME, Rating(1))
        write_review(gate, tx)


def write_again(gate: Gate, write: Write) -> None:
    with writing(gate) as tx:
        write(gate, tx)


def findings(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        return [one.event for one in tx.entries("main") if one.event == "TAMPERED"]


@contextmanager
def about_to_commit(gate: Gate, write: Write, monkeypatch: pytest.MonkeyPatch) -> Iterator[Future[None]]:
    """Somebody else of this process has written it, and has not committed that yet."""
    promised, goes_on = threading.Event(), threading.Event()
    promise = Watermark.promise

    def wait(mark: Watermark, raised: Raised) -> Mapping[bytes, int]:
        before = promise(mark, raised)
        promised.set()
        goes_on.wait(PATIENCE)
        return before

    with ThreadPoolExecutor(1) as pool, monkeypatch.context() as patch:
        patch.setattr(Watermark, "promise", wait)
        writes = pool.submit(write_again, gate, write)
        assert promised.wait(PATIENCE)
        patch.undo()
        try:
            yield writes
        finally:
            goes_on.set()


@KINDS
def test_what_another_is_about_to_commit_does_not_count_yet(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, write: Write, read: Read, first: object
) -> None:
    write_first(gate)
    with about_to_commit(gate, write, monkeypatch) as writes, gate.store.write() as tx:
        assert read(gate, tx) == first
    writes.result(PATIENCE)
    assert findings(gate) == []


@KINDS
def test_what_another_commits_once_it_was_read_is_newer(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, write: Write, read: Read, first: object
) -> None:
    """It is written between the look at the row and the look at what it has to be at least."""
    write_first(gate)
    waiting = [write]

    def then_write() -> None:
        if waiting:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(write_again, gate, waiting.pop()).result(PATIENCE)

    with writing(gate) as tx:
        meta, reviews = tx.meta, tx.reviews

        def read_meta(name: str) -> str | None:
            found = meta(name)
            then_write()
            return found

        def read_reviews(names: Sequence[str], *, fresh: bool = False) -> Sequence[ReviewRow]:
            found = reviews(names, fresh=fresh)
            then_write()
            return found

        monkeypatch.setattr(tx, "meta", read_meta)
        monkeypatch.setattr(tx, "reviews", read_reviews)
        assert read(gate, tx) == first
    assert not waiting
    assert findings(gate) == []


@KINDS
def test_an_older_row_that_was_put_back_is_found(gate: Gate, write: Write, read: Read, first: object) -> None:
    del first
    write_first(gate)
    with gate.store.read() as tx:
        value, review = tx.meta(NAME), tx.reviews(["files"])[0]
    write_again(gate, write)
    with gate.marked_store.unmarked.write() as tx:
        tx.set_meta(NAME, value or "")
        tx.put_review(review)
    with writing(gate) as tx:
        if write is write_review:
            assert read(gate, tx) is False
        else:
            with pytest.raises(TamperedValue):
                read(gate, tx)
    assert findings(gate) == ["TAMPERED"]

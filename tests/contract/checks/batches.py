"""What a store promises of a batch: its transactions are kept or undone one by one, and committed at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from sayso.store.contract import Ahead, Batch, CallRow, Store, StoreError, Writer
from tests.contract import rows
from tests.contract.checks.transactions import Unrelated
from tests.contract.rows import call, entry, session
from tests.support.places import Open


def fail_in(batch: Batch, work: Callable[[Writer], object]) -> None:
    """Do this in a transaction of the batch, and then let the program fail."""

    def run() -> None:
        with batch.write() as w:
            work(w)
            raise Unrelated

    with pytest.raises(Unrelated):
        run()


def fail_batch(store: Store, work: Callable[[Batch], object]) -> None:
    def run() -> None:
        with store.batch() as batch:
            work(batch)
            raise Unrelated

    with pytest.raises(Unrelated):
        run()


def check_what_a_batch_wrote_is_there_when_it_ends(make: Open) -> None:
    store = make()
    with store.batch() as batch:
        with batch.write() as w:
            w.put_session(session("s1"))
            w.add_entry(entry(1))
        with batch.write() as w:
            w.put_session(session("s2"))
            w.add_entry(entry(2))
    with store.read() as r:
        assert [one.id for one in r.sessions()] == ["s1", "s2"]
        assert r.head("main") == entry(2)


def check_a_transaction_of_a_batch_sees_those_before_it(make: Open) -> None:
    store = make()
    with store.batch() as batch:
        with batch.write() as w:
            rows.put_everything(w)
        with batch.read() as r:
            assert rows.everything(r) == rows.EVERYTHING
        with batch.write() as w:
            assert w.newest_own_entry("main") is None
            assert w.move_call(call("c1", state="running", fence=1), states=["pending"], fence=0)
            assert not w.move_call(call("c1", state="failed", fence=1), states=["pending"], fence=0)
        with batch.read() as r:
            assert r.call("c1") == call("c1", state="running", fence=1)


def check_nobody_sees_a_batch_before_it_ends(make: Open) -> None:
    store, other = make(), make()
    if other is store:  # a store in memory has one copy, and a thread has one transaction at a time
        return
    with store.batch() as batch:
        with batch.write() as w:
            w.put_session(session("s1"))
        with other.read() as r:
            assert r.session("s1") is None
    with other.read() as r:
        assert r.session("s1") == session("s1")


def check_a_transaction_that_fails_in_a_batch_is_undone_alone(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_session(session("s1", head=b"old"))
        w.put_call(call("c1"))
    with store.batch() as batch:
        with batch.write() as w:
            w.set_meta("first", "x")
            w.add_entry(entry(1))
        fail_in(batch, _change)
        with batch.write() as w:
            assert w.session("s1") == session("s1", head=b"old")
            assert w.call("c1") == call("c1")
            assert (w.meta("undone"), w.head("main")) == (None, entry(1))
            w.add_entry(entry(2))
            w.set_meta("last", "x")
    with store.read() as r:
        assert (r.meta("first"), r.meta("undone"), r.meta("last")) == ("x", None, "x")
        assert (r.session("s1"), r.head("main")) == (session("s1", head=b"old"), entry(2))


def _change(w: Writer) -> None:
    w.change_session(session("s1", head=b"new"))
    w.put_call(call("c1", state="failed"))
    w.set_meta("undone", "x")
    w.add_entry(entry(2))
    assert w.count_open() == 0  # whatever waited to be written is written by now
    w.add_grant(rows.GRANT)


def check_a_batch_that_fails_keeps_nothing(make: Open) -> None:
    store = make()

    def work(batch: Batch) -> None:
        with batch.write() as w:
            rows.put_everything(w)
        with batch.write() as w:
            w.put_session(session("s9"))

    fail_batch(store, work)
    with store.read() as r:
        assert [found for found in rows.everything(r) if found is not None] == []
    with store.write() as w:
        w.add_entry(entry(1))


def check_an_error_of_the_store_in_a_batch_tells_no_lies(make: Open) -> None:
    """Either the transaction alone is undone, or the whole batch fails: never is half of one kept."""
    store = make()
    with store.write() as w:
        w.add_spend(rows.SPEND)
    failed = False
    try:
        with store.batch() as batch:
            with batch.write() as w:
                w.set_meta("before", "x")
            with pytest.raises(StoreError), batch.write() as w:
                _spend_again(w)
            with batch.write() as w:
                w.set_meta("after", "x")
    except StoreError:
        failed = True
    with store.read() as r:
        assert r.meta("wrong") is None
        assert (r.meta("before"), r.meta("after")) == ((None, None) if failed else ("x", "x"))


def _spend_again(w: Writer) -> None:
    w.set_meta("wrong", "x")
    w.add_spend(replace(rows.SPEND, what="revoke"))
    w.count_open()


def check_a_transaction_inside_another_of_a_batch_is_refused(make: Open) -> None:
    store = make()
    with store.batch() as batch:
        with batch.write(), pytest.raises(StoreError, match="inside another"), batch.write():
            pass
        with pytest.raises(StoreError, match="inside another"), store.read():
            pass


def check_reading_ahead_changes_nothing_but_the_time_it_takes(make: Open) -> None:
    store = make()
    with store.write() as w:
        rows.put_everything(w)
    ahead = Ahead(
        metas=frozenset({"epoch", "none"}),
        sessions=frozenset({"s1", "none"}),
        calls=frozenset({"c1", "none"}),
        grants=frozenset({"g1", "none"}),
        grants_by_key=frozenset(
            {("s1", (("command", rows.TEXT), ("tool", "x"))), ("none", (("tool", "x"),))}
        ),
        open_questions=frozenset({("s1", "d1"), ("s1", "none")}),
        reviews=frozenset({"email", "none"}),
        streams=frozenset({"main", "none"}),
    )
    with store.batch() as batch:
        batch.read_ahead(ahead)
        with batch.write() as w:
            w.read_ahead(ahead)
            assert rows.everything(w) == rows.EVERYTHING
            assert (w.session("none"), w.call("none"), w.grant("none"), w.head("none")) == (None,) * 4
            assert list(w.grants("s1", (("command", rows.TEXT), ("tool", "x")))) == [rows.GRANT]
            assert (w.open_question("s1", "d1"), w.open_question("s1", "none")) == (rows.QUESTION, None)
            assert list(w.reviews(["email", "none"])) == [rows.REVIEW] == list(w.reviews())
            assert list(w.reviews(["email", "none"], fresh=True)) == [rows.REVIEW]
            w.put_review(replace(rows.REVIEW, name="none"))
            w.change_session(session("s1", head=b"new"))
            w.set_meta("epoch", "9")
            w.add_grant(replace(rows.GRANT, id="g2"))
            w.put_call(call("c1", state="failed"))
            assert w.close_question(rows.CLOSED)
        with batch.write() as w:
            found = w.session("s1")
            assert found is not None
            assert (found.head, w.meta("epoch")) == (b"new", "9")
            assert [one.id for one in w.grants("s1", (("command", rows.TEXT), ("tool", "x")))] == ["g1", "g2"]
            assert w.call("c1") == call("c1", state="failed")
            assert w.open_question("s1", "d1") is None
            assert [one.name for one in w.reviews(["email", "none"])] == ["email", "none"]


def check_a_review_that_others_wrote_meanwhile_is_read_anew(make: Open) -> None:
    store, other = make(), make()
    if other is store or store.local:  # nobody else writes while a transaction does
        return
    with store.batch() as batch:
        batch.read_ahead(Ahead(reviews=frozenset({"email"})))
        with other.write() as w:
            w.put_review(rows.REVIEW)
        with batch.read() as r:
            assert list(r.reviews(["email"])) == []
            assert list(r.reviews(["email"], fresh=True)) == [rows.REVIEW]


MANY = 71
"""More than a database takes at once, and no round number."""


def check_many_alike_in_a_batch_are_each_stored_as_they_are(make: Open) -> None:
    store = make()
    names = [f"{number:02}" for number in range(MANY)]
    with store.batch() as batch:
        for number, name in enumerate(names):
            with batch.write() as w:
                w.put_session(session(f"s{name}"))
                w.put_call(call(f"c{name}", session=f"s{name}", key=name if number % 2 else None))
                w.add_spend(replace(rows.SPEND, grant=f"g{name}", session=f"s{name}", number=number))
                w.add_entry(entry(number + 1))
    with store.batch() as batch:
        batch.read_ahead(Ahead(calls=frozenset(f"c{name}" for name in names), streams=frozenset({"main"})))
        for number, name in enumerate(names):
            with batch.write() as w:
                w.change_session(session(f"s{name}", head=name.encode(), spends=number))
                assert w.move_call(_ended(number, name), states=("pending",), fence=0)
                w.add_entry(entry(MANY + number + 1))
    with store.read() as r:
        for number, name in enumerate(names):
            assert r.session(f"s{name}") == session(f"s{name}", head=name.encode(), spends=number)
            assert r.call(f"c{name}") == _ended(number, name)
            assert [spend.number for spend in r.spends([f"g{name}"])] == [number]
        assert r.entries("main") == [entry(number + 1) for number in range(2 * MANY)]


def _ended(number: int, name: str) -> CallRow:
    result = name.encode() if number % 3 else None
    return call(f"c{name}", session=f"s{name}", state="succeeded", fence=number, result=result, key=name)


def check_the_last_of_several_writes_to_one_row_counts(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_session(session("s1"))
        w.put_session(session("s2"))
    with store.batch() as batch:
        for head in (b"1", b"2", b"3"):
            with batch.write() as w:
                w.change_session(session("s1", head=head))
                w.change_session(session("s2", head=head + b"!"))
        with batch.write() as w:
            w.put_call(call("c1", fence=1))
            w.put_call(call("c2", fence=1))
            assert w.move_call(call("c1", fence=2, state="failed"), states=("pending",), fence=1)
        with batch.write() as w:
            assert not w.move_call(call("c1", fence=3), states=("pending",), fence=1)
            w.put_call(call("c1", fence=4))
            assert w.move_call(call("c1", fence=5, state="succeeded"), states=("pending",), fence=4)
    with store.batch() as batch, batch.write() as w:
        assert w.call("c1") is not None
        w.put_call(call("c2", fence=6))
        assert w.move_call(call("c1", fence=7, state="failed"), states=("succeeded",), fence=5)
        w.put_call(call("c1", fence=8))
    with store.read() as r:
        heads = [found.head for name in ("s1", "s2") if (found := r.session(name)) is not None]
        assert heads == [b"3", b"3!"]
        assert (r.call("c1"), r.call("c2")) == (call("c1", fence=8), call("c2", fence=6))


def check_a_missing_row_among_many_keeps_none_of_the_batch(make: Open) -> None:
    store = make()
    names = [f"s{number}" for number in range(5)]
    with store.write() as w:
        for name in names:
            w.put_session(session(name, head=b"old"))

    def run() -> None:
        with store.batch() as batch:
            batch.read_ahead(Ahead(sessions=frozenset({*names, "missing"})))  # so that all are held at once
            for name in (*names, "missing"):
                with batch.write() as w:
                    w.change_session(session(name, head=b"new"))

    with pytest.raises(StoreError):
        run()
    with store.read() as r:
        assert {row.head for row in r.sessions()} == {b"old"}
        assert r.session("missing") is None

"""What a store promises of its transactions: all or nothing, alone, of one moment, and seen by everybody."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar

import pytest
from msgspec.structs import replace

from sayso.store.contract import Reader, Store, StoreError, Writer
from tests.contract import rows
from tests.contract.rows import call, entry, question, session
from tests.support.places import Open

PATIENCE = 60.0
"""How long to wait for what must happen. Nothing that works waits this long."""
SOON = 5.0
"""How long to wait for news from elsewhere: longer than any store's bound."""
MOMENT = 0.2
"""How long to give another thread for what it must not be able to do."""


class Unrelated(Exception):
    """Something goes wrong in the program that uses the store."""


def fail_after(work: Callable[[Writer], object], store: Store, *, durable: bool = True) -> None:
    """Do this in a transaction, and then let the program fail."""

    def run() -> None:
        with store.write(durable=durable) as w:
            work(w)
            raise Unrelated

    with pytest.raises(Unrelated):
        run()


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[Future[object]]:
    """Do this in another thread meanwhile; what goes wrong there goes wrong here."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        yield future
    future.result()


def check_a_transaction_that_fails_leaves_no_trace(make: Open) -> None:
    store = make()
    fail_after(rows.put_everything, store)
    with store.read() as r:
        assert [found for found in rows.everything(r) if found is not None] == []
        assert list(r.streams()) == []
        assert r.count_open("s1") == 0


def check_changes_of_a_transaction_that_fails_are_undone(make: Open) -> None:
    store = make()
    with store.write() as w:
        rows.put_everything(w)
    fail_after(_change_everything, store)
    with store.read() as r:
        assert rows.everything(r) == rows.EVERYTHING


def _change_everything(w: Writer) -> None:
    w.set_meta("epoch", "2")
    w.put_session(session("s1", head=b"other"))
    w.add_spend(replace(rows.SPEND, number=2, what="revoke"))
    assert w.close_question(rows.CLOSED)
    assert w.move_call(call("c1", state="running", fence=1), states=["pending"], fence=0)
    w.put_call(replace(rows.FULL_CALL, state="failed"))
    w.add_entry(entry(2))
    assert w.prune_entries("main", before=2) == 1
    w.add_checkpoint(replace(rows.CHECKPOINT, size=0))
    assert w.erase_secret("main", 1, "token")
    w.put_review(replace(rows.REVIEW, by="bo"))


def check_an_error_that_somebody_catches_ends_the_transaction_all_the_same(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_spend(rows.SPEND)
    for wrong in (lambda w: w.add_spend(rows.SPEND), lambda w: w.add_entry(entry(7))):
        with pytest.raises(StoreError):
            _catch_and_go_on(store, wrong)
    with store.read() as r:
        assert (r.meta("before"), r.meta("after")) == (None, None)


def _catch_and_go_on(store: Store, wrong: Callable[[Writer], None]) -> None:
    with store.write() as w:
        w.set_meta("before", "x")
        with pytest.raises(StoreError):
            _write_and_read(w, wrong)
        with suppress(StoreError):
            w.set_meta("after", "x")


def _write_and_read(w: Writer, wrong: Callable[[Writer], None]) -> None:
    """A store may say what was wrong as late as with the next read."""
    wrong(w)
    w.count_open()


def check_a_store_works_on_after_a_failure(make: Open) -> None:
    store = make()
    for _ in range(5):
        fail_after(lambda w: w.add_entry(entry(1)), store)
        with pytest.raises(Unrelated), store.read():
            raise Unrelated
    with store.write() as w:
        w.add_entry(entry(1))
    with store.read() as r:
        assert r.head("main") == entry(1)


def check_a_transaction_inside_another_is_refused(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.set_meta("outer", "x")
        with pytest.raises(StoreError, match="inside another"), store.write():
            pass
        with pytest.raises(StoreError, match="inside another"), store.read():
            pass
    with store.read() as r, pytest.raises(StoreError, match="inside another"), store.write():
        pass
    with store.read() as r:
        assert r.meta("outer") == "x"


def check_a_transaction_that_was_left_writes_nothing(make: Open) -> None:
    store = make()
    with store.write() as left:
        left.set_meta("a", "1")
    with pytest.raises(StoreError):
        left.set_meta("a", "2")
    with store.write() as w:
        w.set_meta("b", "1")
        with pytest.raises(StoreError):
            left.set_meta("a", "2")
    with store.read() as r:
        assert (r.meta("a"), r.meta("b")) == ("1", "1")


def check_time_stands_still_in_a_transaction(make: Open) -> None:
    store = make()
    with store.write() as w:
        first = w.now
        w.set_meta("a", "1")
        assert w.now == first > 1_000_000_000
    with store.read() as r:
        second = r.now
        assert r.meta("a") == "1"
        assert r.now == second >= first


def check_nobody_sees_what_is_not_committed(make: Open) -> None:
    store = make()

    def look() -> None:
        with store.read() as r:
            assert [found for found in rows.everything(r) if found is not None] == []

    with store.write() as w:
        rows.put_everything(w)
        with beside(look) as looking:
            looking.result(PATIENCE)


def check_reads_are_of_one_moment(make: Open) -> None:
    store = make()

    def step(number: int) -> None:
        with store.write() as w:
            w.set_meta("number", str(number))
            w.put_session(session("s1", spends=number))

    step(1)
    with store.read() as r:
        assert r.meta("number") == "1"
        with beside(lambda: step(2)) as stepping:
            stepping.result(PATIENCE)
        row = r.session("s1")
        assert (r.meta("number"), row and row.spends) == ("1", 1)
    with store.read() as r:
        row = r.session("s1")
        assert (r.meta("number"), row and row.spends) == ("2", 2)


def check_a_read_begun_in_the_middle_of_a_write_stays_at_the_moment_before(make: Open) -> None:
    store = make()
    looked, committed = threading.Event(), threading.Event()

    def look() -> None:
        with store.read() as r:
            before = _what_changed(r)
            looked.set()
            assert committed.wait(PATIENCE)
            assert _what_changed(r) == before == ("1", None, [1], 1)

    with store.write() as w:
        w.set_meta("number", "1")
        w.add_entry(entry(1))
        w.put_call(call("c1"))
    with beside(look):
        with store.write() as w:
            w.set_meta("number", "2")
            w.put_session(session("s1"))
            w.add_entry(entry(2))
            assert looked.wait(PATIENCE)
            w.put_call(call("c2"))
        committed.set()
    with store.read() as r:
        assert _what_changed(r) == ("2", session("s1"), [1, 2], 2)


def _what_changed(r: Reader) -> tuple[object, ...]:
    seen = [row.seq for row in r.entries("main")]
    return r.meta("number"), r.session("s1"), seen, len(r.calls(states=[call("c1").state]))


def check_the_next_transaction_sees_what_was_committed_whoever_did_it(make: Open) -> None:
    one, two = make(), make()
    for number in range(1, 6):
        with one.write() as w:
            w.set_meta("number", str(number))
            w.add_spend(replace(rows.SPEND, number=number))
        with two.read() as r:
            assert (r.meta("number"), len(r.spends(["g1"]))) == (str(number), number)
        with two.write() as w:
            assert (w.meta("number"), len(w.spends(["g1"]))) == (str(number), number)
            w.add_entry(entry(number))
        with one.read() as r:
            assert r.head("main") == entry(number)


def check_a_transaction_that_writes_is_alone_with_its_session(make: Open) -> None:
    """While one counts, another that wants to count waits, so no count is lost."""
    store = make()
    with store.write() as w:
        w.put_session(session("s1", spends=0))

    def count() -> None:
        with store.write() as w:
            _count_up(w)

    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            with store.write() as w:
                row = w.session("s1")
                assert row is not None
                other = pool.submit(count)
                with pytest.raises(TimeoutError):
                    other.result(MOMENT)
                w.put_session(replace(row, spends=row.spends + 1))
            other.result(PATIENCE)
    with store.read() as r:
        found = r.session("s1")
        assert found is not None
        assert found.spends == 6


def _count_up(w: Writer) -> None:
    row = w.session("s1")
    assert row is not None
    w.put_session(replace(row, spends=row.spends + 1))


def check_a_session_that_does_not_exist_yet_is_opened_by_one(make: Open) -> None:
    store = make()

    def open_it(owner: str) -> bool:
        with store.write() as w:
            if w.session("new") is not None:
                return False
            w.put_session(session("new", owner=owner))
            return True

    won = _race(4, lambda number: open_it(f"owner {number}"))
    assert sorted(won) == [False, False, False, True]
    with store.read() as r:
        row = r.session("new")
        assert row is not None
        assert row.owner == f"owner {won.index(True)}"


def check_a_grant_for_one_use_is_used_by_one(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_session(rows.SESSION)
        w.add_grant(rows.GRANT)

    def use(number: int) -> bool:
        with store.write() as w:
            found = w.grant("g1")
            assert found is not None
            if w.spends(["g1"]):
                return False
            w.add_spend(replace(rows.SPEND, call=f"call {number}"))
            return True

    assert sorted(_race(4, use)) == [False, False, False, True]
    with store.read() as r:
        assert len(r.spends(["g1"])) == 1


def check_a_question_is_answered_by_one(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(rows.QUESTION)

    def answer(number: int) -> bool:
        with store.write() as w:
            return w.close_question(replace(rows.CLOSED, by=str(number)))

    won = _race(4, answer)
    assert sorted(won) == [False, False, False, True]
    with store.read() as r:
        assert r.question("q1") == replace(rows.CLOSED, by=str(won.index(True)))


def check_a_call_is_started_by_one(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_call(call("c1", state="allowed"))

    def start(number: int) -> bool:
        with store.write() as w:
            row = call("c1", state="running", fence=1, holder=str(number))
            return w.move_call(row, states=["allowed"], fence=0)

    won = _race(4, start)
    assert sorted(won) == [False, False, False, True]
    with store.read() as r:
        assert r.call("c1") == call("c1", state="running", fence=1, holder=str(won.index(True)))


def check_an_effect_is_started_by_one_session(make: Open) -> None:
    store = make()

    def start(number: int) -> bool:
        with store.write() as w:
            if w.calls_by_effect("invoice 7"):
                return False
            w.put_call(call(f"c{number}", session=f"s{number}", effect_key="invoice 7"))
            return True

    assert sorted(_race(4, start)) == [False, False, False, True]


def check_threads_extend_one_chain_without_a_gap(make: Open) -> None:
    store = make()

    def extend(number: int) -> None:
        for _ in range(5):
            with store.write(durable=False) as w:
                head = w.head("main")
                w.add_entry(replace(entry(head.seq + 1 if head else 1), session=str(number)))

    _race(4, extend)
    with store.read() as r:
        assert [row.seq for row in r.entries("main")] == list(range(1, 21))


def check_a_waiter_is_told_of_a_commit(make: Open) -> None:
    store = make()
    seen = store.wait_for_change(0, PATIENCE)

    def ask() -> None:
        with store.write() as w:
            w.add_question(question("q1"))

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.wait_for_change, seen, PATIENCE)
        ask()
        assert waiting.result(2 * PATIENCE) != seen


def check_a_waiter_is_told_of_the_commit_of_another_handle(make: Open) -> None:
    one, two = make(), make()
    seen = one.wait_for_change(0, PATIENCE)
    for number in range(1, 4):
        with two.write(durable=number == 2) as w:
            w.put_session(session("s1", head=bytes([number])))
        while True:  # it may be woken too often, and must be in the end
            mark = one.wait_for_change(seen, SOON)
            assert mark != seen
            seen = mark
            with one.read() as r:
                found = r.session("s1")
            if found is not None and found.head == bytes([number]):
                break
    assert one.bound <= 2.0 < SOON


def check_who_missed_a_commit_is_told_at_once(make: Open) -> None:
    store = make()
    seen = store.wait_for_change(0, PATIENCE)
    with store.write() as w:
        w.set_meta("a", "1")
    mark = store.wait_for_change(seen, PATIENCE)
    assert mark != seen
    assert store.wait_for_change(seen, PATIENCE) != seen


def check_a_waiter_gives_up_when_its_time_is_over(make: Open) -> None:
    store = make()
    seen = store.wait_for_change(0, PATIENCE)
    for _ in range(200):  # what is told late of the opening comes to an end
        mark = store.wait_for_change(seen, MOMENT)
        if mark == seen:
            return
        seen = mark
    pytest.fail("it is always told of something, though nothing happens")


def check_everything_is_there_after_closing_and_opening_again(make: Open) -> None:
    store = make()
    with store.write() as w:
        rows.put_everything(w)
    with store.write(durable=False) as w:
        w.set_meta("quick", "yes")
    store.close()
    with make().read() as r:
        assert rows.everything(r) == rows.EVERYTHING
        assert r.meta("quick") == "yes"


def check_a_transaction_that_need_not_last_is_as_whole_as_any(make: Open) -> None:
    store = make()
    fail_after(rows.put_everything, store, durable=False)
    with store.write() as w:
        assert w.session("s1") is None
    with store.write(durable=False) as w:
        rows.put_everything(w)
    with store.write() as w:
        assert rows.everything(w) == rows.EVERYTHING


Result = TypeVar("Result")


def _race(threads: int, work: Callable[[int], Result]) -> list[Result]:
    """What each of these threads got, all let go at the same moment."""
    line = threading.Barrier(threads)

    def run(number: int) -> Result:
        line.wait(PATIENCE)
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))

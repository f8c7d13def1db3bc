"""What a store promises of deliveries: one for each surface and subject, taken by one of two."""

from __future__ import annotations

from msgspec.structs import replace

from sayso.store.contract import DeliveryRow
from tests.contract.rows import CLOSED, NOON, question
from tests.support.places import Open

DUE = DeliveryRow("phone", "n1", "notice", "due", NOON, at=NOON, body=b"note")
SHOWN = DeliveryRow("phone", "q1", "question", "shown", NOON, version=2, ref="message 7")


def check_a_surface_has_one_delivery_of_a_subject(make: Open) -> None:
    store = make()
    with store.write() as w:
        assert w.add_delivery(DUE)
        assert not w.add_delivery(replace(DUE, body=b"other", version=9))
        assert w.add_delivery(replace(DUE, surface="desk"))
    with store.write() as w:
        assert not w.add_delivery(replace(DUE, body=b"later"))
    with store.read() as r:
        assert r.delivery("phone", "n1") == DUE
        assert r.delivery("desk", "n1") == replace(DUE, surface="desk")
        assert r.delivery("phone", "n2") is None


def check_of_two_who_take_a_delivery_one_gets_it(make: Open) -> None:
    store = make()
    taken = replace(DUE, due_at=NOON + 60, version=1, attempts=1)
    with store.write() as w:
        w.add_delivery(DUE)
    with store.write() as w:
        assert w.move_delivery(taken, version=0)
    with store.write() as w:
        assert not w.move_delivery(replace(taken, attempts=5), version=0)
        assert not w.move_delivery(replace(taken, subject="n2"), version=0)
        assert w.delivery("phone", "n1") == taken
    with store.read() as r:
        assert r.delivery("phone", "n1") == taken
        assert r.delivery("phone", "n2") is None


def check_what_is_due_is_found_longest_first(make: Open) -> None:
    store = make()
    later, other = replace(DUE, subject="n0", due_at=NOON + 1), replace(DUE, surface="desk")
    done = replace(DUE, subject="n3", state="over")
    with store.write() as w:
        for row in (later, DUE, other, done, SHOWN):
            w.add_delivery(row)
    with store.read() as r:
        assert r.deliveries_due("phone", by=NOON - 0.5) == []
        assert list(r.deliveries_due("phone", by=NOON)) == [DUE]
        assert list(r.deliveries_due("phone", by=NOON + 2)) == [DUE, later]
        assert list(r.deliveries_due("phone", by=NOON + 2, limit=1)) == [DUE]
        assert list(r.deliveries_due("desk", by=NOON + 2)) == [other]


def check_an_open_question_is_to_be_shown_once_on_each_surface(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name in ("q2", "q1", "q3"):
            w.add_question(question(name, digest=name))
        w.close_question(replace(CLOSED, id="q3", digest="q3"))
    with store.read() as r:
        assert list(r.questions_to_show("phone")) == ["q2", "q1"]
        assert list(r.questions_to_show("phone", limit=1)) == ["q2"]
    with store.write() as w:
        w.add_delivery(replace(SHOWN, subject="q2"))
        assert list(w.questions_to_show("phone")) == ["q1"]
    with store.read() as r:
        assert list(r.questions_to_show("phone")) == ["q1"]
        assert list(r.questions_to_show("desk")) == ["q2", "q1"]


def check_a_question_that_was_closed_is_to_be_taken_down(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name in ("q1", "q2"):
            w.add_question(question(name, digest=name))
            w.add_delivery(replace(SHOWN, subject=name))
        w.add_delivery(replace(SHOWN, surface="desk", state="over"))
        w.add_delivery(replace(SHOWN, surface="chat", state="due"))
        w.add_delivery(replace(SHOWN, subject="n1", kind="notice"))
    with store.read() as r:
        assert r.deliveries_to_close("phone", by=NOON + 1) == []
    with store.write() as w:
        w.close_question(replace(CLOSED, digest="q1"))
    with store.read() as r:
        assert list(r.deliveries_to_close("phone", by=NOON + 1)) == [SHOWN]
        assert r.deliveries_to_close("phone", by=NOON - 1) == []
        assert r.deliveries_to_close("desk", by=NOON + 1) == []
        assert r.deliveries_to_close("chat", by=NOON + 1) == []


def check_what_is_over_is_forgotten_and_nothing_else(make: Open) -> None:
    store = make()
    over = replace(DUE, subject="n2", state="over")
    with store.write() as w:
        for row in (DUE, SHOWN, over, replace(over, subject="n3", due_at=NOON + 5)):
            w.add_delivery(row)
    with store.write() as w:
        assert w.drop_deliveries(before=NOON) == 0
        assert w.drop_deliveries(before=NOON + 1) == 1
    with store.read() as r:
        assert r.delivery("phone", "n2") is None
        assert r.delivery("phone", "n1") == DUE
        assert r.delivery("phone", "q1") == SHOWN
        assert r.delivery("phone", "n3") is not None

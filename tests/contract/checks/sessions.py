"""What a store promises of sessions: replaced in their place, listed in order, by page and by owner."""

from __future__ import annotations

import pytest

from sayso.store.contract import StoreError
from tests.contract.rows import NOON, session
from tests.support.places import Open


def check_a_session_put_again_is_replaced_in_its_place(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name in ("b", "a", "c"):
            w.put_session(session(name))
    with store.write() as w:
        w.put_session(session("b", head=b"new", spends=9, mac=b"other"))
    with store.read() as r:
        assert r.session("b") == session("b", head=b"new", spends=9, mac=b"other")
        assert [row.id for row in r.sessions()] == ["b", "a", "c"]


def check_a_session_that_changes_keeps_whose_it_is_and_when_it_ended(make: Open) -> None:
    store = make()
    new = {"workspace": "/other", "head": b"new", "spends": 9, "mac": b"other"}
    with store.write() as w:
        for name in ("b", "a"):
            w.put_session(session(name, ended_at=NOON))
    with store.write() as w:
        w.change_session(session("b", owner="thief", user="x", agent="y", parent="a", opened_at=1.0, **new))
        assert w.session("b") == session("b", ended_at=NOON, **new)
    with pytest.raises(StoreError), store.write() as w:
        w.change_session(session("c"))
    with store.read() as r:
        assert list(r.sessions(open_only=False)) == [
            session("b", ended_at=NOON, **new), session("a", ended_at=NOON)
        ]  # fmt: skip
        assert r.session("c") is None


def check_sessions_are_listed_in_order_the_ended_ones_on_demand(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, ended in (("c", None), ("b", NOON), ("a", None)):
            w.put_session(session(name, ended_at=ended))
    with store.read() as r:
        assert [row.id for row in r.sessions()] == ["c", "a"]
        assert [row.id for row in r.sessions(open_only=False)] == ["c", "b", "a"]
        assert [row.id for row in r.sessions(open_only=False, limit=2)] == ["c", "b"]
        assert [row.id for row in r.sessions(limit=1)] == ["c"]


def check_sessions_come_in_pages_of_one_owner_or_of_all(make: Open) -> None:
    store = make()
    opened = [(f"s{(number * 7) % 12:02}", "ana" if number % 2 else "bo") for number in range(12)]
    with store.write() as w:
        for number, (name, owner) in enumerate(opened):
            w.put_session(session(name, owner=owner, ended_at=NOON if number % 3 == 0 else None))
    names = [name for number, (name, _) in enumerate(opened) if number % 3]
    with store.read() as r:
        first = [row.id for row in r.sessions(limit=3)]
        second = [row.id for row in r.sessions(after=first[-1], limit=3)]
        third = [row.id for row in r.sessions(after=second[-1], limit=3)]
        assert [*first, *second, *third] == names
        assert list(r.sessions(after=third[-1])) == []
        assert list(r.sessions(after="unknown")) == []
        assert [row.id for row in r.sessions(after=opened[0][0])] == names  # behind one that has ended
        mine = [row.id for row in r.sessions(owner="ana")]
        assert mine == [name for name, owner in opened if owner == "ana" and name in names]
        assert [row.id for row in r.sessions(owner="ana", after=mine[0], limit=2)] == mine[1:3]
        every = [name for name, owner in opened if owner == "bo"]
        assert [row.id for row in r.sessions(owner="bo", open_only=False)] == every
        assert [row.id for row in r.sessions(owner="bo", open_only=False, after=every[0])] == every[1:]
        assert list(r.sessions(owner="nobody")) == []


def check_children_are_those_of_one_parent(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, parent in (("root", None), ("b", "root"), ("other", "b"), ("a", "root")):
            w.put_session(session(name, parent=parent))
    with store.read() as r:
        assert [row.id for row in r.children("root")] == ["b", "a"]

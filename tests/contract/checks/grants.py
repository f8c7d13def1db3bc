"""What a store promises of grants and what is kept beside them: uses, reviews."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sayso.store.contract import UNKNOWN_EXPIRY, NodeRow, Store, StoreError
from tests.contract import rows
from tests.contract.rows import NOON, grant, session
from tests.support.places import Open


def check_grants_come_in_the_order_given_and_from_one_session(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, owner, value in (("z", "s1", "x"), ("a", "s1", "y"), ("m", "s2", "x"), ("b", "s1", "x")):
            w.add_grant(grant(name, session=owner, kind="tool", value=value))
    with store.read() as r:
        assert [row.id for row in r.grants("s1")] == ["z", "a", "b"]
        assert [row.id for row in r.grants("s1", [("tool", "x")])] == ["z", "b"]
        both = [("tool", "y"), ("tool", "x"), ("tool", "x"), ("command", "x")]
        assert [row.id for row in r.grants("s1", both)] == ["z", "a", "b"]
        assert list(r.grants("s1", [("x", "tool"), ("command", "y")])) == []
        assert list(r.grants("s1", [])) == []
        assert r.grant("m") == grant("m", session="s2", kind="tool", value="x")


def check_grants_are_found_by_their_names_in_their_session(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, owner in (("z", "s1"), ("a", "s1"), ("m", "s2"), ("b", "s1")):
            w.add_grant(grant(name, session=owner))
        found = w.grants_named("s1", iter(["b", "nobody's", "z", "m", "b"]))
        assert sorted(row.id for row in found) == ["b", "z"]
        assert list(w.grants_named("s1", [])) == []
    with store.read() as r:
        assert list(r.grants_named("s2", ["m", "z"])) == [grant("m", session="s2")]


def _give_six(store: Store) -> list[str]:
    """Six grants, given in another order than that in which they end, two at once; and others."""
    ends = {"e": 1.0, "b": 2.0, "d": 2.0, "a": 3.0, "f": 4.0, "c": UNKNOWN_EXPIRY - NOON}
    with store.write() as w:
        for name, owner, ended in (("s1", "ana", None), ("s2", "bo", None), ("s3", "ana", NOON)):
            w.put_session(session(name, owner=owner, ended_at=ended))
        for number, name in enumerate("fbcdea"):
            w.add_grant(grant(name, session=f"s{number % 2 + 1}", expires_at=NOON + ends[name]))
        w.add_grant(grant("over", expires_at=NOON))
        w.add_grant(grant("ended", session="s3", expires_at=NOON + 9))
        w.add_grant(grant("orphan", session="nobody's", expires_at=NOON + 9))
        w.add_spend(replace(rows.SPEND, grant="b", what="revoke"))
    return [*"ebdafc"]


def check_grants_that_have_not_ended_come_in_pages_the_first_to_end_first(make: Open) -> None:
    store = make()
    names = _give_six(store)
    with store.read() as r:
        assert [row.id for row in r.grants_ending_after(NOON)] == names
        pages = [
            [row.id for row in r.grants_ending_after(NOON, after=after, limit=2)] for after in ("", "b", "a")
        ]
        assert [name for page in pages for name in page] == names
        assert list(r.grants_ending_after(NOON, after="c")) == []
        assert list(r.grants_ending_after(NOON, after="unknown")) == []
        assert [row.id for row in r.grants_ending_after(NOON, after="ended")] == ["c"]
        assert [row.id for row in r.grants_ending_after(NOON + 2)] == ["a", "f", "c"]
        assert [row.id for row in r.grants_ending_after(NOON + 2, after="e")] == ["a", "f", "c"]
        assert r.grants_ending_after(NOON)[0] == grant("e", session="s1", expires_at=NOON + 1)


def check_grants_that_have_not_ended_are_found_by_session_and_owner(make: Open) -> None:
    store = make()
    names = _give_six(store)
    with store.read() as r:
        mine = [name for name in names if name in "fce"]
        assert [row.id for row in r.grants_ending_after(NOON, session="s1")] == mine
        assert [row.id for row in r.grants_ending_after(NOON, owner="ana")] == mine
        assert [row.id for row in r.grants_ending_after(NOON, owner="ana", after="e", limit=1)] == ["f"]
        assert [row.id for row in r.grants_ending_after(NOON, session="s2", after="b")] == ["d", "a"]
        assert list(r.grants_ending_after(NOON, session="s3")) == []
        assert list(r.grants_ending_after(NOON, owner="nobody")) == []


def check_run_grants_are_found_until_they_end_or_are_revoked(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, ended in (("s1", None), ("s2", NOON)):
            w.put_session(session(name, ended_at=ended))
        for name in ("d", "b", "c", "over"):
            w.add_grant(grant(name, kind="run", value=name, expires_at=NOON + (name != "over")))
        w.add_grant(grant("ended", session="s2", kind="run", expires_at=NOON + 1))
        w.add_grant(grant("other", kind="tool", value="run", expires_at=NOON + 1))
        w.add_spend(replace(rows.SPEND, grant="b", number=1, what="use"))
        w.add_spend(replace(rows.SPEND, grant="c", number=1, what="use"))
        w.add_spend(replace(rows.SPEND, grant="c", number=2, what="revoke"))
    with store.read() as r:
        assert [row.id for row in r.active_run_grants(NOON)] == ["b", "d"]
        assert [row.id for row in r.active_run_grants(NOON - 1)] == ["over", "b", "d"]
        assert list(r.active_run_grants(NOON + 1)) == []


def check_any_number_of_keys_can_be_asked_for(make: Open) -> None:
    store = make()
    names = [f"g{number:04}" for number in range(1300)]
    with store.write(durable=False) as w:
        for name in reversed(names):
            w.add_grant(grant(name, kind="tool", value=name))
            w.add_spend(replace(rows.SPEND, grant=name))
        w.add_nodes(NodeRow("main", 0, index, b"") for index in range(1300))
    with store.read() as r:
        assert [row.id for row in r.grants("s1", [("tool", name) for name in names])] == names[::-1]
        assert sorted(row.id for row in r.grants_named("s1", reversed(names))) == names
        assert [row.grant for row in r.spends(reversed(names))] == names
        assert [row.index for row in r.nodes("main", [(0, i) for i in reversed(range(1300))])] == list(
            range(1300)
        )


def check_a_grant_is_added_once(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_grant(grant("g1"))
    with pytest.raises(StoreError), store.write() as w:
        w.add_grant(grant("g1", session="s2", value="everything"))
    with store.read() as r:
        assert r.grant("g1") == grant("g1")
        assert list(r.grants("s2")) == []


def check_spends_come_by_grant_and_number(make: Open) -> None:
    store = make()
    added = [("b", 1, "s1", "use"), ("a", 1, "s1", "use"), ("b", 2, "s1", "return"), ("c", 1, "s2", "revoke"),
             ("b", 3, "s1", "revoke")]  # fmt: skip
    with store.write() as w:
        for name, number, owner, what in added:
            w.add_spend(replace(rows.SPEND, grant=name, number=number, session=owner, what=what))
    with store.read() as r:
        found = [(row.grant, row.number, row.session, row.what) for row in r.spends(["c", "b", "a", "b"])]
        assert found == sorted(added)
        assert [row.number for row in r.spends(["b"])] == [1, 2, 3]


def check_a_number_of_a_grant_is_spent_once(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_spend(replace(rows.SPEND, number=3))
        w.add_spend(rows.SPEND)
        w.add_spend(replace(rows.SPEND, grant="g2"))
    for number in (1, 3):
        with pytest.raises(StoreError), store.write() as w:
            w.add_spend(replace(rows.SPEND, number=number, call="other"))
    with store.read() as r:
        assert list(r.spends(["g1"])) == [rows.SPEND, replace(rows.SPEND, number=3)]


def check_a_last_spend_comes_after_all_of_its_grant(make: Open) -> None:
    store, last = make(), replace(rows.SPEND, number=1, what="revoke")
    with store.write() as w:
        w.add_spend(rows.SPEND)
        w.add_spend(replace(rows.SPEND, number=7))
        w.add_spend(replace(rows.SPEND, grant="g2", number=9))
        w.add_last_spend(last)
        assert [row.number for row in w.spends(["g1"])] == [1, 7, 8]
    with store.write() as w:
        w.add_last_spend(last)
        w.add_last_spend(replace(last, grant="g3"))
    with store.read() as r:
        assert list(r.spends(["g1"]))[2:] == [replace(last, number=8), replace(last, number=9)]
        assert list(r.spends(["g2", "g3"])) == [
            replace(rows.SPEND, grant="g2", number=9),
            replace(last, grant="g3"),
        ]


def check_a_review_put_again_is_the_newer_one(make: Open) -> None:
    store = make()
    seen = replace(rows.REVIEW, name="calendar", by=None)
    with store.write() as w:
        w.put_review(rows.REVIEW)
        w.put_review(seen)
        w.put_review(replace(rows.REVIEW, at=NOON + 9, by="bo"))
    with store.read() as r:
        newer = replace(rows.REVIEW, at=NOON + 9, by="bo")
        assert list(r.reviews()) == [seen, newer]
        assert list(r.reviews(["email", "shell", "calendar", "email"])) == [seen, newer]
        assert list(r.reviews(["email"])) == [newer]
        assert list(r.reviews([])) == []

"""What a store promises of rows of every kind: what is read back, what is listed, what is put."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from sayso.store.contract import (
    KINDS,
    AnyRow,
    GrantRow,
    MetaRow,
    NodeRow,
    Reader,
    SessionRow,
    StoreError,
)
from tests.contract import rows
from tests.contract.rows import NOON, call, entry, grant, session
from tests.support.places import Open


def check_every_row_is_read_back_as_it_was_stored(make: Open) -> None:
    store = make()
    with store.write() as w:
        rows.put_everything(w)
    with store.read() as r:
        assert rows.everything(r) == rows.EVERYTHING


def check_a_transaction_reads_its_own_writes(make: Open) -> None:
    with make().write() as w:
        rows.put_everything(w)
        assert rows.everything(w) == rows.EVERYTHING


def check_what_does_not_exist_is_not_found(make: Open) -> None:
    with make().read() as r:
        one: list[object] = [
            r.meta("x"),
            r.session("x"),
            r.grant("x"),
            r.question("x"),
            r.call("x"),
        ]
        one += [
            r.open_question("x", "x"),
            r.call_by_host("x", "x"),
            r.call_by_key("x", "x", "x"),
            r.head("x"),
        ]
        assert one == [None] * len(one)
        many: list[Sequence[object]] = [
            r.sessions(),
            r.children("x"),
            r.grants("x"),
            r.grants("x", []),
            r.grants("x", [("a", "b")]),
            r.grants_named("x", ["a"]),
        ]
        many += [r.spends(["x"]), r.spends([]), r.reviews(), r.questions("x")]
        many += [r.questions(after="x"), r.calls_by_effect("x"), r.calls(states=["x"]), r.calls(states=[])]
        many += [
            r.entries("x"),
            r.entry_tuples("x"),
            r.streams(),
            r.nodes("x", [(0, 0)]),
            r.checkpoints(),
            r.secrets("x", 1),
        ]
        assert [list(found) for found in many] == [[]] * len(many)
        assert r.count_open("x") == 0


def check_meta_keeps_the_last_value(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.set_meta("epoch", "1")
        w.set_meta("policy", "p")
    with store.write() as w:
        w.set_meta("epoch", "2")
    with store.read() as r:
        assert (r.meta("epoch"), r.meta("policy")) == ("2", "p")


def check_every_row_of_every_kind_can_be_listed(make: Open) -> None:
    store = make()
    with store.read() as r:
        assert _all_rows(r) == []
    with store.write() as w:
        rows.put_everything(w)
        w.put_session(session("ended", ended_at=NOON))
        assert len(_all_rows(w)) == len(rows.EVERYTHING) + 1
    with store.read() as r:
        found = _all_rows(r)
    expected = [MetaRow("epoch", rows.TEXT), session("ended", ended_at=NOON), *rows.EVERYTHING[1:]]
    assert len(found) == len(expected)
    assert [row for row in expected if row not in found] == []


def check_a_long_list_is_whole_and_in_order(make: Open) -> None:
    """More rows than any page holds, of kinds that are ordered by one column and by several."""
    store, many = make(), 2_100
    with store.write() as w:
        w.put_rows(grant(f"g{number * 11 % many}") for number in range(many))
        w.put_rows(entry(seq, stream) for stream in ("b", "a") for seq in range(1, many + 1))
        w.put_rows(NodeRow("main", number % 3, number // 3, b"") for number in range(many))
    with store.read() as r:
        assert [row.id for row in r.every(GrantRow)] == [f"g{number * 11 % many}" for number in range(many)]
        entries = list(r.every(type(entry(1))))
        assert [row.seq for row in entries if row.stream == "a"] == list(range(1, many + 1))
        assert len(entries) == 2 * many
        assert len({(row.level, row.index) for row in r.every(NodeRow)}) == many


def check_rows_that_were_put_are_as_good_as_those_that_were_added(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_rows([MetaRow("epoch", rows.TEXT), *_rows(rows.EVERYTHING[1:])])
        assert rows.everything(w) == rows.EVERYTHING
    with store.write() as w:  # and what is added goes on after them
        w.add_spend(replace(rows.SPEND, number=2))
        w.add_entry(entry(2))
        w.add_checkpoint(replace(rows.CHECKPOINT, at=NOON + 1))
        w.put_session(session("s1", head=b"new"))
        w.set_meta("epoch", "2")
    with store.read() as r:
        assert [row.at for row in r.checkpoints(limit=9)] == [NOON + 1, NOON]
        assert [row.head for row in r.every(SessionRow)] == [b"new"]
        assert [row.value for row in r.every(MetaRow)] == ["2"]


def check_a_row_that_is_stored_already_is_not_put_again(make: Open) -> None:
    store = make()
    with store.write() as w:
        rows.put_everything(w)
    once = [MetaRow("epoch", "other"), *_rows(rows.EVERYTHING[1:])]
    for row in once:
        if row == rows.CHECKPOINT:
            continue  # it has no name: the same again is one more
        with pytest.raises(StoreError), store.write() as w:
            w.put_rows([call("new"), row])
    with store.read() as r:
        assert (rows.everything(r), r.call("new")) == (rows.EVERYTHING, None)


def _all_rows(reader: Reader) -> list[AnyRow]:
    return [row for kind in KINDS for row in reader.every(kind)]


def _rows(found: Sequence[object]) -> list[AnyRow]:
    return [row for row in found if isinstance(row, KINDS)]

"""What a store promises of the record: one chain without gaps, and what may be forgotten of it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from msgspec.structs import replace

from sayso.store.contract import Ahead, NodeRow, SecretRow, StoreError, SummaryRow
from tests.contract import rows
from tests.contract.rows import entry, filed
from tests.support.places import Open


def check_entries_are_read_in_the_order_of_the_chain(make: Open) -> None:
    store = make()
    for seq in range(1, 13):
        with store.write(durable=False) as w:
            w.add_entry(entry(seq))
            assert w.head("main") == entry(seq)
            if seq <= 2:
                w.add_entry(entry(seq, "another"))
    with store.read() as r:
        assert list(r.entries("main")) == [entry(seq) for seq in range(1, 13)]
        assert list(r.entries("main", after=9)) == [entry(10), entry(11), entry(12)]
        assert list(r.entries("main", after=3, limit=2)) == [entry(4), entry(5)]
        assert list(r.entries("main", after=12)) == []
        assert list(r.entry_tuples("main")) == [filed(entry(seq)) for seq in range(1, 13)]
        assert list(r.entry_tuples("main", after=3, limit=2)) == [filed(entry(4)), filed(entry(5))]
        assert list(r.entry_tuples("main", after=-(2**63))) == list(r.entry_tuples("main"))
        assert list(r.entry_tuples("another")) == [filed(entry(seq, "another")) for seq in (1, 2)]
        assert (r.head("main"), r.head("another")) == (entry(12), entry(2, "another"))
        assert list(r.streams()) == ["another", "main"]


def check_the_newest_time_is_the_highest_of_all_streams(make: Open) -> None:
    store = make()
    with store.read() as r:
        assert r.newest_time() is None
    with store.write() as w:
        w.add_entry(replace(entry(1), at=50.0))
        w.add_entry(replace(entry(2), at=20.0))  # the operator said that the clock is right
        w.add_entry(replace(entry(1, "another"), at=30.0))
        w.add_entry(replace(entry(1, "old"), at=10.0))
    with store.write() as w:
        assert w.newest_time() == 30.0
    with store.batch() as batch:
        batch.read_ahead(Ahead(streams=frozenset({"main"})))
        with batch.write() as w:
            assert w.newest_time() == 30.0


def check_a_place_in_the_chain_is_taken_once_and_without_gaps(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_entry(entry(1))
        w.add_entry(entry(2))
    for seq in (1, 2, 4, 0):
        with pytest.raises(StoreError), store.write() as w:
            w.add_entry(replace(entry(seq), event="FORGED"))
    with pytest.raises(StoreError), store.write() as w:
        w.add_entry(entry(2, "begins too late"))
    with store.read() as r:
        assert list(r.entries("main")) == [entry(1), entry(2)]
        assert list(r.streams()) == ["main"]


def check_pruning_drops_bodies_and_nothing_else(make: Open) -> None:
    store = make()
    with store.write() as w:
        for seq in range(1, 6):
            w.add_entry(entry(seq))
        w.add_entry(entry(1, "another"))
    with store.write() as w:
        assert w.prune_entries("main", before=4) == 3
        assert w.prune_entries("main", before=5) == 1
        assert w.prune_entries("main", before=1) == 0
        assert w.prune_entries("unknown", before=9) == 0
    with store.read() as r:
        pruned = [replace(entry(seq), body=None) for seq in range(1, 5)]
        assert list(r.entries("main")) == [*pruned, entry(5)]
        assert list(r.entry_tuples("main")) == [filed(row) for row in (*pruned, entry(5))]
        assert r.head("another") == entry(1, "another")


def check_the_head_is_the_newest_entry_at_every_moment_of_a_transaction(make: Open) -> None:
    store = make()
    with store.write() as w:
        assert w.head("main") is None
        for seq in (1, 2):
            w.add_entry(entry(seq))
            assert w.head("main") == entry(seq)
        assert w.head("another") is None
    with store.write() as w:
        assert w.head("main") == entry(2)
        w.prune_entries("main", before=3)
        assert w.head("main") == replace(entry(2), body=None)
    with store.write() as w:
        assert w.head("main") == replace(entry(2), body=None)


def check_a_transaction_says_which_entry_it_added_last(make: Open) -> None:
    store = make()
    with store.write() as w:
        assert w.newest_own_entry("main") is None
        for seq in (1, 2):
            w.add_entry(entry(seq))
        assert (w.newest_own_entry("main"), w.newest_own_entry("another")) == (entry(2), None)
    with store.write() as w:
        assert (w.head("main"), w.newest_own_entry("main")) == (entry(2), None)


def check_nodes_are_found_by_their_places(make: Open) -> None:
    store = make()
    nodes = [
        NodeRow("main", level, index, bytes([level, index])) for level, index in ((0, 0), (0, 1), (1, 0))
    ]
    with store.write() as w:
        w.add_nodes(nodes)
        w.add_nodes([NodeRow("another", 0, 0, b"x")])
        w.add_nodes([])
    with store.read() as r:
        assert list(r.nodes("main", [(1, 0), (0, 1), (5, 5)])) == [nodes[1], nodes[2]]
        assert list(r.nodes("main", [])) == []
    with pytest.raises(StoreError), store.write() as w:
        w.add_nodes([NodeRow("main", 1, 0, b"other")])
    with store.read() as r:
        assert list(r.nodes("main", [(1, 0)])) == [nodes[2]]


def check_checkpoints_come_newest_first(make: Open) -> None:
    store = make()
    notes = [replace(rows.CHECKPOINT, size=size, note=f"note {size}") for size in (5, 9, 12)]
    with store.write() as w:
        for note in notes:
            w.add_checkpoint(note)
    with store.read() as r:
        assert list(r.checkpoints()) == [notes[2]]
        assert list(r.checkpoints(limit=9)) == notes[::-1]
        assert list(r.checkpoints(limit=2, skip=0)) == [notes[2], notes[1]]
        assert list(r.checkpoints(limit=2, skip=2)) == [notes[0]]
        assert list(r.checkpoints(limit=9, skip=3)) == []


def check_an_erased_secret_is_gone_and_the_others_stay(make: Open) -> None:
    store = make()
    secrets = [SecretRow("main", 1, name, b"salt", name.encode()) for name in ("b", "a")]
    with store.write() as w:
        for row in secrets:
            w.add_secret(row)
        w.add_secret(SecretRow("main", 2, "a", b"salt", b"two"))
    with pytest.raises(StoreError), store.write() as w:
        w.add_secret(SecretRow("main", 1, "a", b"salt", b"again"))
    with store.write() as w:
        assert list(w.secrets("main", 1)) == [secrets[1], secrets[0]]
        assert w.erase_secret("main", 1, "a")
        assert not w.erase_secret("main", 1, "a")
        assert not w.erase_secret("main", 3, "a")
    with store.read() as r:
        assert list(r.secrets("main", 1)) == [secrets[0]]
        assert list(r.secrets("main", 2)) == [SecretRow("main", 2, "a", b"salt", b"two")]


def summary(
    name: str, place: int, kind: str = "hour", source: str = "main", body: bytes = rows.BYTES
) -> SummaryRow:
    return SummaryRow(source, kind, name, place, body)


def check_summaries_are_found_by_name_and_place(make: Open) -> None:
    store = make()
    mine = [summary(rows.TEXT, place) for place in (0, 1, 2**40)]
    others = [summary("", 1), summary(rows.TEXT, 1, kind="day"), summary(rows.TEXT, 1, source="other")]
    with store.write() as w:
        w.put_summaries([*mine, *others])
    with store.read() as r:
        assert r.summaries("main", "hour", [(rows.TEXT, 1), ("", 1), ("", 0), ("gone", 1)]) in (
            [mine[1], others[0]],
            [others[0], mine[1]],
        )
        assert list(r.summaries("other", "hour", [(rows.TEXT, 1)])) == [others[2]]
        assert list(r.summaries("gone", "hour", [(rows.TEXT, 1)])) == []
        assert list(r.summaries("main", "hour", [])) == []


def check_the_newest_summaries_of_a_name_come_first(make: Open) -> None:
    store = make()
    mine = [summary("one", place) for place in (1, 5, 6, 9)]
    others = (summary("two", 7), summary("one", 7, kind="day"), summary("one", 7, source="other"))
    with store.write() as w:
        w.put_summaries([mine[2], mine[0], *others, mine[3], mine[1]])
    with store.read() as r:
        assert list(r.newest_summaries("main", "hour", "one", before=100)) == mine[::-1]
        assert list(r.newest_summaries("main", "hour", "one", first=5, before=9)) == [mine[2], mine[1]]
        assert list(r.newest_summaries("main", "hour", "one", before=9, limit=1)) == [mine[2]]
        assert list(r.newest_summaries("main", "hour", "gone", before=9)) == []


def check_a_summary_takes_the_place_of_the_one_before(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_summaries(summary("one", place) for place in range(1_200))
        w.put_summaries([summary("one", 3, body=b"new"), summary("one", 1_200, body=b"")])
        assert list(w.summaries("main", "hour", [("one", 3)])) == [summary("one", 3, body=b"new")]
    with suppress(ZeroDivisionError), store.write() as w:
        w.put_summaries([summary("one", 3, body=b"undone")])
        raise ZeroDivisionError
    with store.read() as r:
        assert list(r.newest_summaries("main", "hour", "one", before=5, limit=2)) == [
            summary("one", 4),
            summary("one", 3, body=b"new"),
        ]
        assert len(list(r.every(SummaryRow))) == 1_201


def check_summaries_go_with_the_bodies_they_were_made_from(make: Open) -> None:
    store = make()
    stays = summary("one", 1, source="other")
    with store.write() as w:
        for seq in (1, 2):
            w.add_entry(entry(seq))
        w.put_summaries([summary("one", 1), stays])
        w.prune_entries("main", before=2)
    with store.read() as r:
        assert list(r.every(SummaryRow)) == [stays]
    with store.write() as w:
        w.put_summaries([summary("one", 1)])
        w.drop_summaries("other")
    with store.read() as r:
        assert list(r.every(SummaryRow)) == [summary("one", 1)]

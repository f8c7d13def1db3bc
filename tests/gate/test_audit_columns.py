"""What stands in columns beside an entry is held against its body, at whatever time it was written."""

from __future__ import annotations

from random import Random

import pytest

from sayso.core.audit.bulk import read_raw_body
from sayso.core.audit.entry import AuditEntry, genesis
from sayso.gate.audit.verifying.columns import find_differing_rows
from sayso.store.contract import EntryTuple
from tests.support.audit_trails import append_entry

NOW = 1_800_000_000
ODD_TIMES = (0.0, 1e-6, 0.1, 1.5, NOW + 0.25, NOW + 2.0, NOW + 0.999_999_6, NOW + 59.000_000_4, 2.5e11)
RANDOM_TIMES = tuple(NOW + Random(7).random() * 10**6 + n for n in range(500))


def filed(*times: float) -> list[EntryTuple]:
    """Entries written at these times, as a store files them."""
    rows, head = list[EntryTuple](), genesis()
    for seq, at in enumerate(times, 1):
        before = head.hash
        body, head = append_entry(head, AuditEntry(seq, at, "DECIDED", f"s_{seq}"))
        rows.append((seq, body, before, head.hash, at, "DECIDED", f"s_{seq}"))
    return rows


def found(rows: list[EntryTuple]) -> list[int]:
    return list(
        find_differing_rows(rows, [read_raw_body(row[1]) if row[1] is not None else None for row in rows])
    )


@pytest.mark.parametrize("times", [ODD_TIMES, RANDOM_TIMES, *((at,) for at in ODD_TIMES)])
def test_whatever_the_time_a_row_as_it_was_written_is_not_suspected(times: tuple[float, ...]) -> None:
    assert found(filed(*times)) == []


@pytest.mark.parametrize("times", [ODD_TIMES, RANDOM_TIMES])
@pytest.mark.parametrize(
    ("column", "value"),
    [
        (4, None),
        (4, 0.000_002),
        (4, -1.0),
        (4, 1e300),
        (4, float("nan")),
        (4, "now"),
        (5, "GRANTED"),
        (6, ""),
    ],
)
def test_a_column_changed_by_hand_is_named_by_its_entry(
    times: tuple[float, ...], column: int, value: object
) -> None:
    rows = filed(*times)
    changed: list[object] = [*rows[6]]
    changed[column] = value
    assert found([*rows[:6], tuple(changed), *rows[7:]]) == [7]  # type: ignore[list-item]


@pytest.mark.parametrize("times", [ODD_TIMES, RANDOM_TIMES])
def test_a_time_that_is_off_by_two_microseconds_is_found(times: tuple[float, ...]) -> None:
    rows = filed(*times)
    seq, body, prev, own, at, *rest = rows[6]
    assert found([*rows[:6], (seq, body, prev, own, at + 0.000_002, *rest), *rows[7:]]) == [7]  # type: ignore[list-item]


def test_columns_of_two_entries_that_changed_places_are_both_named() -> None:
    one, two, three = filed(NOW + 0.1, NOW + 0.2, NOW + 0.3)
    assert found([(*one[:4], *two[4:]), (*two[:4], *one[4:]), three]) == [1, 2]


def test_a_time_before_1970_is_none_even_where_body_and_column_agree() -> None:
    ((seq, body, prev, own, *_),) = filed(1.0)
    assert body is not None
    early = body.replace(b"1970-01-01T00:00:01.000000Z", b"1969-12-31T23:59:59.500000Z")
    assert found([(seq, early, prev, own, -0.5, "DECIDED", "s_1")]) == [1]


def test_columns_beside_a_pruned_entry_have_nothing_to_be_held_against() -> None:
    one, two = filed(NOW + 0.1, NOW + 0.2)
    assert found([(one[0], None, *one[2:]), two]) == []
    assert found([(one[0], None, *one[2:]), (*two[:5], "GRANTED", two[6])]) == [2]

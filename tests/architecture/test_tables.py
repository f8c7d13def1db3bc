"""A test of a whole table checks every row, and names each that fails."""

from __future__ import annotations

import inspect

import pytest

from tests.support.rows import RowFailures, each_row


def test_every_row_is_checked_and_each_that_fails_is_named_with_its_fault() -> None:
    checked = []

    @each_row("number", [1, 2, 3, 4])
    def is_odd(number: int) -> None:
        checked.append(number)
        assert number % 2, f"{number} is even"

    with pytest.raises(RowFailures, match=r"2 of 4 rows failed") as failed:
        is_odd()
    assert checked == [1, 2, 3, 4]
    assert str(failed.value).splitlines()[1::2] == [
        "[2] AssertionError: 2 is even",
        "[4] AssertionError: 4 is even",
    ]


def test_several_decorators_check_every_combination_by_name() -> None:
    @each_row("word", ["a", "b"], ids=["first", "second"])
    @each_row(("low", "high"), [(1, 2), (3, 4)], ids=str)
    def never(word: str, low: int, high: int) -> None:
        raise ValueError(word * low)

    with pytest.raises(RowFailures) as failed:
        never()
    assert str(failed.value).splitlines() == [
        "4 of 4 rows failed",
        "[1-2-first] ValueError: a",
        "[3-4-first] ValueError: aaa",
        "[1-2-second] ValueError: b",
        "[3-4-second] ValueError: bbb",
    ]


def test_past_the_fiftieth_failure_rows_are_still_named() -> None:
    @each_row("number", range(60))
    def never(number: int) -> None:
        pytest.fail("no")

    with pytest.raises(RowFailures) as failed:
        never()
    assert str(failed.value).splitlines()[-1] == "[59]"
    assert len(str(failed.value).splitlines()) == 61


def test_a_row_that_is_skipped_and_a_table_without_rows_fail() -> None:
    @each_row("number", [1])
    def skipped(number: int) -> None:
        pytest.skip("not today")

    @each_row("number", [])
    def empty(number: int) -> None: ...

    with pytest.raises(RowFailures, match="not today"):
        skipped()
    with pytest.raises(AssertionError, match="without rows"):
        empty()


def test_a_test_still_takes_the_fixtures_that_are_no_columns() -> None:
    @each_row("number", [1, 2])
    def agrees(number: int, known: set[int]) -> None:
        assert number in known

    assert list(inspect.signature(agrees).parameters) == ["known"]
    agrees(known={1, 2})
    with pytest.raises(RowFailures, match=r"1 of 2 rows failed\n\[2\]"):
        agrees(known={1})

"""One test for a whole table: every row is checked, and each that fails is named.

`each_row` takes what `pytest.mark.parametrize` takes, for tables of many rows: one test to collect, send to a
worker and report instead of hundreds. A row that fails does not hide the next. Fixtures are made once for all
rows, so a test takes only those of its module, which rows do not change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pytest

Test = Callable[..., None]
MOST_SHOWN = 50
"""Rows that a report shows in full. The names of the others follow."""


class Row(msgspec.Struct, frozen=True):
    """The name of a row, and its values by column."""

    name: str
    values: dict[str, Any]


class RowFailures(AssertionError):
    """The rows of a table that failed, by name, each with what was wrong."""

    def __init__(self, failures: Sequence[tuple[str, BaseException]], rows: int) -> None:
        shown = [f"[{name}] {type(error).__name__}: {error}" for name, error in failures[:MOST_SHOWN]]
        others = [f"[{name}]" for name, _ in failures[MOST_SHOWN:]]
        super().__init__("\n".join([f"{len(failures)} of {rows} rows failed", *shown, *others]))


def each_row(
    columns: str | Sequence[str], values: Iterable[Any], ids: Callable[[Any], str] | Iterable[str] = ascii
) -> Callable[[Test], Test]:
    """Run a test on each of these rows. Several of these decorators check every combination."""
    names = [columns] if isinstance(columns, str) else list(columns)
    table = [(value,) if isinstance(columns, str) else tuple(value) for value in values]
    told = ["-".join(map(ids, row)) for row in table] if callable(ids) else ids
    added = [Row(name, dict(zip(names, row, strict=True))) for name, row in zip(told, table, strict=True)]

    def decorate(test: Test) -> Test:
        given = vars(test).get("rows", [Row("", {})])
        rows = [
            Row(f"{one.name}-{other.name}".strip("-"), one.values | other.values)
            for other in added
            for one in given
        ]
        return _test_of_rows(vars(test).get("check", test), rows)

    return decorate


def _test_of_rows(check: Test, rows: list[Row]) -> Test:
    def test_each_row(**fixtures: Any) -> None:
        assert rows, "a table without rows checks nothing"
        failures = list(_failures(check, rows, fixtures))
        if failures:
            raise RowFailures(failures, len(rows)) from failures[0][1]

    wanted = inspect.signature(check)
    fixtures = [one for name, one in wanted.parameters.items() if not rows or name not in rows[0].values]
    vars(test_each_row).update(rows=rows, check=check, __signature__=wanted.replace(parameters=fixtures))
    test_each_row.__name__, test_each_row.__doc__ = check.__name__, check.__doc__
    test_each_row.__qualname__, test_each_row.__module__ = check.__qualname__, check.__module__
    return test_each_row


def _failures(check: Test, rows: list[Row], fixtures: dict[str, Any]) -> Iterator[tuple[str, BaseException]]:
    for row in rows:
        try:
            check(**row.values, **fixtures)
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001  fails its row
            yield row.name, error

"""Writes to many rows as one statement of PostgreSQL, in few sizes, so that each is prepared once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import get_args, get_type_hints

import msgspec

from sayso.store.contract import CallRow, SessionRow
from sayso.store.sql import statements as sql
from sayso.store.sql.waiting import MOVE_CALL_FROM_ONE_STATE, JoinedWrite

_TYPES = {str: "text", bytes: "bytea", int: "bigint", float: "double precision"}


def _types(row: type[msgspec.Struct]) -> dict[str, str]:
    """The type of each column, in the words of PostgreSQL."""
    hints = get_type_hints(row)
    kinds = {name: next(iter(get_args(hints[name])), hints[name]) for name in row.__struct_fields__}
    return {name: _TYPES[kind] for name, kind in kinds.items()}


def _update(
    table: str, row: type[msgspec.Struct], changed: Sequence[str], found_by: Sequence[str]
) -> tuple[str, str]:
    """Change these columns of the rows whose id is the next value, and whose other columns the rest."""
    types = _types(row)
    names = [*changed, *(f"was_{name}" for name in found_by)]
    group = ", ".join(f"?::{types[name]}" for name in (*changed, *found_by))
    values = ", ".join(f'"{name}" = v."{name}"' for name in changed)
    where = " AND ".join(f'{table}."{name}" = v."was_{name}"' for name in found_by)
    columns = ", ".join(f'"{name}"' for name in names)
    text = f"UPDATE {table} SET {values} FROM (VALUES {sql.EACH}) AS v ({columns}) WHERE {where}"  # noqa: S608  only names of our own rows
    return text, f"({group})"


def _insert(statement: str) -> tuple[str, str]:
    """The same insert with room for many rows."""
    start = statement.index("VALUES (") + len("VALUES ")
    end = statement.index(")", start) + 1
    return statement[:start] + sql.EACH + statement[end:], statement[start:end]


_JOINED = {
    sql.ADD_SPEND: _insert(sql.ADD_SPEND),
    sql.ADD_ENTRY: _insert(sql.ADD_ENTRY),
    sql.PUT_CALL: _insert(sql.PUT_CALL),
    sql.CHANGE_SESSION: _update("sessions", SessionRow, ("workspace", "head", "spends", "mac"), ("id",)),
    MOVE_CALL_FROM_ONE_STATE: _update(
        "calls", CallRow, CallRow.__struct_fields__[1:], ("id", "fence", "state")
    ),
}


def statements_for(write: JoinedWrite) -> Iterator[tuple[str, Sequence[object]]]:
    """The statements and their parameters. One with an error to give fails if a row of it was not changed."""
    joined = sql.split_rows(write.rows) if write.statement in _JOINED else ([row] for row in write.rows)
    for rows in joined:
        values = rows[0] if len(rows) == 1 else [*chain.from_iterable(rows)]
        yield _text(write.statement, len(rows), bool(write.otherwise)), values


@cache
def _text(statement: str, rows: int, or_fail: bool) -> str:
    if rows > 1:
        text, group = _JOINED[statement]
        statement = text.replace(sql.EACH, ", ".join([group] * rows))
    if not or_fail:
        return statement
    return f"WITH changed AS ({statement} RETURNING 1) SELECT 1 / (COUNT(*) = {rows})::int FROM changed"  # noqa: S608

"""Writes that wait: those of a batch go out together, those that are alike as one.

- What is written waits here until the next read of what is not known yet, or the commit.
- A part of a batch that is undone before anything of it was sent needs no word to the database at all.
- Of writes that are alike and touch different rows the order does not count, so they are joined.
- An error of the database ends the whole transaction: what it belongs to may be long past.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sayso.store.contract import CallRow
from sayso.store.sql import statements as sql


class Write(NamedTuple):
    """A statement and its parameters; and the error, if one is given, that nothing was changed by it."""

    statement: str
    values: Sequence[object]
    otherwise: str = ""


class JoinedWrite(NamedTuple):
    """The same statement for many rows, each with its own parameters."""

    statement: str
    rows: Sequence[Sequence[object]]
    otherwise: str = ""


MOVE_CALL_FROM_ONE_STATE = sql.repeat_groups(sql.MOVE_CALL, 1, 1)
_ID_AT = {
    sql.CHANGE_SESSION: ("session", 4),
    sql.PUT_CALL: ("call", 0),
    MOVE_CALL_FROM_ONE_STATE: ("call", len(CallRow.__struct_fields__) - 1),
    sql.ADD_SPEND: None,
    sql.ADD_ENTRY: None,
}
"""The writes that can be joined, and where each says which row it changes; None if it only adds one."""


def join_writes(waiting: Sequence[Write]) -> list[JoinedWrite]:
    """The writes in an order that comes to the same. Of a session that changes again, the last change counts.

    Nothing moves past a write that cannot be joined, or past another kind of write to the same row.
    """
    done: list[JoinedWrite] = []
    alike: dict[str, dict[object, Write]] = {}
    touched: dict[tuple[str, object], str] = {}

    def flush() -> None:
        for text, rows in alike.items():
            done.append(
                JoinedWrite(text, [one.values for one in rows.values()], next(iter(rows.values())).otherwise)
            )
        alike.clear()
        touched.clear()

    for number, one in enumerate(waiting):
        if one.statement not in _ID_AT:
            flush()
            done.append(JoinedWrite(one.statement, (one.values,), one.otherwise))
            continue
        place = _ID_AT[one.statement]
        key: object = number
        if place is not None:
            kind, at = place
            key = one.values[at]
            before = touched.get((kind, key))
            if before is not None and not before == one.statement == sql.CHANGE_SESSION:
                flush()
            touched[kind, key] = one.statement
        alike.setdefault(one.statement, {})[key] = one
    flush()
    return done

"""Holding the columns beside an entry against what its body says: for many at once, and one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from sayso.core.audit.bulk import RawBody
from sayso.core.audit.entry import AuditError, format_timestamp
from sayso.gate.decoding import convert_to
from sayso.store.contract import EntryTuple

_MOMENTS = list[datetime]


def find_differing_rows(run: Sequence[EntryTuple], told: Sequence[RawBody | None]) -> Iterator[int]:
    """The numbers of the rows whose columns do not say what their bodies say. Without a body, none do."""
    if _all_same(run, told):
        return
    for row, one in zip(run, told, strict=True):
        if one is not None and not _same(row, one):
            yield row[0]


def _same(row: EntryTuple, one: RawBody) -> bool:
    try:
        return (one.at, one.event, one.session) == (format_timestamp(row[4]), *row[5:])
    except AuditError:
        return False


def _all_same(run: Sequence[EntryTuple], told: Sequence[RawBody | None]) -> bool:
    """Fast check of bodies and columns: True is certain; on False, compare row by row."""
    try:
        return (
            [one.event for one in told] == [row[5] for row in run]  # type: ignore[union-attr]
            and [one.session for one in told] == [row[6] for row in run]  # type: ignore[union-attr]
            and [one.at for one in told] == _times(run)  # type: ignore[union-attr]
        )
    except AttributeError:
        return False


def _times(run: Sequence[EntryTuple]) -> Any:
    """Return the times of these rows as their entries spell them; empty if one is not a time.

    A whole second loses its zeros here, and is compared on its own.
    """
    try:
        seconds = [round(row[4] * 1e6) / 1e6 for row in run]
        if min(seconds) < 0:
            return ()
        return msgspec.to_builtins(convert_to(seconds, _MOMENTS, strict=False))
    except (TypeError, ValueError, OverflowError):
        return ()

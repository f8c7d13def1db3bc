"""Rows that one writer changes in place, and what they were before.

- What a row was is noted before it is changed: for the writer, so that it can be undone, and for everybody
  who is reading, so that they go on seeing it.
- A write is kept by forgetting how to undo it, in one step. An undo that was interrupted is finished before
  the next write, and until then nobody sees what is left of it.
- The lock is held for one step at a time, so nobody waits for somebody else's transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

Row = TypeVar("Row")
Rows = dict[Any, Row]

GONE: Any = object()
"""In the place of a row: there is none."""
_NO_ROWS: Rows[Any] = {}


class Table(dict[str, Rows[Row]]):
    """Rows in groups. One that nothing was put into is empty, and never changed itself."""

    def __missing__(self, group: str) -> Rows[Row]:
        return _NO_ROWS


class Changes:
    """The changes of the write under way, and everybody who reads meanwhile."""

    def __init__(self) -> None:
        self._step = threading.Lock()
        self._undo: list[tuple[Rows[Any], Any, Any]] = []
        self._readers: list[TablesThen] = []

    def put(self, table: Table[Row], group: str, key: object, row: Row) -> None:
        """Let the key have this row, or none any more if it is GONE."""
        with self._step:
            rows = table.get(group)
            if rows is None:
                rows = table[group] = {}
            was = rows.get(key, GONE)
            self._undo.append((rows, key, was))
            for reader in self._readers:
                reader.note(rows, key, was)
            if row is GONE:
                rows.pop(key, None)
            else:
                rows[key] = row

    def count(self) -> int:
        """Return how many changes can be undone."""
        return len(self._undo)

    def keep(self) -> None:
        with self._step:
            self._undo.clear()

    def undo(self, back_to: int = 0) -> None:
        """Undo all changes but the first ones."""
        while len(self._undo) > back_to:
            with self._step:
                rows, key, was = self._undo[-1]
                if was is GONE:
                    rows.pop(key, None)
                else:
                    rows[key] = was
                self._undo.pop()

    def begin_reading(self, tables: object) -> TablesThen:
        """The tables as the last write that was kept has left them, whatever is written from now on."""
        with self._step:
            reader = TablesThen(tables, self._step)
            for change in self._undo:
                reader.note(*change)
            self._readers.append(reader)
        return reader

    def end_reading(self, reader: TablesThen) -> None:
        with self._step:
            self._readers.remove(reader)


class TablesThen:
    """The tables as they were at one moment, each by its name."""

    def __init__(self, tables: object, step: threading.Lock) -> None:
        self._tables = tables
        self._step = step
        self._was: dict[int, Rows[Any]] = {}

    def __getattr__(self, table: str) -> TableThen:
        then = TableThen(getattr(self._tables, table), self._was, self._step)
        setattr(self, table, then)
        return then

    def note(self, rows: Rows[Any], key: object, was: object) -> None:
        """Keep what this row was when reading began."""
        self._was.setdefault(id(rows), {}).setdefault(key, was)


class TableThen(dict[str, "RowsThen[Any]"]):
    """The groups of a table that somebody asked for."""

    def __init__(self, now: Table[Any], was: dict[int, Rows[Any]], step: threading.Lock) -> None:
        super().__init__()
        self._now = now
        self._was = was
        self._step = step

    def __missing__(self, group: str) -> RowsThen[Any]:
        then = self[group] = RowsThen(self._now[group], self._was, self._step)
        return then

    def items(self) -> Any:
        """All groups. Those that were added since are empty."""
        with self._step:
            groups = list(self._now)
        return [(group, self[group]) for group in groups]

    def values(self) -> Any:
        return [rows for _, rows in self.items()]


class RowsThen(Mapping[Any, Row]):
    """The rows of one group, in the order they were added."""

    def __init__(self, now: Rows[Row], was: dict[int, Rows[Row]], step: threading.Lock) -> None:
        self._now = now
        self._was = was
        self._step = step

    def get(self, key: object, default: Any = None) -> Any:
        """Without the lock: what a row was is noted before it changes, and looked for after it was read."""
        found: Any = self._now.get(key, GONE)
        was = self._was.get(id(self._now))
        if was is not None:
            found = was.get(key, found)
        return default if found is GONE else found

    def __getitem__(self, key: object) -> Row:
        found: Row = self.get(key, GONE)
        if found is GONE:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self._copy())

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self._copy())

    def __len__(self) -> int:
        with self._step:
            was = self._was.get(id(self._now), _NO_ROWS)
            return len(self._now) + sum((row is not GONE) - (key in self._now) for key, row in was.items())

    def values(self) -> Any:
        return self._copy().values()

    def items(self) -> Any:
        return self._copy().items()

    def _copy(self) -> Rows[Row]:
        with self._step:
            was = self._was.get(id(self._now))
            if was is None:
                return self._now.copy()
            both = {**self._now, **was}
        return {key: row for key, row in both.items() if row is not GONE}

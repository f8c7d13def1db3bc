"""A mapping that keeps its past: a new version of it costs little, however much it holds.

Each version is a base that is never changed and a small top with what was written since. A new version copies
the top only. Once the top is large for its base, both become the base of the next version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

SMALLEST = 32
_GONE: Any = object()


class Layers(MutableMapping[Key, Value]):
    """Keys come in the order in which they were first written."""

    __slots__ = ("_base", "_size", "_top")

    def __init__(self, base: dict[Key, Value], top: dict[Key, Value], size: int) -> None:
        self._base = base
        self._top = top
        self._size = size

    def __getitem__(self, key: Key) -> Value:
        found: Any = self._top[key] if key in self._top else self._base.get(key, _GONE)
        if found is _GONE:
            raise KeyError(key)
        return found  # type: ignore[no-any-return]

    # Each looks for itself: these are the steps that every row of every call is read and written by.

    def get(self, key: Any, default: Any = None) -> Any:
        """Without an exception, which the reads of every call would raise often."""
        found: Any = self._top[key] if key in self._top else self._base.get(key, _GONE)
        return default if found is _GONE else found

    def __contains__(self, key: Any) -> bool:
        found: Any = self._top[key] if key in self._top else self._base.get(key, _GONE)
        return found is not _GONE

    def __setitem__(self, key: Key, value: Value) -> None:
        found: Any = self._top[key] if key in self._top else self._base.get(key, _GONE)
        self._size += found is _GONE
        self._top[key] = value

    def __delitem__(self, key: Key) -> None:
        if key not in self:
            raise KeyError(key)
        self._size -= 1
        self._top[key] = _GONE

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Key]:
        top, base = self._top, self._base
        yield from (key for key in base if top.get(key) is not _GONE)
        yield from (key for key, value in top.items() if key not in base and value is not _GONE)

    def next_version(self) -> Layers[Key, Value]:
        if len(self._top) <= SMALLEST or len(self._top) ** 2 <= len(self._base):
            return Layers(self._base, dict(self._top), self._size)
        both = {**self._base, **self._top}
        if len(both) != self._size:
            both = {key: value for key, value in both.items() if value is not _GONE}
        return Layers(both, {}, self._size)

    def __reversed__(self) -> Iterator[Key]:
        top, base = self._top, self._base
        yield from (key for key in reversed(top) if key not in base and top[key] is not _GONE)
        yield from (key for key in reversed(base) if top.get(key) is not _GONE)


def next_version(now: Mapping[Key, Value]) -> Layers[Key, Value]:
    """A version of this mapping to write to; the mapping itself stays as it is."""
    return now.next_version() if isinstance(now, Layers) else Layers(dict(now), {}, len(now))


def newest_first(now: dict[Key, Value] | Layers[Key, Value]) -> Iterator[Value]:
    """The values, the last key first."""
    return (now[key] for key in reversed(now))

"""Keys of an argument that its declared type does not know: msgspec would drop them without a word.

Pydantic models are not looked into: each has a setting of its own for that (`extra`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def describe_type(hint: Any) -> Any:
    """Return msgspec's description of a type; None for one that it cannot read, and so drops nothing of."""
    import msgspec.inspect

    try:
        return msgspec.inspect.type_info(hint)
    except TypeError:
        return None


def find_undeclared_key(value: object, described: Any) -> str | None:
    """Return the place of the first key that the described type would drop, such as `[0].colour`."""
    if not isinstance(value, (dict, list)):
        return None
    return next(_undeclared_keys(value, described), None)


def _undeclared_keys(value: object, kind: Any) -> Iterator[str]:
    if isinstance(value, list):
        for number, (one, inner) in enumerate(zip(value, _item_types(kind, len(value)), strict=False)):
            yield from (f"[{number}]{where}" for where in _undeclared_keys(one, inner))
    elif isinstance(value, dict):
        dropped = [list(_undeclared_in(value, arm)) for arm in _arms(kind) if _is_object_type(arm)]
        yield from min(dropped, key=len, default=())


def _undeclared_in(value: dict[Any, Any], kind: Any) -> Iterator[str]:
    """What is dropped of a dict that is read as this one type."""
    fields = getattr(kind, "fields", None)
    known = {field.encode_name: field.type for field in fields or ()}
    for key, one in value.items():
        if fields is not None and key not in known and key != getattr(kind, "tag_field", None):
            yield f".{key}"
        else:
            inner = known.get(key) if fields is not None else kind.value_type
            yield from (f".{key}{where}" for where in _undeclared_keys(one, inner))


def _item_types(kind: Any, count: int) -> list[Any]:
    """The types of the items of a list that is read as this."""
    for arm in _arms(kind):
        if hasattr(arm, "item_types"):
            return list(arm.item_types)
        if hasattr(arm, "item_type"):
            return [arm.item_type] * count
    return []


def _is_object_type(kind: Any) -> bool:
    return hasattr(kind, "fields") or hasattr(kind, "value_type")


def _arms(kind: Any) -> tuple[Any, ...]:
    return getattr(kind, "types", (kind,))

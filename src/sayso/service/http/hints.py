"""What a body may hold where it holds something else: the fields, or the values, that can be there."""

from __future__ import annotations

import re
from typing import Any

import msgspec.inspect as shapes

_PLACE = re.compile(r" - at `\$(?P<path>[^`]*)`\Z")
_STEP = re.compile(r"\.(?P<field>\w+)|\[[^]]*\]")


def hint_for(problem: str, body: Any) -> str | None:
    """Return what to send instead of what msgspec refused so; None if nothing can be listed."""
    found = _PLACE.search(problem)
    shape = shapes.type_info(body)
    for step in _STEP.finditer(found["path"] if found else ""):
        inside = _shape_inside(shape, step["field"])
        if inside is None:
            return None
        shape = inside
    return _describe_shape(shape)


def _shape_inside(shape: shapes.Type, field: str | None) -> shapes.Type | None:
    """The shape of a field, or without a name that of the items; None if it has none such."""
    for one in _choices(shape):
        if isinstance(one, shapes.StructType) and field is not None:
            return next((part.type for part in one.fields if part.encode_name == field), None)
        if isinstance(one, (shapes.ListType, shapes.VarTupleType)) and field is None:
            return one.item_type
        if isinstance(one, shapes.DictType) and field is None:
            return one.value_type
    return None


def _describe_shape(shape: shapes.Type) -> str | None:
    for one in _choices(shape):
        if isinstance(one, shapes.StructType):
            required = [part.encode_name for part in one.fields if part.required]
            others = [part.encode_name for part in one.fields if not part.required]
            needed = f"it needs: {', '.join(required)}; " if required else ""
            return f"{needed}it may have: {', '.join(others) or 'nothing else'}"
        if isinstance(one, shapes.LiteralType):
            return f"use one of: {', '.join(map(str, one.values))}"
        if isinstance(one, shapes.EnumType):
            return f"use one of: {', '.join(str(member.value) for member in one.cls)}"
    return None


def _choices(shape: shapes.Type) -> tuple[shapes.Type, ...]:
    return shape.types if isinstance(shape, shapes.UnionType) else (shape,)

"""The parameters of a function as a JSON Schema, for agents that call it and people who edit its calls."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.doors.python.values.arguments import Shape
from sayso.doors.python.values.plain import DeclaredType

LONGEST_PARAMETERS = 10_000
"""A longer schema is not sent with every call; its values then keep their kinds."""


def describe_parameters(shape: Shape) -> dict[str, Any]:
    """Describe every parameter of a function; one without a readable type takes anything."""
    listed = shape.signature.parameters.values()
    needed = [one.name for one in listed if one.default is one.empty and one.kind not in _ANY_NUMBER]
    return parameters_schema({one.name: parameter_type(shape, one.name) for one in listed}, needed)


def parameters_text(shape: Shape) -> str:
    """The same as text, which the shape keeps; empty if it is very long."""
    made = msgspec.json.encode(describe_parameters(shape)).decode()
    shape.parameters = made if len(made) <= LONGEST_PARAMETERS else ""
    return shape.parameters


def parameter_type(shape: Shape, name: str) -> Any:
    """The type of a parameter; Any if none is given or it cannot be read."""
    try:
        hint = shape.hint(name)
    except SaysoError:  # its types cannot be read: running it will say so
        return Any
    return Any if hint is inspect.Parameter.empty else hint


def parameters_schema(hints: Mapping[str, Any], needed: list[str]) -> dict[str, Any]:
    """One schema for parameters of these types."""
    shapes, components = _describe_types(hints)
    schema: dict[str, Any] = {"type": "object", "properties": {name: shapes[name] for name in hints}}
    schema["additionalProperties"] = False
    return schema | ({"required": needed} if needed else {}) | ({"$defs": components} if components else {})


def _describe_types(hints: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema for each parameter, and the definitions they share. An unknown type takes anything."""
    shapes: dict[str, Any] = {}
    components: dict[str, Any] = {}
    for name, hint in hints.items():
        try:
            shapes[name], more = _describe_type(hint)
        except Exception:  # noqa: BLE001  a foreign type: running it says what it takes
            shapes[name], more = {}, {}
        components |= more
    return shapes, components


def _describe_type(hint: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    adapter = DeclaredType(hint).adapter
    if adapter is not None:
        schema = dict(adapter.json_schema())
        return schema, schema.pop("$defs", {})
    (shape,), components = msgspec.json.schema_components((hint,), schema_hook=_foreign)
    return shape, components


def _foreign(kind: type) -> dict[str, Any]:
    """For types that JSON Schema knows nothing of. What does not fit is refused when it is run."""
    return {"type": "string"} if issubclass(kind, PurePath) else {}


_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

"""What an agent can run by name: each capability of a gate, with a JSON Schema of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.doors.python.arguments import Shape
from sayso.doors.python.plain import pydantic_adapter
from sayso.doors.python.sayso import Sayso
from sayso.doors.python.workflow import Workflow


class Offered(msgspec.Struct, frozen=True):
    """Something that can be run by name."""

    name: str
    about: str
    params: dict[str, Any]


def offered(gate: Sayso) -> list[Offered]:
    """Every workflow and capability that can be run by name, by that name."""
    found = {
        one.name: Offered(one.name, _about(one.function), _parameters(one.shape))
        for one in gate.door.capabilities.all()
        if not one.shape.live
    }
    for name, workflow in gate.door.workflows.items():
        steps = ", ".join(step.name for step in workflow.steps)
        found[name] = Offered(name, f"a workflow of {steps}", _inputs(workflow))
    return [found[name] for name in sorted(found)]


def _about(function: object) -> str:
    """The first paragraph of what the function says of itself."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _parameters(shape: Shape) -> dict[str, Any]:
    listed = shape.signature.parameters.values()
    needed = [one.name for one in listed if one.default is one.empty and one.kind not in _ANY_NUMBER]
    return _schema({one.name: _hint(shape, one.name) for one in listed}, needed)


def _inputs(workflow: Workflow) -> dict[str, Any]:
    takers = {name: step.name for step in reversed(workflow.steps) for name in workflow.takes(step)}
    hints = {name: _hint(workflow.shapes[takers[name]], name) for name in workflow.parameters}
    return _schema(hints, [name for name, needed in workflow.parameters.items() if needed])


def _hint(shape: Shape, name: str) -> Any:
    try:
        hint = shape.hint(name)
    except SaysoError:  # its types cannot be read: running it will say so
        return Any
    return Any if hint is inspect.Parameter.empty else hint


def _schema(hints: Mapping[str, Any], needed: list[str]) -> dict[str, Any]:
    shapes, components = _described(hints)
    schema: dict[str, Any] = {"type": "object", "properties": {name: shapes[name] for name in hints}}
    schema["additionalProperties"] = False
    return schema | ({"required": needed} if needed else {}) | ({"$defs": components} if components else {})


def _described(hints: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema for each parameter, and the definitions they share. An unknown type takes anything."""
    shapes: dict[str, Any] = {}
    components: dict[str, Any] = {}
    for name, hint in hints.items():
        try:
            shapes[name], more = _one_described(hint)
        except Exception:  # noqa: BLE001  a foreign type: running it says what it takes
            shapes[name], more = {}, {}
        components |= more
    return shapes, components


def _one_described(hint: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    adapter = pydantic_adapter(hint)
    if adapter is not None:
        schema = dict(adapter.json_schema())
        return schema, schema.pop("$defs", {})
    (shape,), components = msgspec.json.schema_components((hint,), schema_hook=_foreign)
    return shape, components


def _foreign(kind: type) -> dict[str, Any]:
    """For types that JSON Schema knows nothing of. What does not fit is refused when it is run."""
    return {"type": "string"} if issubclass(kind, PurePath) else {}


_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

"""Types of a function's arguments, from the JSON Schema that its program declared.

- An edited argument is checked here before a person can allow it. The program checks it again when it runs.
- Keywords not known here say nothing. Patterns are left to the program: they may take long to match.
- If a schema does not even take what the program itself passed, it says nothing about that argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from typing import Any, Literal
from uuid import UUID

import msgspec

from sayso.core.words import visible
from sayso.gate.words import LONGEST_ARGUMENT

DEEPEST = 40
MOST_CHOICES = 200
MOST_TOLD = 8
Schema = Mapping[str, Any]


class ArgumentType(msgspec.Struct, frozen=True):
    """The type of an argument, for a form: one of some values, a date, a number, or any of its kind."""

    kind: Literal["choice", "date", "whole", "number", "other"]
    choices: tuple[Any, ...] = ()


def argument_types(parameters: str, arguments: Mapping[str, Any]) -> dict[str, ArgumentType]:
    """Return the types of these arguments, by name."""
    root = _read_schema(parameters)
    found = {name: _describe(schema, root) for name, schema in _typed_arguments(root, arguments)}
    return {name: one for name, one in found.items() if one.kind != "other"}


def has_type(parameters: str, arguments: Mapping[str, Any], name: str) -> bool:
    """Return whether the schema says what this argument takes."""
    return any(name == known for known, _ in _typed_arguments(_read_schema(parameters), arguments))


def find_misfit(parameters: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """Say which of the edited arguments its type refuses, and what it takes; None if all fit."""
    root = _read_schema(parameters)
    for name, schema in _typed_arguments(root, before):
        fault = _find_fault(after.get(name), schema, root)
        if fault is not None:
            return f"{name} {fault}"
    return None


def _read_schema(parameters: str) -> Schema:
    try:
        found = msgspec.json.decode(parameters) if parameters else {}
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _typed_arguments(root: Schema, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Schema]]:
    """The arguments with a schema that says something, and that takes what the program passed."""
    properties = root.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        if name not in arguments or not isinstance(schema, dict) or not schema:
            continue
        if _find_fault(arguments[name], schema, root) is None:
            yield name, schema


def _describe(schema: Schema, root: Schema) -> ArgumentType:
    found, null = _without_null(_resolve(schema, root), root)
    choices = _choices(found)
    if choices is not None and len(choices) <= MOST_CHOICES:
        return ArgumentType("choice", (*choices, None) if null and None not in choices else tuple(choices))
    if found.get("type") == "string" and found.get("format") == "date":
        return ArgumentType("date")
    kind: Any = {"integer": "whole", "number": "number"}.get(str(found.get("type")), "other")
    return ArgumentType(kind)


def _without_null(schema: Schema, root: Schema) -> tuple[Schema, bool]:
    """The one schema besides null, and whether null is taken as well."""
    options = [_resolve(one, root) for one in schema.get("anyOf", ()) if isinstance(one, dict)]
    others = [one for one in options if one.get("type") != "null"]
    return (others[0], True) if len(others) == 1 and len(options) == 2 else (schema, False)


def _choices(schema: Schema) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    found = schema.get("enum")
    return found if isinstance(found, list) and found else None


def _resolve(schema: Schema, root: Schema) -> Schema:
    """The schema that a reference names, or this one."""
    for _ in range(DEEPEST):
        name = schema.get("$ref")
        if not isinstance(name, str):
            return schema
        found = root.get("$defs", {}).get(name.removeprefix("#/$defs/"), {})
        schema = found if isinstance(found, dict) else {}
    return {}


def _find_fault(value: Any, schema: Schema, root: Schema, depth: int = 0) -> str | None:
    if depth > DEEPEST:
        return None
    schema = _resolve(schema, root)
    choices = _choices(schema)
    if choices is not None:
        return None if any(_equal(value, one) for one in choices) else f"takes {_one_of(choices)}"
    for several in ("anyOf", "oneOf"):
        options = [one for one in schema.get(several, ()) if isinstance(one, dict)]
        faults = [_find_fault(value, one, root, depth + 1) for one in options]
        if options and None not in faults:
            telling = [fault for fault, one in zip(faults, options, strict=True) if one.get("type") != "null"]
            return telling[0] if len(telling) == 1 else "takes another kind of value"
    return _find_kind_fault(value, schema, root, depth)


def _find_kind_fault(value: Any, schema: Schema, root: Schema, depth: int) -> str | None:
    wanted = schema.get("type")
    kinds = wanted if isinstance(wanted, list) else [wanted]
    known = [kind for kind in kinds if kind in _KINDS]
    if known and not any(_KINDS[kind][0](value) for kind in known):
        return f"takes {' or '.join(_KINDS[kind][1] for kind in known)}"
    if isinstance(value, str):
        return _find_text_fault(value, schema)
    if isinstance(value, list):
        return _find_list_fault(value, schema, root, depth)
    if isinstance(value, dict):
        return _find_map_fault(value, schema, root, depth)
    return _find_number_fault(value, schema) if _is_number(value) else None


def _find_text_fault(value: str, schema: Schema) -> str | None:
    reads = _FORMATS.get(str(schema.get("format")))
    if reads is not None and not _is_readable(value, reads[0]):
        return f"takes {reads[1]}"
    return _find_size_fault(len(value), schema.get("minLength"), schema.get("maxLength"), "characters")


def _find_size_fault(size: int, least: Any, most: Any, what: str) -> str | None:
    if _is_number(least) and size < least:
        return f"takes at least {least:,} {what}"
    return f"takes at most {most:,} {what}" if _is_number(most) and size > most else None


def _find_number_fault(value: Any, schema: Schema) -> str | None:
    for name, fits, words in _BOUNDS:
        bound = schema.get(name)
        if _is_number(bound) and not fits(value, bound):
            return f"takes {words} {bound:,}"
    return None


def _find_list_fault(value: list[Any], schema: Schema, root: Schema, depth: int) -> str | None:
    inside = schema.get("items")
    first = schema.get("prefixItems")
    shapes = list(first) if isinstance(first, list) else []
    for at, one in enumerate(value):
        shape = shapes[at] if at < len(shapes) else inside
        fault = _find_fault(one, shape, root, depth + 1) if isinstance(shape, dict) else None
        if fault is not None:
            return f"{at + 1} {fault}"
    return _find_size_fault(len(value), schema.get("minItems"), schema.get("maxItems"), "items")


def _find_map_fault(value: dict[str, Any], schema: Schema, root: Schema, depth: int) -> str | None:
    properties = schema.get("properties")
    shapes = properties if isinstance(properties, dict) else {}
    for name in schema.get("required", ()):
        if name not in value:
            return f"needs {name}"
    for name, one in value.items():
        shape = shapes.get(name, schema.get("additionalProperties"))
        if shape is False:
            return f"takes no {visible(name, LONGEST_ARGUMENT)}"
        fault = _find_fault(one, shape, root, depth + 1) if isinstance(shape, dict) else None
        if fault is not None:
            return f"{visible(name, LONGEST_ARGUMENT)} {fault}"
    return None


def _one_of(choices: list[Any]) -> str:
    told = [one if isinstance(one, str) else msgspec.json.encode(one).decode() for one in choices[:MOST_TOLD]]
    return f"one of {', '.join(told)}{' …' if len(choices) > MOST_TOLD else ''}"


def _equal(one: Any, other: Any) -> bool:
    """As JSON: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_readable(text: str, read: Callable[[str], Any]) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "null": (lambda value: value is None, "no value"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "integer": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    "number": (_is_number, "a number"),
    "string": (lambda value: isinstance(value, str), "text"),
    "array": (lambda value: isinstance(value, list), "a list"),
    "object": (lambda value: isinstance(value, dict), "a map"),
}
_FORMATS: dict[str, tuple[Callable[[str], Any], str]] = {
    "date": (date.fromisoformat, "a date, as 2026-01-31"),
    "date-time": (datetime.fromisoformat, "a date and time, as 2026-01-31T09:30:00Z"),
    "time": (time.fromisoformat, "a time, as 09:30:00"),
    "uuid": (UUID, "a UUID"),
}
_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minimum", lambda value, bound: value >= bound, "at least"),
    ("maximum", lambda value, bound: value <= bound, "at most"),
    ("exclusiveMinimum", lambda value, bound: value > bound, "more than"),
    ("exclusiveMaximum", lambda value, bound: value < bound, "less than"),
)

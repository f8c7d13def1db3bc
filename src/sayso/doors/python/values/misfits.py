"""Why a value cannot be passed on, and what to do about it, for whoever made the call.

A hint is only given where following it helps: whoever passed exactly the declared type is not told to.
"""

from __future__ import annotations

import dataclasses
import enum
import re
import types
import typing
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

from sayso.doors.python import words
from sayso.doors.python.values.plain import NotPlain

MOST_TOLD = 3
"""How many faults of one argument are told."""
_GOT = re.compile(r"Expected `object[^`]*`, got `(?P<got>\w+)`(?: - at `\$(?P<where>[^`]*)`)?")
_JSON_TYPES = ("object", "array", "str", "int", "float", "bool", "null")
_UNIONS = (typing.Union, types.UnionType)
PLAIN = "pass plain values; in calls from Python the parameter can also be named in live=(…)"


class Misfit(NamedTuple):
    """A fault in an argument, and what to do about it."""

    reason: str
    hint: str


def explain_unreadable(name: str, value: object, declared: Any, error: Exception) -> Misfit:
    """The value that was passed cannot be read as what the function declares."""
    line = error_line(error)
    if isinstance(error, NameError):
        return Misfit(line, "define that type at the top of a module")
    for kind in union_arms(declared):
        if isinstance(kind, type) and issubclass(kind, enum.Enum) and not _is_readable(kind):
            return Misfit(words.enum_of_others(kind.__name__), words.use_other_enum(name))
    for kind in union_arms(declared):
        if _is_subclass_of(value, kind):
            got, wanted = _name_type(value), kind.__name__
            return Misfit(words.subclass_passed(got, wanted), f"declare {name}: {got}, or pass a {wanted}")
    if isinstance(error, NotPlain):
        return Misfit(line, error.hint or PLAIN)
    inside = _GOT.search(line)
    if inside is not None and inside["got"] not in _JSON_TYPES:
        where = "" if inside["where"] is None else f" at {name}{inside['where']}"
        reason = f"a {inside['got']}{where} is not exactly what {_describe_hint(declared)} says"
        return Misfit(reason, f"declare {inside['got']} there, or pass exactly what is declared")
    return Misfit(line, f"pass what {name} is declared to be")


def explain_difference(name: str, value: object, back: object) -> Misfit:
    """The value could be written down and read back, but would come back as another one."""
    found = _find_difference(value, back, "")
    got = _name_type(found.one)
    if found.one != found.one:
        return Misfit(words.not_a_number(got), "pass a number, or None")
    if type(found.one) is type(found.other):
        return Misfit(words.not_the_same_again(got), words.ONLY_FIELDS)
    where = f" at {name}{found.where}" if found.where else ""
    reason = (
        f"it would not come back as the same value: the {got}{where} would be read as "
        f"{_name_type(found.other)}"
    )
    suggested = _suggest(value, found)
    if suggested is None:
        return Misfit(reason, f"declare in the signature what {name} holds, or pass plain values")
    return Misfit(
        reason, f"declare exactly that type in the signature ({name}: {suggested}), or pass plain values"
    )


def error_line(error: Exception) -> str:
    """The error in one line; what pydantic found field by field, without the values."""
    errors = getattr(error, "errors", None)
    if callable(errors):
        found = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors()[:MOST_TOLD]]
        return "; ".join(one.removeprefix(": ") for one in found)
    return str(error).splitlines()[0] if str(error) else type(error).__name__


_PLAIN_TYPES = (str, int, float, bool, type(None), list, tuple, dict)


class _Difference(NamedTuple):
    one: object
    other: object
    where: str


def _find_difference(one: Any, other: Any, where: str) -> _Difference:
    """The innermost place where the two differ, inside lists, dicts, sets, dataclasses and models."""
    if type(one) is type(other):
        for step, mine, theirs in _parts(one, other):
            if mine != theirs:
                return _find_difference(mine, theirs, where + step)
    return _Difference(one, other, where)


def _parts(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, (list, tuple)) and len(one) == len(other):
        yield from ((f"[{number}]", *pair) for number, pair in enumerate(zip(one, other, strict=True)))
    elif isinstance(one, dict) and one.keys() == other.keys():
        yield from ((f"[{key!r}]", one[key], other[key]) for key in one)
    elif isinstance(one, (set, frozenset)) and one - other and other - one:
        yield "{…}", next(iter(one - other)), next(iter(other - one))
    else:
        for field in _fields(one):
            yield f".{field}", getattr(one, field, None), getattr(other, field, None)


def _fields(value: Any) -> list[str]:
    """The names of the fields of a dataclass or a Pydantic model."""
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    return list(getattr(type(value), "model_fields", ()))


def _suggest(value: object, found: _Difference) -> str | None:
    """The type to declare, where it is known: that of the value, or of a container of such values."""
    got = _name_type(found.one)
    if not found.where:
        return got
    items = value.values() if isinstance(value, dict) else value
    simple = isinstance(value, (list, tuple, dict, set, frozenset))
    if not simple or any(type(one) is not type(found.one) for one in typing.cast("Iterator[Any]", items)):
        return None
    if isinstance(value, dict):
        keys = {type(key).__name__ for key in value}
        return f"dict[{keys.pop()}, {got}]" if len(keys) == 1 else None
    return f"tuple[{got}, ...]" if isinstance(value, tuple) else f"{type(value).__name__}[{got}]"


def _is_readable(kind: type[enum.Enum]) -> bool:
    """Return whether a member of the enum can be told by what it is written as."""
    values = [one.value for one in kind]
    return all(type(one) is str for one in values) or all(type(one) is int for one in values)


def _is_subclass_of(value: object, kind: Any) -> bool:
    plain = isinstance(value, _PLAIN_TYPES)
    return isinstance(kind, type) and not plain and type(value) is not kind and isinstance(value, kind)


def union_arms(declared: Any) -> tuple[Any, ...]:
    """The types a value may have; of a type that is not a union, itself."""
    return typing.get_args(declared) if typing.get_origin(declared) in _UNIONS else (declared,)


def _describe_hint(declared: Any) -> str:
    return declared.__name__ if type(declared) is type else str(declared).replace("typing.", "")


def _name_type(value: object) -> str:
    return (
        "Path"
        if isinstance(value, PurePath) and type(value).__module__.startswith("pathlib")
        else type(value).__name__
    )

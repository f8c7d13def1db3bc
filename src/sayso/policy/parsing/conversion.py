"""A tree of nodes to the types of `file.py`: every value checked, every fault noted with its place."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import inspect as types

from sayso.policy.merge import TIER_LISTS
from sayso.policy.parsing.document import UNREAD, Node
from sayso.policy.problems import MAX_PROBLEMS, PolicyProblem, PolicyProblems, spelling_hint

T = TypeVar("T", bound=msgspec.Struct)

_BAD: Any = object()
_CALLED = {
    bool: "true or false",
    str: "text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a map",
    type(None): "nothing",
}


class NodeReader:
    """Reads nodes as types and keeps the problems found on the way."""

    def __init__(self, source: str, problems: Iterable[PolicyProblem] = ()) -> None:
        self.source = source
        self.problems = list(problems)

    def read(self, node: Node, kind: type[T]) -> T | None:
        """Read the node as this type; None if it is not a map. Use the result only without problems."""
        value = self._value(node, types.type_info(kind), "the policy")
        return None if value is _BAD else value

    def say(self, place: tuple[int, int], message: str, hint: str = "") -> None:
        self.problems.append(PolicyProblem(*place, message, hint, self.source))
        if len(self.problems) >= MAX_PROBLEMS:
            raise PolicyProblems(self.problems)

    def _value(self, node: Node, info: types.Type, name: str) -> Any:
        if node.value is UNREAD:
            return _BAD
        hint = ""
        if isinstance(info, types.Metadata):
            if "otherwise" in (info.extra or {}) and not isinstance(node.value, str):
                return (info.extra or {})["otherwise"]
            hint = (info.extra_json_schema or {}).get("description", "")
            if "kind" in (info.extra or {}) and not isinstance(node.value, str):
                return self._wrong(node, (info.extra or {})["kind"], name, hint)
            info = info.type
        read = _READERS[type(info)]
        return read(self, node, info, name, hint)

    def _struct(self, node: Node, info: types.StructType, name: str, hint: str) -> Any:
        """The struct of what could be read. What could not is left out, so that the rest is checked too."""
        if not isinstance(node.value, dict):
            return self._wrong(node, "a map", name, hint)
        fields = {field.encode_name: field for field in info.fields}
        self._check_keys(node, fields, name, info)
        found: dict[str, Any] = {}
        for key, field in fields.items():
            if key in node.value:
                found[field.name] = self._value(node.value[key], field.type, key)
            elif field.required:
                self.say((node.line, node.column), f"{name} has no {key}", _missing_key_hint(key))
        empty = {field.name: () for field in info.fields if field.required}
        return info.cls(**empty | {key: value for key, value in found.items() if value is not _BAD})

    def _check_keys(self, node: Node, fields: Iterable[str], name: str, info: types.StructType) -> None:
        for key, place in node.keys.items():
            if key not in fields:
                inner = _find_inner(info, key)
                hint = spelling_hint(key, fields, f"known: {', '.join(fields)}")
                self.say(
                    place,
                    f"unknown key {key!r} in {name}",
                    hint if inner is None else f"write {inner}: {{{key}: …}}",
                )

    def _map(self, node: Node, info: types.DictType, name: str, hint: str) -> Any:
        if not isinstance(node.value, dict):
            return self._wrong(node, "a map", name, hint)
        found = {}
        for key, member in node.value.items():
            line, column = node.keys[key]
            good_key = self._value(Node(key, line, column), info.key_type, "the name")
            value = self._value(member, info.value_type, key)
            if good_key is not _BAD and value is not _BAD:
                found[key] = value
        return found

    def _plain(self, node: Node, info: types.AnyType, name: str, hint: str) -> Any:
        """A value of any shape, as it is written; others check what it means."""
        if isinstance(node.value, dict):
            return {key: self._plain(member, info, key, hint) for key, member in node.value.items()}
        if isinstance(node.value, list):
            return [self._plain(member, info, name, hint) for member in node.value]
        return node.value

    def _list(self, node: Node, info: types.VarTupleType, name: str, hint: str) -> Any:
        if not isinstance(node.value, list):
            return self._wrong(node, "a list", name, hint)
        found = [self._value(member, info.item_type, f"an entry of {name}") for member in node.value]
        return tuple(value for value in found if value is not _BAD)

    def _union(self, node: Node, info: types.UnionType, name: str, hint: str) -> Any:
        """The only unions of the file are `something or null`."""
        if node.value is None:
            return None
        return self._value(node, next(one for one in info.types if not isinstance(one, types.NoneType)), name)

    def _choice(self, node: Node, info: types.LiteralType, name: str, hint: str) -> Any:
        if node.value in info.values and not isinstance(node.value, bool):
            return node.value
        if name == "sayso":
            return self._refuse(node, "sayso: this program knows version 1 only", "write sayso: 1")
        shown = ", ".join(sorted(map(str, info.values), key=str.swapcase))
        if isinstance(node.value, str):
            words = [str(value) for value in info.values]
            return self._refuse(
                node, f"unknown {name} {node.value!r}", spelling_hint(node.value, words) or f"use {shown}"
            )
        return self._wrong(node, f"one of {shown}", name, hint)

    def _flag(self, node: Node, info: types.BoolType, name: str, hint: str) -> Any:
        return (
            node.value
            if isinstance(node.value, bool)
            else self._wrong(node, "true or false", name, "without quotes")
        )

    def _text(self, node: Node, info: types.StrType, name: str, hint: str) -> Any:
        text = node.value
        if not isinstance(text, str):
            return self._wrong(node, "text", name, "put it in quotes" if _is_scalar(node) else hint)
        if info.min_length is not None and len(text.strip()) < info.min_length:
            return self._refuse(node, f"{name} is empty", hint)
        if info.max_length is not None and len(text) > info.max_length:
            return self._refuse(node, f"{name} is longer than {info.max_length} characters", hint)
        if info.pattern is not None and not (re.search(info.pattern, text) and _is_composed(text)):
            return self._refuse(node, f"{name} cannot be {text!r}", hint)
        return text

    def _number(self, node: Node, info: types.FloatType | types.IntType, name: str, hint: str) -> Any:
        value = node.value
        wanted = (int,) if isinstance(info, types.IntType) else (int, float)
        if not isinstance(value, wanted) or isinstance(value, bool):
            return self._wrong(node, "a whole number" if wanted == (int,) else "a number", name, hint)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            return self._refuse(node, f"{name} is not a number one can count to", hint)
        if (info.ge is not None and number < info.ge) or (info.le is not None and number > info.le):
            return self._refuse(node, f"{name} cannot be {value}", hint)
        return value if wanted == (int,) else number

    def _wrong(self, node: Node, wanted: str, name: str, hint: str) -> Any:
        return self._refuse(node, f"{name} must be {wanted}, and is {_CALLED[type(node.value)]}", hint)

    def _refuse(self, node: Node, message: str, hint: str) -> Any:
        self.say((node.line, node.column), message, hint)
        return _BAD


_READERS: dict[type[types.Type], Callable[..., Any]] = {
    types.StructType: NodeReader._struct,  # noqa: SLF001  the class's own table
    types.DictType: NodeReader._map,  # noqa: SLF001
    types.VarTupleType: NodeReader._list,  # noqa: SLF001
    types.UnionType: NodeReader._union,  # noqa: SLF001
    types.LiteralType: NodeReader._choice,  # noqa: SLF001
    types.BoolType: NodeReader._flag,  # noqa: SLF001
    types.StrType: NodeReader._text,  # noqa: SLF001
    types.FloatType: NodeReader._number,  # noqa: SLF001
    types.IntType: NodeReader._number,  # noqa: SLF001
    types.AnyType: NodeReader._plain,  # noqa: SLF001
}


def _is_scalar(node: Node) -> bool:
    return not isinstance(node.value, (list, dict)) and node.value is not None


def _is_composed(text: str) -> bool:
    """Composed, on one line: so that one name has one spelling."""
    return unicodedata.is_normalized("NFC", text) and not text.endswith("\n")


def _missing_key_hint(key: str) -> str:
    return f"write {key}: [] if it is empty" if key in TIER_LISTS else f"add {key}"


def _find_inner(info: types.StructType, key: str) -> str | None:
    """Return the key of this map whose own map has the key that somebody wrote a level too high."""
    for field in info.fields:
        members = field.type.types if isinstance(field.type, types.UnionType) else (field.type,)
        for one in members:
            if isinstance(one, types.StructType) and any(each.encode_name == key for each in one.fields):
                return field.encode_name
    return None

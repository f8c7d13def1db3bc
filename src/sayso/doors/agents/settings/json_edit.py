"""Change a JSON file of somebody else's by its text: comments, order and indentation stay as they are.

Comments and trailing commas are understood, so that our entries can go from every file. To add some, the file
must be as its agent reads it: `refuse_loose`. A text that is not JSON, names a key twice, or has something
else where an object or a list belongs is refused, and nothing is changed.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from sayso.core.errors import SaysoError

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_ONLY_COMMA = re.compile(r"\s*,\s*\Z")
_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
DEEPEST = 60
MARK = "\ufeff"


class BrokenFile(SaysoError):
    """The text is not JSON that can be changed."""

    code = "broken_settings"


class JsonNode(msgspec.Struct):
    """A value and where its text is. Of an object `names` are its keys, one for each item."""

    kind: str
    start: int
    end: int
    items: list[JsonNode]
    names: list[str]
    value: Any = None


def parse_text(text: str) -> JsonNode:
    """Return the value of the text; refuse what is not JSON with or without comments."""
    start = _skip(text, 1 if text.startswith(MARK) else 0)
    node = _read(text, start, 0)
    if _skip(text, node.end) != len(text):
        raise BrokenFile(f"{_line(text, node.end)}: something follows the end of the JSON")
    return node


def refuse_mark(text: str) -> None:
    """Refuse a byte order mark, which is not JSON to most programs."""
    if text.startswith(MARK):
        raise BrokenFile("line 1: the file begins with a byte order mark, which is not JSON; save it without")


def refuse_loose(text: str, *, comments: bool) -> None:
    """Refuse a trailing comma and, unless they are read, comments."""
    strict = _STRING_OR_COMMENT.sub(lambda found: found[1] or " ", text) if comments else text
    try:
        json.loads(strict)
    except ValueError as error:
        where = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "somewhere"
        what = "a trailing comma" if comments else "a comment or a trailing comma"
        raise BrokenFile(f"{where}: this is not strict JSON (perhaps {what})") from error


def load_value(node: JsonNode) -> Any:
    """Return the plain value."""
    if node.kind == "object":
        return {name: load_value(item) for name, item in zip(node.names, node.items, strict=True)}
    return [load_value(item) for item in node.items] if node.kind == "array" else node.value


def append_to_list(text: str, path: tuple[str, ...], value: Any) -> str:
    """Append a value to the list at this path, making what is missing on the way."""
    node = _root(text)
    for depth, name in enumerate(path):
        if node.kind != "object":
            raise BrokenFile(f"{_line(text, node.start)}: {'.'.join(path[:depth])} is not an object")
        if name not in node.names:
            inner: Any = [value]
            for missing in reversed(path[depth + 1 :]):
                inner = {missing: inner}
            return _insert(text, node, depth + 1, f"{json.dumps(name)}: {{}}", inner)
        node = node.items[node.names.index(name)]
    if node.kind != "array":
        raise BrokenFile(f"{_line(text, node.start)}: {'.'.join(path)} is not a list")
    return _insert(text, node, len(path) + 1, "{}", value)


def set_missing(text: str, name: str, value: Any) -> str:
    """Set a key of the file, if it is not there."""
    node = _root(text)
    return text if name in node.names else _insert(text, node, 1, f"{json.dumps(name)}: {{}}", value)


def list_items(text: str, path: tuple[str, ...]) -> list[Any]:
    """Return the items of the list at this path; none if there is none."""
    return items_of(load_value(_root(text)), path)


def items_of(value: Any, path: tuple[str, ...]) -> list[Any]:
    """Return the items of the list at this path of a value; none if there is none."""
    found = value
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []


def remove_items(text: str, path: tuple[str | int, ...], unwanted: list[Any]) -> str:
    """Take these items off the list at this path, and what is empty after that."""
    for value in unwanted:
        trail = _trail(text, path)
        if trail is None:
            return text
        index = next((n for n, item in enumerate(trail[-1].items) if load_value(item) == value), None)
        if index is not None:
            text = _cut(text, trail, [*map(_index, trail, path), index])
    return text


def _root(text: str) -> JsonNode:
    node = parse_text(text if text.strip() else "{}")
    if node.kind != "object":
        raise BrokenFile("the file holds no JSON object")
    return node


def _trail(text: str, path: tuple[str | int, ...]) -> list[JsonNode] | None:
    """Return what lies on the way to the list, and the list."""
    trail = [_root(text)]
    for name in path:
        known = trail[-1].names if isinstance(name, str) else range(len(trail[-1].items))
        if name not in known:
            return None
        trail.append(trail[-1].items[_index(trail[-1], name)])
    return trail if trail[-1].kind == "array" else None


def _index(node: JsonNode, name: str | int) -> int:
    return node.names.index(name) if isinstance(name, str) else name


def _cut(text: str, trail: list[JsonNode], indexes: list[int]) -> str:
    """Take one item out; if it was the only one, take its container out instead."""
    while len(trail) > 1 and len(trail[-1].items) == 1:
        trail, indexes = trail[:-1], indexes[:-1]
    node, index = trail[-1], indexes[-1]
    first, last = _item_start(text, node, index), node.items[index].end
    if index > 0:
        before = node.items[index - 1].end
        first = before if _ONLY_COMMA.match(text[before:first]) else first
        if first == before:
            return text[:first] + text[last:]
    comma = _skip(text, last)
    if text[comma : comma + 1] == ",":
        last = comma + 1
        return text[:first] + text[_skip_blank(text, last) :]
    inner = node.start + 1
    return text[:inner] + text[node.end - 1 :] if len(node.items) == 1 else text[:first] + text[last:]


def _item_start(text: str, node: JsonNode, index: int) -> int:
    """Return where the item begins; a member of an object begins with its key."""
    if node.kind == "array":
        return node.items[index].start
    after = node.start + 1 if index == 0 else node.items[index - 1].end
    place = _skip(text, after)
    return _skip(text, place + 1) if text[place : place + 1] == "," else place


def _skip_blank(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _insert(text: str, node: JsonNode, depth: int, shape: str, value: Any) -> str:
    """Put a new item behind the last one."""
    if not text.strip():
        text, node = "{}\n", parse_text("{}")
    unit, newline = _indentation(text), "\r\n" if "\r\n" in text else "\n"
    written = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{unit * depth}")
    item = f"\n{unit * depth}{shape.replace('{}', written)}".replace("\n", newline)
    if not node.items:
        inside = text[node.start + 1 : node.end - 1]
        kept = "" if not inside.strip() else inside.rstrip()
        closing = f"{newline}{unit * (depth - 1)}"
        return text[: node.start + 1] + kept + item + closing + text[node.end - 1 :]
    last = node.items[-1].end
    comma = _skip(text, last)
    if text[comma : comma + 1] == ",":
        return text[: comma + 1] + item + "," + text[comma + 1 :]
    return text[:last] + "," + item + text[last:]


def _indentation(text: str) -> str:
    """Return what stands before the first key, if that has a line of its own."""
    root = parse_text(text)
    before = text[: _item_start(text, root, 0)].rpartition("\n") if root.items else ("", "", "")
    return before[2] if before[1] and before[2] and not before[2].strip() else "  "


def _read(text: str, place: int, depth: int) -> JsonNode:
    if depth > DEEPEST:
        raise BrokenFile(f"{_line(text, place)}: the JSON is nested too deep")
    letter = text[place : place + 1]
    if letter == "{":
        return _read_many(text, place, depth, "object", "}")
    if letter == "[":
        return _read_many(text, place, depth, "array", "]")
    found = _STRING.match(text, place) or _PLAIN.match(text, place)
    if found is None:
        raise BrokenFile(f"{_line(text, place)}: this is not JSON")
    return JsonNode("plain", place, found.end(), [], [], _decode(text, place, found[0]))


def _read_many(text: str, place: int, depth: int, kind: str, closing: str) -> JsonNode:
    node = JsonNode(kind, place, place, [], [])
    place = _skip(text, place + 1)
    while text[place : place + 1] != closing:
        if kind == "object":
            place = _read_name(text, place, node)
        node.items.append(_read(text, place, depth + 1))
        place = _skip(text, node.items[-1].end)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != closing:
            raise BrokenFile(f"{_line(text, place)}: a comma or {closing} is missing")
    node.end = place + 1
    return node


def _read_name(text: str, place: int, node: JsonNode) -> int:
    found = _STRING.match(text, place)
    colon = _skip(text, found.end()) if found else place
    if found is None or text[colon : colon + 1] != ":":
        raise BrokenFile(f"{_line(text, place)}: a key is missing")
    name = _decode(text, place, found[0])
    if name in node.names:
        raise BrokenFile(f"{_line(text, place)}: the key {name!r} is there twice")
    node.names.append(name)
    return _skip(text, colon + 1)


def _decode(text: str, place: int, word: str) -> Any:
    try:
        return json.loads(word)
    except ValueError as error:
        raise BrokenFile(f"{_line(text, place)}: this is not JSON") from error


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _line(text: str, place: int) -> str:
    return f"line {text.count(chr(10), 0, place) + 1}"

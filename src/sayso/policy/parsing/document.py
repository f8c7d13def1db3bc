"""Text to a tree of values that know their line and column. YAML 1.2 and JSON, by one parser.

Read event by event, so that what is too deep or not allowed is refused before anything is built from it. Left
out of YAML on purpose: tags, anchors and aliases, directives, several documents, keys that are not text, and
the old spellings of booleans (`no` stays the text "no").
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from typing import Any

from sayso.core.text.patterns import lazy_pattern
from sayso.policy.problems import MAX_PROBLEMS, PolicyProblem, PolicyProblems

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
EMPTY_POLICY = "an empty policy decides nothing; start with extends: [balanced]"

_WHOLE = lazy_pattern(r"[-+]?[0-9]{1,300}")
_NUMBER = lazy_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}
_ENDLESS = {".nan": "nan", ".inf": "inf", "+.inf": "inf", "-.inf": "-inf"}

Scalar = str | int | float | bool | None


class Unread(enum.Enum):
    """The value of a node with a noted problem, which nothing can be read from."""

    UNREAD = "unread"


UNREAD = Unread.UNREAD


class Node:
    """A value and where it stands. `value` is a scalar, a list of nodes, or a map from text to nodes.

    `repeated` holds the members that were left out because their keys were already taken.
    """

    __slots__ = ("column", "keys", "line", "repeated", "value")

    def __init__(self, value: Scalar | Unread | list[Node] | dict[str, Node], line: int, column: int) -> None:
        self.value = value
        self.line = line
        self.column = column
        self.keys: dict[str, tuple[int, int]] = {}
        self.repeated: list[tuple[str, Node]] = []

    def at(self, *path: str | int) -> tuple[int, int]:
        """The place of what lies down this path, as far as it exists. That of a map's member is its key."""
        node, place = self, (self.line, self.column)
        for step in path:
            below = node.find(step)
            if below is None:
                break
            place = node.keys[step] if isinstance(step, str) else (below.line, below.column)
            node = below
        return place

    def entries(self, *path: str | int) -> list[Node]:
        """The entries of the list down this path; none if there is no list."""
        node = self.find(*path)
        return node.value if node is not None and isinstance(node.value, list) else []

    def find(self, *path: str | int) -> Node | None:
        """Return the node at this path, if it exists."""
        node: Node | None = self
        for step in path:
            if node is not None and isinstance(step, str) and isinstance(node.value, dict):
                node = node.value.get(step)
            elif node is not None and isinstance(step, int) and isinstance(node.value, list):
                node = node.value[step] if step < len(node.value) else None
            else:
                return None
        return node


def parse_document(
    content: bytes, source: str, *, empty: str = EMPTY_POLICY
) -> tuple[Node, list[PolicyProblem]]:
    """The one document in these bytes, and what stands in it that is not allowed, left out of the tree.

    PolicyProblems if there is no whole document to go on with. `empty` is the hint for an empty file.
    """
    text = _decode(content, source)
    reader = _TreeBuilder(source)
    try:
        reader.read(_parse_events(text))
    except PolicyProblems:
        raise
    except Exception as error:  # the parser fails on odd input in many ways; each is a refusal
        raise PolicyProblems([*reader.problems, _syntax_problem(error, source)]) from error
    if reader.root is None:
        raise (
            PolicyProblems(reader.problems)
            if reader.problems
            else _refusal(source, "the file is empty", empty)
        )
    return reader.root, reader.problems


def _decode(content: bytes, source: str) -> str:
    if len(content) > MAX_BYTES:
        raise _refusal(source, f"the file is larger than {MAX_BYTES:,} bytes", "no policy is that long")
    if b"\0" in content:
        raise _refusal(source, "the file holds NUL bytes", "this is a binary file, or text that is not UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        problem = PolicyProblem(line, column, "the file is not UTF-8", "save it as UTF-8 text", source)
        raise PolicyProblems([problem]) from error
    return _without_tabs(text) if text.lstrip().startswith("{") else text


def _without_tabs(text: str) -> str:
    """JSON may be indented with tabs, YAML may not. In valid JSON every tab stands between values."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text.replace("\t", " ")


def _parse_events(text: str) -> Iterator[Any]:
    from ruamel.yaml import YAML

    yield from YAML(typ="safe", pure=True).parse(text)


class _TreeBuilder:
    """Builds the tree from events and collects what is not allowed in it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[PolicyProblem] = []
        self.root: Node | None = None
        self._open: list[Node] = []
        self._key: list[Node | None] = []
        self._documents = 0

    def read(self, events: Iterator[Any]) -> None:
        for event in events:
            step = getattr(self, f"_{type(event).__name__}", None)
            if step is not None:
                step(event)
            if self._documents > 1:
                return

    def _DocumentStartEvent(self, event: Any) -> None:  # noqa: N802  named after the event
        self._documents += 1
        if self._documents > 1:
            self._refuse(
                event, "a second document begins here", "a policy is one document: remove the --- line"
            )
        elif event.version or event.tags:
            self._refuse(event, "directives are not part of a policy", "remove the lines that begin with %")

    def _AliasEvent(self, event: Any) -> None:  # noqa: N802
        self._refuse(event, f"the alias *{event.anchor} is not allowed", "write the value out")
        self._add(Node(UNREAD, *_place_of_event(event)))

    def _ScalarEvent(self, event: Any) -> None:  # noqa: N802
        self._check_marks(event)
        value = self._read(event)
        if value is None and self.root is None and not self._open:
            return  # nothing but comments: an empty file
        self._add(Node(value, *_place_of_event(event)))

    def _SequenceStartEvent(self, event: Any) -> None:  # noqa: N802
        self._enter(event, Node([], *_place_of_event(event)))

    def _MappingStartEvent(self, event: Any) -> None:  # noqa: N802
        self._enter(event, Node({}, *_place_of_event(event)))

    def _SequenceEndEvent(self, event: Any) -> None:  # noqa: N802
        self._leave()

    def _MappingEndEvent(self, event: Any) -> None:  # noqa: N802
        self._leave()

    def _enter(self, event: Any, node: Node) -> None:
        self._check_marks(event)
        if len(self._open) >= MAX_DEPTH:
            self._refuse(event, f"nested deeper than {MAX_DEPTH} levels", "a policy needs four")
            raise PolicyProblems(self.problems)
        self._add(node)
        self._open.append(node)
        self._key.append(None)

    def _leave(self) -> None:
        self._open.pop()
        self._key.pop()

    def _add(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        parent = self._open[-1].value
        if isinstance(parent, list):
            parent.append(node)
        elif self._key[-1] is None:
            self._key[-1] = node
        else:
            key, self._key[-1] = self._key[-1], None
            self._put(self._open[-1], key, node)

    def _put(self, parent: Node, key: Node, node: Node) -> None:
        members = parent.value
        if key.value is UNREAD:
            return
        if not isinstance(key.value, str):
            self._say(key, "a key must be text", "put it in quotes")
        elif isinstance(members, dict) and key.value in members:
            line, _ = parent.keys[key.value]
            parent.repeated.append((key.value, node))
            self._say(key, f"the key {key.value!r} stands here twice", f"it was first given in line {line}")
        elif isinstance(members, dict):
            members[key.value] = node
            parent.keys[key.value] = (key.line, key.column)

    def _check_marks(self, event: Any) -> None:
        if event.anchor is not None:
            self._refuse(
                event, f"the anchor &{event.anchor} is not allowed", "write the value out where it is used"
            )
        if event.tag is not None:
            self._refuse(
                event, f"the tag {event.tag} is not allowed", "a policy is plain text, numbers and lists"
            )

    def _read(self, event: Any) -> Scalar | Unread:
        """The value of a scalar. What a tag would make of it is not known; a key is its text all the same."""
        if event.tag is not None and not self._at_key():
            return UNREAD
        plain = event.style is None and event.tag is None
        value = _parse_scalar(event.value) if plain else event.value
        return self._join_surrogates(event, value) if isinstance(value, str) else value

    def _at_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._key[-1] is None

    def _join_surrogates(self, event: Any, text: str) -> str | Unread:
        """JSON writes characters beyond the first 65,536 as two halves; a half alone is not a character."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._refuse(
                event, "the text holds half a character (a lone surrogate)", "write the character itself"
            )
            return UNREAD

    def _refuse(self, event: Any, message: str, hint: str) -> None:
        self._say(Node(None, *_place_of_event(event)), message, hint)

    def _say(self, node: Node, message: str, hint: str) -> None:
        self.problems.append(PolicyProblem(node.line, node.column, message, hint, self.source))
        if len(self.problems) >= MAX_PROBLEMS:
            raise PolicyProblems(self.problems)


def _parse_scalar(text: str) -> Scalar:
    """Return the value of an unquoted word."""
    if text in _WORDS:
        return _WORDS[text]  # type: ignore[return-value]
    if text in _ENDLESS:
        return float(_ENDLESS[text])
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if len(text) < 300 and _NUMBER.fullmatch(text) else text


def _place_of_event(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _syntax_problem(error: Exception, source: str) -> PolicyProblem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
    return PolicyProblem(
        line, column, f"this is not YAML or JSON: {what}", "check quotes, colons and indentation", source
    )


def _refusal(source: str, message: str, hint: str) -> PolicyProblems:
    return PolicyProblems([PolicyProblem(0, 0, message, hint, source)])

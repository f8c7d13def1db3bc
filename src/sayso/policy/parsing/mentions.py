"""The names in a file with problems, so that one fault is not reported again as another.

A list that could not be read may have declared the operation a workflow names. To say that nothing declares
it would send the reader after a second fault that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator

from sayso.policy.parsing.document import UNREAD, Node

NAMING = ("slash_commands", "workflows")
"""The parts that name operations and declare none."""


class Mentions:
    """The operations that a tree may declare, wherever in it and however badly written."""

    def __init__(self, tree: Node) -> None:
        self._names: set[str] = set()
        self._blurred: set[str] = set()
        self._anything = False
        for key, part in _members(tree):
            if key not in NAMING:
                self._note(part, (key,))

    def __contains__(self, operation: object) -> bool:
        return self._anything or operation in self._names or str(operation).partition(".")[0] in self._blurred

    def _note(self, node: Node, above: tuple[str, ...]) -> None:
        """Everything below this node. Above what cannot be read all is blurred: anything may stand there."""
        if node.value is UNREAD:
            self._blurred.update(above[1:])
            self._anything |= above[0] == "tools" or above in (("domains",), ("operations",))
        elif isinstance(node.value, list):
            for entry in node.value:
                self._note(entry, above)
        elif isinstance(node.value, dict):
            for key, member in _members(node):
                self._note_text(key, above)
                self._note(member, (*above, key))
        elif isinstance(node.value, str):
            self._note_text(node.value, above)

    def _note_text(self, text: str, above: tuple[str, ...]) -> None:
        self._names.update((text, *(f"{key}.{text}" for key in above)))


def _members(node: Node) -> Iterator[tuple[str, Node]]:
    """The members of a map, those that were left out too."""
    if isinstance(node.value, dict):
        yield from node.value.items()
        yield from node.repeated

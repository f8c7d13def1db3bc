"""The list of events in the documentation is the list of events the gate writes, no more and no less."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITING = ("record", "_record_step", "_record_change")
"""The functions of the gate that are told which event to write."""
EVENT = re.compile(r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*")
LISTED = re.compile(r"^\| `([A-Z0-9_]+)` \|", re.MULTILINE)


def written(source: str) -> Iterator[str]:
    """Events named where an entry is written, or in a table of events."""
    for node in ast.walk(ast.parse(source)):
        told: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WRITING:
            told = node.args
        elif isinstance(node, ast.Assign) and [ast.unparse(name) for name in node.targets] == ["EVENTS"]:
            assert isinstance(node.value, ast.Dict)
            told = node.value.values
        for each in told:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                assert EVENT.fullmatch(each.value), each.value
                yield each.value


def test_every_event_the_gate_writes_is_documented_and_no_other() -> None:
    sources = [path.read_text() for path in (ROOT / "src" / "sayso" / "gate").rglob("*.py")]
    found = {event for source in sources for event in written(source)}
    listed = LISTED.findall((ROOT / "docs" / "audit.md").read_text())
    assert len(listed) == len(set(listed))
    assert set(listed) == found


def test_no_other_part_writes_entries() -> None:
    for path in (ROOT / "src" / "sayso").rglob("*.py"):
        if not path.is_relative_to(ROOT / "src" / "sayso" / "gate"):
            assert "rows.journal import" not in path.read_text(), path


def test_an_event_is_seen_where_it_is_written() -> None:
    source = 'record(tx, "GRANTED", session=s)\nEVENTS = {1: "ASKED"}\nother("NOT")'
    assert set(written(source)) == {"GRANTED", "ASKED"}

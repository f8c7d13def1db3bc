"""The events of the audit trail stand in one place: documentation, writers and readers go by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from sayso.core.audit.events import (
    EVENTS,
    Answered,
    DecisionEvent,
    DomainReviewed,
    PolicyChanged,
    ProposalChanged,
)
from sayso.gate.audit.verifying.signatures import SignedAnswer, SignedPolicy, SignedProposal, SignedReview
from sayso.gate.summaries.decisions import DecisionDetails
from tests.support.repository import ROOT
from tests.support.rows import each_row

SOURCE = ROOT / "src" / "sayso"
THE_PLACE = "core/audit/events.py"
OTHER_MEANINGS = {
    ("core/decision.py", "BLOCKED"),
    ("policy/expectations.py", "BLOCKED"),
    ("cli/checking.py", "BLOCKED"),
    ("cli/views/operator.py", "STOPPED"),
    ("cli/playing/session_view.py", "STOPPED"),
}
"""The outcome of a decision in the graph's words, and the mark of a stopped session on a terminal."""
ROW = re.compile(r"^\| `([A-Z0-9_]+)` \| (.+) \|$", re.MULTILINE)


def named_events(source: str) -> Iterator[str]:
    """Events whose names are spelled out, alone or as part of an entry's bytes."""
    for node in ast.walk(ast.parse(source)):
        value = node.value if isinstance(node, ast.Constant) else None
        text = value.decode(errors="replace") if isinstance(value, bytes) else value
        if isinstance(text, str):
            yield from ({text} | set(re.findall(r'"event":"([A-Z0-9_]+)"', text))) & EVENTS.keys()


def test_no_event_is_named_outside_the_one_place() -> None:
    found = {
        (str(path.relative_to(SOURCE)), name)
        for path in SOURCE.rglob("*.py")
        for name in named_events(path.read_text())
    }
    assert {one for one in found if one[0] != THE_PLACE} == OTHER_MEANINGS


def test_a_name_that_is_spelled_out_is_noticed() -> None:
    assert set(named_events('if row.event == "GRANTED": pass')) == {"GRANTED"}
    assert set(named_events("""wanted = b',"event":"JOINED",' in body""")) == {"JOINED"}
    assert not set(named_events('"""Entries ASKED are counted."""\nother("NOT")'))


def test_the_documentation_lists_every_event_with_its_meaning_and_no_other() -> None:
    rows = ROW.findall((ROOT / "docs" / "audit.md").read_text())
    assert len(rows) == len(EVENTS)
    assert dict(rows) == {name: " ".join((kind.__doc__ or "").split()) for name, kind in EVENTS.items()}


@each_row("name", EVENTS)
def test_the_subject_of_an_event_is_one_of_its_details(name: str) -> None:
    kind = EVENTS[name]
    assert not kind.subject or kind.subject in kind.__struct_fields__


PARTS = [
    (DecisionDetails, DecisionEvent),
    (SignedAnswer, Answered),
    (SignedProposal, ProposalChanged),
    (SignedReview, DomainReviewed),
    (SignedPolicy, PolicyChanged),
]


@pytest.mark.parametrize(("part", "whole"), PARTS)
def test_who_reads_a_part_of_an_entry_reads_fields_that_it_has(part: type, whole: type) -> None:
    assert set(part.__struct_fields__) <= set(whole.__struct_fields__)  # type: ignore[attr-defined]


def test_only_the_gate_writes_entries() -> None:
    for path in SOURCE.rglob("*.py"):
        if not path.is_relative_to(SOURCE / "gate"):
            assert "rows.journal import" not in path.read_text(), path

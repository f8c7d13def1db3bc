"""Somebody approves, and the policy takes away what they approved by: the call does not run on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from sayso.doors.sayso import Sayso
from sayso.gate.gate import current_gate
from sayso.store.sqlite.store import SqliteStore
from tests.support.gates import KEY
from tests.support.teams import allow, asks, on_page, verdict

TEAM = """domains:
  bank: {autonomous: [], requires_approval: [pay], blocked: []}
people:
  ana: {groups: [finance], ids: ["page:ana"]}
  bo: {groups: [finance], ids: ["page:bo", "page:stolen"]}
  cy: {groups: [finance, oncall], ids: ["page:cy", "page:phone"]}
approvals: [{domain: bank, needed: 2, from: [finance]}]
break_glass: [oncall]
"""
WITHOUT_STOLEN = TEAM.replace(', "page:stolen"', "")
TAKEN_AWAY: Mapping[str, str] = {
    "the id": WITHOUT_STOLEN,
    "the id, given to another": WITHOUT_STOLEN.replace('"page:cy"', '"page:cy", "page:stolen"'),
    "the group": TEAM.replace("bo: {groups: [finance]", "bo: {groups: []"),
    "the person": "".join(line for line in TEAM.splitlines(keepends=True) if "bo:" not in line),
}
GLASS_TAKEN_AWAY: Mapping[str, str] = {
    "the glass": TEAM.replace("break_glass: [oncall]\n", ""),
    "the right of one of two": TEAM.replace("[oncall]", "[ana]"),
    "the id": TEAM.replace(', "page:phone"', ""),
}


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Sayso]:
    file = tmp_path / "policy.yaml"
    file.write_text(TEAM)
    store = SqliteStore(tmp_path / "s.db")
    with closing(Sayso.open(file, store, surfaces=(), key=KEY, marks=tmp_path)) as opened:
        yield opened


@pytest.mark.parametrize("after", TAKEN_AWAY.values(), ids=TAKEN_AWAY)
def test_an_approval_ends_with_what_it_was_given_by(program: Sayso, tmp_path: Path, after: str) -> None:
    request, question = asks(program.gate)
    allow(program.gate, question, on_page("ana"))
    assert allow(program.gate, question, on_page("stolen")).state == "answered"
    (tmp_path / "policy.yaml").write_text(after)
    assert verdict(current_gate(program.gate), request) == "ask"


@pytest.mark.parametrize("after", GLASS_TAKEN_AWAY.values(), ids=GLASS_TAKEN_AWAY)
def test_what_the_broken_glass_allowed_ends_with_who_may_break_it(
    program: Sayso, tmp_path: Path, after: str
) -> None:
    request, question = asks(program.gate)
    broken = allow(program.gate, question, on_page("phone"), glass=True, reason="the house is on fire")
    assert broken.state == "answered"
    (tmp_path / "policy.yaml").write_text(after)
    assert verdict(current_gate(program.gate), request) == "ask"


@pytest.mark.parametrize("after", [TEAM, TEAM.replace('"page:ana"', '"page:ana", "page:ana2"')])
def test_an_approval_stays_where_nothing_of_it_was_taken_away(
    program: Sayso, tmp_path: Path, after: str
) -> None:
    request, question = asks(program.gate)
    for name in ("ana", "stolen"):
        allow(program.gate, question, on_page(name))
    (tmp_path / "policy.yaml").write_text(after)
    assert verdict(current_gate(program.gate), request) == "allow"

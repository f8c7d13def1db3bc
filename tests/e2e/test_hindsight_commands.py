"""`sayso policy replay`, `sayso policy suggest` and `sayso stats --charts`, as an operator runs them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from sayso.gate.deciding.request import request_in_session
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import KEY_NAME, open_gate
from sayso.gate.rows.keys import load_or_make_key
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from tests.e2e.operator_place import Place
from tests.support.answers import answer_question

FILE = """\
sayso: 1
categories: {test-build: tests and builds}
domains:
  tests: {autonomous: [], requires_approval: [run], blocked: []}   # mine
operations: {tests.run: {category: test-build}}
tools:
  - {tool: Bash, operation: tests.run, command: args.command, ignore: [description]}
"""
FREE = FILE.replace("[], requires_approval: [run]", "[run], requires_approval: []")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Somebody whose agent ran the tests six times, and was allowed to each time."""
    made, own, work = Place(tmp_path), tmp_path / "config" / "sayso", tmp_path / "work"
    own.mkdir(parents=True)
    work.mkdir()
    (own / "policy.yaml").write_text(FILE)
    keys = tmp_path / "share" / "sayso"
    keys.mkdir(mode=0o700, parents=True)
    key = load_or_make_key(KEY_NAME, keys / "gate.key")
    gate = open_gate(load_text(FILE), made.store, key=key, marks=keys)
    with closing(gate.store):
        session = open_session(gate, agent="claude", owner="me", workspace=str(work))
        for _ in range(6):
            request = request_in_session(gate, session, "Bash", {"command": "pytest -q"}, None, 0.0)
            attempt = start_call(gate, request, holder="test")
            answer_question(gate, str(attempt.question), "once", by="ana")
            retry_call(gate, attempt.call, holder="test")
    return made


def test_a_draft_that_loosens_is_told_and_ends_with_1(place: Place, tmp_path: Path) -> None:
    same = place.sayso("policy", "replay")
    assert (same.returncode, same.stdout.splitlines()[-1]) == (
        0,
        "Nothing would have been decided otherwise.",
    )
    draft = tmp_path / "draft.yaml"
    draft.write_text(FREE)
    ran = place.sayso("policy", "replay", str(draft), "--since", "1d")
    assert ran.returncode == 1
    assert "LOOSENED 6 times: tests.run: ask → allow (ask → autonomous)" in ran.stdout
    told = place.sayso("policy", "replay", "--grant", "command:pytest -q", "--json")
    assert told.returncode == 1
    assert sum(one["times"] for one in json.loads(told.stdout)["loosened"]) == 6


@pytest.mark.parametrize(
    "words", [("--grant", "everything"), ("--grant", "operation:x"), ("--since", "soon"), ("nowhere.yaml",)]
)
def test_what_cannot_be_replayed_is_a_usage_error(place: Place, words: tuple[str, ...]) -> None:
    ran = place.sayso("policy", "replay", *words)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


def test_a_suggestion_is_listed_and_proposed(place: Place, tmp_path: Path) -> None:
    own = tmp_path / "config" / "sayso" / "policy.yaml"
    (one,) = place.told("policy", "suggest")
    assert one["words"].startswith("approved 6 of 6 times in 30 days: tests.run (pytest -q) in ")
    assert (one["effect"]["loosened"], one["effect"]["tightened"]) == (6, 0)
    made = place.told("policy", "suggest", "--propose", "1")
    assert (made["state"], made["reason"]) == ("proposed", one["words"])
    assert own.read_text() == FILE, "nothing is applied"
    assert place.told("propose", "show", made["id"])["effect"]["loosens"]
    assert place.sayso("policy", "suggest", "--propose", "2").returncode != 0


def test_figures_are_drawn_as_bars(place: Place) -> None:
    shown = place.sayso("stats", "--charts").stdout
    assert "questions rated clear: not rated yet (aim: at least 90 %)" in shown
    assert "claude" in shown
    assert "█" in shown
    charts = place.told("stats", "--charts")["charts"]
    assert charts["agents"][0]["prompts"] == 6
    by_category = {one["name"]: (one["asked"], one["prompts"]) for one in charts["categories"]}
    assert by_category == {"test-build": (6, 6)}, "under the category of the policy, as on the page"

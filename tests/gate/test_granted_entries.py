"""Whatever is granted stands in the audit as GRANTED, by whichever answer it was given."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_items
from sayso.gate.sessions.messages import record_task_start
from sayso.gate.sessions.operator_grants import list_grants
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from tests.gate.test_stopping import opened
from tests.support.answers import answer_question
from tests.support.asking import edit
from tests.support.gates import KEY


def granted(gate: Gate) -> list[dict[str, Any]]:
    with gate.store.read() as tx:
        rows = [row for row in tx.entries("main", limit=1_000) if row.event == "GRANTED"]
    return [msgspec.json.decode(row.body or b"") for row in rows]


@pytest.mark.parametrize(
    ("answer", "kind", "seconds"),
    [("temporary", "operation", 900), ("always", "operation", 86_400), ("task", "category", 86_400)],
)
def test_an_answer_that_outlasts_its_call_is_recorded_as_a_grant(
    gate: Gate, answer: str, kind: str, seconds: int
) -> None:
    session = opened(gate)
    record_task_start(gate, session, "parser")
    question = authorize(gate, edit(session)).question
    assert question is not None
    stands = answer_question(gate, question.id, answer, by="ana")
    lasting = [one for one in list_grants(gate, session) if one.kind != "call"]
    (entry,) = granted(gate)
    details = entry["details"]
    assert details["grant"] == lasting[0].id
    assert details["grant"] in stands.grants
    assert (details["kind"], details["seconds"]) == (kind, seconds)
    assert (details["by"], details["question"]) == ("ana", question.id)
    assert verify_audit(gate).clean


def test_an_answer_item_by_item_records_what_each_item_granted(gate: Gate) -> None:
    session = opened(gate)
    question = authorize(gate, edit(session)).question
    assert question is not None
    answer_items(gate, question.id, {"1": "always"}, by="ana", seen=question.request.digest)
    assert [entry["operations"] for entry in granted(gate)] == [["files.edit"]]


def test_what_trusting_remembers_is_recorded_as_a_grant() -> None:
    gate = open_gate(load_preset("trusting"), MemoryStore(), key=KEY)
    session = opened(gate)
    question = authorize(gate, edit(session)).question
    assert question is not None
    answer_question(gate, question.id, "remember", by="ana")
    assert [entry["details"]["kind"] for entry in granted(gate)] == ["tool"]


@pytest.mark.parametrize("answer", ["once", "deny"])
def test_an_answer_about_this_call_only_is_told_by_its_own_entry(gate: Gate, answer: str) -> None:
    question = authorize(gate, edit(opened(gate))).question
    assert question is not None
    answer_question(gate, question.id, answer, by="ana")
    assert granted(gate) == []

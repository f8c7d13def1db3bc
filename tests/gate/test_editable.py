"""What a person may edit is said in one place, and never more than the gate would take."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.decision import Question
from sayso.core.model import Declaration
from sayso.gate.deciding.request import make_call
from sayso.gate.questions.answer import EditRefused, check_edit
from sayso.gate.questions.editable import find_editable, reason_not_editable
from sayso.gate.questions.evaluated_calls import EVALUATED, OPERATION, TOOL
from tests.support.questions import asked_about, push_question

ARGUMENTS = {"amount": 5, "payee": "ACME"}


def question(schema: str = "", state: str | None = None, **who: Any) -> Question:
    """A question about a payment that a host declared."""
    call = make_call("pay", ARGUMENTS, schema=schema, state=state)
    return asked_about(call, declared=Declaration((), "host"), **who).question


def names(asked: Question, *, elsewhere: bool) -> tuple[str, ...] | None:
    found = find_editable(asked, elsewhere=elsewhere)
    return None if found is None else found.arguments


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize(
    "asked",
    [question(workflow="ship"), push_question(("deny",)).question, asked_about(make_call("beep")).question],
    ids=["a workflow", "nothing to allow", "no arguments"],
)
def test_what_cannot_be_edited_is_not_said_to_be(asked: Question, elsewhere: bool) -> None:
    assert names(asked, elsewhere=elsewhere) is None


@pytest.mark.parametrize(
    "asked",
    [question(state="3 rows"), question(OPERATION), push_question().question],
    ids=["a state", "an evaluated operation", "nothing that was declared"],
)
def test_what_only_its_program_knows_is_not_edited_elsewhere(asked: Question) -> None:
    assert names(asked, elsewhere=False)
    assert names(asked, elsewhere=True) is None


def test_who_asks_for_an_evaluated_tool_is_never_edited() -> None:
    call = make_call("pay", {**ARGUMENTS, EVALUATED: {"subject": "ana"}}, schema=TOOL)
    asked = asked_about(call, declared=Declaration((), "host")).question
    assert names(asked, elsewhere=True) == ("amount", "payee")


@pytest.mark.parametrize(("schema", "same"), [("", False), ("pay(amount, payee)", True)])
def test_values_of_a_function_do_not_change_their_kind_outside_its_program(schema: str, same: bool) -> None:
    here, elsewhere = find_editable(question(schema)), find_editable(question(schema), elsewhere=True)
    assert here is not None
    assert elsewhere is not None
    assert (here.same_kinds, elsewhere.same_kinds) == (False, same)


def test_the_gate_takes_no_edit_of_a_workflow_whoever_sends_it() -> None:
    asked = question(workflow="ship")
    with pytest.raises(EditRefused, match="as it is"):
        check_edit(asked, msgspec.structs.replace(asked.request, workflow=None))
    assert reason_not_editable(asked)

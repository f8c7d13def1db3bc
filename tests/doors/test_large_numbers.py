"""Whole numbers that a double holds arrive, are shown and are kept as the very numbers they are."""

from __future__ import annotations

import dataclasses
from typing import Any

import pydantic
import pytest

from sayso import Sayso
from sayso.core.deciding.showing import describe_whole_call
from sayso.doors.python.values.arguments import WrongArguments
from sayso.gate.questions.read import find_question
from tests.support.people import answer_open, questions

pytestmark = pytest.mark.each_store

LARGE = [2**53, 2**53 + 2, 10**16, 10**17, -(10**17), 2**60, 2**63, 2**64, 10**21, 2**80]


@dataclasses.dataclass(frozen=True)
class Row:
    id: int


class Model(pydantic.BaseModel):
    id: int


@pytest.mark.parametrize("number", LARGE)
def test_no_whole_number_is_refused_or_changed_by_the_way_it_is_declared(gate: Sayso, number: int) -> None:
    @gate.requires_consent("rows.read", risk="low")
    def read(
        bare: Any, key: int, either: int | str, row: Row, model: Model, ids: list[int], more: dict[str, Any]
    ) -> list[Any]:
        return [bare, key, either, row.id, model.id, ids[0], more["id"]]

    params: dict[str, Any] = {"bare": number, "key": number, "either": number, "row": {"id": number}}
    params |= {"model": {"id": number}, "ids": [number], "more": {"id": number}}
    typed = params | {"row": Row(number), "model": Model(id=number)}
    with gate.user_initiated("rows.read"):
        results = gate.run("read", params).value, read(**typed)
    for got in results:
        assert got == [number] * 7
        assert {type(one) for one in got} == {int}


@pytest.mark.parametrize("number", [3.0, 1e16, 2.0**60, 1e21, 1e300, 0.1])
def test_a_declared_float_stays_a_float(gate: Sayso, number: float) -> None:
    @gate.requires_consent("rows.read", risk="low")
    def read(rate: float, rates: list[float]) -> list[float]:
        return [rate, *rates]

    with gate.user_initiated("rows.read"):
        results = gate.run("read", {"rate": number, "rates": [number]}).value, read(number, [number])
    for got in results:
        assert got == [number, number]
        assert {type(one) for one in got} == {float}


@pytest.mark.parametrize("number", [2**53 + 1, 2**60 + 1, 10**23, -(2**53) - 1])
def test_a_number_that_no_double_holds_is_still_refused(gate: Sayso, number: int) -> None:
    @gate.requires_consent("rows.read", risk="low")
    def read(key: int) -> int:
        return key

    assert gate.run("read", {"key": number}).status == "error"
    with pytest.raises(WrongArguments):
        read(number)


def test_an_approved_number_is_the_one_that_was_shown_and_the_one_that_runs(gate: Sayso) -> None:
    @gate.requires_consent("rows.delete", risk="moderate")
    def delete(ids: list[Any]) -> str:
        return ", ".join(map(str, ids))

    late = gate.run("delete", {"ids": [2**60, 10**16, 5]}, wait=0)
    (asked,) = questions(gate)
    shown = find_question(gate.gate, asked.id).question
    assert "1152921504606846976" in "\n".join(describe_whole_call(shown.request, shown.items))
    assert "1152921504606846976" in shown.text
    answer_open(gate)
    assert gate.retry(late.operation_id or "").value == "1152921504606846976, 10000000000000000, 5"

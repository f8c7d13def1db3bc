"""An edit is checked against the types of the function before a person can allow it."""

from __future__ import annotations

import asyncio
import datetime
import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from sayso.core.digest import encode_canonical
from sayso.doors.python.values.arguments import Shape, WrongArguments
from sayso.doors.sayso import Sayso
from sayso.gate.open import open_gate
from sayso.gate.questions.argument_types import ArgumentType, argument_types, find_misfit
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from sayso.surfaces.inbox import Inbox
from tests.service.conftest import KEY
from tests.service.programs import asked
from tests.support.gates import Clock
from tests.support.service import Service as InProcess
from tests.support.service_process import Home, Service


class Speed(enum.Enum):
    SLOW = "slow"
    FAST = "fast"


Nights = Annotated[int, msgspec.Meta(ge=1)]
Meal = Literal["lunch", "dinner"]
GOOD: dict[str, Any] = {"speed": "fast", "when": "2026-05-06", "nights": 2, "meal": None}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"speed": "warp"}, "speed takes one of fast, slow"),
    ({"when": "tomorrow"}, "when takes a date"),
    ({"nights": 0}, "nights takes at least 1"),
    ({"nights": 1.5}, "nights takes a whole number"),
    ({"nights": True}, "nights takes a whole number"),
    ({"meal": "breakfast"}, "meal takes one of dinner, lunch"),
]


def book(speed: Speed, when: datetime.date, nights: Nights, meal: Meal | None = None) -> str:
    return f"{speed.value} {when} {nights} {meal}"


def described(gate: Any) -> Any:
    return gate.capability()(gate.requires_consent("travel.book", risk="moderate")(book))


def test_a_connected_programs_edits_are_checked_by_its_types(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:
        described(gate)
        late = gate.run("book", {**GOOD, "speed": "slow"}, wait=0)
        (question,) = operator.questions()
        assert question["editing"]["types"] == {
            "speed": {"kind": "choice", "choices": ["fast", "slow"]},
            "when": {"kind": "date", "choices": []},
            "nights": {"kind": "whole", "choices": []},
            "meal": {"kind": "choice", "choices": ["dinner", "lunch", None]},
        }
        for change, words in WRONG:
            with pytest.raises(Exception, match=words):
                operator.edit(question["id"], {**GOOD, **change})
        assert asked(operator) == [question["id"]]
        operator.edit(question["id"], {**GOOD, "meal": "lunch"})
        assert gate.retry(late.operation_id or "").value == "fast 2026-05-06 2 lunch"


def test_an_embedded_programs_edits_are_checked_by_its_types_on_the_page(
    runner: asyncio.Runner, clock: Clock
) -> None:
    gate = open_gate(load_preset("coding"), MemoryStore(clock=clock), key=KEY)
    service = InProcess(gate, runner)
    program = Sayso(gate, [Inbox()])
    described(program)
    assert program.run("book", GOOD, wait=0).status == "timeout"
    (question,) = service.told("operator", "GET", "/v1/questions")
    assert question["editing"]["types"]["speed"]["choices"] == ["fast", "slow"]
    for change, words in WRONG:
        edited = {"edited": {**GOOD, **change}}
        said = service.post("operator", f"/v1/questions/{question['id']}/edited", edited)
        assert words in said.text
        answer = service.post(
            "operator", f"/v1/questions/{question['id']}/answer", {"answer": "edit", **edited}
        )
        assert answer.status_code >= 400
    assert len(service.told("operator", "GET", "/v1/questions")) == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"color": "red"}, "the call has no argument 'color'"),
        ({"meal": ...}, "the call needs 'meal'"),
        ({"color": 1, "meal": ...}, "the call has no argument 'color'; the call needs 'meal'"),
        ({"x" * 5_000: 1}, f"the call has no argument '{'x' * 40} … (5000 characters in all)'"),
        ({f"a{n:03}": n for n in range(99)}, "'a006', 'a007' and 91 more"),
    ],
)
def test_an_edit_that_adds_arguments_is_never_told_that_it_leaves_some_out(
    runner: asyncio.Runner, clock: Clock, change: dict[str, Any], told: str
) -> None:
    gate = open_gate(load_preset("coding"), MemoryStore(clock=clock), key=KEY)
    service, program = InProcess(gate, runner), Sayso(gate, [Inbox()])
    described(program)
    program.run("book", GOOD, wait=0)
    (question,) = service.told("operator", "GET", "/v1/questions")
    edited = {name: value for name, value in {**GOOD, **change}.items() if value is not ...}
    said = service.post("operator", f"/v1/questions/{question['id']}/edited", {"edited": edited}).json()
    assert said["code"] == "edit_refused"
    assert told in said["detail"]
    assert len(said["detail"]) < 250
    with pytest.raises(WrongArguments) as refused:
        Shape(book).write_edit(edited, encode_canonical(GOOD))
    assert told in str(refused.value)


def test_only_a_host_says_what_parameters_take(service: InProcess) -> None:
    call = {"tool": "Edit", "args": {"file_path": "a"}, "parameters": {"properties": {}}}
    assert service.post("agent", "/v1/calls", call).status_code == 403
    long = {"properties": {"a": {"enum": ["x" * 20_000]}}}
    session = service.opened()
    assert (
        service.post("host", "/v1/calls", {**call, "session": session, "parameters": long}).status_code == 422
    )


@pytest.mark.parametrize(
    "edited",
    [
        {"path": "a", "n": 1, "more": 1},
        {"path": 5, "n": 1},
        {"path": "a", "n": "1"},
        {"path": "a", "n": 99},
        {"path": "a"},
        {},
    ],
)
def test_no_edit_gets_past_what_a_host_says_that_parameters_take(
    service: InProcess, edited: dict[str, Any]
) -> None:
    takes = {"properties": {"path": {"type": "string"}, "n": {"type": "integer", "maximum": 9}}}
    call = {"tool": "publish", "args": {"path": "a", "n": 1}, "parameters": takes}
    question = service.post("host", "/v1/calls", {**call, "session": service.opened()}).json()["question"]
    place = f"/v1/questions/{question}"
    assert service.post("operator", f"{place}/edited", {"edited": {"path": "b", "n": 9}}).status_code == 200
    assert service.post("operator", f"{place}/edited", {"edited": edited}).json()["code"] == "edit_refused"
    answer = {"answer": "edit", "edited": edited}
    assert service.post("operator", f"{place}/answer", answer).json()["code"] == "edit_refused"
    assert service.told("operator", "GET", place)["state"] == "open"


NESTED = """{"properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "array", "items": {"type": "integer"}},
"c": {"$ref": "#/$defs/A"}, "d": {"type": "string", "maxLength": 3}, "e": {"enum": [1, true, "x"]}},
"$defs": {"A": {"type": "object", "required": ["n"], "additionalProperties": false,
"properties": {"n": {"type": "number", "maximum": 9}, "a": {"$ref": "#/$defs/A"}}}}}"""
BEFORE: dict[str, Any] = {"a": {"n": 1}, "b": [1], "c": "no map at all", "d": "x", "e": "x"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"a": {"n": 10}}, "a n takes at most 9"),
        ({"a": {"n": 1, "a": {"n": "x"}}}, "a a n takes a number"),
        ({"a": {}}, "a needs n"),
        ({"a": {"n": 1, "z": 1}}, "a takes no z"),
        ({"b": [1, "x"]}, "b 2 takes a whole number"),
        ({"d": "long"}, "d takes at most 3 characters"),
        ({"e": False}, "e takes one of 1, true, x"),
        ({"c": 5}, None),
        ({"a": {"n": 9, "a": {"n": 0.5}}, "b": [], "e": True}, None),
    ],
)
def test_values_inside_values_are_checked_too(change: dict[str, Any], words: str | None) -> None:
    assert find_misfit(NESTED, BEFORE, {**BEFORE, **change}) == words


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"properties": 5}', '{"properties": {"a": 5}}'])
def test_a_schema_that_cannot_be_read_says_nothing(broken: str) -> None:
    assert argument_types(broken, BEFORE) == {}
    assert find_misfit(broken, BEFORE, {}) is None


def test_a_schema_that_refers_to_itself_ends() -> None:
    loop = '{"properties": {"d": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}'
    assert find_misfit(loop, BEFORE, BEFORE) is None
    assert argument_types('{"properties": {"d": {"const": "x"}}}', BEFORE) == {
        "d": ArgumentType("choice", ("x",))
    }

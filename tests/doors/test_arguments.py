"""What is approved is what runs: arguments are checked and written down before anybody is asked."""

from __future__ import annotations

import datetime
import enum
import gc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from sayso import Sayso
from sayso.doors.python.calls.results import ConsentRequired
from sayso.doors.python.values.arguments import Shape, WrongArguments, live_object_mark
from tests.support.people import Person, answer_open, arguments, calls, edit, questions

if TYPE_CHECKING:
    from collections import OrderedDict


class Colour(enum.Enum):
    RED = "red"


class Point(msgspec.Struct):
    x: int
    y: float = 0.5


def gated(gate: Sayso, function: Callable[..., Any]) -> Callable[..., Any]:
    return gate.requires_consent("tasks.create", wait=60)(function)


def typed(
    day: datetime.date,
    where: Path,
    colour: Colour,
    point: Point,
    names: dict[int, str],
    raw: bytes,
    pair: tuple[int, int],
) -> list[Any]:
    return [day, where, colour, point, names, raw, pair]


def test_typed_arguments_come_back_as_they_were(gate: Sayso, person: Person) -> None:
    given = [datetime.date(2026, 1, 2), Path("a/b"), Colour.RED, Point(1), {7: "seven"}, b"\x00", (1, 2)]
    person.says("once")
    assert gated(gate, typed)(*given) == given


def test_all_kinds_of_parameters_reach_the_function_with_their_defaults(gate: Sayso, person: Person) -> None:
    def every(a: int, b: int = 2, /, c: int = 3, *args: int, d: int, e: int = 5, **kwargs: int) -> list[Any]:
        return [a, b, c, args, d, e, kwargs]

    person.says(*["once"] * 3)
    assert gated(gate, every)(1, 20, 30, 40, 41, d=4, f=6) == [1, 20, 30, (40, 41), 4, 5, {"f": 6}]
    assert gated(gate, every)(1, d=4, a=9, args=8) == [1, 2, 3, (), 4, 5, {"a": 9, "args": 8}]
    gate.capability("by_name")(every)
    found = gate.run("by_name", {"a": 1, "d": 4, "args": [7], "kwargs": {"f": 6}})
    assert found.value == [1, 2, 3, (7,), 4, 5, {"f": 6}]


class Odd:
    pass


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "value",
    [
        Odd(), {1, 2}, (1, 2), [(1,)], {1: "a"}, float("nan"), float("inf"), 2**53 + 1, "\ud800", cyclic(),
        Point(1), print,
    ],
)  # fmt: skip
def test_what_would_not_come_back_is_refused_before_anybody_is_asked(gate: Sayso, value: Any) -> None:
    def untyped(value):  # type: ignore[no-untyped-def]
        raise AssertionError("it ran")

    with pytest.raises(WrongArguments):
        gated(gate, untyped)(value)
    gate.capability("untyped")(untyped)
    assert gate.run("untyped", {"value": value}).status == "error"
    assert calls(gate) == []
    assert questions(gate) == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"title": 1},
        {"title": "x", "more": 1},
        {"title": "x", "size": "big"},
        {"title": "x", "size": True},
    ],
)
def test_parameters_are_checked_before_anything_is_asked(gate: Sayso, params: dict[str, Any]) -> None:
    @gate.capability(operations="mail.send")
    @gate.requires_consent("tasks.create")
    def create(title: str, size: int = 1) -> None:
        raise AssertionError("it ran")

    assert gate.run("create", params).status == "error"
    with pytest.raises(WrongArguments):
        create(**params)
    assert calls(gate) == []
    assert questions(gate) == []


@pytest.mark.parametrize("kwargs", [5, ["a"], {"title": "other"}])
def test_names_among_more_arguments_do_not_hide_others(gate: Sayso, person: Person, kwargs: Any) -> None:
    @gate.capability()
    @gate.requires_consent("tasks.create")
    def create(title: str, *, size: int = 1, **kwargs: Any) -> None:
        raise AssertionError("it ran")

    assert gate.run("create", {"title": "x", "kwargs": kwargs}).status == "error"
    person.says(edit({"title": "x", "size": 1, "kwargs": {"size": "big"}}), "deny")
    assert gate.run("create", {"title": "x"}).status == "denied"
    assert "size" in person.notices[0]


def test_types_that_only_a_type_checker_knows_are_no_matter_where_nothing_is_written(
    gate: Sayso, person: Person
) -> None:
    def create(title: str) -> OrderedDict[str, str] | None:
        return None

    def build(title: OrderedDict[str, str]) -> None: ...

    person.says("once")
    assert gated(gate, create)("x") is None
    with pytest.raises(WrongArguments, match="its types cannot be read"):
        gated(gate, build)({})


class Equal:
    """Every one of these equals every other."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    def __hash__(self) -> int:
        return 1


class Plain:
    def __init__(self) -> None:
        self.sent: list[str] = []


class Unhashable(Plain):  # noqa: PLW1641  that is the point of it
    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("kind", [Equal, Plain, Unhashable])
def test_an_approval_for_one_object_does_not_serve_another_even_an_equal_one(
    gate: Sayso, kind: type[Plain]
) -> None:
    class Mail(kind):  # type: ignore[misc, valid-type]
        @gate.requires_consent("mail.send")
        def send(self, to: str) -> None:
            self.sent.append(to)

        __hash__ = kind.__hash__

    one, other = Mail(), Mail()
    with pytest.raises(ConsentRequired):
        one.send("ana")
    answer_open(gate)
    with pytest.raises(ConsentRequired):
        other.send("ana")
    one.send("ana")
    assert (one.sent, other.sent) == (["ana"], [])


def test_a_mark_is_not_passed_on_to_an_object_at_the_same_place() -> None:
    marks = set()
    for _ in range(50):
        marks.add(live_object_mark(Plain()))
        gc.collect(0)  # an object as young as this; to look through all others takes long
    assert len(marks) == 50


def test_a_consent_id_makes_the_approval_last_beyond_the_object(gate: Sayso) -> None:
    class Mailbox:
        def __init__(self, name: str) -> None:
            self.consent_id = name

        @gate.requires_consent("mail.send")
        def send(self, to: str) -> str:
            return self.consent_id

    with pytest.raises(ConsentRequired):
        Mailbox("work").send("ana")
    answer_open(gate)
    with pytest.raises(ConsentRequired):
        Mailbox("home").send("ana")
    assert Mailbox("work").send("ana") == "work"


def test_a_live_parameter_is_passed_as_it_is_and_bound(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("tasks.create", live=("connection",), wait=60)
    def create(connection: Odd, title: str) -> Odd:
        return connection

    connection = Odd()
    person.says("once", edit({"connection": "forged", "title": "edited"}))
    assert create(connection, "x") is connection
    assert create(connection, "x") is connection
    assert [arguments(gate, row)["title"] for row in calls(gate)] == ["x", "edited"]
    assert gate.run("create", {"connection": 1, "title": "x"}).status == "error"


def test_what_needs_a_live_object_cannot_be_retried_by_name_and_loses_nothing(gate: Sayso) -> None:
    @gate.requires_consent("tasks.create", live=("connection",))
    def create(connection: Odd) -> str:
        return "made"

    connection = Odd()
    with pytest.raises(ConsentRequired) as raised:
        create(connection)
    answer_open(gate)
    assert gate.retry(raised.value.operation_id).status == "error"
    assert create(connection) == "made"


@pytest.mark.parametrize("live", [("nobody",), ("args",), ("kwargs",)])
def test_only_a_single_parameter_that_is_there_can_be_live(gate: Sayso, live: tuple[str, ...]) -> None:
    def several(*args: int, **kwargs: int) -> None: ...

    with pytest.raises(WrongArguments):
        gate.requires_consent("tasks.create", live=live)(several)


def test_a_function_of_the_same_name_elsewhere_is_another_tool() -> None:
    def create(title: str) -> None: ...

    before = Shape(create).schema
    create.__module__ = "elsewhere"
    assert Shape(create).schema != before

"""Each function's arguments are read as its own types, whatever other function has a type that is equal.

Python calls `Keep | Delete` and `Delete | Keep` equal. What fits both is read as the first of them.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, Union

import msgspec
import pydantic
import pytest

from sayso import Sayso
from sayso.doors.python.values.arguments import Shape, WrongArguments
from sayso.doors.python.values.parameter_schema import describe_parameters


class Keep(pydantic.BaseModel):
    path: str


class Delete(pydantic.BaseModel):
    path: str


@dataclasses.dataclass
class KeepPlain:
    path: str


@dataclasses.dataclass
class DeletePlain:
    path: str


class _Pair(NamedTuple):
    """Two types that are equal, a plain value that fits every arm of both, and what each reads it as."""

    one: Any
    other: Any
    given: Any
    of_one: Any
    of_other: Any


GIVEN = {"path": "/x"}
KEPT, DELETED = Keep(path="/x"), Delete(path="/x")
KEPT_PLAIN, DELETED_PLAIN = KeepPlain("/x"), DeletePlain("/x")
OF_KIND = [pydantic.Field(description="what to tidy")]
"""Without a hash, as metadata often are: so Python itself keeps no type with it."""
PAIRS = {
    "models": _Pair(Keep | Delete, Delete | Keep, GIVEN, KEPT, DELETED),
    "spelled in two ways": _Pair(Union[Keep, Delete], Delete | Keep, GIVEN, KEPT, DELETED),  # noqa: UP007
    "or none": _Pair(Keep | Delete | None, None | Delete | Keep, GIVEN, KEPT, DELETED),
    "annotated": _Pair(
        Annotated[Keep | Delete, OF_KIND], Annotated[Delete | Keep, OF_KIND], GIVEN, KEPT, DELETED
    ),
    "in a list": _Pair(list[Keep | Delete], list[Delete | Keep], [GIVEN], [KEPT], [DELETED]),
    "in a dict": _Pair(
        dict[str, Keep | Delete], dict[str, Delete | Keep], {"a": GIVEN}, {"a": KEPT}, {"a": DELETED}
    ),
    "in a tuple": _Pair(tuple[Keep | Delete, ...], tuple[Delete | Keep, ...], [GIVEN], (KEPT,), (DELETED,)),
    "deep": _Pair(
        list[dict[str, tuple[int, Keep | Delete]]],
        list[dict[str, tuple[int, Delete | Keep]]],
        [{"a": [1, GIVEN]}],
        [{"a": (1, KEPT)}],
        [{"a": (1, DELETED)}],
    ),
    "dataclasses": _Pair(KeepPlain | DeletePlain, DeletePlain | KeepPlain, GIVEN, KEPT_PLAIN, DELETED_PLAIN),
    "a model or a dataclass": _Pair(Keep | KeepPlain, KeepPlain | Keep, GIVEN, KEPT, KEPT_PLAIN),
}


def taking(hint: Any, name: str = "what") -> Callable[..., Any]:
    """A function whose one parameter has this type."""

    def tidy(what: Any) -> Any:
        return what

    tidy.__annotations__ = {"what": hint}
    tidy.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("what", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=hint)]
    )
    tidy.__name__ = tidy.__qualname__ = name
    return tidy


def read(hint: Any, given: Any) -> Any:
    """The value as a function with a parameter of this type gets it."""
    shape = Shape(taking(hint))
    return shape.read_some(shape.write_params({"what": given}))["what"]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_what_fits_two_types_is_read_as_the_first_that_its_own_function_names(pair: _Pair) -> None:
    assert pair.one == pair.other, "or this test shows nothing"
    for _ in range(2):
        assert repr(read(pair.one, pair.given)) == repr(pair.of_one)
        assert repr(read(pair.other, pair.given)) == repr(pair.of_other)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_an_object_is_written_as_the_type_that_its_own_function_names(pair: _Pair) -> None:
    one, other = Shape(taking(pair.one)), Shape(taking(pair.other))
    assert one.write_call((pair.of_one,), {}) == ({"what": pair.given}, {})
    assert other.write_call((pair.of_other,), {}) == ({"what": pair.given}, {})


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_agents_are_shown_the_type_of_the_function_they_call(pair: _Pair) -> None:
    alone = describe_parameters(Shape(taking(pair.other)))
    for hint in (pair.one, pair.other):
        read(hint, pair.given)
    assert describe_parameters(Shape(taking(pair.other))) == alone


@pytest.mark.parametrize("first", ["archive", "purge"])
def test_which_function_is_run_first_makes_no_difference(gate: Sayso, first: str) -> None:
    gate.capability("archive", operations=())(taking(Delete | Keep, "archive"))
    gate.capability("purge", operations=())(taking(Keep | Delete, "purge"))
    gate.run(first, {"what": GIVEN}, wait=0)
    found = {name: gate.run(name, {"what": GIVEN}, wait=0).value for name in ("archive", "purge")}
    assert found == {"archive": DELETED, "purge": KEPT}


class Kept(NamedTuple):
    path: str


class Deleted(NamedTuple):
    path: str


class Level(enum.IntEnum):
    LOW = 1


class Size(enum.IntEnum):
    SMALL = 1


class Colour(enum.StrEnum):
    RED = "red"


class Light(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("hint", "value", "equal"),
    [
        (Kept | Deleted, Deleted("/x"), Kept("/x")),
        (Level | Size, Size.SMALL, Level.LOW),
        (Colour | Light, Light.RED, Colour.RED),
    ],
)
def test_a_value_that_would_come_as_an_equal_one_of_another_type_is_refused(
    hint: Any, value: Any, equal: Any
) -> None:
    assert value == equal, "or this test shows nothing"
    with pytest.raises(WrongArguments, match=type(value).__name__):
        Shape(taking(hint)).write_call((value,), {})
    assert Shape(taking(hint)).write_call((equal,), {})


@pytest.mark.parametrize(
    ("hint", "value"), [(int, Level.LOW), (int | Level, Level.LOW), (str, Light.RED), (Level, Level.LOW)]
)
def test_a_member_of_an_enum_is_still_taken_as_what_it_is_besides(hint: Any, value: Any) -> None:
    assert Shape(taking(hint)).write_call((value,), {}) == ({"what": value}, {})


@pytest.mark.parametrize(
    ("hint", "fits", "others"),
    [
        (Literal[1], 1, [True, 1.0]),
        (Literal[0, 1], 0, [False, True, 0.0]),
        (list[Literal[1]], [1], [[True], [1.0]]),
        (int, 1, [True, 1.5]),
        (bool, True, [1, 1.0]),
        (bool | None, True, [1]),
        (dict[str, bool], {"a": True}, [{"a": 1}]),
    ],
)
def test_what_only_equals_a_value_of_the_type_is_not_one(hint: Any, fits: Any, others: list[Any]) -> None:
    assert read(hint, fits) == fits
    for other in others:
        with pytest.raises(TypeError):
            read(hint, other)


class Box(msgspec.Struct):
    holds: str


class Crate(msgspec.Struct):
    holds: str
    lid: str = ""


def test_a_key_that_is_dropped_is_found_by_the_type_of_the_function_that_is_called() -> None:
    for hint in (list[Box], list[Crate], list[Box]):
        given = [{"holds": "x", "lid": "y"}]
        if hint == list[Crate]:
            assert read(hint, given) == [Crate("x", "y")]
        else:
            with pytest.raises(TypeError, match="lid"):
                read(hint, given)

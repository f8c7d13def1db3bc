"""What cannot be passed on is refused with a true reason, and a hint that helps whoever follows it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pydantic
import pytest

from sayso.core.digest import encode_canonical
from sayso.doors.python.values.arguments import Shape, WrongArguments
from sayso.doors.python.values.plain import keep_result


class Mixed(enum.Enum):
    RED = "red"
    BLUE = 1


class Ratio(enum.Enum):
    HALF = 0.5


class Point(enum.Enum):
    HOME = (0, 0)


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Secret(pydantic.BaseModel):
    token: pydantic.SecretStr


class Noted(pydantic.BaseModel):
    text: str
    _note: str = pydantic.PrivateAttr("")


class Blob(pydantic.BaseModel):
    data: bytes
    more: set[bytes] = set()


class BigBlob(Blob):
    size: int = 0


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)

    data: bytes
    at: dt.datetime = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    where: Path = Path("/a")
    price: decimal.Decimal = decimal.Decimal("1.10")
    pair: tuple[int, bytes] = (1, b"\xff")
    several: frozenset[bytes] = frozenset({b"\xfe", b"a"})
    named: dict[str, dict[str, str]] = {}
    by_key: dict[bytes, int] = {}
    inner: Blob | None = None


class Either(pydantic.BaseModel):
    either: bytes | str
    data: bytes = b"\xff"


@pydantic.dataclasses.dataclass(config=pydantic.ConfigDict(strict=True))
class StrictClass:
    data: bytes
    where: Path = Path("/a")


@dataclasses.dataclass
class StrictEnvelope:
    held: Strict


@dataclasses.dataclass
class Account:
    owner: str


@dataclasses.dataclass
class Shared(Account):
    second: str = ""


@dataclasses.dataclass
class Envelope:
    blob: Blob


def noted() -> Noted:
    one = Noted(text="a")
    one._note = "b"  # noqa: SLF001  a model that somebody has noted something in
    return one


def takes(declared: Any) -> Shape:
    def f(v: Any) -> None: ...

    f.__annotations__ = {"v": declared}
    return Shape(f)


def by_call(shape: Shape, value: Any) -> dict[str, Any]:
    return shape.write_call((value,), {})[0]


def by_run(shape: Shape, value: Any) -> dict[str, Any]:
    return shape.write_params({"v": value})


ways = pytest.mark.parametrize("write", [by_call, by_run])
Write = Callable[[Shape, Any], dict[str, Any]]


@ways
@pytest.mark.parametrize(
    ("declared", "value", "said"),
    [
        (Mixed, Mixed.RED, "neither all text nor all whole numbers"),
        (Mixed | None, Mixed.BLUE, "neither all text nor all whole numbers"),
        (Ratio, Ratio.HALF, "neither all text nor all whole numbers"),
        (Point, Point.HOME, "neither all text nor all whole numbers"),
        (pydantic.SecretStr, pydantic.SecretStr("x"), "no secrets, no private attributes"),
        (Secret, Secret(token=pydantic.SecretStr("x")), "no secrets, no private attributes"),
        (Noted, noted(), "no secrets, no private attributes"),
        (decimal.Decimal, decimal.Decimal("NaN"), "pass a number, or None"),
        (list, [Path("x")], "(v: list[Path])"),
        (set, {Path("x")}, "(v: set[Path])"),
        (tuple, (Path("x"),), "(v: tuple[Path, ...])"),
        (dict, {"a": Path("x")}, "(v: dict[str, Path])"),
        (dict, {"a": [Path("x")]}, "the Path at v['a'][0] would be read as str (declare in the signature"),
        (list, ["x", Path("x")], "declare in the signature what v holds"),
        (object, Path("x"), "(v: Path)"),
        (Account, Shared("ana"), "v: Shared"),
        (Blob, BigBlob(data=b"a"), "v: BigBlob"),
        (list[Account], [Shared("ana")], "Shared"),
        (dict, {"a": {(1, 2): 3}}, "a dict with a key of type tuple has no JSON form"),
        (Strict, Strict(data=b"", by_key={b"\xff": 1}), "a dict with a key of type bytes has no JSON form"),
        (Strict, Strict(data=b"\xff", named={"a": {"base64": "x"}}), "whose only key is base64 looks like"),
    ],
)
def test_the_reason_is_true_and_the_hint_can_be_followed(
    declared: Any, value: Any, said: str, write: Write
) -> None:
    with pytest.raises(WrongArguments) as refused:
        write(takes(declared), value)
    text = str(refused.value)
    assert said in text
    assert "pass what v is declared to be" not in text
    assert "Expected `object`" not in text


class Size(TypedDict, total=False):
    wide: int
    high: int
    inner: list[Size]


@pytest.mark.parametrize(
    ("declared", "value", "where"),
    [
        (Size, {"wide": 1, "deep": 2}, ".deep"),
        (list[Size], [{"wide": 1}, {"inner": [{"deep": 2}]}], "[1].inner[0].deep"),
        (dict[str, Size | None], {"a": None, "b": {"deep": 2}}, ".b.deep"),
        (tuple[int, Size], [1, {"deep": 2}], "[1].deep"),
        (Account, {"owner": "ana", "deep": 2}, ".deep"),
        (Size | int, {"deep": 2}, ".deep"),
    ],
)
def test_a_key_that_the_type_does_not_declare_is_refused(declared: Any, value: Any, where: str) -> None:
    with pytest.raises(WrongArguments) as refused:
        by_run(takes(declared), value)
    assert f"its type does not declare {where} " in str(refused.value)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Size, {"wide": 1, "inner": [{"high": 2}]}),
        (dict, {"deep": {"deeper": 1}}),
        (list[dict[str, Any]], [{"deep": 2}]),
        (dict[str, Any] | list[Size], [{"wide": 1}]),
    ],
)
def test_keys_that_are_declared_or_free_are_taken(declared: Any, value: Any) -> None:
    assert by_run(takes(declared), value) == {"v": value}


@ways
def test_whoever_passes_something_else_is_told_to_pass_what_is_declared(write: Write) -> None:
    with pytest.raises(WrongArguments, match=r"Expected `int`, got `str`.*pass what v is declared to be"):
        write(takes(int), "x")


@ways
@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Rights, Rights.READ | Rights.WRITE),
        (Rights | None, Rights.READ),
        (Blob, Blob(data=b"text")),
        (Blob, Blob(data=b"\x00\xff", more={b"\xfe", b"a", b"\xff"})),
        (list[Blob], [Blob(data=b"\xff")]),
        (Blob | None, Blob(data=b"\xff")),
        (Envelope, Envelope(Blob(data=b"\xff"))),
        (Strict, Strict(data=b"\xff", inner=Blob(data=b"\xfe"))),
        (Either, Either(either=b"\xff")),
        (list[Strict], [Strict(data=b"text")]),
        (Strict | None, Strict(data=b"\xff")),
        (StrictEnvelope, StrictEnvelope(Strict(data=b"\xff"))),
        (StrictClass, StrictClass(b"\xff")),
    ],
)
def test_flags_and_bytes_of_models_come_back_equal(declared: Any, value: Any, write: Write) -> None:
    shape = takes(declared)
    (back,), _ = shape.read(encode_canonical(write(shape, value)), {})
    assert back == value
    assert type(back) is type(value)


def test_bytes_that_are_not_text_are_spelled_out_where_they_are_shown() -> None:
    shape = takes(Blob)
    assert by_run(shape, Blob(data=b"\xff"))["v"]["data"] == {"base64": "/w=="}
    with pytest.raises(WrongArguments):
        by_run(shape, {"data": {"base64": "no base64"}})


def test_bytes_that_a_model_would_read_as_text_are_named_by_its_place() -> None:
    with pytest.raises(WrongArguments, match=r"the bytes at v\.either would be read as str"):
        by_call(takes(Either), Either(either=b"text"))


@pytest.mark.parametrize(
    "changed",
    [
        {"pair": ["1", "b"]},
        {"at": 0},
        {"at": "2026-01-02"},
        {"price": 1.1},
        {"where": 5},
        {"more": 1},
        {"data": {"base64": "no base64"}},
    ],
)
def test_a_strict_model_with_bytes_takes_nothing_that_it_does_not_write_itself(
    changed: dict[str, Any],
) -> None:
    shape = takes(Strict)
    written = by_call(shape, Strict(data=b"\xff"))["v"]
    assert by_run(shape, {"data": {"base64": "/w=="}})["v"] == written
    with pytest.raises(WrongArguments) as refused:
        by_run(shape, written | changed)
    assert "data: Input should be a valid bytes" not in str(refused.value) or "data" in changed


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("\ud800", "half a character"),
        ({"\ud800": 1}, "half a character"),
        (float("nan"), "NaN or infinity"),
        ([float("inf")], "NaN or infinity"),
        ({1: 2, "1": 3}, "two of its keys are the same"),
        ({(1, 2): 3}, "a dict with a key of type tuple"),
        ([{"a": {(1, 2): 3}}], "a dict with a key of type tuple"),
        ([object()], "a value of type object has no JSON form"),
    ],
)
def test_a_result_that_is_not_kept_says_what_it_is_that_json_cannot_hold(value: object, said: str) -> None:
    kept, why = keep_result(value)
    assert kept is None
    assert said in (why or "")


def test_a_model_with_bytes_that_are_not_text_is_kept() -> None:
    assert keep_result(Blob(data=b"\xff")) == (b'{"data":{"base64":"/w=="},"more":[]}', None)

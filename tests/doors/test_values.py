"""Values in and out: a run returns the object itself; what is kept is its JSON form, or why there is none."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import attrs
import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from sayso import Sayso, Step
from sayso.doors.mcp.runnables import list_runnables
from sayso.doors.python.calls.results import Result
from sayso.doors.python.values.arguments import WrongArguments
from tests.support.people import Person, arguments, calls, questions

NOON = datetime.datetime(2026, 5, 6, 12, 0, tzinfo=datetime.UTC)
NAME = uuid.UUID(int=7)


class Colour(enum.Enum):
    RED = "red"


class Account(pydantic.BaseModel):
    owner: str
    opened: datetime.datetime
    tags: set[str] = set()


class Aliased(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    iban: str = pydantic.Field(alias="IBAN")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def country(self) -> str:
        return self.iban[:2]


class Secret(pydantic.BaseModel):
    token: pydantic.SecretStr


@dataclasses.dataclass(frozen=True)
class Money:
    amount: decimal.Decimal
    account: Account | None = None


@attrs.frozen
class Place:
    path: Path


@pydantic.dataclasses.dataclass
class Order:
    pieces: Annotated[int, pydantic.Field(gt=0)]


class Row(msgspec.Struct):
    when: datetime.date


class Unkeepable:
    pass


ANA = Account(owner="ana", opened=NOON, tags={"b", "a", "c"})
ANA_PLAIN = {"owner": "ana", "opened": "2026-05-06T12:00:00Z"}
KEPT: list[tuple[Any, Any]] = [
    (Path("/tmp/report.txt"), "/tmp/report.txt"),  # noqa: S108
    (decimal.Decimal("1.10"), "1.10"),
    (Colour.RED, "red"),
    (b"ab", "YWI="),
    (NAME, str(NAME)),
    (NOON, "2026-05-06T12:00:00Z"),
    ((1, 2), [1, 2]),
    ({3}, [3]),
    (Money(decimal.Decimal(2)), {"amount": "2", "account": None}),
    (Row(datetime.date(2026, 1, 2)), {"when": "2026-01-02"}),
    (Place(Path("a")), {"path": "a"}),
    (Order(3), {"pieces": 3}),
    (Account(owner="ana", opened=NOON), {**ANA_PLAIN, "tags": []}),
    ([Path("a"), {"b": Colour.RED}], ["a", {"b": "red"}]),
    ({Path("a"): 1}, {"a": 1}),
    (None, None),
    (2**80, 2**80),
    ("<M>", "<M>"),
]


def returning(gate: Sayso, value: Any) -> str:
    @gate.capability("make")
    def make() -> Any:
        return value

    return "make"


@pytest.mark.parametrize(("value", "plain"), KEPT, ids=[type(value).__name__ for value, _ in KEPT])
def test_a_run_returns_the_object_itself_and_a_retry_its_json_form(
    gate: Sayso, value: Any, plain: Any
) -> None:
    result = gate.run(returning(gate, value))
    assert result.value is value
    again = gate.retry(result.operation_id or "")
    assert (again.status, again.value, again.reason) == ("ok", plain, None)
    assert result.plain()["value"] == again.plain()["value"] == plain


@pytest.mark.parametrize(
    "value",
    [Unkeepable(), [1, Unkeepable()], 1 + 2j, float("nan"), {(1, 2): 3}, {1: "a", "1": "b"}, object],
)
def test_what_has_no_json_form_is_never_replaced_by_a_made_up_string(gate: Sayso, value: Any) -> None:
    result = gate.run(returning(gate, value))
    assert result.value is value
    again = gate.retry(result.operation_id or "")
    assert (again.status, again.value) == ("ok", None)
    assert "it ran" in (again.reason or "")
    assert "not kept" in (again.reason or "")
    assert "value" not in again.plain()
    assert "value" not in result.plain()
    assert "JSON" in result.plain()["reason"]


def test_what_was_not_kept_names_its_type(gate: Sayso) -> None:
    result = gate.run(returning(gate, [Unkeepable()]))
    assert "Unkeepable" in (gate.retry(result.operation_id or "").reason or "")


def test_a_result_that_is_too_large_says_so(gate: Sayso) -> None:
    result = gate.run(returning(gate, "x" * 70_000))
    again = gate.retry(result.operation_id or "")
    assert (again.status, again.value) == ("ok", None)
    assert "64 KiB" in (again.reason or "")
    assert result.plain()["value"] == "x" * 70_000, "what is not kept can still be handed on now"


class Failing(pydantic.BaseModel):
    @pydantic.model_serializer
    def fail(self) -> dict[str, Any]:
        raise KeyError("no")


def test_a_model_that_cannot_be_written_leaves_a_call_that_succeeded(gate: Sayso) -> None:
    result = gate.run(returning(gate, Failing()))
    assert result.ok
    assert [row.state for row in calls(gate)] == ["succeeded"]
    assert "not kept" in (gate.retry(result.operation_id or "").reason or "")


def test_a_decorated_call_returns_the_object_itself(gate: Sayso, person: Person) -> None:
    made = Unkeepable()

    @gate.requires_consent("tasks.create", wait=60)
    def make() -> Unkeepable:
        return made

    person.says("once")
    assert make() is made


def test_a_workflow_returns_the_objects_of_its_steps(gate: Sayso) -> None:
    gate.workflow("report", [Step("where", lambda: Path("a")), Step("what", lambda where: where / "b")])
    result = gate.run("report")
    assert result.value == {"where": Path("a"), "what": Path("a/b")}
    assert gate.retry(result.operation_id or "").value == {"where": "a", "what": "a/b"}


# --- arguments ---


def gated(gate: Sayso, function: Callable[..., Any]) -> Callable[..., Any]:
    return gate.capability("act")(gate.requires_consent("tasks.create", wait=60)(function))


def takes_account(value: Account) -> Any:
    return value


def takes_accounts(value: list[Account]) -> Any:
    return value


def takes_perhaps(value: Account | None) -> Any:
    return value


def takes_either(value: Account | str) -> Any:
    return value


def takes_aliased(value: Aliased) -> Any:
    return value


def takes_money(value: Money) -> Any:
    return value


def takes_place(value: Place) -> Any:
    return value


def takes_order(value: Order) -> Any:
    return value


def takes_path(value: Path) -> Any:
    return value


def takes_path_or_nothing(value: Path | None) -> Any:
    return value


def takes_time(value: datetime.datetime) -> Any:
    return value


def takes_colour(value: Colour) -> Any:
    return value


def takes_set(value: set[str]) -> Any:
    return value


def takes_text_or_path(value: str | Path) -> Any:
    return value


def takes_rows(value: dict[str, list[Row]]) -> Any:
    return value


def takes_address(value: pydantic.HttpUrl) -> Any:
    return value


def takes_number(value: Annotated[int, pydantic.Field(gt=0)]) -> Any:
    return value


IN: list[tuple[Callable[..., Any], Any, Any]] = [
    (takes_account, ANA, {**ANA_PLAIN, "tags": ["a", "b", "c"]}),
    (takes_accounts, [ANA], [{**ANA_PLAIN, "tags": ["a", "b", "c"]}]),
    (takes_perhaps, ANA, {**ANA_PLAIN, "tags": ["a", "b", "c"]}),
    (takes_perhaps, None, None),
    (takes_either, ANA, {**ANA_PLAIN, "tags": ["a", "b", "c"]}),
    (takes_either, "ana", "ana"),
    (takes_aliased, Aliased(IBAN="DE1"), {"IBAN": "DE1"}),
    (
        takes_money,
        Money(decimal.Decimal("1.10"), ANA),
        {"amount": "1.10", "account": {**ANA_PLAIN, "tags": ["a", "b", "c"]}},
    ),
    (takes_place, Place(Path("a/b")), {"path": "a/b"}),
    (takes_order, Order(3), {"pieces": 3}),
    (takes_path, Path("a/b"), "a/b"),
    (takes_path_or_nothing, Path("a/b"), "a/b"),
    (takes_time, NOON, "2026-05-06T12:00:00Z"),
    (takes_colour, Colour.RED, "red"),
    (takes_set, {"b", "a", "c"}, ["a", "b", "c"]),
    (takes_text_or_path, "a", "a"),
    (takes_address, pydantic.HttpUrl("https://example.com/"), "https://example.com/"),
    (takes_number, 7, 7),
    (takes_rows, {"x": [Row(datetime.date(2026, 1, 2))]}, {"x": [{"when": "2026-01-02"}]}),
]
WAYS = ["called", "run", "arun", "run with plain values"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("function", "value", "plain"), IN, ids=lambda one: getattr(one, "__name__", ""))
def test_the_function_gets_an_equal_object_rebuilt_from_what_was_approved(
    gate: Sayso, person: Person, way: str, function: Callable[..., Any], value: Any, plain: Any
) -> None:
    decorated = gated(gate, function)
    person.says("once")
    if way == "called":
        came = decorated(value)
    elif way == "arun":
        came = asyncio.run(gate.arun("act", {"value": value})).value
    else:
        came = gate.run("act", {"value": plain if way != "run" else value}).value
    assert came == value
    assert type(came) is type(value)
    assert [arguments(gate, row) for row in calls(gate)] == [{"value": plain}]
    if isinstance(value, (pydantic.BaseModel, Money, Order, list, set)):
        assert came is not value, "never the live object, which could change between the yes and the call"


def test_a_model_that_changes_after_the_question_is_not_what_runs(gate: Sayso, person: Person) -> None:
    account = Account(owner="ana", opened=NOON)

    @gate.capability()
    @gate.requires_consent("tasks.create")
    def close(account: Account) -> str:
        return account.owner

    waiting = gate.run("close", {"account": account}, wait=0)
    account.owner = "everybody"
    person.says("once")
    assert gate.retry(waiting.operation_id or "").value == "ana"


def test_equal_models_and_sets_are_the_same_call_whatever_their_order(gate: Sayso) -> None:
    gated(gate, takes_account)
    words = [f"w{number}" for number in range(50)]
    for order in (words, words[::-1]):
        account = Account(owner="ana", opened=NOON, tags=set())
        account.tags.update(order)
        gate.run("act", {"value": account}, wait=0)
    assert len({row.digest for row in calls(gate)}) == 1
    assert len(questions(gate)) == 1


def test_a_model_is_shown_field_by_field(gate: Sayso, person: Person) -> None:
    gated(gate, takes_account)
    person.says("deny")
    gate.run("act", {"value": ANA})
    text = person.questions[0].text
    assert '"owner":"ana"' in text.replace(" ", "")
    assert "2026-05-06T12:00:00Z" in text


BAD: list[tuple[Callable[..., Any], Any]] = [
    (takes_account, {"owner": "ana"}),
    (takes_account, {"owner": 7, "opened": "soon"}),
    (takes_account, "ana"),
    (takes_order, {"pieces": 0}),
    (takes_colour, "blue"),
    (takes_time, "soon"),
    (takes_aliased, {"iban": "DE1"}),
    (takes_either, 7),
    (takes_number, 0),
    (takes_address, "not an address"),
    (takes_path, 7),
]


@pytest.mark.parametrize(("function", "value"), BAD)
def test_values_that_do_not_fit_are_refused_before_anybody_is_asked(
    gate: Sayso, function: Callable[..., Any], value: Any
) -> None:
    gated(gate, function)
    result = gate.run("act", {"value": value})
    assert result.status == "error"
    assert "value" in (result.reason or "")
    assert (calls(gate), questions(gate)) == ([], [])


class Bigger(Account):
    limit: int = 0


def untyped(value):  # type: ignore[no-untyped-def]
    raise AssertionError("it ran")


def anything(value: Any) -> Any:
    raise AssertionError("it ran")


def takes_secret(value: Secret) -> Any:
    raise AssertionError("it ran")


LOST: list[tuple[Callable[..., Any], Any]] = [
    (takes_account, Bigger(owner="ana", opened=NOON, limit=9)),
    (takes_accounts, [Bigger(owner="ana", opened=NOON, limit=9)]),
    (takes_secret, Secret(token=pydantic.SecretStr("x"))),
    (untyped, ANA),
    (untyped, Path("a")),
    (anything, NOON),
    (anything, [Money(decimal.Decimal(1))]),
    (untyped, Unkeepable()),
]


@pytest.mark.parametrize(("function", "value"), LOST)
def test_what_cannot_be_rebuilt_is_refused_with_the_arguments_name_and_what_to_do(
    gate: Sayso, function: Callable[..., Any], value: Any
) -> None:
    decorated = gated(gate, function)
    with pytest.raises(WrongArguments, match="value") as raised:
        decorated(value)
    assert raised.value.hint
    result = gate.run("act", {"value": value})
    assert result.status == "error"
    assert "value" in (result.reason or "")
    assert (calls(gate), questions(gate)) == ([], [])


def test_a_workflow_takes_objects_and_gives_each_step_its_own_type(gate: Sayso) -> None:
    def first(account: Account, where: Path) -> str:
        assert account == ANA
        assert account is not ANA
        return f"{type(account).__name__} {type(where).__name__}"

    def second(where: str) -> str:
        return type(where).__name__

    gate.workflow("both", [Step("first", first), Step("second", second)])
    result = gate.run("both", {"account": ANA, "where": Path("a")})
    assert result.value == {"first": "Account PosixPath", "second": "str"}
    plain = gate.run("both", {"account": {**ANA_PLAIN, "tags": ["a", "b", "c"]}, "where": "a"})
    assert plain.value == result.value
    wrong: Result = gate.run("both", {"account": {"owner": 1}, "where": "a"})
    assert wrong.status == "error"
    assert "account" in (wrong.reason or "")


def test_an_agent_over_mcp_is_told_what_a_model_takes_and_no_type_hides_the_others(gate: Sayso) -> None:
    gate.capability("account")(takes_account)
    gate.capability("either")(takes_text_or_path)
    told = {one.name: one.params for one in list_runnables(gate)}
    account = told["account"]["properties"]["value"]
    assert set(account["properties"]) == {"owner", "opened", "tags"}
    assert told["either"]["properties"]["value"] == {}

"""A parameter that takes a text and a path alike takes both, and its own default, and gets what was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso
from sayso.doors.python.values.arguments import WrongArguments
from tests.support.people import Person, arguments, calls


def tidy_path(where: Path | str = "notes") -> Any:
    return where


def tidy_text(where: str | Path = Path("notes")) -> Any:
    return where


def tidy_perhaps(where: Path | str | None = "./notes") -> Any:
    return where


def tidy_exactly(where: Path | int = "notes") -> Any:  # type: ignore[assignment]
    return where


def gated(gate: Sayso, function: Any) -> Any:
    return gate.capability("tidy")(gate.requires_consent("tasks.tidy", wait=60)(function))


@pytest.mark.parametrize(
    ("function", "given", "comes"),
    [
        (tidy_path, (), Path("notes")),
        (tidy_path, ("a/b",), Path("a/b")),
        (tidy_path, (Path("a/b"),), Path("a/b")),
        (tidy_path, ("https://example.org//a",), "https://example.org//a"),
        (tidy_text, (), "notes"),
        (tidy_text, (Path("a/b"),), "a/b"),
        (tidy_perhaps, (), "./notes"),
        (tidy_perhaps, (None,), None),
        (tidy_perhaps, (Path("a"),), Path("a")),
    ],
)
def test_a_text_and_a_path_are_taken_alike(
    gate: Sayso, person: Person, function: Any, given: tuple[Any, ...], comes: Any
) -> None:
    tidy = gated(gate, function)
    person.says("once")
    came = tidy(*given)
    assert came == comes
    assert type(came) is type(comes)
    shown = [arguments(gate, row)["where"] for row in calls(gate)]
    assert shown == [None if comes is None else str(comes)], "what was approved is what came"


@pytest.mark.parametrize(("function", "comes"), [(tidy_path, Path("a/b")), (tidy_text, "a/b")])
def test_a_run_takes_a_path_as_a_call_does(gate: Sayso, person: Person, function: Any, comes: Any) -> None:
    gated(gate, function)
    person.says("once")
    done = gate.run("tidy", {"where": Path("a/b")})
    assert (done.status, done.value) == ("ok", comes), done.reason
    assert type(done.value) is type(comes)


def test_what_takes_no_text_still_gets_none_in_its_place(gate: Sayso) -> None:
    with pytest.raises(WrongArguments, match="would not come back as the same value"):
        gated(gate, tidy_exactly)()

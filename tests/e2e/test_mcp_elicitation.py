"""`sayso mcp serve --elicit` with a real client of the mcp SDK that shows forms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import ElicitResult

from tests.e2e.mcp_place import Place, told


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with closing(Place(tmp_path)) as made:
        yield made


def play(place: Place, filled: ElicitResult | None, *more: str, wait: float = 20.0) -> tuple[Any, list[Any]]:
    """Run a capability as a client whose user fills the form in like this; None for one without forms."""
    forms: list[Any] = []

    async def show(context: Any, params: Any) -> ElicitResult:
        forms.append(params)
        assert filled is not None
        return filled

    async def played() -> Any:
        command, *args = place.command(*more)
        server = StdioServerParameters(command=command, args=args, env=place.environment)
        callback = None if filled is None else show
        async with Client(stdio_client(server), mode="legacy", elicitation_callback=callback) as client:
            return await told(client, "run", None, name="create_task", params={"title": "a"}, wait=wait)

    return asyncio.run(played()), forms


def test_the_user_of_the_client_is_asked_and_the_call_runs(place: Place) -> None:
    result, forms = play(place, ElicitResult(action="accept", content={"answer": "once"}), "--elicit")
    assert result["status"] == "ok"
    assert place.ran == ["a"]
    assert "create_task" in forms[0].message
    assert "once" in forms[0].requested_schema["properties"]["answer"]["enum"]


def test_declined_is_denied(place: Place) -> None:
    result, _ = play(place, ElicitResult(action="decline"), "--elicit")
    assert (result["status"], place.ran) == ("denied", [])


def test_cancelled_leaves_it_open(place: Place) -> None:
    result, _ = play(place, ElicitResult(action="cancel"), "--elicit", wait=1.0)
    assert (result["status"], place.ran) == ("timeout", [])


def test_a_client_is_asked_only_if_the_operator_switched_it_on(place: Place) -> None:
    result, forms = play(place, ElicitResult(action="accept", content={"answer": "once"}), wait=1.0)
    assert (result["status"], forms, place.ran) == ("timeout", [], [])


def test_a_client_without_forms_is_not_asked(place: Place) -> None:
    result, _ = play(place, None, "--elicit", wait=1.0)
    assert (result["status"], place.ran) == ("timeout", [])

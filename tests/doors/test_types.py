"""A decorated function keeps its signature. What mypy says here is the test; running it must work as well."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, assert_type

import pytest

from sayso import Sayso
from sayso.doors.python.values.arguments import WrongArguments
from tests.support.people import Person


def test_a_decorated_function_keeps_its_signature(gate: Sayso, person: Person) -> None:
    @gate.capability()
    @gate.reduces_risk_for("notes.read", "low")
    @gate.requires_consent("tasks.create", risk="moderate", wait=60)
    def create(title: str, *, size: int = 1) -> list[str]:
        return [title] * size

    person.says("once")
    assert_type(create("x", size=2), list[str])
    with pytest.raises(WrongArguments):
        create(1)  # type: ignore[arg-type]
    with pytest.raises(WrongArguments):
        create("x", depth=2)  # type: ignore[call-arg]
    with pytest.raises(WrongArguments):
        create()  # type: ignore[call-arg]


def test_a_decorated_coroutine_function_is_one_still(gate: Sayso) -> None:
    @gate.requires_consent("tasks.create")
    async def create(title: str) -> int:
        return len(title)

    made = create("x")
    made.close()
    assert_type(made, Coroutine[Any, Any, int])  # type: ignore[unused-coroutine]


def test_a_decorated_method_is_bound_to_its_object(gate: Sayso, person: Person) -> None:
    class Tasks:
        @gate.requires_consent("tasks.create", wait=60)
        def create(self, title: str) -> int:
            return len(title)

        @staticmethod
        @gate.requires_consent("tasks.list", wait=60)
        def count(of: str) -> int:
            return len(of)

    person.says("once", "once")
    assert_type(Tasks().create("x"), int)
    assert_type(Tasks.count("x"), int)
    with pytest.raises(WrongArguments):
        Tasks().create(1)  # type: ignore[arg-type]

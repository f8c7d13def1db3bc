"""Two functions that declare the same operation differently: neither lightens the other."""

from __future__ import annotations

from itertools import permutations

import pytest

from sayso.core.model import Operation, Risk
from sayso.doors.python.calls.capability import Capabilities, Capability
from sayso.doors.python.values.arguments import Shape


def nothing() -> None:
    """A function to hang declarations on."""


def declared(*operations: Operation) -> Operation:
    known = Capabilities()
    for number, operation in enumerate(operations):
        known.add(Capability(f"f{number}", nothing, Shape(nothing), own=operation))
    return known.operation("a.b")


@pytest.mark.parametrize(
    ("one", "other", "weight"),
    [
        ((Risk.HIGH, None), (Risk.LOW, Risk.LOW), None),  # which then is the risk: high
        ((Risk.LOW, None), (Risk.LOW, Risk.HIGH), Risk.HIGH),
        ((Risk.LOW, None), (Risk.LOW, Risk.MODERATE), Risk.MODERATE),
        ((None, None), (None, Risk.LOW), Risk.HIGH),
        ((Risk.LOW, Risk.LOW), (Risk.LOW, Risk.MODERATE), Risk.MODERATE),
        ((Risk.HIGH, None), (Risk.LOW, None), None),
    ],
)
def test_the_heavier_declaration_counts_in_any_order(
    one: tuple[Risk | None, Risk | None], other: tuple[Risk | None, Risk | None], weight: Risk | None
) -> None:
    for pair in permutations((one, other)):
        made = declared(*(Operation("a.b", risk=risk, weight=said) for risk, said in pair))
        assert made.weight == weight
        assert made.risk == max((risk for risk, _ in (one, other) if risk is not None), default=None)

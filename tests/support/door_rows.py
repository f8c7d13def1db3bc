"""The table of calls that every door decides alike: what stands in data/doors/*.yaml.

A row is a policy, a call as a host makes it (`tool`, `args`), what code declares of it (`declared`; without
it, only the policy reads the call), and the decision. `found` says by hand what declaration and reading come
to, for the doors that take no declarations: the core and scripts. `before` happens first, in the same
session: a message, or a call with the answer to its question. `differs` names doors that are stricter, with
the sentence of the specification that wants it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML

from sayso.core.model import Mode, Operation, Risk
from sayso.core.policy import Policy, with_mode
from sayso.policy import load_preset, load_text

DATA = Path(__file__).parents[1] / "vectors" / "data" / "doors"


class Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What code says of a function: its operation and risk; without an operation it is a bare capability."""

    operation: str | None = None
    risk: str | None = None


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operation as declaration (`risk`) and reading leave it."""

    operation: str
    risk: str | None = None
    reading: str | None = None

    def as_operation(self) -> Operation:
        risk, reading = (None if word is None else Risk.parse(word) for word in (self.risk, self.reading))
        return Operation(self.operation, risk=risk, reading=reading)


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The decision, as every door tells it. `refused`: there is none, the call is malformed."""

    verdict: str = ""
    rule: str = ""
    risk: str = ""
    refused: bool = False

    def __str__(self) -> str:
        return "refused" if self.refused else f"{self.verdict} by {self.rule} at {self.risk}"


class Differing(Expected, frozen=True, forbid_unknown_fields=True):
    """The stricter decision of one kind of door, and the sentence that says so."""

    because: str = ""


class Made(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as a host makes it, and what code declares of it."""

    tool: str = ""
    args: dict[str, Any] = {}
    declared: Declared | None = None
    found: tuple[Found, ...] = ()
    confidence: float | None = None
    answer: str | None = None
    """How the question it opens is answered, where it happens before the row's own call."""
    hear: str | None = None
    """A message of the user, instead of a call."""


class Row(Made, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One call and its decision."""

    id: str
    source: str
    expect: Expected
    preset: str | None = None
    policy: dict[str, Any] | None = None
    approval: str | None = None
    before: tuple[Made, ...] = ()
    differs: Mapping[str, Differing] = {}

    def in_force(self) -> Policy:
        mode = None if self.approval is None else Mode(self.approval)
        if self.preset is not None:
            return with_mode(load_preset(self.preset), mode)
        return with_mode(load_text(json.dumps(self.policy), name=self.id), mode)

    def expected_of(self, kind: str) -> Expected:
        """What a door of this kind has to decide."""
        other = self.differs.get(kind)
        if other is None:
            return self.expect
        return Expected(other.verdict, other.rule, other.risk, other.refused)


@cache
def rows() -> tuple[Row, ...]:
    """Every row of every file, in the order written."""
    loader = YAML(typ="safe", pure=True)
    return tuple(
        msgspec.convert(entry, Row) for path in sorted(DATA.glob("*.yaml")) for entry in loader.load(path)
    )

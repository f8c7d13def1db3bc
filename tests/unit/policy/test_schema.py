"""The published JSON Schema is current, accepts what loads, and refuses what does not."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from sayso.policy import schema
from sayso.policy.load import preset_texts
from tests.support.repository import PUBLISHED_SCHEMA
from tests.unit.policy.test_graph_form import GRAPH
from tests.unit.policy.test_load import FULL

SCHEMA = schema.build_schema()
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
    "null": (type(None),),
}


def fits(value: Any, rule: dict[str, Any]) -> bool:
    """Whether a value fits a schema, for the words that ours uses. An unknown word fails the test."""
    return all(CHECKS[word](value, wanted, rule) for word, wanted in rule.items() if word not in REMARKS)


def _typed(value: Any, wanted: str | list[str]) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    return any(
        isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
        for name in names
    )


REMARKS = {"$schema", "$defs", "title", "description", "examples", "default"}
CHECKS: dict[str, Any] = {
    "$ref": lambda value, wanted, rule: fits(value, SCHEMA["$defs"][wanted.rpartition("/")[2]]),
    "anyOf": lambda value, wanted, rule: any(fits(value, one) for one in wanted),
    "not": lambda value, wanted, rule: not fits(value, wanted),
    "type": lambda value, wanted, rule: _typed(value, wanted),
    "enum": lambda value, wanted, rule: value in wanted,
    "const": lambda value, wanted, rule: value == wanted,
    "pattern": lambda value, wanted, rule: re.search(wanted, value) is not None,
    "minLength": lambda value, wanted, rule: len(value) >= wanted,
    "maxLength": lambda value, wanted, rule: len(value) <= wanted,
    "minimum": lambda value, wanted, rule: value >= wanted,
    "maximum": lambda value, wanted, rule: value <= wanted,
    "minProperties": lambda value, wanted, rule: len(value) >= wanted,
    "required": lambda value, wanted, rule: all(name in value for name in wanted),
    "items": lambda value, wanted, rule: all(fits(one, wanted) for one in value),
    "propertyNames": lambda value, wanted, rule: all(fits(name, wanted) for name in value),
    "properties": lambda value, wanted, rule: all(
        fits(value[name], wanted[name]) for name in wanted if name in value
    ),
    "additionalProperties": lambda value, wanted, rule: all(
        wanted is not False and fits(member, wanted)
        for name, member in value.items()
        if name not in rule.get("properties", {})
    ),
}


def parsed(text: str) -> Any:
    """Plain values. Dates stay text, as in the policy file."""
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(text), default=str))


def test_the_published_schema_is_the_current_one() -> None:
    assert PUBLISHED_SCHEMA.read_text("utf-8") == schema.schema_text()


@pytest.mark.parametrize("name", sorted(preset_texts()))
def test_every_preset_fits(name: str) -> None:
    assert fits(parsed(preset_texts()[name].decode()), SCHEMA)


def test_a_file_with_every_key_fits() -> None:
    assert fits(parsed(FULL), SCHEMA)


def test_a_graph_fits_in_its_own_form() -> None:
    assert fits(GRAPH, SCHEMA)
    assert fits({**GRAPH, "last_reviewed": "2026-11-15"}, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "mode: balenced",
        "domians: {email: {autonomous: []}}",
        "settings: {confidence_threshold: 1.5}",
        "settings: {confidence_bypass: 'yes'}",
        "settings: {saef: auto}",
        "domains: {a: {autonomous: [], blocked: []}}",
        "domains: {a b: {autonomous: [], requires_approval: [], blocked: []}}",
        "operations: {push: {risk: high}}",
        "operations: {a.b: {risk: hihg}}",
        "consent_decay: {review_interval_days: 0}",
        "tools: [{operation: a.b}]",
        "tools: [{tool: x, from: args}]",
        "slash_commands: {commit: {query: allowlist}}",
        "extends: balanced",
        "sayso: 2",
        "email: {autonomous: [], requires_approval: []}",
    ],
)
def test_what_does_not_load_does_not_fit(text: str) -> None:
    assert not fits(parsed(text), SCHEMA)


def test_every_type_is_described() -> None:
    assert [name for name, part in SCHEMA["$defs"].items() if not part.get("description")] == []

"""The JSON Schema of the policy file, generated from its types, so that editors complete and check it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sayso.policy.file import GRAPH_KEYS, DomainFile, PolicyFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_schema() -> dict[str, Any]:
    """The schema of both forms of a policy: the normal one, and the graph form, domains at the top."""
    (normal, domain), parts = msgspec.json.schema_components(
        (PolicyFile, DomainFile), ref_template="#/$defs/{name}"
    )
    parts["PolicyFile"]["minProperties"] = 1  # an empty file is refused
    keys = parts["PolicyFile"]["properties"]
    return {
        "$schema": DIALECT,
        "title": "Sayso policy",
        "anyOf": [normal, {"$ref": "#/$defs/Graph"}],
        "$defs": {**parts, "Graph": _graph_schema(keys, domain)},
    }


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(build_schema(), indent=2, ensure_ascii=False) + "\n"


def _graph_schema(keys: dict[str, Any], domain: dict[str, Any]) -> dict[str, Any]:
    """Every key but a few is a domain, and none is a key of the normal form."""
    beside = {name: keys[name] for name in GRAPH_KEYS if name in keys}
    beside["last_reviewed"] = {"type": ["string", "null"]}
    reserved = [name for name in keys if name not in GRAPH_KEYS]
    return {
        "title": "Graph",
        "description": "A consent graph: its domains stand at the top.",
        "type": "object",
        "minProperties": 1,
        "properties": beside,
        "propertyNames": {"not": {"enum": reserved}},
        "additionalProperties": domain,
    }

"""The service described for programs: an OpenAPI 3.1 document, made from the endpoints and their types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from sayso.service.http.endpoints import Context, Endpoint
from sayso.service.http.problems import Problem
from sayso.wire import KEY_HEADER, SESSION_HEADER

NUMBERS = {"limit": "integer", "wait": "number", "seconds": "number"}
"""Parameters of queries that are not text."""
KEYED = ("/v1/calls", "/access/v1/requests")
"""Where an Idempotency-Key says that requests are the same one."""
REFUSALS = {
    "400": "The request says nothing clear",
    "401": "No token, or nobody's",
    "403": "Not for this role, or started by another site",
    "404": "Nothing of that name exists for this caller",
    "409": "Not as things stand",
    "410": "Too late for it",
    "413": "The body is too large",
    "422": "The body is not of the type described",
    "429": "Too many requests with this token",
    "503": "The store cannot do its work",
}
ABOUT = (
    "Decide, ask and answer over HTTP. Every endpoint says which roles its token may have. Errors are "
    "problems of RFC 9457. Who asks is known from the token, and from nothing in the request."
)


def openapi_endpoint(described: Sequence[Endpoint]) -> Endpoint:
    """The endpoint that tells what the others are, and itself."""
    made: list[dict[str, Any]] = []

    def tell(context: Context) -> dict[str, Any]:
        if not made:
            made.append(build_document((*described, own)))
        return made[0]

    own = Endpoint("GET", "/openapi.json", frozenset(), "Get this description", tell, result=dict[str, Any])
    return own


def build_document(described: Sequence[Endpoint]) -> dict[str, Any]:
    """The whole description."""
    types = [Problem, *(kind for one in described for kind in (one.body, one.result) if kind is not None)]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    known = iter(schemas)
    problem = next(known)
    paths: dict[str, dict[str, Any]] = {}
    for one in described:
        body = next(known) if one.body is not None else None
        result = next(known) if one.result is not None else None
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, body, result, problem)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sayso", "version": version("sayso"), "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Endpoint, body: Any, result: Any, problem: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": _name(one),
        "summary": one.summary,
        "description": _about(one),
        "parameters": _parameters(one),
        "responses": {
            str(one.status): {"description": "Done", "content": {one.media: {"schema": result or {}}}},
            **{status: _refusal(words, problem) for status, words in REFUSALS.items()},
        },
        "security": [{"token": []}] if one.roles else [],
        "x-roles": sorted(one.roles),
    }
    if body is not None:
        told["requestBody"] = {"required": not one.bare, "content": {"application/json": {"schema": body}}}
    return told


def _name(one: Endpoint) -> str:
    words = re.findall(r"\w+", one.path.removeprefix("/v1").replace(".", " "))
    return "_".join([one.method.lower(), *words])


def _about(one: Endpoint) -> str:
    who = ", ".join(sorted(one.roles)) or "everybody, without a token"
    return f"{(one.answer.__doc__ or '').strip()}\n\nFor: {who}.".strip()


def _parameters(one: Endpoint) -> list[dict[str, Any]]:
    named = re.findall(r"\{(\w+)\}", one.path)
    told: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in named
    ]
    told += [
        {"name": name, "in": "query", "description": about, "schema": {"type": NUMBERS.get(name, "string")}}
        for name, about in one.query.items()
    ]
    if one.method == "POST" and one.path in KEYED:
        about = "The same key with the same body gives what was recorded again."
        told.append(_header(KEY_HEADER, about, {"minLength": 1, "maxLength": 200}))
    if one.authzen:
        told.append(_header("X-Request-ID", "Comes back with the answer.", {}))
    if one.authzen and one.body is not None:
        told.append(_header(SESSION_HEADER, "The session it is about; an agent has its own.", {}))
    return told


def _header(name: str, about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": about, "schema": {"type": "string", **schema}}


def _refusal(words: str, problem: Any) -> dict[str, Any]:
    return {"description": words, "content": {"application/problem+json": {"schema": problem}}}

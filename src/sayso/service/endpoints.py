"""Endpoints as data: method, path, who may, what goes in and out, and the function that does it.

The routes, the checks of roles and bodies, and the OpenAPI description are all made from these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from sayso.doors.python.door import Door
from sayso.gate.gate import Gate
from sayso.gate.tokens import Role, Token

ANY: frozenset[Role] = frozenset({"agent", "host", "operator"})
HOSTS: frozenset[Role] = frozenset({"host", "operator"})
OPERATORS: frozenset[Role] = frozenset({"operator"})


class Context(msgspec.Struct, frozen=True):
    """Who asks, and what is at hand to answer: everything about the caller comes from their token."""

    door: Door
    token: Token
    parameters: Mapping[str, str]
    query: Mapping[str, str]
    body: Any = None
    key: str | None = None
    """The Idempotency-Key of the request."""

    @property
    def gate(self) -> Gate:
        return self.door.gate


class Endpoint(msgspec.Struct, frozen=True):
    """One endpoint. A function that blocks is run in a thread; one that waits is a coroutine function."""

    method: str
    path: str
    roles: frozenset[Role]
    summary: str
    answer: Callable[[Context], Any] | Callable[[Context], Awaitable[Any]]
    body: type | None = None
    result: Any = None
    status: int = 200
    query: Mapping[str, str] = {}
    """Parameters of the query, and what each is for."""

"""Calls that an AuthZEN evaluation stands for: their arguments hold everything that was evaluated.

People see a call's arguments, approvals are bound to them, and grants pin them. Subject, action, resource and
context are all among them, so whatever was evaluated is what was shown and approved.
"""

from __future__ import annotations

from typing import Any

from sayso.core.errors import MalformedRequest

MARK = "authzen/"
"""How the schemas of such calls begin. Callers cannot name one of these."""
OPERATION = f"{MARK}1"
"""Marks an operation that somebody else carries out: no tool of ours runs with these arguments."""
TOOL = f"{MARK}1 tool"
"""Marks the call of a tool, which runs with its own arguments only."""
EVALUATED = "authzen"
"""The argument of a tool's call that holds who wants it, by which action, and in which context."""


def tool_arguments(properties: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a tool's call together with the rest of what was evaluated."""
    if EVALUATED in properties:
        raise MalformedRequest(
            f"a tool that is evaluated has no argument {EVALUATED!r}", hint="call it through /v1/calls"
        )
    return {**properties, EVALUATED: {name: asked[name] for name in ("subject", "action", "context")}}

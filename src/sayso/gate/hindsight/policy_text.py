"""Changing the text of a policy file: an entry more, an action moved. Comments and the rest stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.model import Tier

TIERS = tuple(tier.value for tier in Tier)


class CannotChange(SaysoError):
    """The file cannot be changed in this way by a program."""

    code = "cannot_change"


class ToolChange(msgspec.Struct, frozen=True):
    """Let exactly one call run unasked: a tool entry that fits only it, and an operation of its own."""

    tool: str
    when: str
    domain: str
    action: str
    risk: str
    command: str | None = None
    ignore: tuple[str, ...] = ()
    title: str | None = None


class MovedActions(msgspec.Struct, frozen=True):
    """Move actions of a domain to another list."""

    domain: str
    actions: tuple[str, ...]
    to: str


PolicyChange = ToolChange | MovedActions


def change_policy_text(text: str, change: PolicyChange, *, as_json: bool) -> str:
    """Return the text of a policy file after this change."""
    document, write = _parse(text, as_json)
    if not isinstance(document, dict):
        raise CannotChange("the policy file is not a mapping")
    if isinstance(change, ToolChange):
        _add_tool(document, change)
    else:
        _move_actions(_find_domain(document, change.domain), change)
    return write(document)


def _parse(text: str, as_json: bool) -> tuple[Any, Callable[[Any], str]]:
    if as_json:
        return json.loads(text), lambda document: json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 100_000
    try:
        document = yaml.load(text)
    except YAMLError as error:
        raise CannotChange("the policy file cannot be read as YAML") from error

    def write(changed: Any) -> str:
        out = StringIO()
        yaml.dump(changed, out)
        return out.getvalue()

    return document, write


def _add_tool(document: dict[str, Any], change: ToolChange) -> None:
    """Put the entry before all others: the first that fits is used."""
    if "domains" not in document and "sayso" not in document and "extends" not in document:
        raise CannotChange("a file in graph form has no tool entries", hint="begin it with `sayso: 1`")
    entry: dict[str, Any] = {
        "tool": change.tool,
        "operation": f"{change.domain}.{change.action}",
        "when": change.when,
        "risk": change.risk,
    }
    entry |= {"command": change.command} if change.command else {}
    entry |= {"ignore": list(change.ignore)} if change.command and change.ignore else {}
    entry |= {"title": change.title} if change.title else {}
    tools = document.setdefault("tools", [])
    tools.insert(0, entry)
    domain = _find_domain(document, change.domain)
    if change.action not in domain["autonomous"]:
        domain["autonomous"].append(change.action)


def _move_actions(domain: dict[str, Any], change: MovedActions) -> None:
    for tier in TIERS:
        domain[tier] = [one for one in domain[tier] if one not in change.actions or tier == change.to]
    domain[change.to] += [one for one in change.actions if one not in domain[change.to]]


def _find_domain(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the lists of a domain in this file; empty ones if only a preset knows it."""
    graph = "domains" not in document and "sayso" not in document and "extends" not in document
    domains = document if graph else document.setdefault("domains", {})
    domain = domains.setdefault(name, {tier: [] for tier in TIERS})
    if not isinstance(domain, dict) or any(not isinstance(domain.get(tier), list) for tier in TIERS):
        raise CannotChange(f"the lists of {name} cannot be changed by a program", hint="edit the file")
    return domain

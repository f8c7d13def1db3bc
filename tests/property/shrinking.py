"""Trying a property on many worlds, and making a failing one small: leave things out while it still fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from sayso.core.policy import Policy, compile_policy
from sayso.core.session import View
from tests.property.worlds import World, bulk

WORLDS = 20_000 if os.environ.get("SAYSO_ALL") else 3_000


def hold(check: Callable[[World], None], *, seed: int = 0, count: int = WORLDS) -> None:
    """Try a check on so many worlds; the first that fails is made small and told, with its name."""
    for name, world in bulk(seed, count):
        try:
            check(world)
        except AssertionError as failure:
            small = shrunk(world, lambda each: _fails(check, each))
            pytest.fail(f"{failure}\nworld(Random({name!r})), made small:\n{told(small)}")


def _fails(check: Callable[[World], None], world: World) -> bool:
    try:
        check(world)
    except AssertionError:
        return True
    return False


def shrunk(world: World, fails: Callable[[World], bool]) -> World:
    """A world that still fails and of which no single part can be left out."""
    while True:
        smaller = next((each for each in _smaller(world) if fails(each)), None)
        if smaller is None:
            return world
        world = smaller


def told(world: World) -> str:
    """A world as a few lines, its plain values left out: enough to build it again by hand."""
    policy = {name: getattr(world.policy, name) for name in _WRITTEN}
    lines = [
        f"request  {_brief(world.request)}",
        f"policy   {', '.join(f'{name}={_brief(value)}' for name, value in policy.items() if value)}",
        f"view     {_brief(world.view)}",
        f"now      {world.now!r}",
    ]
    return "\n".join(lines)


def _smaller(world: World) -> Iterator[World]:
    replace = msgspec.structs.replace
    for operations in _shorter(world.request.operations):
        if operations:
            yield replace(world, request=replace(world.request, operations=operations))
    for plain in _plainer(world.request, ("origin", "confidence")):
        yield replace(world, request=plain)
    for number, operation in enumerate(world.request.operations):
        for plain in _plainer(operation):
            operations = (*world.request.operations[:number], plain, *world.request.operations[number + 1 :])
            yield replace(world, request=replace(world.request, operations=operations))
    for view in _smaller_views(world.view):
        yield replace(world, view=view)
    for policy in _smaller_policies(world.policy):
        yield replace(world, policy=policy)


def _smaller_views(view: View) -> Iterator[View]:
    replace = msgspec.structs.replace
    yield from _plainer(view, ("notices", "time_trusted", "parent_stopped"))
    for scope in _plainer(view.scope):
        yield replace(view, scope=scope)
    for reviews in _fewer(view.reviews):
        yield replace(view, reviews=reviews)
    for session in _plainer(view.session, _SESSION):
        yield replace(view, session=session)
    for key, row in view.session.grants.items():
        for shorter in _shorter(row):
            yield replace(view, session=replace(view.session, grants={**view.session.grants, key: shorter}))
        for number, held in enumerate(row):
            for plain in _plainer(held.grant, ("pins", "uses", "ends_with", "bound_to", "group")):
                rows = (*row[:number], replace(held, grant=plain), *row[number + 1 :])
                yield replace(view, session=replace(view.session, grants={**view.session.grants, key: rows}))


_SESSION: tuple[str, ...] = (
    "grants",
    "heard_at",
    "slash",
    "slash_calls",
    "imperatives",
    "ceiling",
    "stopped",
)
_SESSION += ("task", "plan", "shelved", "suspended", "denials", "sent", "turn")
_WRITTEN = ("mode", "settings", "decay", "domains", "operations", "categories", "slash_commands")


def _smaller_policies(policy: Policy) -> Iterator[Policy]:
    written = {name: getattr(policy, name) for name in _WRITTEN}
    for name in ("domains", "operations"):
        for fewer in _fewer(written[name]):
            yield compile_policy(**{**written, name: fewer})
        for key, value in written[name].items():
            for plain in _plainer(value):
                yield compile_policy(**{**written, name: {**written[name], key: plain}})
    for name in ("settings", "decay"):
        for plain in _plainer(written[name]):
            yield compile_policy(**{**written, name: plain})


def _plainer(value: Any, names: tuple[str, ...] | None = None) -> Iterator[Any]:
    """The same with one field at its default."""
    for field in msgspec.structs.fields(value):
        if names is not None and field.name not in names:
            continue
        default = _default(field)
        if default is not msgspec.NODEFAULT and getattr(value, field.name) != default:
            yield msgspec.structs.replace(value, **{field.name: default})


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _shorter(row: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for number in range(len(row)):
        yield (*row[:number], *row[number + 1 :])


def _fewer(mapping: Mapping[Any, Any]) -> Iterator[dict[Any, Any]]:
    for left_out in mapping:
        yield {key: value for key, value in mapping.items() if key != left_out}


def _brief(value: Any) -> str:
    """A struct without the fields that stand at their defaults."""
    if isinstance(value, msgspec.Struct):
        fields = [
            (field.name, getattr(value, field.name), _default(field))
            for field in msgspec.structs.fields(value)
        ]
        shown = ", ".join(f"{name}={_brief(field)}" for name, field, default in fields if field != default)
        return f"{type(value).__name__}({shown})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_brief, value))})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_brief(member)}" for key, member in value.items()) + "}"
    return repr(value)

"""Looking into the arguments of a call by the paths that tool entries name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def values_at(args: Mapping[str, Any], paths: str) -> list[Any]:
    """Return the values at `args.to`, or at several such paths separated by commas.

    A list on the way gives each of its members; what is not there gives nothing.
    """
    return [value for _, value in arguments_at(args, paths)]


def arguments_at(args: Mapping[str, Any], paths: str) -> list[tuple[str, Any]]:
    """The same, each with the name of the argument it is in."""
    found: list[tuple[str, Any]] = []
    for path in paths.split(","):
        steps = path.strip().split(".")
        steps = steps[1:] if steps[0] == "args" else steps
        found += ((steps[0] if steps else "", value) for value in _walk_down(args, steps))
    return found


def has_value_at(args: Mapping[str, Any], paths: str) -> bool:
    """Return whether something that is not empty stands at one of these paths."""
    return any(
        bool(value.strip()) if isinstance(value, str) else bool(value) for value in values_at(args, paths)
    )


def named_values(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every named value in here with its name, at any depth; also in a text that is JSON."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        inner = _parse_json(one) if isinstance(one, str) else one
        if isinstance(inner, Mapping):
            yield from inner.items()
            waiting += inner.values()
        elif isinstance(inner, (list, tuple)):
            waiting += inner


def undeclared_values(args: Mapping[str, Any], paths: str) -> Iterator[tuple[str, Any]]:
    """Yield every named value but those at these paths; of a declared argument what else is in it."""
    split = [path.strip().removeprefix("args.").split(".") for path in paths.split(",")]
    steps = {path[0]: {step for one in split if one[0] == path[0] for step in one} for path in split}
    for name, value in args.items():
        if name not in steps:
            yield name, value
        yield from (one for one in named_values(value) if one[0] not in steps.get(name, ()))


def _parse_json(text: str) -> Any:
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _walk_down(value: Any, steps: list[str]) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for member in value:
            yield from _walk_down(member, steps)
    elif not steps:
        if value is not None:
            yield value
    elif isinstance(value, Mapping) and steps[0] in value:
        yield from _walk_down(value[steps[0]], steps[1:])

"""A set of cases in few words: the dimensions that matter, and their values."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.policy.cases import Case

DIMENSIONS: tuple[str, ...] = Case.__struct_fields__
_Values = tuple[str, ...]


def conditions(changed: Sequence[Case], every: Sequence[Case]) -> tuple[str, ...]:
    """When a change applies: few conditions that together are exactly the changed cases."""
    full = {name: _seen(every, name) for name in DIMENSIONS}
    return tuple(_words(block, full) for block in _blocks(set(changed), DIMENSIONS))


def _blocks(cases: set[Case], dimensions: tuple[str, ...]) -> list[dict[str, _Values]]:
    """The cases as blocks, each a product of values. Values that behave alike share a block."""
    if not dimensions:
        return [{}]
    name, rest = dimensions[0], dimensions[1:]
    alike: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for value in _seen(list(cases), name):
        tails = frozenset(_tail(case, rest) for case in cases if getattr(case, name) == value)
        alike.setdefault(tails, []).append(value)
    blocks = []
    for values in alike.values():
        inner = {case for case in cases if getattr(case, name) == values[0]}
        blocks += [{name: tuple(values)} | block for block in _blocks(inner, rest)]
    return blocks


def _tail(case: Case, dimensions: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(getattr(case, name) for name in dimensions)


def _seen(cases: Sequence[Case], name: str) -> _Values:
    return tuple(sorted({getattr(case, name) for case in cases}))


def _words(block: dict[str, _Values], full: dict[str, _Values]) -> str:
    said = [_WORDS[name](values) for name, values in block.items() if set(values) != set(full[name])]
    return ", ".join(said) or "always"


def _or(values: _Values) -> str:
    return " or ".join(values)


def _consent(values: _Values) -> str:
    return _or(
        tuple(_CONSENTS.get(kind, kind).format(name) for kind, _, name in (v.partition(" ") for v in values))
    )


_CONSENTS = {
    "none": "nothing granted",
    "operation": "operation granted",
    "command": "command on the allowlist",
    "tool": "tool remembered",
    "order": "command ordered by the user",
    "outer": "inside a granted moderate call",
    "category": "task consent for {}",
    "slash": "after {}",
    "run": "in a granted run of {}",
    "sent": "same content sent before",
}

_WORDS = {
    "mode": lambda values: f"mode {_or(values)}",
    "declared": lambda values: f"declared {_or(values)}",
    "origin": lambda values: f"from {_or(values)}",
    "confidence": lambda values: f"confidence {_or(values)}",
    "review": lambda values: f"reviewed {_or(tuple(v if v == 'never' else f'{v} days ago' for v in values))}",
    "consent": _consent,
}

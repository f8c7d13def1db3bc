"""A set of cases in few words, for people: the dimensions that matter, and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sayso.policy.compare.cases import NO_VALUE, NOT_CHOSEN, Case

DIMENSIONS: tuple[str, ...] = Case.__struct_fields__
PLAIN = DIMENSIONS[:-2]
"""All but the reading of the call and the consent given before."""

_Values = tuple[str, ...]


def describe_conditions(changed: Sequence[Case], every: Sequence[Case]) -> tuple[str, ...]:
    """When a change applies. Readings of the call and consent are told only where the change needs them."""
    full = {name: _distinct_values(every, name) for name in DIMENSIONS}
    blocks: list[dict[str, _Values]] = []
    shown: set[_Values] = set()
    for needed in (0, 1, 2):
        found = [
            case for case in changed if _count_needs(case) <= needed and _values_of(case, PLAIN) not in shown
        ]
        shown |= {_values_of(case, PLAIN) for case in found}
        blocks += _group_into_blocks(found, DIMENSIONS if needed else PLAIN) if found else []
    return tuple(_describe_block(block, full) for block in blocks)


def _count_needs(case: Case) -> int:
    return (case.reading != NO_VALUE) + (case.consent != NO_VALUE)


def _group_into_blocks(cases: Sequence[Case], dimensions: tuple[str, ...]) -> list[dict[str, _Values]]:
    """The cases as blocks, each a product of values. Values that behave alike share a block."""
    if not dimensions:
        return [{}]
    name, rest = dimensions[0], dimensions[1:]
    alike: dict[frozenset[_Values], list[str]] = {}
    for value in _distinct_values(cases, name):
        tails = frozenset(_values_of(case, rest) for case in cases if getattr(case, name) == value)
        alike.setdefault(tails, []).append(value)
    blocks = []
    for values in alike.values():
        inner = [case for case in cases if getattr(case, name) == values[0]]
        blocks += [{name: tuple(values)} | block for block in _group_into_blocks(inner, rest)]
    return blocks


def _values_of(case: Case, dimensions: tuple[str, ...]) -> _Values:
    return tuple(getattr(case, name) for name in dimensions)


def _distinct_values(cases: Sequence[Case], name: str) -> _Values:
    return tuple(dict.fromkeys(getattr(case, name) for case in cases))


def _describe_block(block: dict[str, _Values], full: dict[str, _Values]) -> str:
    """Dimensions that do not matter are left out, all but the mode, which everybody looks for."""
    partial = {name: values for name, values in block.items() if _matters(name, values, full[name])}
    said = [] if "mode" in partial else ["in every mode"]
    said += [_DESCRIBERS[name](values) for name, values in partial.items()]
    return ", ".join(said)


def _matters(name: str, values: _Values, full: _Values) -> bool:
    return set(values) != set(full) and (name in PLAIN or NO_VALUE not in values)


def _join_or(values: Sequence[str]) -> str:
    return " or ".join(values)


def _describe_mode(values: _Values) -> str:
    named = [value for value in values if value != NOT_CHOSEN]
    words = [f"mode {_join_or(named)}"] if named else []
    return _join_or([*words, "no mode chosen"] if NOT_CHOSEN in values else words)


def _describe_declared(values: _Values) -> str:
    """The risk that code declares: "declared risk low or none"."""
    return f"declared risk {_join_or(sorted(values, key=lambda value: value == NO_VALUE))}"


def _describe_reading(values: _Values) -> str:
    return f"if the call reads as {_join_or(values)}"


def _describe_review(values: _Values) -> str:
    return _join_or([_REVIEWS.get(value, f"last reviewed {value} days ago") for value in values])


def _describe_consent(values: _Values) -> str:
    return f"if {_join_or([_describe_kind(value) for value in values])}"


def _describe_kind(consent: str) -> str:
    kind, _, name = consent.partition(" ")
    return _CONSENTS[kind].format(name)


_REVIEWS = {"0": "just reviewed", "never": "never reviewed"}

_CONSENTS = {
    "operation": "the operation is granted",
    "command": "the command is on the allowlist",
    "tool": "the tool is remembered",
    "order": "the user ordered the command",
    "outer": "inside a granted moderate call",
    "category": "the task has consent for {}",
    "slash": "the user typed {}",
    "run": "in a granted run of {}",
    "sent": "the same content was sent before",
}

_DESCRIBERS: dict[str, Callable[[_Values], str]] = {
    "mode": _describe_mode,
    "declared": _describe_declared,
    "reading": _describe_reading,
    "origin": lambda values: f"from {_join_or(values)}",
    "confidence": lambda values: f"confidence {_join_or(values)}",
    "review": _describe_review,
    "consent": _describe_consent,
}

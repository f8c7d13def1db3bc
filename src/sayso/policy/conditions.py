"""A set of cases in few words, for people: the dimensions that matter, and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sayso.policy.cases import NO_CONSENT, NOT_CHOSEN, Case

DIMENSIONS: tuple[str, ...] = Case.__struct_fields__
_Values = tuple[str, ...]


def conditions(changed: Sequence[Case], every: Sequence[Case]) -> tuple[str, ...]:
    """When a change applies. Consent is told only where it takes consent for the change to show."""
    full = {name: _seen(every, name) for name in DIMENSIONS}
    plain = [case for case in changed if case.consent == NO_CONSENT]
    shown = {_tail(case, DIMENSIONS[:-1]) for case in plain}
    hidden = [case for case in changed if _tail(case, DIMENSIONS[:-1]) not in shown]
    blocks = _blocks(plain, DIMENSIONS[:-1]) if plain else []
    blocks += _blocks(hidden, DIMENSIONS) if hidden else []
    return tuple(_words(block, full) for block in blocks)


def _blocks(cases: Sequence[Case], dimensions: tuple[str, ...]) -> list[dict[str, _Values]]:
    """The cases as blocks, each a product of values. Values that behave alike share a block."""
    if not dimensions:
        return [{}]
    name, rest = dimensions[0], dimensions[1:]
    alike: dict[frozenset[_Values], list[str]] = {}
    for value in _seen(cases, name):
        tails = frozenset(_tail(case, rest) for case in cases if getattr(case, name) == value)
        alike.setdefault(tails, []).append(value)
    blocks = []
    for values in alike.values():
        inner = [case for case in cases if getattr(case, name) == values[0]]
        blocks += [{name: tuple(values)} | block for block in _blocks(inner, rest)]
    return blocks


def _tail(case: Case, dimensions: tuple[str, ...]) -> _Values:
    return tuple(getattr(case, name) for name in dimensions)


def _seen(cases: Sequence[Case], name: str) -> _Values:
    return tuple(dict.fromkeys(getattr(case, name) for case in cases))


def _words(block: dict[str, _Values], full: dict[str, _Values]) -> str:
    """Dimensions that do not matter are left out, all but the mode, which everybody looks for."""
    partial = {name: values for name, values in block.items() if set(values) != set(full[name])}
    said = [] if "mode" in partial else ["in every mode"]
    said += [_WORDS[name](values, full[name]) for name, values in partial.items()]
    return ", ".join(said)


def _or(values: Sequence[str]) -> str:
    return " or ".join(values)


def _mode(values: _Values, full: _Values) -> str:
    named = [value for value in values if value != NOT_CHOSEN]
    words = [f"mode {_or(named)}"] if named else []
    return _or([*words, "no mode chosen"] if NOT_CHOSEN in values else words)


def _review(values: _Values, full: _Values) -> str:
    return _or([_REVIEWS.get(value, f"last reviewed {value} days ago") for value in values])


def _consent(values: _Values, full: _Values) -> str:
    return f"if {_or([_kind(value) for value in values])}"


def _kind(consent: str) -> str:
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

_WORDS: dict[str, Callable[[_Values, _Values], str]] = {
    "mode": _mode,
    "declared": lambda values, full: f"declared {_or(values)}",
    "origin": lambda values, full: f"from {_or(values)}",
    "confidence": lambda values, full: f"confidence {_or(values)}",
    "review": _review,
    "consent": _consent,
}

"""Core's types cannot be changed once made: whoever holds a decision holds the decision that was made."""

from __future__ import annotations

import enum
import pkgutil
import typing
from collections.abc import Iterator
from importlib import import_module

import msgspec
import pytest

import sayso.core

MUTABLE = (list, dict, set, bytearray)

# Classes that collect something while one function runs and are never handed out.
INSIDE_ONE_CALL = {"sayso.core.audit.chain.Chain", "sayso.core.conversation.hearing.Hearing"}
# Compiles itself when it is first used; what it matches never changes.
COMPILED_LATE = {"sayso.core.text.patterns.LazyPattern"}
# Handed out as a RawBody, whose commitments are a Mapping; read as a dict because that is quicker.
DECODED = {"sayso.core.audit.bulk._DecodedBody"}


class Loose(msgspec.Struct):
    """What core must not have: a type that can be changed."""

    uses: int = 1


class Leaky(msgspec.Struct, frozen=True):
    """Frozen itself, but what it holds is not."""

    grants: tuple[dict[str, int], ...] = ()


def classes() -> list[type]:
    """Every class that a module of core defines."""
    names = [info.name for info in pkgutil.walk_packages(sayso.core.__path__, "sayso.core.")]
    values = [value for name in names for value in vars(import_module(name)).values()]
    found = {value for value in values if isinstance(value, type) and value.__module__ in names}
    return sorted(found, key=lambda cls: f"{cls.__module__}.{cls.__qualname__}")


def faults(cls: type) -> Iterator[str]:
    """What about a class lets its instances change."""
    if issubclass(cls, (enum.Enum, BaseException)) or getattr(cls, "_is_protocol", False):
        return
    if not issubclass(cls, msgspec.Struct):
        yield "is neither a Struct, an Enum, a Protocol nor an exception"
        return
    known = {one.__name__: one for one in classes()}  # also what a module imports for type checkers only
    if not cls.__struct_config__.frozen:
        yield "is not frozen"
    for name, hint in typing.get_type_hints(cls, localns=known).items():
        if holds_mutable(hint):
            yield f"{name} can be changed in place: use a tuple, a frozenset or a Mapping"


def holds_mutable(hint: object) -> bool:
    if typing.get_origin(hint) is typing.ClassVar:
        return False
    return (typing.get_origin(hint) or hint) in MUTABLE or any(map(holds_mutable, typing.get_args(hint)))


def test_no_core_type_that_is_handed_out_can_change() -> None:
    found = {f"{cls.__module__}.{cls.__qualname__}": list(faults(cls)) for cls in classes()}
    assert "sayso.core.decision.Decision" in found
    assert {name for name, why in found.items() if why} == INSIDE_ONE_CALL | COMPILED_LATE | DECODED, found


@pytest.mark.parametrize("cls", [Loose, Leaky, type("Bag", (), {})])
def test_a_type_that_can_change_is_found(cls: type) -> None:
    assert len(list(faults(cls))) == 1

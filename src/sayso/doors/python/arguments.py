"""Arguments between Python and the digested bytes: what is approved is what runs.

A call's arguments are written down as plain values, digested, and decoded from those very bytes for the run.
What cannot be written down and read back as the same value is refused before anybody is asked. Objects that
only live in this process (`self`, a connection named in `live`) are passed as they are; the call is bound to
that one object.
"""

from __future__ import annotations

import inspect
import secrets
import typing
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PurePath
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from sayso.core.digest import decode
from sayso.core.errors import SaysoError

_EMPTY = inspect.Parameter.empty
_SELF = ("self", "cls")
_marks: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


class WrongArguments(SaysoError, TypeError):
    """The arguments do not fit the function, or cannot be written down. Nobody was asked."""

    code = "wrong_arguments"


class Shape:
    """The parameters of one function: how to write a call of it down, and how to read it back."""

    def __init__(self, function: Callable[..., Any], live: Collection[str] = ()) -> None:
        self.signature = inspect.signature(function)
        names = list(self.signature.parameters)
        unknown = sorted(set(live) - set(names))
        if unknown:
            raise WrongArguments(f"{function.__qualname__} has no parameter {', '.join(unknown)}")
        self.owner = names[0] if names and names[0] in _SELF and "." in function.__qualname__ else None
        self.live = frozenset(live) | ({self.owner} if self.owner else set())
        self._function = function
        self._hints: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The signature in words, so that a function that changed is another tool."""
        return f"{self._function.__qualname__}{self.signature}"

    def written(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A call as plain values by parameter, and its live objects; refused if it came back unequal."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise WrongArguments(f"{self._name}: {error}") from None
        bound.apply_defaults()
        plain: dict[str, Any] = {}
        objects: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if name in self.live:
                objects[name], plain[name] = value, mark_of(value)
            else:
                plain[name] = self._plain(name, value)
        return plain, objects

    def given(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters that came as plain values, checked against the types, with defaults filled in."""
        if self.live:
            raise WrongArguments(
                f"{self._name} cannot be run by name: it needs {', '.join(sorted(self.live))}",
                hint="call it from Python, or wrap it in a function without",
            )
        args, kwargs = self._called({name: self._typed(name, value) for name, value in params.items()})
        return self.written(args, kwargs)[0]

    def fit(self, values: Mapping[str, Any]) -> None:
        """Refuse values that do not fit the types."""
        for name, value in values.items():
            self._typed(name, value)

    def edited(self, arguments: Mapping[str, Any], before: bytes) -> dict[str, Any]:
        """Arguments a person edited, checked like any others. The live objects stay those of the call."""
        known: dict[str, Any] = decode(before)
        if set(arguments) - self.live != set(known) - self.live:
            raise WrongArguments(f"{self._name} takes exactly: {', '.join(sorted(set(known) - self.live))}")
        return {
            name: known[name] if name in self.live else self._plain(name, self._typed(name, arguments[name]))
            for name in known
        }

    def read(self, arguments: bytes, objects: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What to call the function with, from the bytes that were digested."""
        values: dict[str, Any] = decode(arguments)
        typed = {
            name: objects[name] if name in self.live else self._typed(name, value)
            for name, value in values.items()
        }
        return self._called(typed)

    def hint(self, name: str) -> Any:
        """The type of a parameter, by its name; Parameter.empty if none is said."""
        if self._hints is None:
            try:
                self._hints = typing.get_type_hints(self._function, include_extras=True)
            except (NameError, TypeError, AttributeError) as error:
                raise WrongArguments(f"{self._name}: its types cannot be read: {error}") from error
        hint, kind = self._hints.get(name, _EMPTY), self.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            return tuple if hint is _EMPTY else tuple[hint, ...]  # type: ignore[valid-type]
        if kind is inspect.Parameter.VAR_KEYWORD and hint is not _EMPTY:
            return dict[str, hint]  # type: ignore[valid-type]
        return hint

    def _called(self, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        ordered = {name: values[name] for name in self.signature.parameters if name in values}
        bound = inspect.BoundArguments(self.signature, OrderedDict(ordered))
        return bound.args, bound.kwargs

    def _plain(self, name: str, value: Any) -> Any:
        try:
            plain = msgspec.to_builtins(value, builtin_types=(), str_keys=True, enc_hook=_written)
        except (TypeError, ValueError, NotImplementedError, OverflowError) as error:
            raise WrongArguments(
                f"{self._name}: {name} cannot be written down ({type(value).__name__})",
                hint="pass plain values, or name the parameter in live=(…)",
            ) from error
        if self._typed(name, plain) != value:
            raise WrongArguments(
                f"{self._name}: {name} would not come back as the same value",
                hint="say its type in the function's signature",
            )
        return plain

    def _typed(self, name: str, value: Any) -> Any:
        if name not in self.signature.parameters:
            raise WrongArguments(f"{self._name} has no parameter {name!r}")
        hint = self.hint(name)
        if hint is _EMPTY or hint is Any:
            return value
        try:
            return msgspec.convert(value, hint, dec_hook=_read)
        except (msgspec.ValidationError, TypeError, ValueError, NotImplementedError) as error:
            raise WrongArguments(f"{self._name}: {name}: {error}") from error

    @property
    def _name(self) -> str:
        return self._function.__qualname__


def mark_of(value: object) -> str:
    """What a live object is called in the digest: its `consent_id`, or a mark that only this object has."""
    named = getattr(value, "consent_id", None)
    if isinstance(named, str):
        return f"{_kind(value)} {named}"
    try:
        mark = _marks.setdefault(value, secrets.token_hex(8))
    except TypeError:
        mark = secrets.token_hex(8)  # nothing can be remembered of it, so no approval is ever used again
    return f"{_kind(value)} #{mark}"


def _kind(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _written(value: object) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _read(kind: type, value: object) -> object:
    if isinstance(kind, type) and issubclass(kind, PurePath) and isinstance(value, str):
        return Path(value) if kind in (Path, PurePath) else kind(value)
    raise NotImplementedError(f"{kind!r} cannot be read back")

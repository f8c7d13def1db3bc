"""Arguments between Python and the digested bytes: what is approved is what runs.

A call's arguments are written down as plain values, digested, and decoded from those very bytes for the run.
What cannot be written down and read back as the same value is refused before anybody is asked. Objects that
only live in this process (`self`, a connection named in `live`) are passed as they are; the call is bound to
that one object.
"""

from __future__ import annotations

import enum
import inspect
import os
import secrets
import threading
import typing
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cached_property
from types import SimpleNamespace
from typing import Any
from weakref import ref

from sayso.core.digest import decode_canonical, encode_canonical, sha256, take_arguments
from sayso.core.errors import NotCanonical, SaysoError
from sayso.core.model import Declaration
from sayso.doors.python.values.misfits import (
    PLAIN,
    error_line,
    explain_difference,
    explain_unreadable,
    union_arms,
)
from sayso.doors.python.values.plain import (
    DeclaredType,
    NotPlain,
    is_plain_scalar,
    is_same_path,
)
from sayso.gate.words import argument_names, other_arguments

_EMPTY = inspect.Parameter.empty
_SELF = ("self", "cls")


LIVE = "live object"
"""The key under which a written call names an object that lives only in this process."""


class WrongArguments(SaysoError, TypeError):
    """The arguments do not fit the function, or cannot be written down. Nobody was asked."""

    code = "wrong_arguments"


class _Marked(dict[str, str]):
    """The stand-in for a live object in a call that was written before."""


class Shape:
    """The parameters of one function: how to write a call of it down, and how to read it back."""

    def __init__(self, function: Callable[..., Any], live: Collection[str] = ()) -> None:
        self.signature = inspect.signature(function)
        live = (live,) if isinstance(live, str) else live
        names = list(self.signature.parameters)
        unknown = sorted(set(live) - set(names))
        if unknown:
            raise WrongArguments(f"{function.__qualname__} has no parameter {', '.join(unknown)}")
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        if any(self.signature.parameters[name].kind in several for name in live):
            raise WrongArguments(f"{function.__qualname__}: only single parameters can be live")
        self.owner = names[0] if names and names[0] in _SELF and "." in function.__qualname__ else None
        self.live = frozenset(live) | ({self.owner} if self.owner else set())
        self.parameters: str | None = None
        """A JSON Schema of the parameters as text, once somebody asked for it."""
        self.declared: Declaration | None = None
        """What was last declared of a call of the function."""
        self._function = function
        kinds = {parameter.kind for parameter in self.signature.parameters.values()}
        self._names = tuple(names) if kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD} else None
        """The parameters, if each can be passed by place and by name."""
        self._named = frozenset(names)

    @cached_property
    def schema(self) -> str:
        """The digest of the signature: a function that changed is another tool."""
        function = self._function
        return sha256(f"{function.__module__}.{function.__qualname__}{self.signature}".encode())

    def write_call(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A call as plain values by parameter, and its live objects; refused if it came back unequal."""
        plain: dict[str, Any] = {}
        objects: dict[str, Any] = {}
        for name, value in self._bind_call(args, kwargs).items():
            if name in self.live:
                objects[name], plain[name] = value, self._mark_live(name, value)
            else:
                plain[name] = self._write_value(name, value)
        return plain, objects

    def _bind_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values by parameter, as Python itself binds them, defaults too."""
        names, placed = self._names, len(args)
        if names is not None and placed + len(kwargs) == len(names):
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            if given.keys() == self._named:  # each once, and nothing is left for a default
                return given
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise WrongArguments(f"{self._name}: {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def _mark_live(self, name: str, value: object) -> dict[str, str]:
        """Return the stand-in for a live object in the written call; no text, which might look like a path.

        Whatever can be written down has to be shown and read by the policy, so it cannot be live; `self` can.
        """
        if isinstance(value, _Marked):
            return value
        if name != self.owner and value is not None and self._can_be_written(name, value):
            raise WrongArguments(
                f"{self._name}: {name} is declared live, but a {type(value).__name__} can be written down",
                hint=f"take {name} out of live: what can be shown is shown, and read by the policy",
            )
        return {LIVE: live_object_mark(value)}

    def _can_be_written(self, name: str, value: object) -> bool:
        if isinstance(value, (str, bytes, bytearray, memoryview, os.PathLike)):
            return True
        with suppress(WrongArguments):
            self._write_value(name, value)
            return True
        return False

    def write_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters that came as plain values, checked against the types, with defaults filled in."""
        self.check_no_live()
        typed = {name: self._read_given(name, value) for name, value in params.items()}
        return self._rewrite(typed)

    def check_no_live(self) -> None:
        """Refuse a function that cannot be called from written arguments alone."""
        if self.live:
            raise WrongArguments(
                f"{self._name} cannot be run by name: it needs {', '.join(sorted(self.live))}",
                hint="call it from Python, or wrap it in a function without",
            )

    def write_some(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Some parameters as plain values, checked against the types."""
        typed = {name: self._read_given(name, value) for name, value in values.items()}
        return {name: self._write_value(name, value) for name, value in typed.items()}

    def read_some(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Some parameters, from plain values, as the types that the function declares."""
        return {name: self._read_value(name, value) for name, value in values.items()}

    def write_edit(self, arguments: Mapping[str, Any], before: bytes) -> dict[str, Any]:
        """Arguments a person edited, checked like any others. The live objects stay those of the call."""
        known: dict[str, Any] = decode_canonical(before)
        given, wanted = set(arguments) - self.live, set(known) - self.live
        if given != wanted:
            raise WrongArguments(
                other_arguments(given - wanted, wanted - given),
                hint=f"{self._name} takes exactly: {', '.join(sorted(wanted))}",
            )
        typed = {
            name: _Marked(known[name]) if name in self.live else self._read_given(name, arguments[name])
            for name in known
        }
        plain = self._rewrite(typed)
        return plain | {name: known[name] for name in self.live}

    def read(self, arguments: bytes, objects: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the function's arguments, decoded from the digested bytes."""
        values: dict[str, Any] = take_arguments(arguments)
        typed = {
            name: objects[name] if name in self.live else self._read_value(name, value)
            for name, value in values.items()
        }
        return self._bind(typed)

    def hint(self, name: str) -> Any:
        """The type of a parameter, by its name; Parameter.empty if none is said."""
        return self._hints[name]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        said = self._read_hints()
        return {name: self._hint_for(name, said.get(name, _EMPTY)) for name in self.signature.parameters}

    @cached_property
    def _types(self) -> dict[str, DeclaredType]:
        """How the values of each parameter are written and read: of this function alone."""
        return {name: DeclaredType(hint) for name, hint in self._hints.items()}

    def _hint_for(self, name: str, hint: Any) -> Any:
        """The type of what is passed: of several values under one name, that of all of them."""
        kind = self.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            return tuple if hint is _EMPTY else tuple[hint, ...]
        if kind is inspect.Parameter.VAR_KEYWORD:
            return dict[str, Any if hint is _EMPTY else hint]  # type: ignore[misc]
        return hint

    def _rewrite(self, typed: dict[str, Any]) -> dict[str, Any]:
        """Values by parameter as Python itself binds them, so that no name among `**kwargs` hides another."""
        args, kwargs = self._bind(typed)
        return self.write_call(args, kwargs)[0]

    def _bind(self, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self._names is not None and values.keys() == self._named:
            return tuple([values[name] for name in self._names]), {}
        ordered = {name: values[name] for name in self.signature.parameters if name in values}
        bound = inspect.BoundArguments(self.signature, OrderedDict(ordered))
        bound.apply_defaults()  # without them, what follows a missing one would be passed under another name
        return bound.args, bound.kwargs

    def _write_value(self, name: str, value: Any) -> Any:
        hint = self._hints[name]
        if is_plain_scalar(value) and (type(value) is hint or hint is _EMPTY or hint is Any):
            return value
        try:
            kept = decode_canonical(encode_canonical(self._types[name].write(value)))
        except (NotPlain, NotCanonical) as error:
            raise WrongArguments(
                f"{self._name}: {name} cannot be written down ({type(value).__name__}: {error_line(error)})",
                hint=PLAIN,
            ) from error
        back = self._read_value(name, kept, value)
        differs = back != value and not is_same_path(value, back, self.hint(name))
        if differs or _is_look_alike(value, back):
            why = explain_difference(name, value, back)
            raise WrongArguments(f"{self._name}: {name}: {why.reason}", hint=why.hint)
        return kept

    def _read_value(
        self,
        name: str,
        value: Any,
        passed: Any = _EMPTY,
        read: Callable[[DeclaredType, object], Any] = DeclaredType.read,
    ) -> Any:
        """The value as what the parameter is declared to be. `passed` is the object it was written from."""
        if name not in self._hints:
            raise WrongArguments(f"{self._name} has no parameter {argument_names([name])}")
        hint = self._hints[name]
        if hint is _EMPTY or hint is Any or (type(value) is hint and is_plain_scalar(value)):
            return value
        if _is_member(value, hint):
            return value
        try:
            return read(self._types[name], value)
        except Exception as error:  # the types of a program run code of its own when they are read
            why = explain_unreadable(name, value if passed is _EMPTY else passed, hint, error)
            raise WrongArguments(f"{self._name}: {name}: {why.reason}", hint=why.hint) from error

    def _read_given(self, name: str, value: Any) -> Any:
        return self._read_value(name, value, read=DeclaredType.read_given)

    def _read_hints(self) -> dict[str, Any]:
        """The types of what is written down; those of live objects and of the result are not needed."""
        bare = inspect.unwrap(self._function)
        written = set(self.signature.parameters) - self.live
        said = {name: hint for name, hint in bare.__annotations__.items() if name in written}
        try:
            return typing.get_type_hints(
                SimpleNamespace(__annotations__=said), globalns=bare.__globals__, include_extras=True
            )
        except (NameError, TypeError, AttributeError) as error:
            raise WrongArguments(f"{self._name}: its types cannot be read: {error}") from error

    @property
    def _name(self) -> str:
        return self._function.__qualname__


def live_object_mark(value: object) -> str:
    """Return a live object's name in the digest: its `consent_id`, or a mark of this object alone."""
    named = getattr(value, "consent_id", None)
    if isinstance(named, str):
        return f"{_type_name(value)} {named}"
    return f"{_type_name(value)} #{_marks.mark_for(value)}"


class _Marks:
    """A mark for every object, by what it is and not by what it equals, as long as it lives."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[Any], str]] = {}
        self._lock = threading.RLock()  # an object may die while another gets its mark

    def mark_for(self, value: object) -> str:
        with self._lock:
            held = self._known.get(id(value))
            if held is not None and held[0]() is value:
                return held[1]
            mark, place = secrets.token_hex(8), id(value)
            with suppress(TypeError):  # of some nothing can be remembered: no approval is ever used again
                self._known[place] = (ref(value, lambda gone: self._forget(place, gone)), mark)
            return mark

    def _forget(self, place: int, gone: ref[Any]) -> None:
        with self._lock:
            held = self._known.get(place)
            if held is not None and held[0] is gone:
                del self._known[place]


_marks = _Marks()


def _is_look_alike(value: object, back: object) -> bool:
    """Return whether these are members of two enums, or two kinds of named tuples: such may be equal."""
    if isinstance(value, type(back)):
        return False
    return any(isinstance(value, kind) and isinstance(back, kind) for kind in (enum.Enum, tuple))


def _is_member(value: object, hint: Any) -> bool:
    """Return whether the value is a member of the enum that is declared."""
    if not isinstance(value, enum.Enum):
        return False
    kinds = tuple(kind for kind in union_arms(hint) if isinstance(kind, type) and issubclass(kind, enum.Enum))
    return isinstance(value, kinds)


def _type_name(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"

"""Capabilities: functions that can be run by name, what each declares about itself, and how one is entered.

- The digest of a call holds its working folder, and whoever approved it saw that. What runs in this process
  runs wherever the process is by then. So the two are compared before a call that waited is started, which
  uses nothing up, and once more right before any function is entered.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Risk
from sayso.doors.python.calls.steps import in_thread
from sayso.doors.python.values.arguments import Shape
from sayso.reading.paths.ground import folder_here


class UnknownCapability(SaysoError):
    code = "unknown_capability"


class NotGateable(SaysoError, TypeError):
    """This cannot be decorated. Said when the program starts, not when somebody is asked."""

    code = "not_gateable"


class ProgramMoved(SaysoError):
    """The program works in another folder than the call was allowed in. The call is not run."""

    code = "program_moved"


class Capability(msgspec.Struct, frozen=True):
    """One function behind the gate.

    `own` is the operation the function itself is; `declared` are those it may come to on the way, whose
    arguments are not known before. `wait` is how long a call outside `run` waits for a person (None: it does
    not). `implied`: it was made by its consent alone, under the function's own name.
    """

    name: str
    function: Callable[..., Any]
    shape: Shape
    own: Operation | None = None
    declared: tuple[str, ...] = ()
    restartable: bool = False
    wait: float | None = None
    implied: bool = False
    health: Callable[[], object] | None = None
    effect_key: Callable[..., str] | None = None
    state: Callable[..., str] | None = None
    reconcile: Callable[..., str | None] | None = None

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


def call_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    folder: str,
    crossing: bool = False,
) -> Any:
    """Call a function in this working folder and in no other: every function is entered here.

    `crossing`: from sync code into a coroutine function, or the other way round.
    """
    if not crossing:
        check_here(folder)
        return function(*args, **kwargs)
    if inspect.iscoroutinefunction(function):
        return asyncio.run(_call_here(function, args, kwargs, folder))
    return in_thread(lambda: _call_here(function, args, kwargs, folder))


def _call_here(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], folder: str
) -> Any:
    check_here(folder)
    return function(*args, **kwargs)


def check_callable(function: Callable[..., Any], *, from_async: bool) -> None:
    """Refuse, before anybody is asked, a coroutine function that cannot be waited for here."""
    if from_async or not inspect.iscoroutinefunction(function):
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise NotGateable(
        f"{function.__qualname__} is async, and an event loop is running here", hint="await arun or aretry"
    )


class Capabilities:
    """All capabilities of one gate, and what their declarations say of operations."""

    def __init__(self) -> None:
        self._named: dict[str, list[Capability]] = {}
        self._declared: dict[str, Operation] = {}

    def add(self, capability: Capability, instead: Capability | None = None) -> None:
        """Add it; what a function was called only for want of a name gives way to what it is declared as."""
        if instead is not None and instead.implied:
            left = [one for one in self._named[instead.name] if one is not instead]
            self._named[instead.name] = left
        self._named.setdefault(capability.name, []).append(capability)
        if capability.own is not None:
            self._declare(capability.own)

    def replace(self, before: Capability, after: Capability) -> None:
        """The same capability with another body."""
        listed = self._named[before.name]
        self._named[before.name] = [after if one is before else one for one in listed]

    def find(self, name: str) -> Capability:
        found = self._named.get(name, [])
        if not found:
            known = ", ".join(sorted(name for name, those in self._named.items() if those)) or "none"
            raise UnknownCapability(f"there is no capability {name!r}", hint=f"known: {known}")
        if len(found) > 1:
            raise UnknownCapability(
                f"{len(found)} functions are called {name!r}",
                hint="give each a name: @gate.capability(name=…)",
            )
        return found[0]

    def all(self) -> list[Capability]:
        return [found[0] for _, found in sorted(self._named.items()) if len(found) == 1]

    def operation(self, name: str) -> Operation:
        """The operation with what its declarations say: the strictest risk and weight of all of them."""
        return self._declared.get(name, Operation(name))

    def _declare(self, operation: Operation) -> None:
        known = self._declared.get(operation.name)
        if known is not None:
            risk = _stricter(operation.risk, known.risk)
            operation = msgspec.structs.replace(
                operation,
                risk=risk,
                weight=_heavier(operation.weight, known.weight, risk),
                reason=operation.reason or known.reason,
            )
        self._declared[operation.name] = operation


def check_gateable(function: Callable[..., Any]) -> None:
    """Refuse what cannot be judged as one call: generators, classes, and methods bound by a descriptor."""
    if isinstance(function, (staticmethod, classmethod, property)):
        raise NotGateable(
            f"a {type(function).__name__} cannot be decorated",
            hint=f"put this decorator below @{type(function).__name__}",
        )
    if not inspect.isroutine(function):
        hint = "decorate its methods" if inspect.isclass(function) else "decorate a function that calls it"
        raise NotGateable(f"{function!r} is not a function", hint=hint)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise NotGateable(
            f"{function.__qualname__} is a generator: its work would happen after the consent was used",
            hint="decorate the function that does each piece of work",
        )


def operation_names(operations: Iterable[str]) -> tuple[str, ...]:
    """The operations, each once; refused here if one is not a name."""
    from sayso.core.model import check_name

    listed = (operations,) if isinstance(operations, str) else tuple(dict.fromkeys(operations))
    for name in listed:
        check_name(name)
    return listed


def parse_reducers(reducers: Mapping[str, str | Risk]) -> dict[str, Risk]:
    """Return what a safe caller lowers operations to. Lowering to high lowers nothing."""
    risks = {operation_names([name])[0]: parse_risk(risk) for name, risk in reducers.items()}
    for name, risk in risks.items():
        if risk is None or risk >= Risk.HIGH:
            raise NotGateable(f"{name} cannot be lowered to high", hint="say low or moderate")
    return {name: risk for name, risk in risks.items() if risk is not None}


def parse_risk(word: str | Risk | None) -> Risk | None:
    return word if word is None or isinstance(word, Risk) else Risk.parse(word)


def _stricter(one: Risk | None, other: Risk | None) -> Risk | None:
    known = [risk for risk in (one, other) if risk is not None]
    return max(known) if known else None


def _heavier(one: Risk | None, other: Risk | None, risk: Risk | None) -> Risk | None:
    """The heavier of two weights. One that was not said is the risk, which the policy may set higher."""
    if one is not None and other is not None:
        return max(one, other)
    said = one if one is not None else other
    if said is None:
        return None
    if risk is None:
        return Risk.HIGH  # nobody knows yet, so the strictest
    return said if said > risk else None


def check_here(folder: str) -> None:
    """Refuse to enter a function anywhere but in this folder."""
    here = folder_here()
    if here != folder:
        raise ProgramMoved(words.program_moved_reason(folder, here), hint=words.go_back(folder))


def check_still_here(folder: str) -> None:
    """The same before a call that waited is started. Of no folder nobody knows whether it is the same one."""
    check_here(folder)
    if not folder:
        raise ProgramMoved(words.program_moved_reason(folder, folder), hint=words.go_back(folder))

"""The decorators and scopes that programs write: what needs consent, what is safe, what the user started."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from sayso.core.model import Operation, Risk
from sayso.doors.python.arguments import Shape
from sayso.doors.python.calls import gated
from sayso.doors.python.capability import Capability, gateable, lowered, names, risk_of
from sayso.doors.python.door import Door
from sayso.doors.python.scope import Frame, inside
from sayso.doors.python.steps import Done, adrive, drive
from sayso.gate.initiated import user_started

P = ParamSpec("P")
R = TypeVar("R")
Decorator = Callable[[Callable[P, R]], Callable[P, R]]
GATED = "__sayso__"


def requires_consent(
    door: Door,
    operation: str,
    *,
    risk: str | Risk | None,
    weight: str | Risk | None,
    reason: str | None,
    wait: float | None,
    live: Collection[str],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that runs only with consent for this operation, each time it is called."""
    (name,) = names([operation])
    own = Operation(name, risk=risk_of(risk), weight=risk_of(weight), reason=reason)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        gateable(function)
        shape = Shape(function, live)
        capability = Capability(function.__name__, function, shape, own=own, wait=wait)
        door.capabilities.add(capability)
        wrapped = _wrapped(door, function, capability)
        setattr(wrapped, GATED, capability)
        return wrapped

    return decorate


def capability(door: Door, function: Callable[P, R], **declared: Any) -> Callable[P, R]:
    """A function that can be run by name. One that requires consent keeps doing so when called directly."""
    known: Capability | None = getattr(function, GATED, None)
    if known is not None:
        made = msgspec.structs.replace(known, **declared)
    else:
        gateable(function)
        made = Capability(function=function, shape=Shape(function), **declared)
    door.capabilities.add(made)
    return function


def reduces_risk_for(
    door: Door, operation: str, risk: str | Risk
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that calls this operation only in a safe way: inside it, the operation counts as lower."""
    reducers = lowered({operation: risk})

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        gateable(function)
        door.reducers.setdefault(operation, {})[function.__qualname__] = reducers[operation].word

        def frame() -> Frame:
            return Frame(door, door.session_here(), reducers=reducers)

        return _framed(function, frame)

    return decorate


@contextmanager
def user_initiated(door: Door, operation: str) -> Iterator[None]:
    """The user clicked: what runs in this block is what they started. Never for code an agent can reach."""
    session = door.session_here()
    user_started(door.gate, session, operation)
    with inside(Frame(door, session, clicked=operation)):
        yield


def _wrapped(door: Door, function: Callable[P, R], capability: Capability) -> Callable[P, R]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def judged_when_it_runs(*args: Any, **kwargs: Any) -> Any:
            return _outcome(await adrive(gated(door, capability, args, kwargs)))

        return cast("Callable[P, R]", judged_when_it_runs)

    @functools.wraps(function)
    def judged(*args: P.args, **kwargs: P.kwargs) -> R:
        result: R = _outcome(drive(gated(door, capability, args, kwargs)))
        return result

    return judged


def _framed(function: Callable[P, R], frame: Callable[[], Frame]) -> Callable[P, R]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*args: Any, **kwargs: Any) -> Any:
            with inside(frame()):
                return await function(*args, **kwargs)

        return cast("Callable[P, R]", later)

    @functools.wraps(function)
    def now(*args: P.args, **kwargs: P.kwargs) -> R:
        with inside(frame()):
            return function(*args, **kwargs)

    return now


def _outcome(done: Done) -> Any:
    if done.error is not None:
        raise done.error
    return done.value


def operations_of(declared: Iterable[str] | str) -> tuple[str, ...]:
    return names(declared)

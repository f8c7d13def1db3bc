"""The decorators and scopes that programs write: what needs consent, what is safe, what the user started."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from sayso.core.model import Operation, Risk
from sayso.doors.python.calls.capability import (
    Capability,
    NotGateable,
    check_gateable,
    operation_names,
    parse_reducers,
    parse_risk,
)
from sayso.doors.python.calls.door import Door
from sayso.doors.python.calls.embedded import EmbeddedDoor
from sayso.doors.python.calls.gated_call import run_gated_call
from sayso.doors.python.calls.scope import Frame, Scoped, inside
from sayso.doors.python.calls.steps import Outcome, adrive, drive
from sayso.doors.python.values.arguments import Shape
from sayso.doors.python.values.inputs import check_wait
from sayso.gate.sessions.user_start import record_user_start

P = ParamSpec("P")
R = TypeVar("R")
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
    (name,) = operation_names([operation])
    if wait is not None:
        check_wait(wait)
    own = Operation(name, risk=parse_risk(risk), weight=parse_risk(weight), reason=reason)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        _check_decoratable(function)
        below = _find_capability(door, function)
        if below is not None and not below.implied:
            raise NotGateable(
                f"{function.__qualname__} can be run by name already, without this consent",
                hint="put @gate.capability above @gate.requires_consent",
            )
        shape = Shape(function, live)
        capability = Capability(function.__name__, function, shape, own=own, wait=wait, implied=True)
        door.capabilities.add(capability, below)
        wrapped = _gate_function(door, function)
        setattr(wrapped, GATED, {door: capability})
        return wrapped

    return decorate


def capability(door: Door, function: Callable[P, R], **declared: Any) -> Callable[P, R]:
    """A function that can be run by name. One that requires consent keeps doing so when called directly.

    What it says of its effect and the world holds for both ways.
    """
    known = _find_capability(door, function)
    if known is None:
        _check_decoratable(function)
        known = Capability(function.__name__, function, Shape(function))
    named = {"name": declared.pop("name") or function.__name__}
    made = msgspec.structs.replace(known, implied=False, **named, **declared)
    _check_side_functions(made)
    door.capabilities.add(made, known)
    setattr(function, GATED, {**getattr(function, GATED, {}), door: made})
    return function


def reduces_risk_for(
    door: EmbeddedDoor, operation: str, risk: str | Risk
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that calls this operation only in a safe way: inside it, the operation counts as lower."""
    reducers = parse_reducers({operation: risk})

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        _check_decoratable(function)
        door.reducers.setdefault(operation, {})[function.__qualname__] = reducers[operation].word

        def frame() -> Frame:
            return Frame(door, door.session_here(), reducers=reducers)

        framed = _run_in_frame(function, frame)
        below = _find_capability(door, function)
        if below is not None:  # run by name, it is the same safe caller
            safe = msgspec.structs.replace(below, function=_run_in_frame(below.function, frame))
            door.capabilities.replace(below, safe)
            setattr(framed, GATED, {door: safe})
        return framed

    return decorate


def user_initiated_scope(door: EmbeddedDoor, operation: str) -> Scoped[None]:
    """The user clicked: what runs in this block is what they started. Never for code an agent can reach."""

    def make_frame() -> Frame:
        session = door.session_here()
        click = record_user_start(door.gate, session, operation)
        return Frame(door, session, clicked=operation, click=click)

    return Scoped(make_frame, None)


def _check_side_functions(made: Capability) -> None:
    """Refuse side functions that are async, or that would need a live object."""
    told = {
        "health": made.health,
        "effect_key": made.effect_key,
        "state": made.state,
        "reconcile": made.reconcile,
    }
    for name, function in told.items():
        if inspect.iscoroutinefunction(function):
            raise NotGateable(f"{name} of {made.name} cannot be async")
        if function is not None and name != "health" and made.shape.live:
            raise NotGateable(
                f"{name} of {made.name} cannot be told from {', '.join(sorted(made.shape.live))}",
                hint="wrap it in a function without, and say it of that",
            )


def _gate_function(door: Door, function: Callable[P, R]) -> Callable[P, R]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def async_wrapper(*args: Any, **kwargs: Any) -> Any:
            return _value_or_raise(
                await adrive(run_gated_call(door, _own_operation_only(door, async_wrapper), args, kwargs))
            )

        return cast("Callable[P, R]", async_wrapper)

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        result: R = _value_or_raise(
            drive(run_gated_call(door, _own_operation_only(door, wrapper), args, kwargs))
        )
        return result

    return wrapper


def _own_operation_only(door: Door, wrapped: Callable[..., Any]) -> Capability:
    """The capability as a direct call means it: its own operation, without those it may come to."""
    capability: Capability = getattr(wrapped, GATED)[door]
    return capability if not capability.declared else msgspec.structs.replace(capability, declared=())


def _find_capability(door: Door, function: Callable[..., Any]) -> Capability | None:
    """Return the wrapper that this gate made for the function before."""
    made: dict[Door, Capability] = getattr(function, GATED, {})
    return made.get(door)


def _check_decoratable(function: Callable[..., Any]) -> None:
    """Refuse what cannot be gated, or is bound to an object that an approval would not name."""
    check_gateable(function)
    if not inspect.isfunction(inspect.unwrap(function)):
        raise NotGateable(
            f"{function.__qualname__} is bound to an object, or not written in Python",
            hint="decorate it in its class, or a function that calls it",
        )


def _run_in_frame(function: Callable[P, R], frame: Callable[[], Frame]) -> Callable[P, R]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def async_wrapper(*args: Any, **kwargs: Any) -> Any:
            with inside(frame()):
                return await function(*args, **kwargs)

        return cast("Callable[P, R]", async_wrapper)

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with inside(frame()):
            return function(*args, **kwargs)

    return wrapper


def _value_or_raise(done: Outcome) -> Any:
    if done.error is not None:
        raise done.error
    return done.value

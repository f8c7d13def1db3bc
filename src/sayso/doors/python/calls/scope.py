"""Scopes: the place in the program where a call is made, carried by contextvars until the call ends.

A frame is opened by an outer call, a click, a safe caller, a session or a workflow step. What runs inside
sees it, tasks it starts as well, as long as it is open; threads of their own do not. A closed frame gives
nothing, so work that outlives the call it was started in is on its own.

A context says what surrounded it when it was copied, and not whether that was inside the block: a generator
that stops in a block leaves its frame to its consumer. So a frame is bound to the code that holds it (see
holding), and counts only for what runs inside that.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from types import FrameType, TracebackType
from typing import Generic, TypeVar

import msgspec

from sayso.core.decision import Item
from sayso.core.model import Risk, Verdict
from sayso.core.rulebook import CARRYING
from sayso.core.session import Click, OuterCall, Run, Scope, join_outers
from sayso.doors.python.calls.holding import Holding, Place, place_here
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired
from sayso.gate.call_rows import Attempt
from sayso.gate.gate import NO_SCOPE
from sayso.gate.ledger.workflows import RunNote

NO_CLICK = Click()


class Job:
    """One run under way: the gates inside it wait in place, and once one of them fails it is stopped."""

    def __init__(
        self, call: str, fence: int, deadline: float, note: RunNote, scope: Scope, folder: str
    ) -> None:
        self.call = call
        self.fence = fence
        self.deadline = deadline
        self.note = note
        self.scope = scope
        """Where in the program the run itself was started."""
        self.folder = folder
        """The working folder that it was allowed to run in."""
        self.started: list[str] = []
        """What needed consent and was begun; of a run, in the step that is under way."""
        self.done: list[str] = []
        """The same for the steps that are finished."""
        self.stopped: ConsentRequired | ConsentDenied | None = None
        self.waiting = 0
        """How many gates inside wait for a person now; while any does, the run is parked."""
        self.parking = threading.Lock()


class Frame:
    """One scope. It belongs to one gate and one session, and says nothing about any other."""

    def __init__(
        self,
        gate: object,
        session: str,
        *,
        pass_on: Callable[[], OuterCall | None] | None = None,
        clicked: str | None = None,
        click: Click = NO_CLICK,
        reducers: Mapping[str, Risk] | None = None,
        run: Run | None = None,
        individual: bool = False,
        job: Job | None = None,
    ) -> None:
        self.gate = gate
        self.session = session
        self._pass_on = pass_on
        self.clicked = clicked
        self.click = click
        self.reducers = reducers or {}
        self.run = run
        self.individual = individual
        self.job = job
        self.only_session = not (pass_on or clicked is not None or reducers or run or individual or job)
        """Whether it says which session this is, and nothing more."""
        self.open = True
        self.around: Frame | None = None
        self.held: Holding | None = None

    @cached_property
    def outer(self) -> OuterCall | None:
        """The consent that a call passes on to those inside it; worked out once one of them asks."""
        return None if self._pass_on is None else self._pass_on()

    def enter(self, holder: FrameType) -> None:
        """From now on, until it is left, the frame is around what the holder of this block does."""
        here = place_here()
        self.around = _visible(_innermost.get(), here)
        self.held = Holding(holder, here)
        _innermost.set(self)

    def leave(self) -> None:
        """The frame gives nothing any more. Left elsewhere than it was entered, it is passed over there."""
        self.open = False
        if self.held is not None:
            self.held.over()
        if _innermost.get() is self:
            _innermost.set(self.around)


_innermost: ContextVar[Frame | None] = ContextVar("sayso_scope", default=None)


T = TypeVar("T")


class Scoped(Generic[T]):
    """A block of a program that is in a frame: everything in it, and what it calls, as long as it lasts.

    The frame is made when the block is entered, and bound to the function that the block is in. One that
    is entered for another function, by a generator or a helper that returns, is not around that function.
    """

    def __init__(self, make: Callable[[], Frame], value: T) -> None:
        self._make = make
        self._value = value
        self._frames: list[Frame] = []

    def __enter__(self) -> T:
        frame = self._make()
        frame.enter(sys._getframe(1))  # noqa: SLF001  the one way to know whose block this is
        self._frames.append(frame)
        return self._value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._frames.pop().leave()


class inside:  # noqa: N801  it is read as `with inside(frame):`, and made for every call
    """Everything in this block, and what it calls, is in the frame; afterwards the frame is closed."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __enter__(self) -> None:
        self._frame.enter(sys._getframe(1))  # noqa: SLF001

    def __exit__(self, *error: object) -> None:
        self._frame.leave()


def frames_here() -> tuple[Frame, ...]:
    """Every frame around this point of the program, of whichever gate, innermost first, closed ones too."""
    found: list[Frame] = []
    frame = _innermost.get()
    if frame is not None:
        here = place_here()
        while (frame := _visible(frame, here)) is not None:
            found.append(frame)
            frame = frame.around
    return tuple(found)


def scope_here(gate: object, session: str, here: Sequence[Frame] | None = None) -> Scope:
    """Return the scope that the frames around this point make. `here` are these, if they are known.

    A step that wants a consent of its own keeps out what is around it, from work that it leaves behind too. A
    call approved inside the step still carries what that call does, and so does a run started inside it.
    """
    around = _around(gate, session, here)
    if not around:
        return NO_SCOPE
    outers: list[OuterCall] = []
    reducers: dict[str, Risk] = {}
    clicked: Frame | None = None
    run: Run | None = None
    step: Frame | None = None
    for frame in around:
        if frame.open:
            clicked = frame if clicked is None and frame.clicked is not None else clicked
            reducers = {**frame.reducers, **reducers} if frame.reducers else reducers
        step = frame if step is None and frame.individual else step
        if step is None and frame.open:
            run = run or frame.run
            if frame.outer is not None:
                outers.append(frame.outer)
    alone = step is not None and run is None and not outers
    return Scope(
        user_initiated=None if clicked is None else clicked.clicked,
        click=NO_CLICK if clicked is None else clicked.click,
        outer=join_outers(outers),
        reducers=reducers,
        run=step.run if step is not None and alone else run,
        individual=alone,
    )


def job_around(gate: object, session: str, here: Sequence[Frame] | None = None) -> Job | None:
    """The `run` this point of the program is in."""
    for frame in frames_here() if here is None else here:
        if frame.job is not None and frame.open and frame.gate is gate and frame.session == session:
            return frame.job
    return None


def calls_around(gate: object) -> list[str]:
    """The calls of this gate, of whichever session, that this point of the program is inside of."""
    return [frame.job.call for frame in frames_here() if frame.open and frame.gate is gate and frame.job]


def note_start(gate: object, operation: str, here: Sequence[Frame] | None = None) -> None:
    """Tell every `run` around, of whichever session, that something inside it that needs consent begins."""
    for frame in frames_here() if here is None else here:
        if frame.open and frame.gate is gate and frame.job is not None:
            frame.job.started.append(operation)


def session_around(gate: object, here: Sequence[Frame] | None = None) -> str | None:
    """The session of the innermost frame of this gate.

    A closed frame gives no consent, but still says whose work this is: what outlives its call is stopped with
    the session it was started in.
    """
    for frame in frames_here() if here is None else here:
        if frame.gate is gate:
            return frame.session
    return None


def outer_consent(items: tuple[Item, ...], scope: Scope) -> OuterCall | None:
    """Return the consent that an allowed call passes on to the calls inside it.

    What a safe caller lowered was asked for and approved as lower: no more than that is passed on.
    """
    risks: dict[str, Risk] = {}
    weight = Risk.LOW
    grants: dict[str, None] = {}
    for item in items:
        name, ruling = item.operation, item.ruling
        if ruling.verdict is Verdict.ALLOW and ruling.rule in CARRYING:
            most = scope.reducers.get(name, Risk.HIGH)
            risks[name] = max(min(item.risk, most), risks.get(name, Risk.LOW))
            weight = max(min(item.weight, most), weight)
            grants |= dict.fromkeys(ruling.grants)
    return OuterCall(risks, weight, tuple(grants)) if risks else None


def outer_resting_on(outer: OuterCall | None, attempt: Attempt) -> OuterCall | None:
    """The same, resting on this start as well: it is gone with what was cleared, named or tightened since."""
    if outer is None:
        return None
    grants = (*outer.grants, attempt.call)
    kept = attempt.record
    return msgspec.structs.replace(
        outer,
        grants=grants,
        clearings=kept.clearings,
        revocations=kept.revocations,
        decided_at=attempt.decided_at,
    )


def _around(gate: object, session: str, here: Sequence[Frame] | None) -> list[Frame]:
    """The frames of this session around this point that make a scope, innermost first, closed ones too."""
    known = frames_here() if here is None else here
    return [
        frame for frame in known if not frame.only_session and frame.gate is gate and frame.session == session
    ]


def _visible(frame: Frame | None, here: Place) -> Frame | None:
    """This frame, or the next one around it whose block this point is inside, or was left behind by."""
    while frame is not None and (frame.held is None or not frame.held.surrounds(here, is_open=frame.open)):
        frame = frame.around
    return frame

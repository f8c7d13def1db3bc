"""Where in the program a call is made: open scopes, carried by contextvars and closed when their call ends.

A frame is opened by an outer call, a click, a safe caller or a workflow step. What runs inside sees it, tasks
it starts as well, as long as it is open; threads of their own do not. A closed frame gives nothing, so work
that outlives the call it was started in is on its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar

import msgspec

from sayso.core.decision import Item
from sayso.core.model import Risk, Verdict
from sayso.core.session import Outer, Run, Scope, join_outers
from sayso.doors.python.results import ConsentDenied, ConsentRequired
from sayso.gate.workflows import Note

CARRYING = frozenset(
    {
        "approved_call",
        "slash_command",
        "user_initiated",
        "allowlist",
        "operation_grant",
        "workflow_grant",
        "remembered",
        "task_grant",
        "plan",
    }
)
"""The rules whose consent an outer call passes on to what it calls (rule 11)."""


class Job:
    """One run under way: the gates inside it wait in place, and once one of them fails it is stopped."""

    def __init__(self, call: str, fence: int, deadline: float, note: Note, scope: Scope) -> None:
        self.call = call
        self.fence = fence
        self.deadline = deadline
        self.note = note
        self.scope = scope
        """Where in the program the run itself was started."""
        self.started: list[str] = []
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
        outer: Outer | None = None,
        clicked: str | None = None,
        reducers: Mapping[str, Risk] | None = None,
        run: Run | None = None,
        individual: bool = False,
        job: Job | None = None,
    ) -> None:
        self.gate = gate
        self.session = session
        self.outer = outer
        self.clicked = clicked
        self.reducers = reducers or {}
        self.run = run
        self.individual = individual
        self.job = job
        self.open = True
        self.around = _innermost.get()


_innermost: ContextVar[Frame | None] = ContextVar("sayso_scope", default=None)


@contextmanager
def inside(frame: Frame) -> Iterator[None]:
    """Everything in this block, and what it calls, is in the frame; afterwards the frame is closed."""
    token = _innermost.set(frame)
    try:
        yield
    finally:
        frame.open = False
        with suppress(ValueError):  # left in another context than it was entered in: there is nothing to undo
            _innermost.reset(token)


def frames(gate: object, session: str) -> Iterator[Frame]:
    """The open frames around this point of the program, innermost first."""
    return (frame for frame in _around(gate, session) if frame.open)


def scope_of(gate: object, session: str) -> Scope:
    """What the frames around this point come to.

    A step that wants a consent of its own keeps out what is around it, from work that it leaves behind too. A
    call approved inside the step still carries what that call does, and so does a run started inside it.
    """
    outers: list[Outer] = []
    reducers: dict[str, Risk] = {}
    clicked: str | None = None
    run: Run | None = None
    step: Frame | None = None
    for frame in _around(gate, session):
        if frame.open:
            clicked = clicked if clicked is not None else frame.clicked
            reducers = {**frame.reducers, **reducers}
        step = step or (frame if frame.individual else None)
        if step is None and frame.open:
            outers += [] if frame.outer is None else [frame.outer]
            run = run or frame.run
    alone = step is not None and run is None and not outers
    return Scope(
        user_initiated=clicked,
        outer=join_outers(outers),
        reducers=reducers,
        run=step.run if step is not None and alone else run,
        individual=alone,
    )


def job_around(gate: object, session: str) -> Job | None:
    """The `run` this point of the program is in."""
    return next((frame.job for frame in frames(gate, session) if frame.job is not None), None)


def begun(gate: object, operation: str) -> None:
    """Tell every `run` around, of whichever session, that something inside it that needs consent begins."""
    frame = _innermost.get()
    while frame is not None:
        if frame.open and frame.gate is gate and frame.job is not None:
            frame.job.started.append(operation)
        frame = frame.around


def session_around(gate: object) -> str | None:
    """The session of the innermost frame of this gate.

    A closed frame gives no consent, but still says whose work this is: what outlives its call is stopped with
    the session it was started in.
    """
    frame = _innermost.get()
    while frame is not None and frame.gate is not gate:
        frame = frame.around
    return None if frame is None else frame.session


def carried(items: tuple[Item, ...], scope: Scope) -> Outer | None:
    """What a call allowed like this, in this scope, passes on to the calls inside it.

    What a safe caller lowered was asked for and approved as lower: no more than that is passed on.
    """
    granted = [
        item for item in items if item.ruling.verdict is Verdict.ALLOW and item.ruling.rule in CARRYING
    ]
    if not granted:
        return None
    risks: dict[str, Risk] = {}
    for item in granted:
        risk = _lowered(item.risk, item, scope)
        risks[item.operation] = max(risk, risks.get(item.operation, risk))
    grants = tuple(dict.fromkeys(grant for item in granted for grant in item.ruling.grants))
    return Outer(risks, max(_lowered(item.weight, item, scope) for item in granted), grants)


def resting_on(outer: Outer | None, clearings: int) -> Outer | None:
    """The same, for a call that was started when consent had been cleared so often."""
    return None if outer is None else msgspec.structs.replace(outer, clearings=clearings)


def _lowered(risk: Risk, item: Item, scope: Scope) -> Risk:
    return min(risk, scope.reducers.get(item.operation, risk))


def _around(gate: object, session: str) -> Iterator[Frame]:
    """Every frame of this session around this point, innermost first, closed ones too."""
    frame = _innermost.get()
    while frame is not None:
        if frame.gate is gate and frame.session == session:
            yield frame
        frame = frame.around

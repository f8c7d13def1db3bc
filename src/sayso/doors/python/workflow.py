"""Workflows: declared steps, one consent for the run, and a record of how far it has come."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Any, Protocol

import msgspec

from sayso.core.decision import Decision
from sayso.core.digest import decode_canonical, sha256
from sayso.core.errors import SaysoError
from sayso.core.ledger import AWAITING, NotNow
from sayso.core.model import Declaration, Operation, Request, Risk
from sayso.core.session import Run, Scope
from sayso.doors.python.calls.capability import (
    Capability,
    NotGateable,
    call_function,
    check_gateable,
    operation_names,
)
from sayso.doors.python.calls.door import CallKeys, Door
from sayso.doors.python.calls.gated_call import describe_ending
from sayso.doors.python.calls.results import Result
from sayso.doors.python.calls.run import (
    OtherFunction,
    RunOptions,
    check_capability,
    conclude_run,
    join_call,
    rerun,
    retry_capability,
    run_capability,
    run_with_consent,
    settle_stopped_run,
)
from sayso.doors.python.calls.scope import Frame, Job, scope_here, session_around
from sayso.doors.python.calls.steps import Enter, Outcome, Steps, Work, adrive, drive
from sayso.doors.python.values.arguments import Shape, WrongArguments
from sayso.doors.python.values.inputs import check_params
from sayso.doors.python.values.plain import keep_result
from sayso.doors.python.words import not_kept_step
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.request import make_call
from sayso.gate.ledger.workflows import STOPPED, RunNote, decode_note
from sayso.gate.telemetry import RunningSpan
from sayso.reading.paths.ground import folder_here

StepInputs = tuple[Mapping[str, Any], Mapping[str, Any]]
"""What steps are called with: the parameters of the run as written down, and what earlier steps returned."""


class HasId(Protocol):
    """A session as an object."""

    id: str


class Step(msgspec.Struct, frozen=True):
    """One step of a workflow. Its parameters are filled from earlier steps and the run's own, by name.

    With `requires_individual_consent` no run, class or outer consent carries what it does.
    """

    name: str
    function: Callable[..., Any]
    operations: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    requires_individual_consent: bool = False


class Workflow:
    """A declared workflow. `run` starts it in the session at hand."""

    def __init__(
        self, door: Door, name: str, steps: Sequence[Step], operations: tuple[str, ...], *, restartable: bool
    ) -> None:
        self._door = door
        self.name = name
        self.steps = _order_steps(name, steps)
        self.shapes = {step.name: Shape(step.function) for step in self.steps}
        self.operations = _list_operations(door, name, self.steps, operations)
        self.restartable = restartable
        self.parameters = _parameters(name, self.steps, self.shapes)
        shape = ", ".join(f"{step.name}{self.shapes[step.name].signature}" for step in self.steps)
        self.schema = sha256(shape.encode())
        self.asked = Capability(f"workflow:{name}", self.run, Shape(_nothing))
        """What a question about it is shown as; a workflow cannot be edited."""

    def run(
        self, params: Mapping[str, Any] | None = None, *, session: HasId | str | None = None, **how: Any
    ) -> Result:
        wish = RunOptions(self._session(session), **how)
        return drive(run_workflow(self._door, self, params, wish))

    async def arun(
        self, params: Mapping[str, Any] | None = None, *, session: HasId | str | None = None, **how: Any
    ) -> Result:
        wish = RunOptions(self._session(session), is_async=True, **how)
        return await adrive(run_workflow(self._door, self, params, wish))

    def _session(self, session: HasId | str | None) -> str:
        if session is None:
            return self._door.session_here()
        return session if isinstance(session, str) else session.id

    def request(self, params: Mapping[str, Any], session: str) -> Request:
        """The request to start a run with these parameters."""
        call = make_call(f"workflow:{self.name}", params, folder=folder_here(), schema=self.schema)
        named = tuple(self._door.capabilities.operation(name) for name in self.operations)
        starts = Declaration(named or (Operation(f"workflow.{self.name}", risk=Risk.LOW),), "code")
        return self._door.request_for_call(call, starts, session, workflow=self.name)

    def write_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The run's parameters, checked against the types of every step that takes them."""
        unknown = sorted(set(params) - set(self.parameters))
        missing = sorted(name for name, needed in self.parameters.items() if needed and name not in params)
        if unknown or missing:
            raise WrongArguments(
                f"{self.name}: unknown {', '.join(unknown) or 'none'}, missing {', '.join(missing) or 'none'}"
            )
        plain: dict[str, Any] = {}
        for step in self.steps:
            wanted = {name: plain.get(name, params[name]) for name in params if name in self.takes(step)}
            plain |= self.shapes[step.name].write_some(wanted)
        return plain

    def takes(self, step: Step) -> frozenset[str]:
        return frozenset(self.shapes[step.name].signature.parameters)


def _nothing() -> None:
    """The shape of what takes no arguments a person could edit."""


def declare_workflow(
    door: Door, name: str, steps: Sequence[Step], operations: tuple[str, ...], *, restartable: bool
) -> Workflow:
    """Declare a workflow under its name."""
    workflow = Workflow(door, name, steps, operations, restartable=restartable)
    if name in door.workflows:
        raise NotGateable(f"there is a workflow {name} already")
    door.workflows[name] = workflow
    return workflow


def run_any(door: Door, name: str, params: Mapping[str, Any] | None, wish: RunOptions) -> Steps[Result]:
    """Run a workflow or a capability, whichever is called this."""
    workflow: Workflow | None = door.workflows.get(name)
    with door.handing_on.under_way(wish.began):
        if workflow is None:
            return (yield from run_capability(door, name, params, wish))
        return (yield from run_workflow(door, workflow, params, wish))


def retry_any(door: Door, operation_id: str, wish: RunOptions) -> Steps[Result]:
    """Go on with a call or a run that timed out."""
    with door.handing_on.under_way(wish.began):
        return (yield from _retry_any(door, operation_id, wish))


def _retry_any(door: Door, operation_id: str, wish: RunOptions) -> Steps[Result]:
    try:
        attempt: Attempt = yield Work(lambda: door.find_call(operation_id, wish.session))
        name = attempt.record.request.workflow
        if name is None:
            return (yield from retry_capability(door, operation_id, wish))
        if attempt.state not in AWAITING and not _has_stopped_short(attempt):
            return (yield from join_call(door, attempt, wish))
        workflow: Workflow | None = door.workflows.get(name)
        if workflow is None:
            return Result("error", reason=f"there is no workflow {name!r} here", operation_id=operation_id)
        return (yield from _retry_run(door, workflow, attempt, wish))
    except SaysoError as error:
        return Result("error", reason=str(error), operation_id=operation_id)


def retry_owned(door: Door, operation_id: str, how: Mapping[str, Any]) -> Steps[Result]:
    """The same without a session named: in the session of the call, where this program owns it."""
    around = session_around(door)  # looked up here: in the thread of some work, other code is around
    try:
        session: str = yield Work(lambda: door.session_of(operation_id, around))
    except SaysoError as error:
        return Result("error", reason=str(error), operation_id=operation_id)
    return (yield from retry_any(door, operation_id, RunOptions(session, **how)))


def check_any(door: Door, name: str, params: Mapping[str, Any] | None, session: str) -> Decision:
    """Decide a run of the workflow or capability of this name, without running it."""
    workflow: Workflow | None = door.workflows.get(name)
    if workflow is None:
        return check_capability(door, name, params, session)
    return door.preview(
        workflow.request(workflow.write_params(check_params(params)), session), scope_here(door, session)
    )


def run_workflow(
    door: Door, workflow: Workflow, params: Mapping[str, Any] | None, wish: RunOptions
) -> Steps[Result]:
    """Ask for the run as a whole, then do its steps in their order. It runs once."""
    try:
        given = workflow.write_params(check_params(params))
        request, scope = workflow.request(given, wish.session), scope_here(door, wish.session)
        attempt: Attempt = yield Work(lambda: door.begin(request, scope, CallKeys(key=wish.key)))
        return (yield from _ask_for_run(door, workflow, attempt, scope, wish))
    except SaysoError as error:
        return Result("error", reason=str(error))


def _has_stopped_short(attempt: Attempt) -> bool:
    """Return whether this is a run that failed in a step, and can go on there."""
    return attempt.state == "failed" and attempt.note is not None and decode_note(attempt.note).goes_on


def _retry_run(door: Door, workflow: Workflow, attempt: Attempt, wish: RunOptions) -> Steps[Result]:
    scope = scope_here(door, wish.session)
    _check_same_steps(workflow, attempt)
    if attempt.state != "waiting":
        tried: Attempt = yield Work(lambda: door.retry(workflow.asked, attempt, scope))
        return (yield from _ask_for_run(door, workflow, tried, scope, wish))
    execute = partial(_carry_out, door, workflow, scope, wish)
    return (yield from rerun(door, attempt, scope, wish, execute, restartable=workflow.restartable))


def _ask_for_run(
    door: Door, workflow: Workflow, attempt: Attempt, scope: Scope, wish: RunOptions
) -> Steps[Result]:
    execute = partial(_carry_out, door, workflow, scope, wish)
    return (yield from run_with_consent(door, workflow.asked, attempt, scope, wish, execute))


def _carry_out(
    door: Door, workflow: Workflow, scope: Scope, wish: RunOptions, attempt: Attempt, runs: int
) -> Steps[Result]:
    before = decode_note(attempt.note)
    finished = _read_finished(before)
    given: dict[str, Any] = {**decode_canonical(attempt.record.request.call.arguments), **finished}
    steps = dict.fromkeys(finished, "succeeded")
    note = RunNote(steps, runs, restartable=workflow.restartable, results=before.results)
    folder = attempt.record.request.call.folder
    job = Job(attempt.call, attempt.fence, time.monotonic() + wish.wait, note, scope, folder)
    door.keeper.hold(job.call, job.fence)
    done = Outcome()
    results: dict[str, Any] = {}
    with RunningSpan(attempt.call, attempt.record.request) as run:
        try:
            for step in workflow.steps:
                if step.name in finished:
                    continue
                done = yield from _do_step(door, workflow, step, (given, results), job, wish)
                if job.stopped is not None or done.error is not None:
                    break
                results[step.name] = done.value
                job.done, job.started = [*job.done, *job.started], []
        finally:
            door.keeper.drop(job.call)
        run.set_end(describe_ending(done, job), done.error)
    if job.stopped is not None:
        return (yield from settle_stopped_run(door, job, restartable=workflow.restartable))
    everything = {**finished, **results}
    if done.error is None:
        done = Outcome({step.name: everything[step.name] for step in workflow.steps})
    return (yield from conclude_run(door, job.call, job.fence, done, tuple(everything)))


def _check_same_steps(workflow: Workflow, attempt: Attempt) -> None:
    """Refuse to go on with a run whose steps are others now, or of which something needed is not kept."""
    if attempt.record.request.call.schema != workflow.schema:
        raise OtherFunction(f"{workflow.name} has other steps than the run that was asked for")
    note = decode_note(attempt.note)
    lost = [name for name, state in note.steps.items() if state == "succeeded" and name not in note.results]
    if lost and not workflow.restartable:
        raise NotNow(not_kept_step(lost[0]), hint="run the workflow again")


def _read_finished(note: RunNote) -> dict[str, Any]:
    """Decode what the finished steps returned."""
    return {name: msgspec.json.decode(text) for name, text in note.results.items()}


def _do_step(
    door: Door, workflow: Workflow, step: Step, known: StepInputs, job: Job, wish: RunOptions
) -> Steps[Outcome]:
    """One step, in the scope of the run. How it stands is written down before and after."""
    yield from _note_step(door, job, step.name, "running")
    given, results = known
    written = {name: given[name] for name in workflow.takes(step) if name in given and name not in results}
    arguments = {name: results[name] for name in workflow.takes(step) if name in results}
    try:
        arguments |= workflow.shapes[step.name].read_some(written)
    except SaysoError as error:  # what an earlier step returned is not what this one takes
        yield from _note_step(door, job, step.name, "failed")
        return Outcome(error=error)
    run = Run(job.call, workflow.name)
    frame = Frame(door, wish.session, run=run, individual=step.requires_individual_consent, job=job)
    crossing = inspect.iscoroutinefunction(step.function) != wish.is_async
    where: dict[str, Any] = {"folder": job.folder, "crossing": crossing}
    done: Outcome = yield Enter(frame, lambda: call_function(step.function, (), arguments, **where))
    if job.stopped is not None:
        yield from _note_step(door, job, step.name, STOPPED)
    elif done.error is not None:
        yield from _note_step(door, job, step.name, "failed")
    else:
        text, _ = keep_result(done.value)
        yield from _note_step(door, job, step.name, "succeeded", text)
    return done


def _note_step(door: Door, job: Job, step: str, state: str, result: bytes | None = None) -> Steps[None]:
    kept = job.note.results if result is None else {**job.note.results, step: result.decode()}
    steps = {**job.note.steps, step: state}
    job.note = msgspec.structs.replace(job.note, steps=steps, results=kept)
    yield Work(lambda: door.keep_note(job.call, job.fence, job.note))


def _order_steps(name: str, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps in an order that keeps each after those it follows; otherwise as they were declared."""
    if not steps:
        raise NotGateable(f"the workflow {name} has no steps")
    named = {step.name: step for step in steps}
    if len(named) != len(steps):
        raise NotGateable(f"the workflow {name} has two steps of one name")
    for step in steps:
        check_gateable(step.function)
        unknown = sorted(set(step.after) - set(named))
        if unknown:
            raise NotGateable(
                f"the step {step.name} follows {', '.join(unknown)}, which is not a step of {name}"
            )
    try:
        order = TopologicalSorter({step.name: step.after for step in steps}).static_order()
        return tuple(named[one] for one in order)
    except CycleError as error:
        raise NotGateable(f"the steps of {name} wait for each other: {' -> '.join(error.args[1])}") from error


def _list_operations(door: Door, name: str, steps: Sequence[Step], more: tuple[str, ...]) -> tuple[str, ...]:
    """All operations the workflow declares. Where the policy knows it, it may not declare more than there."""
    listed = operation_names([*more, *(operation for step in steps for operation in step.operations)])
    door.check_workflow(name, listed)
    return listed


def _parameters(name: str, steps: Sequence[Step], shapes: Mapping[str, Shape]) -> dict[str, bool]:
    """The parameters a run takes, and whether each is needed: what steps want and no earlier one gives."""
    wanted: dict[str, bool] = {}
    given: set[str] = set()
    for step in steps:
        for parameter in shapes[step.name].signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise NotGateable(f"the step {step.name} of {name} takes parameters without names")
            if parameter.name not in given:
                needed = parameter.default is inspect.Parameter.empty
                wanted[parameter.name] = wanted.get(parameter.name, False) or needed
        given.add(step.name)
    return wanted

"""Workflows: declared steps, one consent for the run, and a record of how far it has come."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec

from sayso.core.digest import sha256
from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request
from sayso.core.session import Run
from sayso.doors.python.arguments import Shape, WrongArguments
from sayso.doors.python.calls import cleared, reported
from sayso.doors.python.capability import Capability, NotGateable, called, gateable, names
from sayso.doors.python.door import Door
from sayso.doors.python.results import ConsentDenied, ConsentTimeout, Result
from sayso.doors.python.run import Wish, denied, late, stopped, told
from sayso.doors.python.scope import Frame, Job, scope_of
from sayso.doors.python.steps import Done, Enter, Steps, Work, adrive, drive
from sayso.gate import calls, workflows
from sayso.gate.calls import Attempt
from sayso.gate.request import make_call, make_request


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
        self.steps = _ordered(name, steps)
        self.shapes = {step.name: Shape(step.function) for step in self.steps}
        self.operations = _declared(door, name, self.steps, operations)
        self.restartable = restartable
        self.parameters = _parameters(name, self.steps, self.shapes)

    def run(
        self, params: Mapping[str, Any] | None = None, *, session: str | None = None, **how: Any
    ) -> Result:
        wish = Wish(session or self._door.session_here(), **how)
        return drive(run_workflow(self._door, self, params or {}, wish))

    async def arun(
        self, params: Mapping[str, Any] | None = None, *, session: str | None = None, **how: Any
    ) -> Result:
        wish = Wish(session or self._door.session_here(), is_async=True, **how)
        return await adrive(run_workflow(self._door, self, params or {}, wish))

    def request(self, params: Mapping[str, Any], session: str) -> Request:
        """The request to start a run with these parameters."""
        row = self._door.row(session)
        shape = ", ".join(f"{step.name}{self.shapes[step.name].signature}" for step in self.steps)
        call = make_call(
            f"workflow:{self.name}", params, workspace=row.workspace, schema=sha256(shape.encode())
        )
        named = [self._door.capabilities.operation(name) for name in self.operations]
        return make_request(
            call,
            named or [Operation(f"workflow.{self.name}")],
            agent=row.agent,
            session=session,
            workflow=self.name,
        )

    def given(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The run's parameters, checked against the types of every step that takes them."""
        unknown = sorted(set(params) - set(self.parameters))
        missing = sorted(name for name, needed in self.parameters.items() if needed and name not in params)
        if unknown or missing:
            raise WrongArguments(
                f"{self.name}: unknown: {', '.join(unknown) or 'none'}; missing: {', '.join(missing) or 'none'}"
            )
        for step in self.steps:
            self.shapes[step.name].fit({name: params[name] for name in params if name in self.takes(step)})
        return dict(params)

    def takes(self, step: Step) -> frozenset[str]:
        return frozenset(self.shapes[step.name].signature.parameters)


def declare(
    door: Door, name: str, steps: Sequence[Step], operations: tuple[str, ...], *, restartable: bool
) -> Workflow:
    """Declare a workflow under its name; it can then be run by that name as well."""
    workflow = Workflow(door, name, steps, operations, restartable=restartable)
    door.workflows[name] = workflow
    return workflow

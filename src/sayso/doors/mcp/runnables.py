"""Runnables: each capability that an agent can run by name, with a JSON Schema of its parameters."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from sayso.doors.python.values.parameter_schema import describe_parameters, parameter_type, parameters_schema
from sayso.doors.python.workflow import Workflow
from sayso.doors.sayso import Sayso


class Runnable(msgspec.Struct, frozen=True):
    """Something that can be run by name."""

    name: str
    about: str
    params: dict[str, Any]


def list_runnables(gate: Sayso) -> list[Runnable]:
    """Every workflow and capability that can be run by name, by that name."""
    found = {
        one.name: Runnable(one.name, _about(one.function), describe_parameters(one.shape))
        for one in gate.door.capabilities.all()
        if not one.shape.live
    }
    for name, workflow in gate.door.workflows.items():
        steps = ", ".join(step.name for step in workflow.steps)
        found[name] = Runnable(name, f"a workflow of {steps}", _inputs(workflow))
    return [found[name] for name in sorted(found)]


def _about(function: object) -> str:
    """The first paragraph of the function's own docstring."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _inputs(workflow: Workflow) -> dict[str, Any]:
    takers = {name: step.name for step in reversed(workflow.steps) for name in workflow.takes(step)}
    hints = {name: parameter_type(workflow.shapes[takers[name]], name) for name in workflow.parameters}
    return parameters_schema(hints, [name for name, needed in workflow.parameters.items() if needed])

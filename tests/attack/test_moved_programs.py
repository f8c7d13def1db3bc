"""A call runs in the folder it was approved in, or not at all: a program that moved meanwhile is told so.

The digest of a call holds the real working folder (SPEC 2), and the person saw it. What runs in this process
runs in the process's folder, so that has to be the same one at the moment the function is entered.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso, Step
from sayso.doors.mcp.tools import TOOLS, use_tool
from sayso.doors.python.calls.capability import ProgramMoved
from sayso.doors.python.calls.results import Result
from sayso.doors.remote.connected import Connected, connect
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.policy import load_text
from tests.attack.opening import a_gate, answer_last
from tests.support.doors_over_lines import Served, serving
from tests.support.people import Person, edit

POLICY = """
extends: [balanced]
domains:
  notes: {autonomous: [], requires_approval: [drop, tell], blocked: []}
operations:
  notes.drop: {risk: moderate}
  notes.tell: {risk: moderate}
"""
NOTES = {"path": "notes.txt"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two folders that hold a file of the same name; the program works in `tmp`."""
    project = tmp_path / "project"
    for name in ("tmp", "keep"):
        (project / name).mkdir(parents=True)
        (project / name / "notes.txt").write_text(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(project / "tmp")
    return project


class Program:
    """A program with a function, a run that comes to another one inside, and a workflow of two steps."""

    def __init__(self, gate: Sayso | Connected, project: Path, answer: Callable[[str, str], None]) -> None:
        self.gate, self.entered = gate, list[str]()
        self.session = gate.session(workspace=str(project))
        self.step_moves_to: Path | None = None
        self._answer = answer

        @gate.requires_consent("notes.drop")
        def drop(path: str) -> str:
            return self._enter("drop")

        @gate.requires_consent("notes.tell")
        def tell() -> str:
            return "told"

        @gate.capability(restartable=True)
        def gather() -> str:
            self._enter("gather")
            return str(tell())

        def first() -> str:
            where = self._enter("first")
            if self.step_moves_to is not None:
                os.chdir(self.step_moves_to)
            return where

        def second() -> str:
            return self._enter("second")

        gate.workflow("tidy", [Step("first", first, ("notes.drop",)), Step("second", second)])

    def run(self, name: str, params: dict[str, Any] | None = None) -> str:
        late = self.session.run(name, params or {}, wait=0)
        assert late.status == "timeout", late
        return late.operation_id or ""

    def answer(self, answer: str = "once") -> None:
        self._answer(self.session.id, answer)

    def retry(self, call: str) -> Result:
        return self.session.retry(call, wait=0)

    def _enter(self, name: str) -> str:
        self.entered.append(f"{name} in {Path.cwd().name}")
        return str(Path.cwd())


class Moving(Person):
    """While this person reads a question, the program moves."""

    def __init__(self, to: Path, *answers: str | Reply) -> None:
        super().__init__(*answers)
        self.to = to

    def show(self, shown: AskedQuestion, key: str) -> str:
        os.chdir(self.to)
        return super().show(shown, key)


@pytest.fixture(scope="module")
def service() -> Iterator[Served]:
    with serving() as running:
        yield running


@pytest.fixture(params=["embedded", "connected"])
def program(request: pytest.FixtureRequest, project: Path, service: Served) -> Iterator[Program]:
    if request.param == "embedded":
        with a_gate(POLICY) as gate:
            yield Program(gate, project, lambda session, answer: answer_last(gate, session, answer))
        return
    service.put_in_force(load_text(POLICY))
    with connect(service.url, service.tokens["host"]) as connected:
        yield Program(connected, project, service.answer)


def told_to_go_back(result: Result, project: Path) -> bool:
    """Whether the caller learns which folder it was approved in, and what to do."""
    reason = result.reason or ""
    there = str(project / "tmp") in reason and "again" in reason
    return result.status == "error" and there


@pytest.mark.parametrize("name", ["drop", "tidy"])
def test_no_retry_runs_an_approved_call_in_another_folder(program: Program, project: Path, name: str) -> None:
    call = program.run(name, NOTES if name == "drop" else None)
    program.answer()
    os.chdir(project / "keep")
    for _ in range(2):
        assert told_to_go_back(program.retry(call), project)
    assert program.entered == []
    os.chdir(project / "tmp")
    assert program.retry(call).ok, "the approval was not used up"
    assert all(one.endswith("in tmp") for one in program.entered)


def test_no_call_that_waited_in_place_runs_in_another_folder(project: Path) -> None:
    with a_gate(POLICY, [Moving(project / "keep", "once")]) as gate:
        program = Program(gate, project, lambda session, answer: None)
        result = program.session.run("drop", NOTES, wait=60)
        assert told_to_go_back(result, project)
        os.chdir(project / "tmp")
        assert program.retry(result.operation_id or "").ok
    assert program.entered == ["drop in tmp"]


def test_no_decorated_function_that_waited_runs_in_another_folder(project: Path) -> None:
    with (
        a_gate(POLICY, [Moving(project / "keep", "once")]) as gate,
        gate.session(workspace=str(project)).active(),
    ):
        ran: list[str] = []

        @gate.requires_consent("notes.drop", wait=60)
        def drop(path: str) -> None:
            ran.append(path)

        with pytest.raises(ProgramMoved):
            drop("notes.txt")
    assert ran == []


def test_no_replay_runs_in_another_folder(program: Program, project: Path) -> None:
    call = program.run("drop", NOTES)
    program.answer("always")
    assert program.retry(call).ok
    os.chdir(project / "keep")
    assert told_to_go_back(program.session.replay(call, wait=0), project)
    assert program.entered == ["drop in tmp"]


def test_no_parked_run_goes_on_in_another_folder(program: Program, project: Path) -> None:
    call = program.run("gather")
    program.answer()
    os.chdir(project / "keep")
    assert told_to_go_back(program.retry(call), project)
    os.chdir(project / "tmp")
    assert program.retry(call).ok
    assert program.entered == ["gather in tmp", "gather in tmp"]


def test_no_step_of_a_workflow_runs_in_another_folder_than_the_run_was_allowed_in(
    program: Program, project: Path
) -> None:
    call = program.run("tidy")
    program.answer()
    program.step_moves_to = project / "keep"
    result = program.retry(call)
    assert (result.status, program.entered) == ("error", ["first in tmp"])
    assert str(project / "tmp") in (result.reason or "")


def test_no_call_runs_in_a_folder_that_it_was_led_to_at_the_last_moment(project: Path) -> None:
    def leads_away(path: str) -> str:
        os.chdir(project / "keep")
        return path

    with a_gate(POLICY) as gate:
        program = Program(gate, project, lambda session, answer: answer_last(gate, session, answer))

        @gate.capability(effect_key=leads_away)
        @gate.requires_consent("notes.drop")
        def late(path: str) -> None:
            program.entered.append(path)

        call = program.run("late", NOTES)
        os.chdir(project / "tmp")
        program.answer()
        assert told_to_go_back(program.retry(call), project)
    assert program.entered == []


def test_no_retry_over_mcp_runs_an_approved_call_in_another_folder(project: Path) -> None:
    with a_gate(POLICY) as gate:
        program = Program(gate, project, lambda session, answer: answer_last(gate, session, answer))
        call = program.run("drop", NOTES)
        program.answer()
        os.chdir(project / "keep")
        session, wanted = gate.session_by_id(program.session.id), {"operation_id": call, "wait": 0}
        asked = use_tool(gate, session, TOOLS["retry"], wanted)
        told = asyncio.run(asked)
        assert told["status"] == "error"
        assert str(project / "tmp") in told["reason"]
    assert program.entered == []


def test_no_retry_runs_where_the_approved_folder_was_replaced_by_a_link(
    program: Program, project: Path
) -> None:
    call = program.run("drop", NOTES)
    program.answer()
    os.chdir(project)
    (project / "tmp").rename(project / "old")
    (project / "tmp").symlink_to(project / "keep")
    os.chdir(project / "tmp")
    assert not program.retry(call).ok
    assert program.entered == []


def test_no_retry_runs_once_the_folder_of_the_program_is_gone(program: Program, project: Path) -> None:
    call = program.run("drop", NOTES)
    program.answer()
    (project / "tmp/notes.txt").unlink()
    (project / "tmp").rmdir()
    assert not program.retry(call).ok
    assert program.entered == []
    os.chdir(project)


def test_a_program_without_a_folder_still_runs_what_nobody_has_to_approve(
    program: Program, project: Path
) -> None:
    (project / "tmp/notes.txt").unlink()
    (project / "tmp").rmdir()
    ran: list[int] = []

    @program.gate.capability(name="count")
    def count() -> None:
        ran.append(1)

    assert program.session.run("count", {}, wait=0).ok
    assert ran == [1]
    os.chdir(project)


def test_an_edit_by_a_person_never_moves_the_call_to_another_folder(project: Path) -> None:
    with a_gate(POLICY, [Moving(project / "keep", edit({"path": "other.txt"}))]) as gate:
        program = Program(gate, project, lambda session, answer: None)
        result = program.session.run("drop", NOTES, wait=60)
        assert told_to_go_back(result, project)
    assert program.entered == []

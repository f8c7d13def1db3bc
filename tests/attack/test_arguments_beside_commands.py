"""Threat: a harmless command line, and beside it an argument that makes the tool do something else.

Whatever stands beside the command and is not known to change nothing makes the call high risk. A folder that
the call names is where its command line is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso import Inbox, Sayso
from sayso.core.deciding.showing import describe_whole_call
from sayso.gate.open import open_gate
from sayso.policy import load_preset, load_text
from sayso.store.memory.store import MemoryStore
from tests.attack.opening import open_questions
from tests.attack.workplaces import work
from tests.support.gates import KEY, no_settings
from tests.support.people import Person

__all__ = ["no_settings", "work"]

BESIDE: list[dict[str, Any]] = [
    {"args": ["-rf", "/"]},
    {"arguments": "; rm -rf ~"},
    {"suffix": "; rm -rf ~"},
    {"pre_command": "rm -rf ~"},
    {"then": {"run": "rm -rf ~"}},
    {"commands": ["rm -rf ~"]},
    {"cmd": "rm -rf ~"},
    {"environment_variables": ["LD_PRELOAD=./x.so"]},
    {"vars": "PATH=./evil"},
    {"standard_input": "rm -rf ~"},
    {"run_as": "root"},
    {"elevated": True},
    {"dangerouslyDisableSandbox": True},
    {"host": "prod"},
    {"options": [{"x": 1}]},
    {"description": "a\nb"},
    {"timeout": {"then": "rm -rf ~"}},
    {"run_in_background": "rm -rf ~\n"},
    {"unknown": 1},
    {"cwd": 7},
    {"cwd": ["/etc"]},
    {"user": 0},
    {"uid": 0},
    {"sandbox": False},
    {"use_sandbox": False},
]
"""What may make `ls` do something else."""

HARMLESS: list[dict[str, Any]] = [
    {"description": "look around", "timeout": 5},
    {"run_in_background": True},
    {"run_in_background": False, "dangerouslyDisableSandbox": False},
    {"is_background": True, "explanation": "look around"},
    {"env": {}, "args": [], "stdin": "", "cwd": None},
    {"cwd": ""},
    {"workdir": "."},
    {"mode": "sync", "initial_wait": 10},
    {"timeout": 0, "delay_ms": 0},
    {"elevated": False, "sudo": False},
]

FOLDERS = ("cwd", "workdir", "working_directory", "workingDirectory", "dir", "directory", "folder", "wd")


@pytest.fixture(params=["balanced", "coding"])
def gate(request: pytest.FixtureRequest, work: Path) -> Sayso:
    return Sayso(open_gate(load_preset(request.param), MemoryStore(), key=KEY), [Person()])


@pytest.mark.parametrize("tool", ["Bash", "exec", "run_in_terminal"])
@pytest.mark.parametrize("beside", BESIDE, ids=repr)
def test_a_harmless_command_never_hides_what_stands_beside_it(
    gate: Sayso, work: Path, tool: str, beside: dict[str, Any]
) -> None:
    called = gate.session(workspace=str(work)).call(tool, {"command": "ls", **beside})
    assert (called.asked, called.decision.risk.word) == (True, "high")


def test_a_yes_to_a_command_never_covers_it_with_something_beside_it(work: Path) -> None:
    with Sayso(open_gate(load_preset("chat"), MemoryStore(), key=KEY), [Person()]) as gate:
        session = gate.session(workspace=str(work))
        session.hear("make some files")
        session.call("Bash", {"command": "touch a"})
        assert session.hear("yes").answered == "task"
        assert session.call("Bash", {"command": "touch b"}).allowed
        assert not session.call("Bash", {"command": "touch b", "extra": "rm -rf ~"}).allowed


@pytest.mark.parametrize("beside", HARMLESS, ids=repr)
def test_what_changes_nothing_about_a_command_is_not_asked_about(
    gate: Sayso, work: Path, beside: dict[str, Any]
) -> None:
    assert gate.session(workspace=str(work)).call("Bash", {"command": "ls", **beside}).allowed


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize(
    ("command", "folder"),
    [("cat id_rsa", "~/.ssh"), ("cat id_rsa", "../home/.ssh"), ("cat shadow", "/etc"), ("ls", "link")],
)
def test_no_command_reads_secrets_unasked_from_the_folder_that_its_call_names(
    gate: Sayso, work: Path, name: str, command: str, folder: str
) -> None:
    (work / "link").symlink_to(work.parent / "home" / ".ssh")
    called = gate.session(workspace=str(work)).call("Bash", {"command": command, name: folder})
    assert not called.allowed


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("command", ["touch x", "rm x", "cp a b", "echo hi > x"])
def test_a_yes_to_changes_in_the_workspace_never_covers_the_folder_that_a_call_names(
    gate: Sayso, work: Path, name: str, command: str
) -> None:
    session = gate.session(workspace=str(work))
    for folder in (str(work.parent / "other"), "../other", "~/other"):
        (work.parent / "other").mkdir(exist_ok=True)
        called = session.call("Bash", {"command": command, name: folder})
        assert called.decision.risk.word == "high"
    inside = session.call("Bash", {"command": command, name: str(work)})
    assert inside.decision.risk.word == "moderate"


def test_a_question_says_what_stands_beside_a_command_in_a_whole_sentence(work: Path) -> None:
    policy = load_preset("balanced")
    with Sayso(open_gate(policy, MemoryStore(), key=KEY), [Inbox()]) as gate:
        session = gate.session(agent="a", workspace=str(work))
        session.call("Bash", {"command": "ls", "env": {"LD_PRELOAD": "./x.so"}})
        (question,) = open_questions(gate, session.id)
    told = "\n".join(describe_whole_call(question.request, question.items))
    assert "because it runs with an argument beside its command line that may change what it does" in told


NAMED = """
domains:
  tests: {autonomous: [run], requires_approval: [], blocked: []}
  notes: {autonomous: [], requires_approval: [look], blocked: []}
operations: {notes.look: {risk: low}}
tools:
  - {tool: try, operation: tests.run, command: args.line, target: args.target, ignore: [label]}
  - {tool: look, operation: notes.look, command: args.line}
"""


@pytest.mark.parametrize(
    "beside",
    [
        {"env": {"PYTEST_ADDOPTS": "-p evil"}},
        {"Environment": ["PATH=./evil"]},
        {"stdin": "import os"},
        {"std-input": "import os"},
        {"standard_input": "import os"},
        {"executable": "./pytest"},
        {"shell": "./sh"},
        {"args": ["-p", "evil"]},
        {"run_as": "root"},
        {"host": "prod"},
        {"dangerouslyDisableSandbox": True},
        {"cwd": ["/etc"]},
        {"label": {"env": 1}},
    ],
    ids=repr,
)
def test_a_named_command_never_runs_unasked_with_what_is_never_harmless_beside_it(
    work: Path, beside: dict[str, Any]
) -> None:
    with Sayso(open_gate(load_text(NAMED, name="named"), MemoryStore(), key=KEY), [Person()]) as gate:
        session = gate.session(workspace=str(work))
        called = session.call("try", {"line": "pytest", **beside})
        assert (called.asked, called.decision.risk.word) == (True, "high")
        assert session.call("try", {"line": "pytest"}).decision.rule == "autonomous"


@pytest.mark.parametrize(
    "beside", [{"description": "all of them"}, {"label": "x"}, {"target": "a.py"}, {"timeout": 9}], ids=repr
)
def test_a_named_command_runs_with_what_changes_nothing_about_it(work: Path, beside: dict[str, Any]) -> None:
    with Sayso(open_gate(load_text(NAMED, name="named"), MemoryStore(), key=KEY), [Person()]) as gate:
        called = gate.session(workspace=str(work)).call("try", {"line": "pytest", **beside})
        assert called.decision.rule == "autonomous"


def test_a_named_command_of_low_risk_is_not_low_with_an_argument_that_nobody_knows(work: Path) -> None:
    with Sayso(open_gate(load_text(NAMED, name="named"), MemoryStore(), key=KEY), [Person()]) as gate:
        session = gate.session(workspace=str(work))
        assert session.call("look", {"line": "ls"}).decision.risk.word == "low"
        assert session.call("look", {"line": "ls", "then": "x"}).decision.risk.word == "moderate"

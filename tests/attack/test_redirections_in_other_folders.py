"""Threat: a line goes to another folder, and what it redirects there is read as if it had stayed.

A redirection behind a row of commands belongs to the last of them, in the folder that those before it led to.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.model import Risk
from sayso.policy import load_preset
from sayso.reading.path_operations import CallFolders
from sayso.reading.shell.read import ShellReading, read_line
from tests.attack.workplaces import work
from tests.support.gates import no_settings

__all__ = ["no_settings", "work"]

POLICY = load_preset("coding")
THERE = [
    "cd {there} && echo x > file",
    "cd {there} && echo x >> ./file",
    "cd {there} && ls && echo x > file",
    "cd {there} && true || echo x > file",
    "(cd {there} && echo x > file)",
    "{{ cd {there} && echo x > file; }}",
    "pushd {there} && echo x > file",
    "if true; then cd {there} && echo x > file; fi",
    "cd {there} && echo x > file &",
    "cd {there} && echo x | cat > file",
    "cd {there} && ! echo x > file",
    "cd {there} && echo x &> file",
    "cd {there} && echo x 2> file && ls",
    "cd {there} && (echo x) > file",
    "cd {there} && for i in a; do echo $i; done > file",
    "cd {there} && cat <<E > file\nx\nE\n",
    "cd {there} && cat <<E | tee file\nx\nE\n",
    "cd {there} && true 2>/dev/null | tee file",
    "cd {there} && true 2>/dev/null | cat | tee file",
    "cd {there} && true 2>/dev/null | cat > file",
    "ls > /dev/null && cd {there} && echo x > file",
    "bash -c 'cd {there} && echo x > file'",
]


def read(line: str, work: Path) -> ShellReading:
    return read_line(line, CallFolders(str(work), str(work), str(work.parent / "home")), POLICY)


@pytest.mark.parametrize("line", THERE)
def test_no_redirection_behind_a_change_of_folder_is_taken_for_one_in_the_workspace(
    line: str, work: Path
) -> None:
    (work.parent / "other").mkdir()
    for there in ("../other", "/etc", str(work.parent / "other")):
        assert read(line.format(there=there), work).risk is Risk.HIGH


@pytest.mark.parametrize("line", THERE)
def test_no_redirection_behind_a_change_of_folder_changes_what_guards(line: str, work: Path) -> None:
    (work / ".claude").mkdir()
    (work / ".claude" / "settings.json").write_text("{}")
    line = line.replace("file", "settings.json").format(there=".claude")
    assert read(line, work).findings[0].barred is not None


@pytest.mark.parametrize("line", THERE)
def test_a_redirection_in_a_folder_of_the_workspace_is_moderate(line: str, work: Path) -> None:
    (work / "sub").mkdir()
    assert read(line.format(there="sub"), work).risk is Risk.MODERATE


@pytest.mark.parametrize(
    "line",
    [
        "echo rm -rf / && cat <<E | sh\nls\nE\n",
        "cd sub && cat <<E | sh\nrm -rf /\nE\n",
        "ls && sh <<E\nrm -rf /\nE\n",
    ],
)
def test_what_stands_on_the_input_of_the_last_command_is_what_that_runs(line: str, work: Path) -> None:
    (work / "sub").mkdir()
    assert read(line, work).risk is Risk.HIGH

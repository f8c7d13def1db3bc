"""`sayso shell` and `sayso run` as a script would call them: real processes, exact lines, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


class Machine:
    """A home with a workspace in it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder.resolve()
        self.work = self.home / "work"
        (self.work / ".git").mkdir(parents=True)
        (self.work / "notes.txt").write_text("notes\n")
        (self.work / ".env").write_text("KEY=1\n")

    def sayso(self, *words: str) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("SAYSO", "XDG"))}
        places = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config")}
        places |= {"XDG_DATA_HOME": str(self.home / "data"), "COLUMNS": "80"}
        return subprocess.run(
            [sys.executable, "-m", "sayso", *words],
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
            cwd=self.work,
            env=clean | places,
        )

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return self.sayso("run", "--preset", "coding", "--", line)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_shell_marks_the_part_that_counts(machine: Machine) -> None:
    ended = machine.sayso("shell", "--preset", "coding", "cat notes.txt && git push --force")
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    assert lines[0] == "cat notes.txt && git push --force"
    assert lines[1] == " " * 17 + "^" * 16
    assert "risk: high" in lines
    assert any(line.split() == ["high", "git.push_force"] for line in lines)


def test_shell_stays_in_80_columns_without_colour(machine: Machine) -> None:
    line = "cat " + " ".join(f"a-rather-long-name-{number}.txt" for number in range(20)) + " && rm -rf build"
    ended = machine.sayso("shell", "--preset", "coding", line)
    assert "\x1b" not in ended.stdout
    assert "deletes folders" in ended.stdout
    assert all(len(one) <= 80 for one in ended.stdout.splitlines())


def test_shell_speaks_json(machine: Machine) -> None:
    told = json.loads(machine.sayso("shell", "--preset", "coding", "--json", "cat .env; ls").stdout)
    assert told["risk"] == "high"
    parts = {(one["operation"], one["risk"], one["text"]) for one in told["parts"]}
    assert ("files.list", "low", "ls") in parts
    assert any(risk == "high" and text == ".env" for _, risk, text in parts)


@pytest.mark.parametrize("line", ["", "  "])
def test_shell_without_a_line_is_a_wrong_usage(machine: Machine, line: str) -> None:
    assert machine.sayso("shell", "--preset", "coding", line).returncode == 2


def test_shell_runs_nothing(machine: Machine) -> None:
    machine.sayso("shell", "--preset", "coding", "touch made.txt")
    assert not (machine.work / "made.txt").exists()


def test_run_runs_what_is_allowed_in_this_folder_and_ends_as_it_does(machine: Machine) -> None:
    ended = machine.run("pwd && cat notes.txt")
    assert (ended.returncode, ended.stdout) == (0, f"{machine.work}\nnotes\n")
    assert machine.run("grep -q nothing notes.txt").returncode == 1


def test_run_asks_and_runs_the_approved_line_once(machine: Machine) -> None:
    line = "rm -rf build && printf ok"
    (machine.work / "build").mkdir()
    asked = machine.run(line)
    assert (asked.returncode, asked.stdout) == (3, "")
    assert (machine.work / "build").is_dir()
    [question] = json.loads(machine.sayso("inbox", "--json").stdout)
    approved = machine.sayso("approve", "--preset", "coding", "--seen", question["digest"], question["id"])
    assert approved.returncode == 0, approved.stderr
    assert machine.run("rm -rf build notes.txt && printf ok").returncode == 3
    assert (machine.work / "notes.txt").exists()
    ran = machine.run(line)
    assert (ran.returncode, ran.stdout) == (0, "ok")
    assert not (machine.work / "build").exists()
    assert machine.run(line).returncode == 3


@pytest.mark.parametrize("line", ["cat .env", "sayso approve x", "ls && cat .env"])
def test_run_denies_what_is_blocked(machine: Machine, line: str) -> None:
    ended = machine.run(line)
    assert (ended.returncode, ended.stdout) == (4, "")

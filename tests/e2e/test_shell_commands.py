"""`sayso shell` and `sayso run` as a script would call them: real processes, exact lines, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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

    def environment(self) -> dict[str, str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("SAYSO", "XDG"))}
        names = ("CONFIG_HOME", "DATA_HOME", "RUNTIME_DIR")
        places = {f"XDG_{name}": str(self.home / name) for name in names}
        return clean | places | {"HOME": str(self.home), "COLUMNS": "80"}

    def sayso(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sayso", *words],
            capture_output=True,
            check=False,
            text=True,
            timeout=180,
            cwd=self.work,
            env=self.environment(),
        )

    @contextmanager
    def serving(self, preset: str) -> Iterator[None]:
        """A service of this user's, under this preset."""
        (self.home / "RUNTIME_DIR").mkdir(mode=0o700)
        words = [sys.executable, "-m", "sayso", "serve", "--preset", preset, "--port", "0"]
        with subprocess.Popen(
            words, cwd=self.work, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as service:
            assert service.stdout is not None
            assert service.stdout.readline().startswith(b"Sayso serves on")
            try:
                yield
            finally:
                service.kill()

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


def test_run_lets_the_service_decide_where_one_runs(machine: Machine) -> None:
    line = "cat notes.txt"
    assert machine.sayso("run", "--", line).returncode == 0
    with machine.serving("paranoid"):
        asked = machine.sayso("run", "--", line)
        assert (asked.returncode, asked.stdout) == (3, "")
        [question] = json.loads(machine.sayso("inbox", "--json").stdout)
        assert machine.sayso("approve", "--seen", question["digest"], question["id"]).returncode == 0
        ran = machine.sayso("run", "--", line)
        assert (ran.returncode, ran.stdout) == (0, "notes\n")
        assert machine.sayso("run", "--", line).returncode == 3
        assert machine.sayso("run", "--", "sayso approve x").returncode == 4
        [token] = json.loads(machine.sayso("token", "list", "--json").stdout)
        assert (token["role"], token["name"]) == ("host", "sayso run")


def test_run_runs_nothing_without_the_service_that_should_decide(machine: Machine) -> None:
    assert machine.sayso("run", "--", "cat notes.txt").returncode == 0
    (machine.home / "CONFIG_HOME" / "sayso").mkdir(parents=True)
    (machine.home / "CONFIG_HOME" / "sayso" / "settings.json").write_text('{"service_uid": 65534}')
    ended = machine.sayso("run", "--", "cat notes.txt")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "token" in ended.stderr


@pytest.mark.parametrize("left", ["mode: trusting\nextends: [coding]\n", None])
def test_a_policy_that_was_loosened_or_removed_waits_for_the_operator(
    machine: Machine, left: str | None
) -> None:
    file = machine.home / "CONFIG_HOME" / "sayso" / "policy.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("mode: paranoid\nextends: [coding]\n")
    assert machine.sayso("run", "--", "cat notes.txt").returncode == 3
    file.unlink()
    if left is not None:
        file.write_text(left)
    assert machine.sayso("run", "--", "cat notes.txt").returncode == 3

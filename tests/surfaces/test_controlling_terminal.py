"""Programs of their own: an agent with pipes for stdin and stdout still asks on the terminal it came from."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sayso.surfaces.terminal.prompt import ANSWER_PROMPT, CONFIRM_PROMPT
from tests.support.terminals import PATIENCE, Screen


class Program:
    """A running program, spoken to over pipes."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "tests.surfaces.program", *arguments]
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            command,
            env=environ,
            start_new_session=True,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._patience = threading.Timer(PATIENCE, self._process.kill)
        self._patience.start()

    def says(self, what: str) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._process.communicate()[1]
        return json.loads(line)[what]

    def hears(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def end(self) -> str:
        """Its complaints."""
        complaints = self._process.communicate()[1]
        self._patience.cancel()
        return complaints


@contextmanager
def started(screen: Screen, role: str = "waits") -> Iterator[Program]:
    program = Program("shell", screen.path, role)
    try:
        yield program
    finally:
        program.end()


def test_the_question_comes_to_the_terminal_though_stdin_and_stdout_are_pipes(screen: Screen) -> None:
    with started(screen) as program:
        screen.wait_for(ANSWER_PROMPT)
        screen.type("once\n")
        program.says("pid")
        assert program.says("reply") == ["once", None, None]
        assert program.says("ended") == 0


def test_ctrl_c_denies_and_the_program_lives_on(screen: Screen) -> None:
    before = screen.modes
    with started(screen) as program:
        screen.wait_for(ANSWER_PROMPT)
        screen.type("\x03")
        program.says("pid")
        assert program.says("reply") == ["deny", "Ctrl-C at the terminal", None]
        assert program.says("ended") == 0
        assert screen.modes == before


def test_a_program_that_is_told_to_stop_puts_the_modes_back(screen: Screen) -> None:
    before = screen.modes
    with started(screen) as program:
        screen.wait_for(ANSWER_PROMPT)
        assert screen.modes != before
        os.kill(program.says("pid"), signal.SIGTERM)
        assert program.says("ended") == -signal.SIGTERM
        assert screen.modes == before


def test_a_program_that_ends_by_itself_puts_the_modes_back(screen: Screen) -> None:
    before = screen.modes
    with started(screen, "leaves") as program:
        screen.wait_for(ANSWER_PROMPT)
        assert screen.modes != before
        program.says("pid")
        program.hears("leave")
        assert program.says("ended") == 0
        assert screen.modes == before


def test_a_program_in_the_background_is_not_stopped_and_asks_nobody(screen: Screen) -> None:
    program = Program("shell", screen.path, "background")
    program.says("pid")
    assert program.says("reply") is None
    assert program.says("ended") == 0
    said = program.end()
    assert said == "nobody can be asked on the terminal: the program runs in the background of its terminal\n"


def test_a_program_without_a_terminal_asks_nobody_and_says_so() -> None:
    program = Program("agent", "waits")
    program.says("pid")
    assert program.says("reply") is None
    assert program.end().startswith("nobody can be asked on the terminal: there is no terminal")


def test_ctrl_c_in_the_editor_is_the_editors_own_business(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\n"
        "try:\n"
        "    print('editing', flush=True)\n"
        "    sys.stdin.readline()\n"
        "except KeyboardInterrupt:\n"
        "    open(sys.argv[1], 'w').write('{\"command\": \"ls\"}')\n"
    )
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(script)]))
    with started(screen) as program:
        screen.wait_for(ANSWER_PROMPT)
        screen.type("edit\n")
        screen.wait_for("editing")
        screen.type("\x03")
        screen.wait_for(CONFIRM_PROMPT)
        screen.type("allow\n")
        program.says("pid")
        assert program.says("reply") == ["edit", None, {"command": "ls"}]
        assert program.says("ended") == 0

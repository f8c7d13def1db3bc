"""Somebody with a machine of their own who tries a program: at a terminal, or where there is none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.support.terminals import PATIENCE, Screen

PROMPT = re.compile(r"(?:\[deny\]: |\[back\]: |^you     )\Z", re.MULTILINE)
TAKES_THE_TERMINAL = (
    "import os, sys; os.open(os.ttyname(0), os.O_RDWR); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


def without_terminal(home: Path, *program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program],
        cwd=working_folder(home),
        env=surroundings(home),
        start_new_session=True,  # a session without a terminal, whoever runs the tests
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def start_on(screen: Screen, home: Path, *program: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a Python program in this folder, with the screen as its terminal."""
    return subprocess.Popen(
        [sys.executable, "-c", TAKES_THE_TERMINAL, *program],
        cwd=folder,
        env=surroundings(home),
        start_new_session=True,
        stdin=screen.slave,
        stdout=screen.slave,
        stderr=screen.slave,
    )


def at_terminal(home: Path, *program: str, typed: Sequence[str]) -> str:
    """All that stood on the terminal, with a person who types these lines, one at each prompt."""
    screen = Screen()
    process = start_on(screen, home, *program, folder=working_folder(home))
    patience = threading.Timer(PATIENCE * 3, process.kill)
    patience.start()
    try:
        type_at_prompts(screen, process, list(typed))
        screen.read()
        assert process.wait() == 0, screen.text
        return screen.text
    finally:
        process.kill()
        process.wait()
        patience.cancel()
        screen.close()


def working_folder(home: Path) -> Path:
    """A folder of theirs: nobody works in the home folder itself, which is never a workspace."""
    folder = home / "garden"
    folder.mkdir(exist_ok=True)
    return folder


def surroundings(home: Path) -> dict[str, str]:
    """A user of their own, with a plain terminal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SAYSO_", "XDG_"))}
    ours = {"HOME": str(home), "TMPDIR": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1"}
    ours["TZ"] = (
        f"NOON{datetime.now(UTC).hour - 12:+d}"  # a time that is soon is today, and shown without its day
    )
    return kept | ours | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def type_at_prompts(screen: Screen, process: subprocess.Popen[bytes], lines: list[str]) -> None:
    answered = 0
    while process.poll() is None:
        screen.read(0.02)
        text = screen.text
        if len(text) > answered and PROMPT.search(text):
            assert lines, f"nobody said what to type here:\n{text}"
            screen.type(f"{lines.pop(0)}\n")
            answered = len(text)
    screen.read()
    assert not lines, f"never asked for {lines}:\n{screen.text}"

"""`sayso demo`, which is what `make run` runs: with nobody there, and with somebody at the terminal."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from tests.e2e.newcomer import PROMPT, start_on, without_terminal
from tests.support.terminals import PATIENCE, Screen

pytestmark = pytest.mark.cold
OVER = "That was all."


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine where no browser can be opened."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


def test_with_nobody_there_only_what_is_free_is_done_and_it_ends_by_itself(tmp_path: Path) -> None:
    ran = without_terminal(tmp_path, "-m", "sayso", "demo")
    assert ran.returncode == 0, ran.stderr
    lines = [line.strip() for line in ran.stdout.splitlines()]
    assert "ran  read_file (2 lines)" in lines
    assert "asked  git push origin main: high risk asks every time: it changes a remote" in lines
    assert "not run  git push origin main: nobody is here to ask" in lines
    assert any("files.modify_secrets is blocked by the policy" in line for line in lines)
    assert not [line for line in lines if line.startswith("ran") and "read_file" not in line]
    assert not list(tmp_path.glob("sayso-demo-*"))  # nothing is left behind


def test_without_a_browser_the_person_at_the_terminal_is_asked_and_what_they_allow_is_done(
    tmp_path: Path,
) -> None:
    text = played(tmp_path, ["once", "once", "", "deny not now", ""])
    assert "/sign-in#" in text
    assert "No browser could be opened here." in text
    assert "ran  edit_file (hello.py)" in text
    assert "ran  git commit -am 'A friendlier greeting'" in text
    assert "not run  git push origin main" in text
    assert "not now" in text
    assert 'Because of path: "../copy-of-NOTES.md"' in text


def played(home: Path, answers: list[str]) -> str:
    """All that stood on the terminal, with these answers typed at the prompts, and Ctrl-C once it is over."""
    screen = Screen()
    process = start_on(screen, home, "-m", "sayso", "demo", folder=home)
    patience = threading.Timer(PATIENCE * 3, process.kill)
    patience.start()
    answered = 0
    try:
        while process.poll() is None and OVER not in screen.text:
            screen.read(0.02)
            if len(screen.text) > answered and PROMPT.search(screen.text):
                answered = len(screen.text)
                screen.type(f"{answers.pop(0)}\n")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0, screen.text
        screen.read()
        assert not answers
        return screen.text.replace("\r", "")
    finally:
        process.kill()
        process.wait()
        patience.cancel()
        screen.close()

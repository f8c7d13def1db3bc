"""The demo at a terminal: one link, a prompt that goes when the page answered, one Ctrl-C that ends it."""

from __future__ import annotations

import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import KEY_NAME, open_to_act
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.keys import load_key
from sayso.gate.running_services import AnnouncedService, list_running_services
from sayso.policy import load_preset
from tests.e2e.newcomer import start_on, surroundings
from tests.support import terminals
from tests.support.terminals import Screen

PROMPT = "Your answer [deny]: "
LONG = 120.0
NOBODY_SAID = ("Denied", "You answered", "not run  ", "Traceback", "Exception")


@pytest.fixture(autouse=True)
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine where no browser can be opened, and that is busy with other things."""
    monkeypatch.setattr(terminals, "PATIENCE", LONG)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


class Played:
    """A demo that runs at a terminal."""

    def __init__(self, home: Path, screen: Screen, process: subprocess.Popen[bytes]) -> None:
        self.home, self.screen, self.process = home, screen, process

    @property
    def served(self) -> AnnouncedService:
        (served,) = list_running_services(self.home / ".local" / "share" / "sayso")
        return served

    def ends_after_ctrl_c(self) -> str:
        """Press Ctrl-C once, and wait; what stood on the terminal from then on."""
        self.screen.read()
        before = len(self.screen.text)
        self.screen.type("\x03")
        while self.process.poll() is None:
            self.screen.read(0.05)
        self.screen.read()
        assert self.process.returncode == 0, self.screen.text
        after = self.screen.text[before:]
        assert not [word for word in NOBODY_SAID if word in after], after
        assert not list(self.home.glob("sayso-demo-*"))
        return after


@contextmanager
def demo(home: Path) -> Iterator[Played]:
    screen = Screen()
    process = start_on(screen, home, "-m", "sayso", "demo", folder=home)
    patience = threading.Timer(LONG, process.kill)
    patience.start()
    try:
        yield Played(home, screen, process)
    finally:
        process.kill()
        process.wait()
        patience.cancel()
        screen.close()


@contextmanager
def elsewhere(served: AnnouncedService) -> Iterator[Gate]:
    """The demo's store, opened by another process as the page would use it."""
    data = Path(served.data)
    key = load_key(KEY_NAME, data / "gate.key")
    gate = open_to_act(load_preset("coding"), served.path, key=key, marks=data)
    try:
        yield gate
    finally:
        gate.store.close()


def question_on(screen: Screen) -> str:
    (name,) = [line.split()[2].rstrip(",") for line in screen.text.splitlines() if "│ Question" in line][-1:]
    return name


def test_there_is_one_link_and_sayso_link_finds_the_demo(tmp_path: Path) -> None:
    with demo(tmp_path) as played:
        played.screen.wait_for(PROMPT)
        assert played.screen.text.count("http://") == 1
        page = played.served.page.removeprefix("http://")
        (command,) = [line for line in played.screen.text.splitlines() if f" link --url {page}" in line]
        ran = subprocess.run(
            shlex.split(command),
            env=surroundings(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith(f"{played.served.page}/sign-in#")
        played.ends_after_ctrl_c()
    assert list_running_services(tmp_path / ".local" / "share" / "sayso") == []


@pytest.mark.parametrize(
    "words", ["Let me look at the code.", "May this run?", PROMPT], ids=["at work", "unread", "asked"]
)
def test_one_ctrl_c_ends_the_demo_whatever_it_is_doing(words: str, tmp_path: Path) -> None:
    with demo(tmp_path) as played:
        played.screen.wait_for(words)
        assert "The demo is over." in played.ends_after_ctrl_c()


def test_one_ctrl_c_ends_the_demo_in_the_middle_of_a_line(tmp_path: Path) -> None:
    with demo(tmp_path) as played:
        played.screen.wait_for(PROMPT)
        played.screen.type("onc")
        played.screen.wait_for("onc")
        played.ends_after_ctrl_c()


def test_the_prompt_goes_when_somebody_answered_elsewhere_and_nothing_is_said_for_them(
    tmp_path: Path,
) -> None:
    with demo(tmp_path) as played:
        screen = played.screen
        screen.wait_for(PROMPT)
        with elsewhere(played.served) as gate:
            name = question_on(screen)
            assert answer_question(gate, name, "once", by="ana on the page").yours
        taken_down = screen.wait_for("ran  edit_file (hello.py)")
        assert "Answered elsewhere: allowed once by ana on the page." in taken_down
        assert "You answered" not in taken_down
        screen.wait_for(PROMPT)
        assert question_on(screen) != name
        screen.type("once\n")
        screen.wait_for("ran  git commit")
        played.ends_after_ctrl_c()

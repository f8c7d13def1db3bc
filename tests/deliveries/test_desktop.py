"""Desktop notifications, with programs in the place of the desktop's own that note what they are given."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sayso.core.audit.notices import Notice
from sayso.core.errors import SaysoError
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_now
from sayso.surfaces.remote.desktop import PROGRAMS, Desktop, DesktopSettings, mask_name
from tests.support.asking import asked, edit, push
from tests.support.gates import Clock
from tests.support.teams import ANA, BO, allow, asks, team_policy, under

HOSTILE = "x'; touch pwned; $(touch pwned) `id` \x1b[2J\u202e --action=evil=1"
PROGRAM = """#!{python}
import json, os, sys
told = {{"program": os.path.basename(sys.argv[0]), "args": sys.argv[1:],
        "environ": {{k: v for k, v in os.environ.items() if k.startswith("SAYSO_")}}}}
with open({log!r}, "a") as log:
    log.write(json.dumps(told) + "\\n")
if os.path.exists({down!r}):
    sys.exit(1)
if "--print-id" in sys.argv:
    print(7, flush=True)
if "--wait" in sys.argv:
    print("open", flush=True)
"""


class Screen:
    """The desktop: what its programs were given."""

    def __init__(self, place: Path) -> None:
        self.log, self.down = place / "log", place / "down"
        for name in (*PROGRAMS.values(), "xdg-open"):
            path = place / name
            path.write_text(PROGRAM.format(python=sys.executable, log=str(self.log), down=str(self.down)))
            path.chmod(0o755)

    def told(self, program: str) -> list[dict[str, list[str]]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [one for one in map(json.loads, lines) if one["program"] == program]


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("PATH", str(tmp_path))
    return Screen(tmp_path)


@pytest.fixture
def desktop() -> Iterator[Callable[[str], Desktop]]:
    made: list[Desktop] = []

    def make(platform: str) -> Desktop:
        made.append(Desktop(DesktopSettings("desk"), platform))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def send(gate: Gate, surface: Desktop) -> Dispatcher:
    link: Callable[[str], str] = lambda name: f"http://localhost:7333/#/question/{name}"  # noqa: E731
    dispatcher = Dispatcher(gate, (surface,), notices_to=lambda: None, link=link)
    while dispatcher.send(surface):
        pass
    return dispatcher


@pytest.mark.parametrize("platform", PROGRAMS)
def test_it_says_operation_and_risk_and_nothing_of_the_agent(
    desktop: Callable[[str], Desktop], gate: Gate, session: str, screen: Screen, platform: str
) -> None:
    asked(gate, edit(session, HOSTILE))
    send(gate, desktop(platform))
    (told,) = screen.told(PROGRAMS[platform])
    assert "files.edit" in str(told)
    assert "moderate risk" in str(told)
    assert "pwned" not in str(told)
    assert "evil" not in str(told)


def test_a_click_opens_the_question_and_answers_nothing(
    desktop: Callable[[str], Desktop], gate: Gate, session: str, screen: Screen
) -> None:
    question = asked(gate, push(session))
    surface = desktop("linux")
    send(gate, surface)
    until = time.monotonic() + 30
    while not screen.told("xdg-open"):
        assert time.monotonic() < until
        assert list(surface.fetch(0.1)) == []
    assert screen.told("xdg-open")[0]["args"] == [f"http://localhost:7333/#/question/{question}"]
    assert load_question_now(gate, question).state == "open"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_it_is_closed_once_somebody_answered(
    desktop: Callable[[str], Desktop], gate: Gate, session: str, screen: Screen, platform: str
) -> None:
    question = asked(gate, edit(session))
    surface = desktop(platform)
    dispatcher = send(gate, surface)
    list(surface.fetch(0.5))
    answer_question(gate, question, "deny", by="bo", reason=HOSTILE)
    while dispatcher.send(surface):
        pass
    args = screen.told(PROGRAMS[platform])[-1]["args"]
    assert ("--replace-id" in args and "7" in args) if platform == "linux" else "-remove" in args
    assert "pwned" not in str(args)


def test_a_desktop_that_is_not_there_is_tried_again(
    desktop: Callable[[str], Desktop], gate: Gate, session: str, screen: Screen, clock: Clock
) -> None:
    screen.down.touch()
    asked(gate, edit(session))
    surface = desktop("linux")
    dispatcher = send(gate, surface)
    tries = len(screen.told("notify-send"))
    screen.down.unlink()
    clock.now += 10
    while dispatcher.send(surface):
        pass
    assert len(screen.told("notify-send")) == tries + 1
    with gate.store.read() as tx:
        assert tx.questions_to_show("desk", limit=10) == []


def test_without_a_program_nothing_is_claimed(
    desktop: Callable[[str], Desktop],
    gate: Gate,
    session: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    question = asked(gate, edit(session))
    send(gate, desktop("linux"))
    with gate.store.read() as tx:
        row = tx.delivery("desk", question)
    assert row is not None
    assert (row.state, "not installed" in str(row.error)) == ("due", True)


def test_a_notice_says_of_which_kind_it_is_and_no_more(
    desktop: Callable[[str], Desktop], screen: Screen
) -> None:
    surface = desktop("linux")
    surface.tell(Notice("main.1", 0.0, "BLOCKED", HOSTILE), "main.1.notice")
    (told,) = screen.told("notify-send")
    assert told["args"][-1] == "blocked: see sayso audit tail"
    with pytest.raises(SaysoError):
        surface.receive({}, b"yes")


def test_what_is_not_a_name_is_masked() -> None:
    assert mask_name("git.push, a$(x)") == "git.push, a?(x)"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_what_a_team_approves_is_closed_too(
    desktop: Callable[[str], Desktop], gate: Gate, screen: Screen, platform: str
) -> None:
    """Its card has a key that names the approvals; the same key takes it down."""
    team = under(gate, team_policy())
    _, question = asks(team)
    surface = desktop(platform)
    dispatcher = send(team, surface)
    list(surface.fetch(0.5))
    allow(team, question, ANA)
    while dispatcher.send(surface):
        pass
    list(surface.fetch(0.5))
    allow(team, question, BO)
    while dispatcher.send(surface):
        pass
    told = [one["args"] for one in screen.told(PROGRAMS[platform])]
    shown = {args[args.index("-group") + 1] for args in told if "-group" in args}
    removed = {args[args.index("-remove") + 1] for args in told if "-remove" in args}
    replaced = [args for args in told if "--replace-id" in args]
    assert len(replaced) == 2 if platform == "linux" else shown == removed != set()

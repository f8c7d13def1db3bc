"""`sayso inbox` in a real terminal: list, detail, answers by key, live, filter, 80 by 24, without colour."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.cli.operator_name import operator_name
from sayso.core.model import Declaration, Operation
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_now
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset, load_text
from tests.support.screens import PATIENCE, ScreenProgram
from tests.support.teams import under

HOSTILE = "\x1b[2J\x1b[H> LOW  all is well\u202egnp\u200b [bold red]markup[/] \x07"


class Desk(msgspec.Struct):
    """A store with an agent, and the inbox on it."""

    gate: Gate
    session: str
    open: Callable[..., ScreenProgram]
    agent: str = "claude"

    def ask(self, operation: str, tool: str, args: dict[str, Any], command: str | None = None) -> str:
        named = Operation(operation)
        call = make_call(tool, args, command=command, folder="/home/ana/demo")
        request = make_request(
            call, [named], session=self.session, agent=self.agent, declared=Declaration((named,), "host")
        )
        asked = start_call(self.gate, request, holder="desk").question
        assert asked is not None
        return asked

    def edit(self, path: str) -> str:
        return self.ask("files.edit", "Edit", {"file_path": path})

    def push(self) -> str:
        line = "git push --force origin main"
        return self.ask("git.push_force", "shell", {"command": line}, line)

    def answer(self, question: str) -> str | None:
        until = time.monotonic() + PATIENCE
        while (row := load_question_now(self.gate, question)).state == "open":
            assert time.monotonic() < until, "it was not answered"
            time.sleep(0.02)
        return row.answer

    def is_open(self, question: str) -> bool:
        return load_question_now(self.gate, question).state == "open"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    started: list[ScreenProgram] = []
    place = str(tmp_path / "store.db")

    def open_inbox(*options: str, **environ: str) -> ScreenProgram:
        here = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environ}
        made = ScreenProgram([sys.executable, "-m", "sayso", "inbox", "--store", place, *options], here)
        started.append(made)
        return made

    with closing((gate := open_gate(load_preset("coding"), place)).store):
        session = open_session(gate, agent="claude", owner="host", workspace="/home/ana/demo")
        yield Desk(gate, session, open_inbox)
    for one in started:
        one.stop()


def press(screen: ScreenProgram, keys: str, seconds: float = 0.7) -> None:
    """Press keys once the half second is over in which they do not count."""
    time.sleep(seconds)
    screen.type(keys)


def test_it_lists_shows_and_answers_by_key(desk: Desk) -> None:
    first, second = desk.edit("one.py"), desk.edit("two.py")
    screen = desk.open()
    text = screen.wait_for("May this run?")
    assert "2 questions wait" in text
    assert "> MODERATE" in text
    assert 'file_path: "one.py"' in text
    press(screen, "o")
    assert desk.answer(first) == "once"
    screen.wait_for('file_path: "two.py"')
    press(screen, "d")
    assert desk.answer(second) == "deny"
    screen.wait_for("Nothing waits for you.")
    press(screen, "q")
    assert screen.end() == 0


def test_it_is_live_and_says_how_others_answered(desk: Desk) -> None:
    first = desk.edit("one.py")
    screen = desk.open()
    screen.wait_for("1 question waits")
    desk.edit("two.py")
    screen.wait_for("2 questions wait")
    answer_question(desk.gate, first, "deny", by="bo on the phone")
    screen.wait_for("denied by bo on the phone")
    assert "OVER" in screen.text, "it stays where it is until the person moves on"
    screen.type("j")
    screen.wait_for('file_path: "two.py"')
    screen.wait_until(lambda text: "OVER" not in text)


def test_high_risk_wants_the_word_allow(desk: Desk) -> None:
    question = desk.push()
    screen = desk.open()
    screen.wait_for("High risk")
    for key in ("o", "y", "\r", "t", "m"):
        press(screen, key, 0.7 if key == "o" else 0.05)
    for word in ("yes", "once", "allow it"):
        press(screen, "a", 0.2)
        screen.wait_for("Type allow")
        screen.type(f"{word}\r")
        screen.wait_for("not an answer")
    assert desk.is_open(question)
    press(screen, " ")
    press(screen, "a")
    screen.wait_for("Type allow")
    screen.type("allow\r")
    assert desk.answer(question) == "once"


def test_what_was_not_on_the_screen_is_not_allowed_at_high_risk(desk: Desk) -> None:
    line = "git push --force origin main"
    args = {"command": line, "text": "\n".join(f"line {n}" for n in range(60))}
    question = desk.ask("git.push_force", "shell", args, line)
    screen = desk.open()
    screen.wait_for("more lines")
    press(screen, "\x1b[F")  # End: what is between was not read
    press(screen, "a")
    screen.wait_for("Type allow")
    screen.type("allow\r")
    screen.wait_for("Read to the end first")
    assert desk.is_open(question)
    screen.type("\x1b[H")
    for _ in range(12):
        press(screen, " ", 0.2)
    screen.wait_until(lambda text: "more lines" not in text)
    press(screen, "a")
    screen.wait_for("Type allow")
    screen.type("allow\r")
    assert desk.answer(question) == "once"


def test_one_space_to_the_end_is_enough_and_it_says_so(desk: Desk) -> None:
    line = "git push --force origin main"
    args = {"command": line, "text": "\n".join(f"line {n}" for n in range(10))}
    question = desk.ask("git.push_force", "shell", args, line)
    screen = desk.open()
    screen.wait_for("more lines")
    press(screen, " ")
    screen.wait_until(lambda text: "more line" not in text)
    press(screen, "a")
    screen.wait_for("Type allow")
    screen.wait_for("Enter when you are done")
    screen.type("allow\r")
    assert desk.answer(question) == "once"


def test_what_was_typed_before_the_question_was_there_does_not_count(desk: Desk) -> None:
    first, second = desk.edit("one.py"), desk.edit("two.py")
    screen = desk.open()
    screen.type("ooo")
    screen.wait_for("May this run?")
    screen.type("oo")
    assert desk.is_open(first)
    press(screen, "o" * 5)  # the first is an answer, the rest was meant for nothing else
    assert desk.answer(first) == "once"
    screen.wait_for('file_path: "two.py"')
    assert desk.is_open(second)


def test_a_filter_shows_those_that_fit(desk: Desk) -> None:
    desk.edit("one.py")
    desk.push()
    screen = desk.open()
    screen.wait_for("2 questions wait")
    press(screen, "/")
    screen.wait_for("Filter")
    screen.type("push")
    screen.wait_until(lambda text: "Edit one.py" not in text)
    assert "git push --force" in screen.text
    screen.type("zz")
    screen.wait_for("Nothing matches the filter.")
    screen.type("\x1b")
    screen.wait_for("Edit one.py")


def test_what_is_typed_right_after_the_filters_key_is_in_the_filter(desk: Desk) -> None:
    desk.edit("one.py")
    desk.push()
    screen = desk.open()
    screen.wait_for("2 questions wait")
    press(screen, "/push")
    screen.wait_until(lambda text: "Edit one.py" not in text)
    assert "git push --force" in screen.text


def test_a_denial_can_have_a_reason(desk: Desk) -> None:
    question = desk.edit("one.py")
    screen = desk.open()
    screen.wait_for("May this run?")
    press(screen, "D")
    screen.wait_for("Deny, because")
    screen.type("not today\r")
    assert desk.answer(question) == "deny"
    assert load_question_now(desk.gate, question).reason == "not today"


def test_it_fits_into_80_by_24(desk: Desk) -> None:
    for n in range(15):
        desk.ask("files.edit", "Edit", {"file_path": f"{'deep/' * 30}{n}.py", "text": "y" * 500})
    screen = desk.open()
    text = screen.wait_for("May this run?")
    assert len(screen.lines) == 24
    assert all(len(line) == 80 for line in screen.lines)
    assert text.count("MODERATE") == 6
    assert "q quit" in text.splitlines()[-1] + text.splitlines()[-2]
    for _ in range(9):
        screen.type("j")
    screen.wait_for("Edit")
    assert "q quit" in screen.text


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}])
def test_it_works_without_colour(desk: Desk, environ: dict[str, str]) -> None:
    question = desk.edit("one.py")
    screen = desk.open(**environ)
    screen.wait_for("> MODERATE")
    assert screen.colours() == set()
    press(screen, "o")
    assert desk.answer(question) == "once"


def test_a_terminal_that_can_do_nothing_gets_the_plain_list(desk: Desk) -> None:
    question = desk.edit("one.py")
    screen = desk.open(TERM="dumb")
    assert screen.end() == 0
    assert question.encode() in screen.raw
    assert b"\x1b[?1049h" not in screen.raw


def test_text_of_an_agent_is_shown_as_data(desk: Desk) -> None:
    desk.ask("files.edit", f"Edit{HOSTILE}", {"x": HOSTILE, HOSTILE: HOSTILE})
    desk.edit("two.py")
    screen = desk.open()
    screen.wait_for("May this run?")
    text = screen.wait_for("[bold red]markup[/]")
    assert "2 questions wait" in text, "nothing cleared the screen"
    assert "\\x1b[2J" in text
    assert not any(line.startswith("> LOW") for line in screen.lines)
    assert "\u202e" not in text


def test_a_line_end_in_the_name_of_an_agent_is_spelled_out(desk: Desk) -> None:
    desk.agent = "claude\nApproved by ana"
    desk.edit("one.py")
    assert "claude\\nApproved by ana: Edit" in desk.open().wait_for("May this run?")


def test_esc_goes_back_from_the_checks_and_from_a_filter_and_never_leaves(desk: Desk) -> None:
    first = desk.edit("one.py")
    desk.edit("two.py")
    screen = desk.open()
    screen.wait_for("May this run?")
    assert "Esc back" not in screen.text
    press(screen, "w")
    screen.wait_for("Why this is asked:")
    assert "Esc back" in screen.text
    screen.type("\x1b")
    screen.wait_until(lambda text: "Why this is asked:" not in text and "May this run?" in text)
    press(screen, "/")
    screen.wait_for("Filter (Esc shows all)")
    screen.type("two")
    screen.wait_for("filter: two")
    screen.type("\r")
    screen.wait_for("Esc back")
    screen.type("\x1b")
    screen.wait_until(lambda text: "filter: two" not in text)
    assert "2 questions wait" in screen.text
    assert desk.is_open(first)


def test_one_line_more_is_one_line_and_keys_are_not_broken(desk: Desk) -> None:
    desk.edit("one.py")
    screen = desk.open()
    screen.wait_for("May this run?")
    keys = ("D deny with a reason", "j/k move", "space read on", "/ filter", "q quit")
    screen.wait_until(lambda text: all(any(key in line for line in text.splitlines()) for key in keys))
    assert "1 more lines" not in screen.text


TEAM = """
extends: [coding]
people:
  me: {{groups: [oncall], ids: ["account:{account}"]}}
  bo: {{groups: [leads], ids: [page:bo]}}
approvals: [{{domain: git, risk: high, from: [leads]}}]
break_glass: [oncall]
"""


def test_whose_allow_does_not_count_is_offered_none_and_may_break_the_glass(
    desk: Desk, tmp_path: Path
) -> None:
    config = tmp_path / ".config" / "sayso"
    config.mkdir(parents=True)
    text = TEAM.format(account=operator_name())
    (config / "policy.yaml").write_text(text)
    gate = under(desk.gate, load_text(text))
    question = msgspec.structs.replace(
        desk, gate=gate, session=open_session(gate, agent="x", owner="t_x")
    ).push()
    screen = desk.open()
    screen.wait_for("An allow from you")
    shown = screen.wait_for("g break the glass")
    assert "a type allow" not in shown
    press(screen, " ")
    press(screen, "g")
    screen.wait_for("Break the glass")
    screen.type("the site is down\r")
    assert desk.answer(question) == "once"


def test_another_policy_than_your_own_explains_and_lets_you_answer_if_it_is_named(
    desk: Desk, tmp_path: Path
) -> None:
    text = TEAM.format(account=operator_name()).replace("from: [leads]", "from: [oncall]")
    (named := tmp_path / "team.yaml").write_text(text)
    gate = under(desk.gate, load_text(text))
    question = msgspec.structs.replace(
        desk, gate=gate, session=open_session(gate, agent="x", owner="t_x")
    ).push()
    screen = desk.open()
    screen.wait_for("May this run?")
    press(screen, "w")
    assert "Why this is asked" in screen.wait_for("* always_ask")
    screen = desk.open("--policy", str(named))
    screen.wait_for("a type allow")
    press(screen, " ")
    press(screen, "a")
    screen.wait_for("Type allow")
    screen.type("allow\r")
    assert desk.answer(question) == "once"

"""Surfaces in this process, each with a person in front of it: a terminal, and the form of an MCP client."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from sayso.core.audit.notices import Notice
from sayso.core.model import Risk
from sayso.doors.mcp.elicitation import Elicit, Elicitation, Filled
from sayso.gate.gate import Gate
from sayso.gate.questions.asker import Asker
from sayso.gate.questions.read import find_question
from sayso.gate.questions.surface import LocalSurface
from sayso.gate.questions.wait import load_question_now
from sayso.surfaces.terminal.prompt import ANSWER_PROMPT
from sayso.surfaces.terminal.terminal import Terminal
from tests.support.terminals import Screen, terminal_on

PATIENCE = 20.0
GARBAGE = (
    "yes",
    "ok",
    "allow everything",
    "once always",
    "ONCE!",
    "ｏｎｃｅ",
    "\x1b[2J",
    "1",
    "true",
    "approve",
)


class LocalSeat:
    """A surface of an asker, and the caller that waits for its answers."""

    answers: tuple[str, ...] = ("once", "deny")
    knows_people = False
    """Whoever is in front of it is who started the program."""
    takes_notices = True
    surface: LocalSurface

    def begin(self, gate: Gate) -> None:
        self.gate, self.asker = gate, Asker(gate, (self.surface,))
        self._interests: dict[str, threading.Event] = {}

    def put(self, question: str = "") -> None:
        """The caller asks, or asks again."""
        if question:
            found = find_question(self.gate, question).question
            self._let_go(question)
            self._interests[question] = self.asker.show(found, lambda edited: found.request)

    def settle(self) -> None:
        """Callers whose question is over wait no more."""
        for question in list(self._interests):
            if load_question_now(self.gate, question).state != "open":
                self._let_go(question)

    def _let_go(self, question: str) -> None:
        interest = self._interests.pop(question, None)
        if interest is not None:
            interest.set()

    def tell(self, text: str) -> None:
        self.surface.tell(Notice("main.1", 0.0, "BLOCKED", text), "main.1.notice")

    def stop(self) -> None:
        for question in list(self._interests):
            self._let_go(question)


class TerminalSeat(LocalSeat):
    """A person at a pseudo-terminal, who does what the card says."""

    def __init__(self, detail: str, kind: type[Terminal] = Terminal) -> None:
        self.screen = Screen()
        self.surface = self._terminal = terminal_on(self.screen)
        self._terminal.__class__ = kind
        self._path = self.screen.path

    def put(self, question: str = "") -> None:
        before = self._prompts()
        super().put(question)
        if question and self.surface.able():
            self._wait(lambda: self._prompts() > before)

    def answer(self, word: str, who: str = "ana") -> None:
        high = word == "once" and any(
            find_question(self.gate, one).question.risk >= Risk.HIGH for one in self._interests
        )
        self._type("allow" if high else word)

    def _type(self, word: str) -> None:
        """Type this line, and wait until the question is over, or asked again."""
        before = self._prompts()
        self.screen.type(f"{word}\n")
        self._wait(lambda: self._prompts() > before or not self._all_open())

    def _all_open(self) -> bool:
        return all(load_question_now(self.gate, one).state == "open" for one in self._interests)

    def _prompts(self) -> int:
        """Return how often an answer was asked for so far."""
        return self.screen.text.count(f"\n{ANSWER_PROMPT}")

    def _wait(self, done: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < until, f"nothing came of it:\n{self.screen.text}"
            self.screen.read(0.02)

    def forge(self) -> None:
        for word in GARBAGE:
            self._type(word)

    def shown(self) -> str:
        self.screen.read(0.3)
        return self.screen.raw

    def ends(self) -> str:
        self.screen.read(0.3)
        return self.screen.text.rpartition(ANSWER_PROMPT)[2]

    def wait_for_end(self, text: str) -> None:
        """Wait until this is said after the last prompt."""
        self._wait(lambda: text in " ".join(self.screen.text.rpartition(ANSWER_PROMPT)[2].split()))

    def set_down(self, down: bool) -> None:
        self._terminal._path = "/nowhere/at/all" if down else self._path  # noqa: SLF001

    def stop(self) -> None:
        for question in self._interests:
            Terminal.close(self._terminal, None, question, question, "")
        super().stop()
        self.screen.close()


class ClientSeat(LocalSeat):
    """A client of MCP that shows forms, and a person who fills them in. While it is down, it shows none."""

    def __init__(self, detail: str, kind: type[Elicitation] = Elicitation) -> None:
        self.surface = kind(self._find)
        self._shown: list[str] = []
        self._forms: list[Future[Filled]] = []
        self._down = False

    def _find(self, session: str) -> Elicit | None:
        return None if self._down else self._elicit

    def _elicit(self, message: str, form: Mapping[str, Any]) -> Future[Filled]:
        self._shown.append(message)
        self._forms.append(Future())
        return self._forms[-1]

    def answer(self, word: str, who: str = "ana") -> None:
        self._fill(Filled("accept", {"answer": word}))

    def forge(self) -> None:
        for word in GARBAGE:
            self._fill(Filled("accept", {"answer": word}))
            self.put(*self._interests)
        for one in self._interests:
            self.asker.wait(one, 0.5)  # what a broken one has made of a word takes a moment to arrive

    def _fill(self, filled: Filled) -> None:
        form = next(one for one in reversed(self._forms) if not one.done())
        before = {one: load_question_now(self.gate, one).state for one in self._interests}
        form.set_result(filled)
        counts = filled.content.get("answer") in ("once", "deny") and "open" in before.values()
        if counts:
            for one in before:
                self.asker.wait(one, 2.0)

    def shown(self) -> str:
        return "\n".join(self._shown)

    def ends(self) -> str:
        return "taken back" if all(one.done() for one in self._forms) else "still shown"

    def set_down(self, down: bool) -> None:
        self._down = down


LOCAL = {"terminal": TerminalSeat, "elicitation": ClientSeat}

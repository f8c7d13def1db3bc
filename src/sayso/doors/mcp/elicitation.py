"""MCP elicitation as a surface: the client of the agent shows the question to its user, as a form.

- It is off unless the operator switches it on: the client is the agent's own program, and only whoever chose
  that program knows that it shows forms to a person and does not fill them in by itself.
- A client without the capability, or of an era without requests from servers, is not asked.
- Nothing above moderate risk is allowed here, because nobody but the client knows what it showed: there the
  form can only deny, and the question stays open elsewhere.
- Accepted with an offered answer is an answer; declined is a no; anything else is none, and the question
  stays open elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any

import msgspec

from sayso.core.model import Risk
from sayso.core.words import visible
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.gate.telemetry import describe_error
from sayso.surfaces.terminal.card import all_fact_lines, allowing_offers
from sayso.surfaces.terminal.device import LOOKS_UP_EVERY
from sayso.surfaces.terminal.layout import Screen

log = logging.getLogger("sayso.elicitation")
LONGEST_MESSAGE = 20_000
WIDTH = Screen(79, ascii=False)


class Filled(msgspec.Struct, frozen=True):
    """A form that came back: accept, decline or cancel, and its fields."""

    action: str
    content: Mapping[str, Any]


Elicit = Callable[[str, Mapping[str, Any]], "Future[Filled]"]
"""Shows a message and a form to one client's user."""


class Elicitation:
    """Asks the user of the client that made the call."""

    name = "elicitation"

    def __init__(
        self,
        find: Callable[[str], Elicit | None],
        able: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._find, self._able, self._clock = find, able, clock

    def able(self) -> bool:
        """Return whether any client here shows forms. Which one it is about is known with the question."""
        return self._able()

    def ask(self, asked: AskedQuestion, over: threading.Event) -> Reply | None:
        elicit = self._find(asked.question.request.session)
        if elicit is None or over.is_set():
            return None
        future = elicit(write_message(asked, self._clock()), make_form(asked))
        try:
            filled = _wait(future, over)
        except Exception as error:  # noqa: BLE001  a foreign client: whatever it does, it is no answer
            log.info("a client could not be asked: %s", describe_error(error))
            return None
        return None if filled is None else read_form(asked, filled)

    def tell(self, notice: str) -> None:
        """A client has no place for a line that needs no answer."""


def write_message(asked: AskedQuestion, now: float) -> str:
    """Return the question in words."""
    question = asked.question
    lines = [f"May this run? {question.risk.word.capitalize()} risk.", ""]
    lines += all_fact_lines(asked, WIDTH, now)
    lines += ["", *(f"{one.answer}: {visible(one.words, None)}" for one in question.offers)]
    text = "\n".join(lines)
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[:LONGEST_MESSAGE]}\n… ({len(text):,} characters; the rest is not shown here)"


def make_form(asked: AskedQuestion) -> Mapping[str, Any]:
    """Return the form: one answer of those that would count, and a reason."""
    fields: dict[str, Any] = {
        "answer": {"type": "string", "title": "Your answer", "enum": ["deny", *_yeses(asked)]},
        "reason": {"type": "string", "title": "Reason for the agent, if you deny"},
    }
    return {"type": "object", "properties": fields, "required": ["answer"]}


def _yeses(asked: AskedQuestion) -> list[str]:
    if asked.question.risk > Risk.MODERATE:
        return []
    return [one.answer for one in allowing_offers(asked.question) if one.answer != "edit"]


def read_form(asked: AskedQuestion, filled: Filled) -> Reply | None:
    """Return the person's reply; None if the form holds none."""
    by = f"the user of {visible(asked.question.request.agent)}"
    if filled.action == "decline":
        return Reply("deny", by)
    answer = filled.content.get("answer")
    if filled.action != "accept" or not isinstance(answer, str):
        return None
    if answer == "deny":
        reason = filled.content.get("reason")
        return Reply("deny", by, reason=visible(reason[:500]) if isinstance(reason, str) and reason else None)
    return Reply(answer, by) if answer in _yeses(asked) else None


def _wait(future: Future[Filled], over: threading.Event) -> Filled | None:
    """Return the form once it is filled in; None once the question is over, and then it is taken back."""
    while not over.is_set():
        try:
            return future.result(LOOKS_UP_EVERY)
        except NotYet:
            if future.done():
                raise
    future.cancel()
    return None


class AskedClients:
    """The clients whose calls are under way, by the session they are in."""

    def __init__(self) -> None:
        self._by_session: dict[str, Elicit] = {}

    def any(self) -> bool:
        return bool(self._by_session)

    def find(self, session: str) -> Elicit | None:
        return self._by_session.get(session)

    def add(self, session: str, context: Any) -> None:
        """From now on questions of this session go to the client of this request, if it can show them."""
        params = context.session.client_params
        if params is None or params.capabilities.elicitation is None:
            self._by_session.pop(session, None)
            return
        loop = asyncio.get_running_loop()

        async def show(message: str, form: Mapping[str, Any]) -> Filled:
            told = await context.session.elicit_form(message, dict(form), context.request_id)
            return Filled(told.action, told.content or {})

        self._by_session[session] = lambda message, form: asyncio.run_coroutine_threadsafe(
            show(message, form), loop
        )

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
import queue
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

import msgspec

from sayso.core.audit.notices import Notice
from sayso.core.model import Risk
from sayso.core.words import visible
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.gate.telemetry import describe_error
from sayso.surfaces.terminal.card import all_fact_lines, allowing_offers
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
    polls = True
    takes_notices = False

    def __init__(
        self,
        find: Callable[[str], Elicit | None],
        able: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._find, self._able, self._clock = find, able, clock
        self._forms: dict[str, Future[Filled]] = {}
        self._replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()

    def able(self) -> bool:
        """Return whether any client here shows forms. Which one it is about is known with the question."""
        return self._able()

    def show(self, shown: AskedQuestion, key: str) -> str:
        """Send the form to the client whose call it is, if it shows forms."""
        elicit = self._find(shown.question.request.session)
        if elicit is not None:
            form = elicit(write_message(shown, self._clock()), make_form(shown))
            self._forms[shown.question.id] = form
            form.add_done_callback(partial(self._take_back, shown))
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        form = self._forms.pop(question, None)
        if form is not None:
            form.cancel()

    def tell(self, notice: Notice, key: str) -> None:
        """A client has no place for a line that needs no answer."""

    def fetch(self, seconds: float) -> tuple[Reply, ...]:
        try:
            return (self._replies.get(timeout=seconds),)
        except queue.Empty:
            return ()

    def _take_back(self, asked: AskedQuestion, form: Future[Filled]) -> None:
        """A form came back: filled in, or with anything else a client sends, which is not an answer."""
        question = asked.question.id
        if self._forms.get(question) is not form:
            return  # it was closed
        del self._forms[question]
        try:
            reply = read_form(asked, form.result())
        except (Exception, CancelledError) as error:  # noqa: BLE001  a foreign client
            log.info("a client could not be asked: %s", describe_error(error))
            return
        if reply is not None:
            self._replies.put(msgspec.structs.replace(reply, question=question))


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

"""Asking people and waiting for them: every surface at once, one watching thread for all who wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sayso.core.decision import Question
from sayso.core.errors import SaysoError
from sayso.core.model import Request
from sayso.gate.answer import answer_question, edit_and_allow
from sayso.gate.explaining import why_asked
from sayso.gate.gate import Gate
from sayso.gate.surface import Asked, Reply, Surface
from sayso.gate.telemetry import surface_failed
from sayso.gate.waiting import LONGEST, question_row
from sayso.store.base import QuestionRow, StoreError

Edit = Callable[[Mapping[str, Any]], Request]
"""Makes the request for edited arguments, or refuses them."""


class Asker:
    """Shows questions on the surfaces of one gate, and wakes who waits for their answers."""

    def __init__(self, gate: Gate, surfaces: Sequence[Surface]) -> None:
        self._gate = gate
        self._surfaces = tuple(surfaces)
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        self._watching = False
        self._leaving = False

    @property
    def able(self) -> bool:
        """Whether anybody can be asked."""
        return any(surface.able() for surface in self._surfaces)

    @property
    def waiting(self) -> int:
        """How many wait here for answers."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def awaits(self, question: str) -> bool:
        """Whether somebody waits here for the answer to this question."""
        with self._lock:
            return question in self._waiting

    def show(self, question: Question, edit: Edit) -> threading.Event:
        """Put the question on every surface. Set the event once it is no longer of interest here."""
        over = threading.Event()
        row = question_row(self._gate, question.id)
        asked = Asked(question, row.expires_at, lambda: why_asked(self._gate, question))
        for surface in self._surfaces:
            if surface.able():
                name = f"sayso-{surface.name}-{question.id}"
                args = (surface, asked, over, edit)
                threading.Thread(target=self._ask, name=name, args=args, daemon=True).start()
        return over

    def tell(self, notice: str) -> None:
        for surface in self._surfaces:
            surface.tell(notice)

    def wait(self, question: str, seconds: float) -> QuestionRow:
        """The question once it is closed, or as it stands when the time is over."""
        closed = threading.Event()
        with self._registered(question, closed.set) as row:
            if row.state == "open" and not self._leaving:
                closed.wait(min(seconds, LONGEST))
        return question_row(self._gate, question)

    async def await_answer(
        self, question: str, seconds: float, left: asyncio.Future[None] | None = None
    ) -> QuestionRow:
        """The same for a coroutine. It also ends when `left` is done: whoever waits is gone."""
        loop, closed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(closed.set)

        with await asyncio.to_thread(self._registered, question, wake) as row:
            if row.state == "open" and not self._leaving:
                try:
                    async with asyncio.timeout(min(seconds, LONGEST)):
                        await _first(closed, left)
                except TimeoutError:
                    pass
        return await asyncio.to_thread(question_row, self._gate, question)

    def let_go(self) -> None:
        """Nobody waits here any more: whoever does is woken with the question as it stands."""
        with self._lock:
            self._leaving = True
            names = list(self._waiting)
        self._wake(names)

    def _ask(self, surface: Surface, asked: Asked, over: threading.Event, edit: Edit) -> None:
        """One surface's turn. Whatever goes wrong there, the question stays as it is."""
        while not over.is_set():
            try:
                reply = surface.ask(asked, over)
                if reply is None:
                    return
                self._take(surface, asked.question, reply, edit)
            except SaysoError as error:
                surface.tell(str(error))
            except Exception as error:  # noqa: BLE001  a foreign surface: the others can still answer
                surface_failed(surface.name, asked.question.id, error)
                return
            else:
                return

    def _take(self, surface: Surface, question: Question, reply: Reply, edit: Edit) -> None:
        how: dict[str, Any] = {"by": reply.by, "reason": reply.reason, "seen": reply.seen}
        if reply.answer == "edit":
            stands = edit_and_allow(self._gate, question.id, edit(reply.edited or {}), **how)
        else:
            stands = answer_question(self._gate, question.id, reply.answer, **how)
        if not stands.yours:
            surface.tell(f"already {stands.state}: {stands.answer or 'no answer'} by {stands.by or 'nobody'}")

    def _registered(self, question: str, wake: Callable[[], None]) -> _Registration:
        with self._lock:
            self._waiting.setdefault(question, []).append(wake)
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="sayso-answers", daemon=True).start()
        try:
            # Read after it was registered: an answer in between is seen here, a later one by the watch.
            return _Registration(self, question, wake, question_row(self._gate, question))
        except BaseException:
            self.forget(question, wake)
            raise

    def forget(self, question: str, wake: Callable[[], None]) -> None:
        with self._lock:
            waiting = self._waiting.get(question, [])
            if wake in waiting:
                waiting.remove(wake)
            if not waiting:
                self._waiting.pop(question, None)

    def _watch(self) -> None:
        """Until nobody waits any more: look at the questions after every change of the store."""
        mark = 0
        while True:
            with self._lock:
                names = list(self._waiting)
                if not names:
                    self._watching = False
                    return
            try:
                with self._gate.store.read() as tx:
                    closed = [
                        name for name in names if (row := tx.question(name)) is None or row.state != "open"
                    ]
                mark = self._gate.store.changed(mark, 1.0) if not closed else mark
            except StoreError:  # who waits reads for himself, and is told
                closed = names
            self._wake(closed)

    def _wake(self, questions: Sequence[str]) -> None:
        with self._lock:
            wakes = [wake for name in questions for wake in self._waiting.pop(name, [])]
        for wake in wakes:
            wake()


async def _first(closed: asyncio.Event, left: asyncio.Future[None] | None) -> None:
    """Wait for whichever comes first."""
    if left is None:
        await closed.wait()
        return
    answered = asyncio.ensure_future(closed.wait())
    try:
        await asyncio.wait((answered, left), return_when=asyncio.FIRST_COMPLETED)
    finally:
        answered.cancel()


class _Registration:
    """Somebody waits, until this is left; with the question as it stood once they were registered."""

    def __init__(self, asker: Asker, question: str, wake: Callable[[], None], row: QuestionRow) -> None:
        self._asker, self._question, self._wake = asker, question, wake
        self._row = row

    def __enter__(self) -> QuestionRow:
        return self._row

    def __exit__(self, *error: object) -> None:
        self._asker.forget(self._question, self._wake)

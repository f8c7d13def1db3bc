"""Asking people on every surface at once, and waiting for their answers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from sayso.core.audit.notices import Notice
from sayso.core.decision import Question
from sayso.core.durations import LONGEST_WAIT
from sayso.core.errors import SaysoError
from sayso.core.model import Request
from sayso.gate import words
from sayso.gate.forks import begin_in_each_process
from sayso.gate.gate import Gate, act_under_current_policy, current_gate
from sayso.gate.questions.answer import answer_question, edit_and_allow
from sayso.gate.questions.editable import find_editable
from sayso.gate.questions.expiry import ends_at, is_answerable
from sayso.gate.questions.explain import decide_edit, describe_why_asked
from sayso.gate.questions.read import question_of
from sayso.gate.questions.surface import AskedQuestion, LocalSurface, Reply
from sayso.gate.questions.team.following import ApprovalFollower
from sayso.gate.questions.team.progress import ApprovalLine, describe_approvals_for, keep_only_deny
from sayso.gate.questions.wait import load_question_now, load_question_row
from sayso.gate.row_watcher import RowWatcher
from sayso.gate.telemetry import log_surface_failure
from sayso.store.contract import QuestionRow, Reader

Edit = Callable[[Mapping[str, Any]], Request]
"""Makes the request for edited arguments, or refuses them."""


LOOK_AGAIN = 1.0
"""Seconds for which an answer is waited for before it is looked whether anybody is still asked there."""
NO_LONGER_ASKED = "No longer asked here."


class Asker:
    """Shows questions on the surfaces of one gate, and wakes who waits for their answers."""

    def __init__(self, gate: Gate, surfaces: Sequence[LocalSurface]) -> None:
        self._opened = gate
        self._surfaces = tuple(surfaces)
        self._answers = RowWatcher(gate, self._is_closed, "sayso-answers")
        self._approvals = ApprovalFollower(gate, self._show_moved)
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: what its parent shows is not its own, and no thread asks a surface."""
        self._lock = threading.Lock()
        self._shown: dict[str, _ShownQuestion] = {}
        self._fetching: list[LocalSurface] = []

    @property
    def _gate(self) -> Gate:
        self._opened = current_gate(self._opened)
        return self._opened

    @property
    def able(self) -> bool:
        """Return whether anybody can be asked."""
        return any(surface.able() for surface in self._surfaces)

    def attach(self, surface: LocalSurface) -> None:
        """Ask on this surface as well, from the next question on."""
        self._surfaces = (*self._surfaces, surface)

    @property
    def waiting(self) -> int:
        """The number of callers that wait here for answers."""
        return self._answers.waiting

    def show(self, question: Question, edit: Edit) -> threading.Event:
        """Put the question on every surface, once for all who ask it here at the same time.

        Set the event once it is no longer of interest; it is taken down with the last who was interested.
        """
        row = load_question_row(self._gate, question.id)
        with self._lock:
            shown = self._shown.setdefault(question.id, _ShownQuestion())
            interest = _Interest(lambda: self._take_down(question.id, shown))
            shown.interested += 1
            if shown.interested > 1:
                return interest
        team = self._describe_approvals(question.id)
        shown.asked, shown.edit = self._make_asked(question, ends_at(self._gate, row), edit, team), edit
        for surface in self._surfaces:
            if surface.able():
                self._put(surface, shown)
        if team.text is not None:
            self._approvals.follow(question.id)
        return interest

    def _make_asked(
        self, question: Question, expires_at: float, edit: Edit, team: ApprovalLine
    ) -> AskedQuestion:
        return AskedQuestion(
            question if team.counts else keep_only_deny(question),
            expires_at,
            lambda: describe_why_asked(self._gate, question),
            lambda values: decide_edit(self._gate, question, edit(values)),
            find_editable(question) if team.counts else None,
            team.text,
        )

    def _describe_approvals(self, question: str) -> ApprovalLine:
        """The approvals as they are for whoever answers here, whose id nothing proves."""
        gate = self._gate
        with gate.store.read() as tx:
            return describe_approvals_for(gate, tx, question_of(gate, tx, question), None)

    def tell(self, notice: str) -> None:
        for surface in self._surfaces:
            _tell(surface, notice)

    def wait(self, question: str, seconds: float) -> QuestionRow:
        """The question once it is closed or has expired, or as it is when the time is over."""
        self._answers.wait(question, min(seconds, LONGEST_WAIT))
        return load_question_now(self._gate, question)

    async def await_answer(
        self, question: str, seconds: float, left: asyncio.Future[None] | None = None
    ) -> QuestionRow:
        """The same for a coroutine. It also ends when `left` is done: whoever waits is gone."""
        await self._answers.await_over(question, min(seconds, LONGEST_WAIT), left)
        return await asyncio.to_thread(load_question_now, self._gate, question)

    def let_go(self) -> None:
        """Nobody waits here any more: whoever does is woken with the question as it is."""
        self._answers.let_go()

    def _is_closed(self, tx: Reader, question: str) -> bool:
        row = tx.question(question)
        return row is None or not is_answerable(self._opened, row, tx.now)

    # --- surfaces: one thread for each that is asked for answers, while it shows a question ---

    def _put(self, surface: LocalSurface, shown: _ShownQuestion) -> None:
        """Show the question there. Whatever goes wrong, it stays open elsewhere."""
        assert shown.asked is not None  # noqa: S101  it is put nowhere before
        question = shown.asked.question.id
        try:
            surface.show(shown.asked, question)
        except Exception as error:  # noqa: BLE001  a foreign surface: the others can still answer
            log_surface_failure(surface.name, question, error)
            return
        with self._lock:
            if shown.interested:
                shown.places.append(surface)
            fetches = shown.interested and surface.polls and surface not in self._fetching
            if fetches:
                self._fetching.append(surface)
        if not shown.interested:  # nobody was, by the time it was shown
            self._close(surface, question, NO_LONGER_ASKED)
        if fetches:
            name = f"sayso-{surface.name}"
            threading.Thread(target=self._fetch, name=name, args=(surface,), daemon=True).start()

    def _close(self, surface: LocalSurface, question: str, ending: str) -> None:
        try:
            surface.close(question, question, question, ending)
        except Exception as error:  # noqa: BLE001  a foreign surface: the others are closed
            log_surface_failure(surface.name, question, error)

    def _fetch(self, surface: LocalSurface) -> None:
        """Take what comes back from this surface, for as long as it shows anything."""
        while self._shows_anything(surface):
            try:
                for reply in surface.fetch(LOOK_AGAIN):
                    self._take(surface, reply)
            except Exception as error:  # noqa: BLE001  a foreign surface: the others can still answer
                log_surface_failure(surface.name, "", error)
                self._leave(surface)

    def _shows_anything(self, surface: LocalSurface) -> bool:
        with self._lock:
            if any(surface in one.places for one in self._shown.values()):
                return True
            self._fetching.remove(surface)
            return False

    def _leave(self, surface: LocalSurface, question: str | None = None) -> _ShownQuestion | None:
        """This question, or without one all of them, is no longer asked there."""
        with self._lock:
            for name, one in self._shown.items():
                if surface in one.places and question in (None, name):
                    one.places.remove(surface)
            return self._shown.get(question or "")

    def _take(self, surface: LocalSurface, reply: Reply) -> None:
        """Give this answer. One that does not count is asked for again."""
        shown = self._leave(surface, reply.question)
        try:
            self._answer(surface, reply, None if shown is None else shown.edit)
        except SaysoError as error:
            _tell(surface, str(error))
            if shown is not None and shown.interested:
                self._put(surface, shown)
        else:
            if shown is not None and shown.asked is not None and shown.asked.approvals is not None:
                self._close(surface, reply.question, NO_LONGER_ASKED)  # shown again while it was answered

    def _show_moved(self, question: str) -> None:
        """Show the question again with the approvals of now, where it is shown, if they are others."""
        team = self._describe_approvals(question)
        with self._lock:
            shown = self._shown.get(question)
            if shown is None or shown.asked is None or team.text in (None, shown.asked.approvals):
                return
            shown.asked = msgspec.structs.replace(shown.asked, approvals=team.text)
            places = list(shown.places)
        for surface in places:
            self._close(surface, question, words.APPROVALS_MOVED_HERE)
            self._leave(surface, question)
            self._put(surface, shown)

    def _take_down(self, question: str, shown: _ShownQuestion) -> None:
        with self._lock:
            shown.interested -= 1
            if shown.interested:
                return
            self._shown.pop(question, None)
            self._approvals.leave(question)
            places, shown.places = shown.places, []
        ending = self._describe_ending(question) if places else ""
        for surface in places:
            self._close(surface, question, ending)

    def _describe_ending(self, question: str) -> str:
        """Why the question is no longer asked here: who answered it elsewhere, if somebody did."""
        try:
            row = load_question_row(self._gate, question)
        except SaysoError:
            return NO_LONGER_ASKED
        if row.state == "cancelled":
            return words.describe_question_taken_back(row.by, row.reason)
        if row.state != "answered" or row.answer is None:
            return NO_LONGER_ASKED
        return words.elsewhere_notice(row.answer, row.by or "", row.reason)

    def _answer(self, surface: LocalSurface, reply: Reply, edit: Edit | None) -> None:
        question = reply.question
        how: dict[str, Any] = {"by": reply.by, "reason": reply.reason, "seen": reply.seen}
        if reply.answer == "edit":
            if edit is None:
                return  # nobody waits for the edited call any more
            how["seen_edited"] = reply.seen_edited
            stands = act_under_current_policy(
                self._gate,
                lambda gate: edit_and_allow(gate, question, edit(reply.edited or {}), **how),
            )
        else:
            stands = act_under_current_policy(
                self._gate, lambda gate: answer_question(gate, question, reply.answer, **how)
            )
        if stands.missing is not None:
            _tell(surface, words.approval_kept(stands.missing))
        if not stands.yours:
            _tell(
                surface, f"already {stands.state}: {stands.answer or 'no answer'} by {stands.by or 'nobody'}"
            )


def _tell(surface: LocalSurface, text: str) -> None:
    surface.tell(Notice("", time.time(), "", text), "")


class _ShownQuestion:
    """A question, the surfaces that show it, and how many here are interested in its answer."""

    def __init__(self) -> None:
        self.interested = 0
        self.places: list[LocalSurface] = []
        self.asked: AskedQuestion | None = None
        self.edit: Edit | None = None


class _Interest(threading.Event):
    """One caller's interest in a question. Set once it is over."""

    def __init__(self, lose: Callable[[], None]) -> None:
        super().__init__()
        self._lose = lose

    def set(self) -> None:
        if not self.is_set():
            super().set()
            self._lose()

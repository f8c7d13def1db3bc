"""Sending: every open question to every surface, every notice to one, from the store and never from memory.

- Each surface has a thread of its own, so one that is down or slow delays no other. No question has one.
- A surface that is down is left alone as a whole. A question that was closed meanwhile is not sent.
- A question that was answered anywhere is closed on every surface that shows it, with who said what.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256

import msgspec

from sayso.core.decision import Question
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.team import Team
from sayso.gate import words
from sayso.gate.deliveries.answers import answerer, take_answer
from sayso.gate.deliveries.cards import describe_approvals_on, fit_text, make_card
from sayso.gate.deliveries.outbox import HELD_FOR, Outbox, delivery_key, refs_of
from sayso.gate.deliveries.remote_surface import RemoteSurface
from sayso.gate.deliveries.rests import FIRST_PAUSE
from sayso.gate.deliveries.team_timing import held_until
from sayso.gate.deliveries.telling import NoticeTeller
from sayso.gate.gate import Gate, act_under_current_policy, current_gate
from sayso.gate.questions.expiry import as_of, ends_at
from sayso.gate.questions.read import TamperedQuestion, UnknownQuestion, question_of, questions_in
from sayso.gate.questions.team.progress import ApprovalLine
from sayso.gate.refusal_limit import RefusalLimit
from sayso.store.contract import DeliveryRow, QuestionRow, Reader, StoreError

log = logging.getLogger("sayso.surfaces")
KEPT_FOR = 30 * DAY
LOOK_AGAIN = 1.0
WAIT_FOR_ANSWERS = 20.0
PAGE = 50
MOST_REMEMBERED = 20_000
"""How many questions are remembered as held back, on all surfaces together."""
MOST_HELD = 1_000
"""How many questions are looked through where some are held back, or wait for several approvals."""
LOOK_AT_HELD = 60.0
"""Seconds after which a question that is held back is looked at again: the policy may have changed."""


class _HasLeft(Exception):
    """A surface that had joined is there no more."""


class Dispatcher:
    """Keeps the surfaces of one service up to date, until it is stopped."""

    def __init__(
        self,
        gate: Gate,
        surfaces: Sequence[RemoteSurface],
        *,
        notices_to: Callable[[], str | None],
        link: Callable[[str], str | None] = lambda question: None,
        joining: Callable[[], Sequence[RemoteSurface]] = tuple,
        hold: Callable[[Team, Question, str, float], float | None] = held_until,
    ) -> None:
        """`joining` returns the surfaces that come and go while this runs. Notices go to none of them.

        `hold` says until when a question is not sent to a surface.
        """
        self._gate = gate
        self._surfaces: Mapping[str, RemoteSurface] = {one.name: one for one in surfaces}
        self._notices_to = notices_to
        self._link = link
        self._joining = joining
        self._hold = hold
        self._joined: set[str] = set()
        self._outbox = Outbox(gate)
        self._rests = self._outbox.rests
        self._teller = NoticeTeller(gate, self._outbox, self._find_notice_place)
        self._refusals = RefusalLimit()
        self._held: dict[tuple[str, str], float] = {}
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin: a thread for each surface, one for what comes back from it, and one for notices.

        Without a place for notices none are queued: whoever gets one later is not told of the past. With one,
        the queue has begun when this returns: nothing that is decided afterwards goes untold.
        """
        if self._surfaces:
            self._teller.begin()
        for surface in self._surfaces.values():
            self._run(f"sayso-{surface.name}", partial(self._serve, partial(self.send, surface)))
            if surface.polls:
                self._run(f"sayso-{surface.name}-answers", partial(self._listen, surface))
        if self._surfaces:
            self._run("sayso-notices", partial(self._serve, self.send_notices))
        self._run("sayso-joining", self._take_in)

    def stop(self, seconds: float = 2.0) -> None:
        """End, within so many seconds. What is under way is finished, or comes up again later."""
        self._over.set()
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def send(self, surface: RemoteSurface) -> bool:
        """Do what is due on this surface once; whether there was anything to do."""
        gate, name = current_gate(self._gate), surface.name
        with gate.store.read() as tx:
            now = tx.now
            if self._rests.is_resting(name, now):
                return False
            fresh = self._find_fresh(gate, tx, name)
            moved = self._find_moved(gate, tx, surface)
            due = list(tx.deliveries_due(name, by=now, limit=PAGE))
            closed = list(tx.deliveries_to_close(name, by=now, limit=PAGE))
        work: list[Callable[[], None]] = [
            *(partial(self._show_new, surface, question) for question in fresh),
            *(partial(self._show_again, surface, row) for row in due),
            *(partial(self._show_moved, surface, row) for row in moved),
            *(partial(self._close_shown, surface, row) for row in closed),
        ]
        for step in work:
            if self._rests.is_resting(name, now):
                break
            step()
        return bool(work)

    def send_notices(self) -> bool:
        """Queue what the trail says is to be told, and tell what is due; whether there was anything."""
        return self._teller.send()

    def fetch_answers(self, surface: RemoteSurface, seconds: float) -> int:
        """Take the answers that came in on this surface; how many counted.

        An error of the store ends it there: nobody refused that answer, and the surface has it again.
        """
        counted = 0
        for given in surface.fetch(seconds):
            take = partial(take_answer, surface=surface, given=given, limit=self._refusals)
            try:
                counted += act_under_current_policy(current_gate(self._gate), take).yours
            except StoreError:
                raise
            except SaysoError as error:
                log.warning("an answer from %s was refused: %s", surface.name, error)
        return counted

    def _find_notice_place(self) -> RemoteSurface | None:
        return self._surfaces.get(self._notices_to() or "")

    def _find_fresh(self, gate: Gate, tx: Reader, surface: str) -> list[str]:
        """Return the questions to show now. Those that are held back come up again later."""
        team = gate.policy.team
        if team.quiet_hours is None and not team.approvals:
            return list(tx.questions_to_show(surface, limit=PAGE))
        wanted: list[str] = []
        if len(self._held) > MOST_REMEMBERED:
            self._held.clear()  # most are over by now; those that are not are looked at again
        for question in tx.questions_to_show(surface, limit=MOST_HELD):
            if tx.now >= self._held.get((surface, question), 0.0) and len(wanted) < PAGE:
                until = self._held_until(gate, tx, surface, question)
                if until is None:
                    wanted.append(question)
                else:
                    self._held[surface, question] = min(until, tx.now + LOOK_AT_HELD)
        return wanted

    def _held_until(self, gate: Gate, tx: Reader, surface: str, question: str) -> float | None:
        try:
            asked = question_of(gate, tx, question).question
        except (UnknownQuestion, TamperedQuestion):
            return None  # taken up, and found out, as any other
        return self._hold(gate.policy.team, asked, surface, tx.now)

    def _find_moved(self, gate: Gate, tx: Reader, surface: RemoteSurface) -> list[DeliveryRow]:
        """Return what is shown there and has other approvals by now."""
        if not gate.policy.team.approvals:
            return []
        moved = []
        for read in questions_in(gate, tx, tx.questions(None, state="open", limit=MOST_HELD)):
            row = tx.delivery(surface.name, read.row.id)
            if row is None or row.state != "shown" or row.due_at > tx.now:
                continue
            if _body(row, describe_approvals_on(gate, tx, surface, read)) != row.body:
                moved.append(row)
        return moved

    # --- one delivery ---

    def _show_moved(self, surface: RemoteSurface, row: DeliveryRow) -> None:
        """Show the question again with the approvals of now, in place of the one that is shown.

        Until it is shown, what it replaces is remembered: if it is answered before, that says so.
        """
        taken = self._outbox.take(row)
        if taken is None:
            return
        try:
            ending = fit_text(words.APPROVALS_MOVED, surface.longest)
            _close_messages(surface, taken, ending)
        except Exception as error:  # noqa: BLE001  a foreign surface: the others go on
            self._outbox.try_later(surface.name, taken, error)
            return
        body = _spell_body(_count_replaced(taken) + 1, "")
        fresh = self._outbox.note(taken, due=HELD_FOR, state="due", body=body)
        if fresh is not None:
            self._show(surface, fresh)

    def _show_new(self, surface: RemoteSurface, question: str) -> None:
        row = self._outbox.take_new(surface.name, question)
        if row is not None:
            self._show(surface, row)

    def _show_again(self, surface: RemoteSurface, row: DeliveryRow) -> None:
        taken = self._outbox.take(row)
        if taken is not None:
            self._show(surface, taken)

    def _close_shown(self, surface: RemoteSurface, row: DeliveryRow) -> None:
        taken = self._outbox.take(row)
        if taken is not None:
            self._close(surface, taken)

    def _show(self, surface: RemoteSurface, row: DeliveryRow) -> None:
        try:
            gate = current_gate(self._gate)
            with gate.store.read() as tx:
                read = question_of(gate, tx, row.subject)
                stands = as_of(gate, read.row, tx.now)
                team = describe_approvals_on(gate, tx, surface, read)
            row = msgspec.structs.replace(row, body=_body(row, team))
            if stands.state != "open":
                self._close(surface, row)
                return
            ends = ends_at(gate, read.row)
            card = make_card(gate, surface, read.question, ends, self._link(row.subject), team)
            ref = surface.show(card, _key(row))
        except (UnknownQuestion, TamperedQuestion):
            self._outbox.note(row, state="over")
        except Exception as error:  # noqa: BLE001  a foreign surface: the others go on
            self._outbox.try_later(surface.name, row, error)
        else:
            self._rests.end(surface.name)
            self._outbox.note_shown(msgspec.structs.replace(row, ref=None), ref)  # what it replaces is closed

    def _close(self, surface: RemoteSurface, row: DeliveryRow) -> None:
        try:
            with self._gate.store.read() as tx:
                question = tx.question(row.subject)
            if question is not None and (row.ref is not None or row.attempts > 1):
                ending = fit_text(describe_question_ending(question, surface.name), surface.longest)
                _close_messages(surface, row, ending)
        except Exception as error:  # noqa: BLE001  a foreign surface: the others go on
            self._outbox.try_later(surface.name, row, error)
        else:
            self._outbox.note(row, state="over")

    # --- threads ---

    def _run(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self, once: Callable[[], bool]) -> None:
        mark = 0
        while not self._over.is_set():
            try:
                if not once():
                    mark = self._gate.store.wait_for_change(mark, LOOK_AGAIN)
            except _HasLeft:
                raise
            except SaysoError as error:  # an outage of the store, mostly
                log.warning("sending failed: %s", error)
                self._over.wait(LOOK_AGAIN)
            except Exception:
                log.exception("sending failed")
                self._over.wait(LOOK_AGAIN)

    def _take_in(self) -> None:
        """Serve the surfaces that have joined, each in a thread of its own until it leaves."""
        while not self._over.is_set():
            try:
                for surface in self._joining():
                    if surface.name not in self._joined:
                        self._joined.add(surface.name)
                        self._run(f"sayso-{surface.name}", partial(self._serve_joined, surface.name))
            except SaysoError as error:
                log.warning("looking for surfaces failed: %s", error)
            except Exception:
                log.exception("looking for surfaces failed")
            self._over.wait(LOOK_AGAIN)

    def _serve_joined(self, name: str) -> None:
        def once() -> bool:
            here = next((one for one in self._joining() if one.name == name), None)
            if here is None:
                raise _HasLeft
            return self.send(here)

        try:
            self._serve(once)
        except _HasLeft:
            self._joined.discard(name)

    def _listen(self, surface: RemoteSurface) -> None:
        while not self._over.is_set():
            try:
                if not self.fetch_answers(surface, WAIT_FOR_ANSWERS):
                    self._over.wait(LOOK_AGAIN)  # also where somebody does not let us wait there
            except Exception as error:  # noqa: BLE001  a foreign surface: the others go on
                log.warning("no answers from %s: %s", surface.name, error)
                self._over.wait(FIRST_PAUSE)


def forget_deliveries(gate: Gate) -> int:
    """Forget what was done with long ago; how many."""
    with gate.store.write() as tx:
        return tx.drop_deliveries(before=tx.now - KEPT_FOR)


def describe_question_ending(row: QuestionRow, surface: str) -> str:
    """Return how a question ended, in a sentence for this surface, which showed it."""
    if row.state == "answered" and row.answer is not None:
        by = row.by or ""
        here = by.endswith(answerer("", surface))
        told = words.answered_notice if here else words.elsewhere_notice
        said = told(row.answer, by, row.reason)
        return said[:1].upper() + said[1:]
    if row.state == "cancelled":
        return words.describe_question_taken_back(row.by, row.reason)
    return "Nobody answered in time."


def _close_messages(surface: RemoteSurface, row: DeliveryRow, ending: str) -> None:
    for ref in refs_of(row):
        surface.close(ref, row.subject, _key(row), ending)


def _body(row: DeliveryRow, team: ApprovalLine) -> bytes:
    """The approvals as they were when the question was shown, to tell whether they have changed."""
    return _spell_body(_count_replaced(row), team.text or "")


def _spell_body(replaced: int, text: str) -> bytes:
    """The same after how many messages of this question were replaced before: none is like an earlier one."""
    return (f"{replaced}\n{text}" if replaced else text).encode()


def _count_replaced(row: DeliveryRow) -> int:
    count, found, _ = row.body.partition(b"\n")
    return int(count) if found else 0


def _key(row: DeliveryRow) -> str:
    """The key of a question as it is shown: with other approvals it is another one."""
    return delivery_key(row, f".{sha256(row.body).hexdigest()[:8]}" if row.body else "")

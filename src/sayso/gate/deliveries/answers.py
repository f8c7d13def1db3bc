"""Answers from surfaces beyond this process. Nobody between the person and us is trusted.

- The token binds the answer to the question, its call, how much of that was shown, the surface and the epoch.
  It is used up with the question: the first answer stands.
- Whoever answers has to be among the people who may answer there.
- What the surface did not show whole allows nothing above moderate risk, and where high risk has to be signed
  with a passkey, a surface that cannot sign allows none of it.
"""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import UNSET

from sayso.core.audit import events
from sayso.core.digest import sha256
from sayso.core.errors import SaysoError
from sayso.gate.deliveries.cards import token_fits
from sayso.gate.deliveries.outbox import note_message, refs_of
from sayso.gate.deliveries.remote_surface import GivenAnswer, ProvenAnswer, RemoteSurface
from sayso.gate.gate import Gate, writing
from sayso.gate.people.answerers import Answerer, on_surface
from sayso.gate.people.passkeys import Signing
from sayso.gate.questions.answer import QuestionStanding, answer_question
from sayso.gate.questions.read import question_of
from sayso.gate.refusal_limit import RefusalLimit
from sayso.gate.rows.journal import record

LONGEST_ANSWER_REASON = 500


class AnswerRefused(SaysoError):
    """An answer that does not count. The question stays as it is."""

    code = "answer_refused"


def take_answer(
    gate: Gate,
    surface: RemoteSurface,
    given: GivenAnswer,
    limit: RefusalLimit,
    *,
    who: Answerer | None = None,
) -> QuestionStanding:
    """Give this answer, if it counts; else refuse it and record the attempt, as far as the limit allows.

    `who` is their id, where something other than the surface has proved it.
    """
    with gate.store.read() as tx:
        read, now = question_of(gate, tx, given.question), tx.now
        shown = tx.delivery(surface.name, given.question)
    fits = partial(token_fits, gate, surface.name, read.question, given.answer, given.token)
    why, whole = None, fits(whole=True)
    if given.by not in surface.approvers:
        why = "this person may not answer there"
    elif shown is None:
        why = "the question was never shown there"
    elif not whole and not fits(whole=False):
        why = "the token does not fit this answer"
    if why is not None:
        _record_refusal(gate, surface.name, given, why, limit.take(now))
        raise AnswerRefused(why)
    who = who or on_surface(surface.name, given.by)
    if isinstance(given, ProvenAnswer):
        who = msgspec.structs.replace(who, press=sha256(f"{surface.name}/{given.press}".encode()))
        if given.ref is not None and shown is not None and given.ref not in refs_of(shown):
            note_message(gate, surface.name, given.question, given.ref)  # who sent it did not live to note it
    return answer_question(
        gate,
        given.question,
        given.answer,
        by=answerer(given.by, surface.name),
        reason=None if given.reason is None else given.reason[:LONGEST_ANSWER_REASON],
        signing=Signing(None, ()),
        seen=read.question.request.digest if whole else None,
        who=who,
    )


def answerer(person: str, surface: str) -> str:
    """Return who answered, as it is recorded: the person, and where."""
    return f"{person} on {surface}"


def record_forgery(gate: Gate, surface: RemoteSurface, why: str, limit: RefusalLimit) -> None:
    """Record that a message came in that the surface did not send, as far as the limit allows."""
    with gate.store.read() as tx:
        now = tx.now
    _record_refusal(gate, surface.name, GivenAnswer("", "", "", ""), why, limit.take(now))


def _record_refusal(gate: Gate, surface: str, given: GivenAnswer, why: str, missed: int | None) -> None:
    """Record it, with how many went unrecorded before; nothing, and no lock, past the limit."""
    if missed is None:
        return
    refused = events.SurfaceAnswerRefused(
        given.question[:80], given.answer[:40], given.by[:80], surface, why, missed or UNSET
    )
    with writing(gate) as tx:
        record(tx, refused, stream=gate.stream)

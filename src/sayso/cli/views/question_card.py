"""One question, whole: what `sayso inbox ID` prints, and `sayso approve` shows at high risk."""

from __future__ import annotations

import os
import shutil

import msgspec

from sayso.cli.views.operator import Waiting, span, waiting
from sayso.core import words
from sayso.core.errors import LeftOpen
from sayso.core.model import Risk
from sayso.core.words import visible
from sayso.gate.gate import Gate
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.explain import why_asked
from sayso.gate.questions.read import UnknownQuestion, question_of
from sayso.gate.questions.retell import retell
from sayso.gate.questions.surface import Asked

HOW = "sayso approve {id}   or, from a script that has read all of this: sayso approve {id} --seen {digest}"


class Shown(msgspec.Struct, frozen=True):
    """An open question as a surface gets it, and as the inbox lists it."""

    asked: Asked
    waiting: Waiting
    now: float


def open_question(gate: Gate, question: str) -> Shown:
    with gate.store.read() as tx:
        read, now = question_of(gate, tx, question), tx.now
        row, found, told = read.row, retell(gate, tx, read.question), waiting(gate, tx, read)
    if row.state != "open" or now >= ends_at(gate, row):
        raise UnknownQuestion(f"there is no open question {visible(question)}", hint="sayso inbox lists them")
    return Shown(Asked(found, ends_at(gate, row), lambda: why_asked(gate, found)), told, now)


def whole_lines(one: Shown) -> list[str]:
    """Every fact, nothing folded; what each answer would grant; how to give it."""
    from sayso.surfaces.terminal.card import whole_lines as fact_lines
    from sayso.surfaces.terminal.layout import look_of

    look, told = look_of(shutil.get_terminal_size().columns, os.environ), one.waiting
    lines = [f"{told.id}  {told.risk} risk, {span(told.left)} left", ""]
    lines += fact_lines(one.asked, look, one.now)
    lines += ["", "Answers:"]
    lines += [f"  {name:10} {visible(covered, None)}" for name, covered in told.covers.items()]
    if one.asked.question.risk > Risk.MODERATE:
        lines += ["", HOW.format(id=told.id, digest=told.digest)]
    return lines


def seen_at_terminal(gate: Gate, question: str, answer: str) -> str | None:
    """The digest of the call, once a person at the terminal has it all on screen and typed the word.

    Below high risk nobody is asked, and nothing is claimed to have been seen; nor where there is no terminal.
    Whoever types something else leaves the question open.
    """
    from sayso.surfaces.terminal.terminal import Terminal

    with gate.store.read() as tx:
        read = question_of(gate, tx, question)
        row, found = read.row, retell(gate, tx, read.question)
    if row.state != "open" or found.risk <= Risk.MODERATE or not found.offers_answer(answer):
        return None
    asked = Asked(found, ends_at(gate, row), lambda: why_asked(gate, found))
    confirmed = Terminal().confirm(asked, answer)
    if confirmed is False:
        raise LeftOpen(words.LEFT_OPEN, hint=words.TYPE_ALLOW)
    return found.request.digest if confirmed else None

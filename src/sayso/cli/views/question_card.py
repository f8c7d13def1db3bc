"""One question, whole: what `sayso inbox ID` prints, and `sayso approve` shows at high risk."""

from __future__ import annotations

import os
import shutil

import msgspec

from sayso.cli.views.operator import BREAK_GLASS, InboxItem, format_span, inbox_item_from_row
from sayso.core import words
from sayso.core.errors import LeftOpen
from sayso.core.model import Risk
from sayso.core.words import visible
from sayso.gate.gate import Gate
from sayso.gate.policy.acting_policy import with_policy_in_force
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.explain import describe_why_asked
from sayso.gate.questions.read import UnknownQuestion, question_of
from sayso.gate.questions.retell import retell
from sayso.gate.questions.surface import AskedQuestion

HOW = "sayso approve {id}   or, from a script that has read all of this: sayso approve {id} --seen {digest}"


class QuestionView(msgspec.Struct, frozen=True):
    """An open question as a surface gets it, and as the inbox lists it."""

    asked: AskedQuestion
    waiting: InboxItem
    now: float


def load_open_question(gate: Gate, question: str) -> QuestionView:
    with gate.store.read() as tx:
        read, now = question_of(gate, tx, question), tx.now
        row, found, told = read.row, retell(gate, tx, read.question), inbox_item_from_row(gate, tx, read)
    if row.state != "open" or now >= ends_at(gate, row):
        raise UnknownQuestion(f"there is no open question {visible(question)}", hint="sayso inbox lists them")
    return QuestionView(
        AskedQuestion(
            found,
            ends_at(gate, row),
            lambda: describe_why_asked(with_policy_in_force(gate), found),
            approvals=told.approvals,
        ),
        told,
        now,
    )


def question_detail_lines(one: QuestionView) -> list[str]:
    """Every fact, nothing folded; what each answer would grant; how to give it."""
    from sayso.surfaces.terminal.card import all_fact_lines as fact_lines
    from sayso.surfaces.terminal.layout import detect_screen

    look, told = detect_screen(shutil.get_terminal_size().columns, os.environ), one.waiting
    lines = [f"{told.id}  {told.risk} risk, {format_span(told.left)} left", ""]
    lines += fact_lines(one.asked, look, one.now)
    lines += ["", "Answers:"]
    lines += [f"  {name:10} {visible(covered, None)}" for name, covered in told.covers.items()]
    if one.asked.question.risk > Risk.MODERATE and told.may_allow:
        lines += ["", HOW.format(id=told.id, digest=told.digest)]
    if told.glass:
        lines += ["", BREAK_GLASS.format(id=told.id)]
    return lines


def confirm_at_terminal(gate: Gate, question: str, answer: str) -> str | None:
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
    asked = AskedQuestion(
        found, ends_at(gate, row), lambda: describe_why_asked(with_policy_in_force(gate), found)
    )
    confirmed = Terminal().confirm(asked, answer)
    if confirmed is False:
        raise LeftOpen(words.LEFT_OPEN, hint=words.TYPE_ALLOW)
    return found.request.digest if confirmed else None

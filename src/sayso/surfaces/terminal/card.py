"""The card a question is shown on: whatever an agent wrote is inside, in its own column, as data."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from sayso.core.decision import Offer, Question
from sayso.core.model import Risk
from sayso.gate.questions.surface import AskedQuestion
from sayso.surfaces.facts import SHORT, QuestionFact, facts_of
from sayso.surfaces.terminal.layout import Screen, odd_characters, wrap_marked, wrap_text

if TYPE_CHECKING:
    from rich.text import Text

MOST_LINES = 10
FEW_LINES = 3
MATTERS_MOST = ("Command", "Target", "Arguments", "Change", "Because of")
MARKED = " marked"
"""What stands beside the carets under a part that made the call what it is: no text of others reaches it."""
MOST_OF_A_KIND = 20
LABELS = 11
RISK_COLOURS = {Risk.LOW: "green", Risk.MODERATE: "yellow", Risk.HIGH: "red"}

ANSWER_KEYS = {
    "once": ("o", "once"),
    "task": ("t", "task"),
    "temporary": ("m", "15 min"),
    "deny": ("d", "deny"),
}
"""What is typed for an answer: a letter for the narrow ones, and a word. Wide answers want their word."""


class Card(msgspec.Struct, frozen=True):
    """The text of a card, and whether anything on it is folded."""

    text: str
    folded: bool


class CardRow(msgspec.Struct, frozen=True):
    """A line of the card: our own words at the left, then what they are about."""

    left: str
    line: str
    style: str = ""
    folds: bool = False


def render_card(asked: AskedQuestion, look: Screen, now: float, *, whole: bool, waiting: int) -> Card:
    """The question with every fact and answer; long facts folded, unless it shall be whole."""
    question = asked.question
    facts = list(facts_of(asked, now))
    shown = facts if whole else _limit_facts(facts)
    rows = [*_fact_rows(shown, look, whole)]
    if len(shown) < len(facts):
        rows += _fold_rows(f"{len(facts) - len(shown):,} more facts", look)
    if odd := sum(odd_characters(fact.text, look) for fact in shown):
        rows += _warning_rows(odd, look)
    answers = [*_answer_rows(_answer_choices(asked), look, whole)]
    folded = any(row.folds for row in rows + answers)
    if folded:
        answers += _answer_rows([("", "all", "show everything that is folded here")], look, whole)
    title = f"May this run? {question.risk.word.capitalize()} risk."
    if waiting:
        title += f" {waiting} more {'waits' if waiting == 1 else 'wait'}."
    return Card(_draw_frame(title, [rows, answers], look, RISK_COLOURS[question.risk]), folded)


def render_approval(asked: AskedQuestion, look: Screen, now: float, answer: str) -> str:
    """The whole question in its frame, and beneath it what this one answer would grant."""
    question = asked.question
    given = [
        ("", answer_word(one.answer), _describe_offer(one, question))
        for one in question.offers
        if one.answer == answer
    ]
    rows = [[*_whole_rows(asked, look, now)], [*_answer_rows(given, look, whole=True)]]
    title = f"Approve this? {question.risk.word.capitalize()} risk."
    return _draw_frame(title, rows, look, RISK_COLOURS[question.risk])


def all_fact_lines(asked: AskedQuestion, look: Screen, now: float) -> list[str]:
    """Every fact in plain lines, nothing folded."""
    return [f"{row.left}{row.line}" for row in _whole_rows(asked, look, now)]


def render_page(title: str, text: str, look: Screen) -> str:
    """Lines in the same frame, such as the checks that led to a question."""
    rows = [CardRow("", line) for line in wrap_text(text, look.width - 2, look)]
    return _draw_frame(title, [rows], look, "cyan")


def render_remark(text: str, look: Screen) -> str:
    """Words of our own, which may quote somebody's: only the first line begins at the edge."""
    return "\n  ".join(wrap_text(text, look.width - 2, look)) + "\n"


def answer_word(answer: str) -> str:
    return ANSWER_KEYS[answer][1] if answer in ANSWER_KEYS else answer


def allowing_offers(question: Question) -> list[Offer]:
    return [offer for offer in question.offers if offer.answer != "deny"]


def _whole_rows(asked: AskedQuestion, look: Screen, now: float) -> Iterator[CardRow]:
    facts = list(facts_of(asked, now))
    yield from _fact_rows(facts, look, whole=True)
    if odd := sum(odd_characters(fact.text, look) for fact in facts):
        yield from _warning_rows(odd, look)


def _limit_facts(facts: list[QuestionFact]) -> list[QuestionFact]:
    """At most so many facts of one kind as a person reads."""
    seen: dict[str, int] = {}
    few = []
    for fact in facts:
        seen[fact.label] = seen.get(fact.label, 0) + 1
        if seen[fact.label] <= MOST_OF_A_KIND:
            few.append(fact)
    return few


def _fact_rows(facts: Iterable[QuestionFact], look: Screen, whole: bool) -> Iterator[CardRow]:
    """A fact's first line is at its column, the others two further in: none can pass for another fact."""
    width, last = look.width - 2 - LABELS - 2, ""
    for fact in facts:
        label = "" if fact.label == last else fact.label
        last = fact.label
        lines = wrap_marked(fact.text, fact.parts, width, look)
        most = MOST_LINES if fact.label in MATTERS_MOST else FEW_LINES
        for number, (line, marks) in enumerate(islice(lines, None if whole else most)):
            further = "  " if number else ""
            yield _make_row("" if number else label, f"{further}{line}")
            if marks:
                yield _make_row(MARKED, f"{further}{marks}", "bold red")
        if next(lines, None) is not None:
            yield from _fold_rows(f"{fact.length:,} characters in all", look)


def _make_row(label: str, line: str, style: str = "") -> CardRow:
    return CardRow(label.ljust(LABELS), line, style)


def _fold_rows(text: str, look: Screen) -> Iterator[CardRow]:
    for line in wrap_text(f"{look.ellipsis} {text}; type all to see them", look.width - 2 - LABELS, look):
        yield CardRow(" " * LABELS, line, "dim italic", folds=True)


def _warning_rows(odd: int, look: Screen) -> Iterator[CardRow]:
    what, they = ("character", "it is") if odd == 1 else ("characters", "they are")
    said = f"{odd:,} {what} above would not show, or could mislead; {they} spelled out with a backslash"
    for number, line in enumerate(wrap_text(said, look.width - 2 - LABELS, look)):
        yield _make_row("Careful" if number == 0 else "", line, "bold")


def _answer_rows(answers: Iterable[tuple[str, str, str]], look: Screen, whole: bool) -> Iterator[CardRow]:
    """One answer a row, with what it would grant; at high risk all that allow are behind one word."""
    for key, word, says in answers:
        left = f"{key:2} {word:11}"
        width = look.width - 2 - len(left)
        lines = wrap_text(says, width, look)
        for number, line in enumerate(islice(lines, None if whole else FEW_LINES)):
            yield CardRow(left if number == 0 else " " * len(left), line)
        if next(lines, None) is not None:
            note = f"{look.ellipsis} {len(says):,} characters in all"
            folds = (
                CardRow(" " * len(left), line, "dim", folds=True) for line in wrap_text(note, width, look)
            )
            yield from folds


def _answer_choices(asked: AskedQuestion) -> Iterator[tuple[str, str, str]]:
    question = asked.question
    allowed = [(offer.answer, _describe_offer(offer, question)) for offer in allowing_offers(question)]
    if question.risk < Risk.HIGH:
        yield from ((*ANSWER_KEYS.get(answer, ("", answer)), says) for answer, says in allowed)
    elif len(allowed) == 1:
        yield "", "allow", f"{allowed[0][1]} (the risk is high: type the whole word)"
    elif allowed:
        yield "", "allow", "type the whole word, because the risk is high; then say how:"
        yield from (("", f"  {answer_word(answer)}", says) for answer, says in allowed)
    if question.offers_answer("deny"):
        yield *ANSWER_KEYS["deny"], "this call does not run (or just Enter); a reason may follow"
    if asked.editable is not None:
        yield "e", "edit", "change the arguments, then allow the changed call once"
    yield "w", "why", "show every check and what it said"


def _describe_offer(offer: Offer, question: Question) -> str:
    """Return what an answer grants. A command too long for a line was shown above, and is not repeated."""
    command = question.request.call.command
    if command and (len(command) > SHORT or "\n" in command):
        return offer.words.replace(command, "exactly the command above").replace("\n", "\\n")
    return offer.words.replace("\n", "\\n")


def _draw_frame(title: str, parts: list[list[CardRow]], look: Screen, colour: str) -> str:
    from rich.text import Text

    corner, bar, tee, end, rule = tuple(look.frame)
    first, *rest = wrap_text(title, look.width - 4, look)
    head = f"{corner}{rule} {first} "
    lines = [Text(head + rule * (look.width - len(head)), style=f"bold {colour}")]
    lines += [Text(f"{bar}  {line}", style=f"bold {colour}") for line in rest]
    for number, rows in enumerate(parts):
        if number:
            lines.append(Text(tee + rule * (look.width - 1), style=colour))
        lines += [
            Text.assemble((f"{bar} ", colour), (row.left, "bold"), (row.line, row.style)) for row in rows
        ]
    lines.append(Text(end + rule * (look.width - 1), style=colour))
    return _colour_lines(lines)


def _colour_lines(lines: list[Text]) -> str:
    """The lines as this terminal takes them: NO_COLOR and TERM=dumb are minded, markup is not read."""
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        force_jupyter=False,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ=os.environ,
    )
    console.print(Text("\n").join(lines), soft_wrap=True)
    return out.getvalue()

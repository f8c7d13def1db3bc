"""The totals of a time: summaries of the spans that make it up, of all streams or of one session."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import msgspec

from sayso.gate.summaries.add_up import find_through, load_decisions, load_questions
from sayso.gate.summaries.decisions import add_entries, entries_found, found_name, read_tail
from sayso.gate.summaries.questions import add_question, read_questions
from sayso.gate.summaries.shapes import (
    ASKED,
    DECIDED,
    SPANS,
    DecisionTotals,
    QuestionTotals,
    SummaryKind,
    VerdictCounts,
)
from sayso.gate.summaries.source import Body, SourceSummaries
from sayso.gate.words import SURFACE_TEST_OPERATION, is_own_name
from sayso.store.contract import Reader

SHORTEST = SPANS[0]
"""Figures begin with one of these: an hour."""


class Totals(msgspec.Struct, frozen=True):
    """What was decided and asked in a time; `streams` and `questions` are what that was read from."""

    decided: DecisionTotals
    asked: QuestionTotals
    streams: tuple[SourceSummaries, ...]
    questions: SourceSummaries
    since: float


def load_totals(tx: Reader, since: float) -> Totals:
    """The totals of all streams since the beginning of this hour."""
    streams = tuple(load_decisions(tx, stream) for stream in tx.streams())
    return _sum_up(streams, load_questions(tx), since)


def load_session_totals(tx: Reader, session: str, since: float) -> Totals:
    """The same of one session, from its own entries and questions."""
    streams = tuple(_load_session_decisions(tx, stream, session) for stream in tx.streams())
    questions = SourceSummaries(session)
    for row in read_questions(tx, session=session):
        add_question(questions, row, tx.now)
    return _sum_up(streams, questions, since)


def start_of_hour(since: float) -> float:
    """The beginning of the hour that this time lies in."""
    return float(since // SHORTEST * SHORTEST)


def _sum_up(streams: tuple[SourceSummaries, ...], questions: SourceSummaries, since: float) -> Totals:
    decided, asked = DecisionTotals(), QuestionTotals()
    for stream in streams:
        for one in _since(stream, DECIDED, since):
            decided.add(one)
    for each in _since(questions, ASKED, since):
        asked.add(each)
    return Totals(*leave_out_trials(decided, asked), streams, questions, since)


def leave_out_trials(decided: DecisionTotals, asked: QuestionTotals) -> tuple[DecisionTotals, QuestionTotals]:
    """The same without what Sayso asked to try itself. What was allowed stays, whatever name asked for it."""
    ran = {name: _only_allowed(one) if is_own_name(name) else one for name, one in decided.agents.items()}
    operations = {name: one for name, one in decided.operations.items() if name != SURFACE_TEST_OPERATION}
    agents = {name: one for name, one in ran.items() if one.total}
    people = {name: one for name, one in asked.agents.items() if not is_own_name(name)}
    categories = {name: one for name, one in asked.categories.items() if name != SURFACE_TEST_OPERATION}
    return (
        msgspec.structs.replace(decided, agents=agents, operations=operations),
        msgspec.structs.replace(asked, agents=people, categories=categories),
    )


def _only_allowed(counts: VerdictCounts) -> VerdictCounts:
    return VerdictCounts(counts.allow, avoided=counts.avoided)


def _since(sums: SourceSummaries, shapes: Mapping[int, SummaryKind[Body]], since: float) -> Iterator[Body]:
    """The fewest spans that make up the time since: hours until a day begins, days until thirty begin."""
    first = start_of_hour(since)
    for span, longer in zip(SPANS, (*SPANS[1:], 0), strict=True):
        end = -(-first // longer) * longer if longer else float(sys.maxsize)
        found = sums.newest_first(shapes[span], first=int(first // span), before=int(end // span))
        yield from (totals for _, totals in found)
        first = end


def _load_session_decisions(tx: Reader, stream: str, session: str) -> SourceSummaries:
    stored, found = SourceSummaries(stream, tx), SourceSummaries(stream)
    through = find_through(stored).entry
    add_entries(found, tx, entries_found(tx, stored, found_name("session", session)))
    add_entries(found, tx, entries_found(tx, stored, found_name("rated", session)))
    add_entries(found, tx, (row for row in read_tail(tx, stream, through) if row[6] == session))
    return found

"""Ratings: whether a question was clear, told in one touch by those who were asked. They decide nothing."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sayso.core.audit import events
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate, writing
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.rows.journal import record
from sayso.gate.sealed_values import lock_values, read_value_of_epoch, value_name, write_value

RATED_FOR = 30 * DAY


class NotAnswered(SaysoError):
    code = "not_answered"


class Rating(msgspec.Struct, frozen=True):
    """A person's rating of a question, and whether it is this one: each person rates once."""

    question: str
    clear: bool
    by: str
    yours: bool = True


class _Ratings(msgspec.Struct, frozen=True):
    given: Mapping[str, bool] = {}


def rate_question(gate: Gate, question: str, *, clear: bool, by: str) -> Rating:
    """Say whether an answered question was clear. The first rating of each person counts."""
    with writing(gate) as tx:
        row = tx.question(question)
        if row is None:
            raise UnknownQuestion.of(question)
        if row.state != "answered":
            raise NotAnswered(f"{question} was not answered", hint="a question is rated after its answer")
        lock_values(tx, "ratings")
        name = value_name("ratings", question)
        kept = read_value_of_epoch(gate, tx, name, _Ratings) or _Ratings()
        if by in kept.given:
            return Rating(question, kept.given[by], by, yours=False)
        write_value(gate, tx, name, _Ratings({**kept.given, by: clear}), until=tx.now + RATED_FOR)
        record(tx, events.Rated(question, clear, by), session=row.session, stream=gate.stream)
    return Rating(question, clear, by)

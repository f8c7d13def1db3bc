"""A gate under some policy, and the service on it, in this process; a gate after its rows were attacked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sayso import Inbox, Sayso
from sayso.core.decision import Question
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.read import questions_in
from sayso.gate.questions.surface import LocalSurface
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.support.answers import answer_question
from tests.support.by_hand import Place
from tests.support.gates import KEY, Clock
from tests.support.service import Service

Again = Callable[[Place], Gate]
"""The gate that is asked after rows were changed."""


def runs_on(place: Place) -> Gate:
    return place.gate


def opened_anew(place: Place) -> Gate:
    return place.restart()


@contextmanager
def a_gate(policy: str, surfaces: Sequence[LocalSurface] = (Inbox(),)) -> Iterator[Sayso]:
    """A gate on a store in memory, under the policy in this text. Questions wait in the inbox."""
    with Sayso(open_gate(load_text(policy), MemoryStore(clock=Clock()), key=KEY), surfaces) as opened:
        yield opened


@contextmanager
def a_service(gate: Sayso) -> Iterator[Service]:
    """The service on this gate, with a token for each role."""
    with asyncio.Runner() as runner:
        yield Service(gate.gate, runner)


def open_questions(gate: Sayso, session: str) -> list[Question]:
    """The open questions of a session, the newest last."""
    with gate.gate.store.read() as tx:
        rows = tx.questions(session, limit=100)
        return [one.question for one in questions_in(gate.gate, tx, rows)]


def answer_last(gate: Sayso, session: str, answer: str) -> None:
    """The operator gives this answer to the newest open question."""
    answer_question(gate.gate, open_questions(gate, session)[-1].id, answer, by="ana")

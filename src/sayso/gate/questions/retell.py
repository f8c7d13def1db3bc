"""Open questions as people read them: a reason that no longer holds is not shown as one that does."""

from __future__ import annotations

from sayso.core.deciding.questions import retell_after_stop
from sayso.core.decision import Question
from sayso.core.rulebook import STOPPED
from sayso.gate.gate import Gate, is_stopped
from sayso.store.contract import Reader


def retell(gate: Gate, tx: Reader, asked: Question) -> Question:
    """Return the question with reasons that hold now: a stop that was lifted is shown as over."""
    by_stop = any(item.ruling.rule == STOPPED.name for item in asked.items)
    if not by_stop or is_stopped(gate, tx, asked.request.session):
        return asked
    return retell_after_stop(asked)

"""Checking on a store: what the gate of the operator's store would decide now.

- Nothing is used up, opened or granted by a check.
- On a store, reviews, the session's state and the clock count as they do for a call.
- What is blocked there is recorded, with its alert, as the call itself would be.
"""

from __future__ import annotations

import msgspec

from sayso.core.decision import Decision
from sayso.core.model import Request, Tier, Verdict
from sayso.core.session import Session, View
from sayso.gate.deciding.check_alone import CheckResult, decide_and_trace
from sayso.gate.deciding.request import gate_and_reading
from sayso.gate.gate import (
    NO_SCOPE,
    Gate,
    load_open_session,
    reviews_for,
    time_trusted,
    writing,
)
from sayso.gate.policy.projects import name_project
from sayso.store.contract import Reader


def check_on_store(gate: Gate, request: Request, *, in_session: bool) -> CheckResult:
    """Decide as the gate of this store would now: in the session of the request, or in none."""
    gate, request = gate_and_reading(gate, request)
    with gate.store.read() as tx:
        if in_session:
            view = _view_in_session(gate, tx, request)
        else:
            view = View(
                Session(id=request.session),
                notices=gate.notices_to is not None,
                time_trusted=time_trusted(gate, tx),
            )
        view = msgspec.structs.replace(view, reviews=_load_reviews(gate, tx, request))
        made = decide_and_trace(request, gate.policy, view, tx.now)
        named = name_project(gate, request, view, tx.now, made.decision)
        return msgspec.structs.replace(made, decision=named)


def alert_blocked(gate: Gate, request: Request, decision: Decision) -> int:
    """Record a denied check, and with it the alert to the operator; the number of the entry."""
    if decision.verdict is not Verdict.DENY:
        raise AssertionError("only what is blocked is recorded of a check")
    from sayso.gate.deciding.authorize import Reporting, record_decision

    with Reporting(gate, request.session) as report, writing(gate) as tx:
        report.set_decision(request, decision, None, opened=False)
        return record_decision(gate, tx, request, decision)


def _view_in_session(gate: Gate, tx: Reader, request: Request) -> View:
    from sayso.gate.questions.explain import select_rows_for_preview
    from sayso.gate.questions.view import view_of

    wanted = select_rows_for_preview(gate, request, NO_SCOPE)
    return view_of(gate, tx, load_open_session(gate, tx, request.session, wanted), request)


def _load_reviews(gate: Gate, tx: Reader, request: Request) -> dict[str, float]:
    """The reviews that count. A permission the store has not seen yet would be seen first by this call."""
    reviews = reviews_for(gate, tx, request)
    unmarked = gate.mark is not None and not gate.mark.exists and tx.head(gate.stream) is not None
    names = [one.name for one in request.operations if gate.policy.entry(one.name).tier is Tier.AUTONOMOUS]
    kept = {row.name for row in tx.reviews(names)} if names else set()
    for name in names:
        if name not in kept and not unmarked and not gate.sealer.was_reviewed(name):
            reviews[name] = tx.now
    return reviews

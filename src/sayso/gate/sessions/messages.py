"""The conversation for real: messages, plans, tasks and outcomes, each one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.conversation import lifecycle
from sayso.core.conversation.claims import OPERATION, TOOL, claim_question
from sayso.core.conversation.clearing import lost
from sayso.core.conversation.hear import Heard, allowlisted, hear
from sayso.core.deciding.questions import show
from sayso.core.decision import Question
from sayso.core.effects import Claimed, Cleared, Effect, HandedOff, Opened
from sayso.core.model import Assurance
from sayso.core.plans.text import PlanText
from sayso.core.session import Session, apply
from sayso.gate.deciding.authorize import flooded, notice_in, tell_flood
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, all_that_can_end, everything, loaded, settle, writing
from sayso.gate.people.passkeys import proof_needed, unsigned_risk
from sayso.gate.questions.read import UnknownQuestion, refuse_question
from sayso.gate.questions.retell import retell
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import Loaded, children_of
from sayso.gate.sessions.consents import record_consents
from sayso.gate.sessions.handoff import hand_off
from sayso.gate.sessions.last_message import keep_said
from sayso.gate.sessions.revoke import with_sessions_below
from sayso.store.contract import Writer

USER = "user"
"""Who ends what a message ends."""
Change = Callable[[Session, float], lifecycle.Report]


def hear_message(
    gate: Gate,
    session: str,
    text: str,
    assurance: Assurance = Assurance.ASSURED,
    *,
    keep: bool = False,
) -> Heard:
    """Take a user's message: what it ends and allows is written before this returns.

    With `keep` it can be shown to whoever is asked.
    """
    with writing(gate) as tx:
        found = loaded(gate, tx, session, all_that_can_end())
        heard = hear(found.session, text, gate.policy, tx.now, assurance, unsigned=unsigned_risk(gate, tx))
        heard = _with_handoff(gate, tx, found, heard)
        asked, more = _ask_whether_said(gate, tx, found, heard)
        settle(gate, tx, found, (*heard.effects, *more), by=USER)
        heard = with_sessions_below(gate, tx, session, heard)
        details: dict[str, Any] = {"kind": heard.kind, "turn": heard.turn, "cleared": list(heard.cleared)}
        details |= _why_cleared(heard.effects)
        if keep:
            keep_said(gate, tx, session, text)
        record(tx, "HEARD", session=session, agent=found.row.agent, details=details, stream=gate.stream)
        record_consents(gate, tx, found.session, heard.effects)
        clear_children(gate, tx, session, heard.effects, by=USER)
    return heard if asked is None else msgspec.structs.replace(heard, question=asked.id)


def show_plan(gate: Gate, session: str, text: PlanText, *, shown: bool = False) -> lifecycle.Report:
    """Take a plan that is put to the user. `shown`: an assured host shows them its rendering, `text.text`."""
    return _change(
        gate, session, "PLAN_SHOWN", lambda state, now: lifecycle.show_plan(state, text, shown=shown)
    )


def _with_handoff(gate: Gate, tx: Writer, found: Loaded, heard: Heard) -> Heard:
    """The message with what it hands on: saved for the next context, or loaded from the one before."""
    agreed = next((effect for effect in heard.effects if isinstance(effect, HandedOff)), None)
    if agreed is None:
        return heard
    grants = hand_off(gate, tx, found, apply(found.session, heard.effects), agreed)
    if grants is None:
        changed = "the list has changed since it was shown: nothing is handed on"
        return msgspec.structs.replace(heard, did=(*heard.did, changed))
    effects = (*heard.effects, *grants)
    entries = allowlisted(apply(found.session, effects), tx.now)
    did = "the allowlist is saved for the next context" if agreed.way == "save" else "the allowlist is loaded"
    return msgspec.structs.replace(
        heard,
        effects=effects,
        did=(*heard.did, did),
        announced=(*heard.announced, words.allowlist_block(entries, with_risk=True)),
    )


def put_question(gate: Gate, question: str) -> str:
    """Put an open question in the conversation, for the user's next message to answer; its text."""
    with writing(gate) as tx:
        row = tx.question(question)
        if row is None or row.state != "open":
            raise UnknownQuestion(f"there is no open question {question}")
        found = loaded(gate, tx, row.session, everything())
        asked = found.session.questions.get(question)
        if asked is None:
            refuse_question(gate, row)
        if asked.claim is not None:
            raise UnknownQuestion("whether a message was said is not asked where it was said")
        settle(gate, tx, found, show(asked, found.session))
        record(tx, "SHOWN", session=row.session, details={"question": question}, stream=gate.stream)
        to_sign, text = proof_needed(gate, tx, asked.risk), retell(gate, tx, asked).text
    return f"{text}\n{words.sign_elsewhere(question)}" if to_sign else text


def begin_task(gate: Gate, session: str, name: str) -> lifecycle.Report:
    return _change(gate, session, "TASK", lambda state, now: lifecycle.begin_task(state, name, now))


def end_task(gate: Gate, session: str) -> lifecycle.Report:
    return _change(gate, session, "CLEARED", lifecycle.end_task)


def switch_context(gate: Gate, session: str) -> lifecycle.Report:
    return _change(gate, session, "CLEARED", lifecycle.switch)


def _change(gate: Gate, session: str, event: str, change: Change) -> lifecycle.Report:
    with writing(gate) as tx:
        found = loaded(gate, tx, session, everything())
        report = change(found.session, tx.now)
        settle(gate, tx, found, report.effects)
        details: dict[str, Any] = {"cleared": list(report.cleared), "announced": list(report.announced)}
        details |= _why_cleared(report.effects)
        record(tx, event, session=session, agent=found.row.agent, details=details, stream=gate.stream)
        clear_children(gate, tx, session, report.effects)
    return report


def _why_cleared(effects: tuple[Effect, ...]) -> dict[str, Any]:
    """For the entry: why consent was cleared, if it was."""
    return next(({"why": effect.why} for effect in effects if isinstance(effect, Cleared)), {})


def clear_children(
    gate: Gate, tx: Writer, session: str, effects: tuple[Effect, ...], *, by: str = ""
) -> tuple[str, ...]:
    """What is cleared in a session is cleared in those it started, in the same transaction; what was lost."""
    clearing = tuple(
        Cleared(e.reach, words.in_session_above(e.why))
        for e in effects
        if isinstance(e, Cleared) and e.reach in ("all_but_allowlist", "everything")
    )
    return tuple(_clear_below(gate, tx, session, clearing, by)) if clearing else ()


def _clear_below(gate: Gate, tx: Writer, session: str, clearing: tuple[Cleared, ...], by: str) -> list[str]:
    gone: list[str] = []
    details = {"why": clearing[0].why} | ({"by": by} if by else {})
    for child in children_of(tx, gate.sealer, session, everything()):
        after = settle(gate, tx, child, clearing, by=by)
        gone += (words.below(one, child.row.id) for one in lost(child.session, after, tx.now))
        record(tx, "CLEARED", session=child.row.id, details=details, stream=gate.stream)
        gone += _clear_below(gate, tx, child.row.id, clearing, by)
    return gone


def _ask_whether_said(
    gate: Gate, tx: Writer, found: Loaded, heard: Heard
) -> tuple[Question | None, tuple[Effect, ...]]:
    """The question whether the user wrote what is only claimed; a notice if too much was asked already."""
    claimed = next((effect for effect in heard.effects if isinstance(effect, Claimed)), None)
    if claimed is None:
        return None, ()
    question = None
    flood = flooded(gate, tx, found.row.id)
    if flood is None:
        session = apply(found.session, heard.effects)
        call = make_call(TOOL, {"text": claimed.text, "turn": session.turn}, workspace=session.workspace)
        request = make_request(call, [OPERATION], agent=found.row.agent, session=found.row.id)
        unsigned = unsigned_risk(gate, tx)
        question = claim_question(claimed.text, request, session, gate.policy, tx.now, unsigned=unsigned)
    opened = () if question is None else (Opened(question),)
    more = opened if flood is None else tell_flood(found.session, flood, tx.now)
    details = {"kind": claimed.kind, "question": "" if question is None else question.id, **notice_in(more)}
    record(tx, "CLAIMED", session=found.row.id, details=details, stream=gate.stream)
    return question, more

"""The conversation for real: messages, plans, tasks and outcomes, each one transaction."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import UNSET

from sayso.core.audit import events
from sayso.core.conversation import lifecycle
from sayso.core.conversation.claims import OPERATION, TOOL, claim_question
from sayso.core.conversation.clearing import list_lost_consents
from sayso.core.conversation.consents import list_allowlist_entries
from sayso.core.conversation.hear import hear_text
from sayso.core.conversation.hearing import Heard
from sayso.core.conversation.words import (
    allowlist_block,
    nothing_to_revoke,
    revokes_nothing,
    sign_elsewhere,
)
from sayso.core.deciding.questions import effects_of_showing
from sayso.core.decision import Question
from sayso.core.effects import (
    AllowlistHandedOff,
    ConsentCleared,
    ConsentTakenBack,
    Effect,
    MessageClaimed,
    QuestionOpened,
)
from sayso.core.model import Assurance
from sayso.core.session import Session, apply_effects
from sayso.core.session.plan_text import PlanText
from sayso.gate import words
from sayso.gate.audit.consent_entries import record_consents
from sayso.gate.deciding.authorize import flood_effects, notice_in, reason_not_to_ask
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import (
    Gate,
    apply_and_save,
    load_open_session,
    select_every_row,
    select_live_rows,
    writing,
)
from sayso.gate.people.passkeys import highest_unsigned_risk, needs_proof
from sayso.gate.questions.read import UnknownQuestion, refuse_tampered_question
from sayso.gate.questions.retell import retell
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import LoadedSession
from sayso.gate.sessions.children import load_children
from sayso.gate.sessions.handoff import apply_handoff, end_in_handoff
from sayso.gate.sessions.last_message import save_last_message
from sayso.gate.sessions.revoke import with_sessions_below
from sayso.reading.command_lines import read_risk
from sayso.store.contract import Reader, Writer

USER = "user"
"""Who ends what a message ends."""
ChangeEvent = type[events.PlanShown | events.TaskBegun | events.Cleared]
Change = Callable[[Session, float], lifecycle.Report]


def record_message(
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
        found = load_open_session(gate, tx, session, select_live_rows(calls=True))
        gate = gate.in_workspace(found.row.workspace)
        heard = _hear(gate, tx, found, text, assurance)
        if any(isinstance(effect, ConsentTakenBack) for effect in heard.effects):
            found = load_open_session(gate, tx, session, select_every_row(calls=True))
            heard = _hear(gate, tx, found, text, assurance)
        heard = _with_handoff(gate, tx, found, heard)
        heard = _with_handoff_ended(gate, tx, found, heard)
        asked, more = _open_claim_question(gate, tx, found, heard)
        apply_and_save(gate, tx, found, (*heard.effects, *more), by=USER)
        heard = with_sessions_below(gate, tx, session, heard)
        event = events.MessageHeard(heard.kind, heard.turn, heard.cleared, _why_cleared(heard.effects))
        if keep:
            save_last_message(gate, tx, session, text)
        record(tx, event, session=session, agent=found.row.agent, stream=gate.stream)
        record_consents(gate, tx, found.session, heard.effects)
        clear_children(gate, tx, session, heard.effects, by=USER)
    return heard if asked is None else msgspec.structs.replace(heard, question=asked.id)


def _hear(gate: Gate, tx: Reader, found: LoadedSession, text: str, assurance: Assurance) -> Heard:
    return hear_text(
        found.session,
        text,
        gate.policy,
        tx.now,
        assurance,
        risk_of=lambda command: read_risk(command, found.row.workspace, gate.policy),
        unsigned=highest_unsigned_risk(gate, tx),
    )


def record_plan(gate: Gate, session: str, text: PlanText, *, shown: bool = False) -> lifecycle.Report:
    """Take a plan that is put to the user. `shown`: an assured host shows them its rendering, `text.text`."""
    return _record_change(
        gate, session, events.PlanShown, lambda state, now: lifecycle.report_plan(state, text, shown=shown)
    )


def _with_handoff(gate: Gate, tx: Writer, found: LoadedSession, heard: Heard) -> Heard:
    """The message with what it hands on: saved for the next context, or loaded from the one before."""
    agreed = next((effect for effect in heard.effects if isinstance(effect, AllowlistHandedOff)), None)
    if agreed is None:
        return heard
    grants = apply_handoff(gate, tx, found, apply_effects(found.session, heard.effects), agreed)
    if grants is None:
        changed = "the list has changed since it was shown: nothing is handed on"
        return msgspec.structs.replace(heard, did=(*heard.did, changed))
    effects = (*heard.effects, *grants)
    entries = list_allowlist_entries(apply_effects(found.session, effects), tx.now)
    did = "the allowlist is saved for the next context" if agreed.way == "save" else "the allowlist is loaded"
    return msgspec.structs.replace(
        heard,
        effects=effects,
        did=(*heard.did, did),
        announced=(*heard.announced, allowlist_block(entries, with_risk=True)),
    )


def _with_handoff_ended(gate: Gate, tx: Writer, found: LoadedSession, heard: Heard) -> Heard:
    """The message with what it takes back of a saved hand-off: then it is untrue that nothing was revoked."""
    for effect in heard.effects:
        gone = end_in_handoff(gate, tx, found, (effect,))
        if gone:
            named = effect.missing if isinstance(effect, ConsentTakenBack) else ()
            untrue = {*map(nothing_to_revoke, named), *map(revokes_nothing, named)}
            heard = msgspec.structs.replace(
                heard,
                cleared=(*heard.cleared, *gone),
                did=tuple(line for line in heard.did if line not in untrue),
                announced=tuple(line for line in heard.announced if line not in untrue),
            )
    return heard


def ask_in_conversation(gate: Gate, question: str) -> str:
    """Put an open question in the conversation, for the user's next message to answer; its text."""
    with writing(gate) as tx:
        row = tx.question(question)
        if row is None or row.state != "open":
            raise UnknownQuestion(f"there is no open question {question}")
        found = load_open_session(gate, tx, row.session, select_live_rows())
        asked = found.session.questions.get(question)
        if asked is None:
            refuse_tampered_question(gate, row)
        if asked.claim is not None:
            raise UnknownQuestion("whether a message was said is not asked where it was said")
        apply_and_save(gate, tx, found, effects_of_showing(asked, found.session))
        record(tx, events.Shown(question), session=row.session, stream=gate.stream)
        to_sign, text = needs_proof(gate, tx, asked.risk), retell(gate, tx, asked).text
    return f"{text}\n{sign_elsewhere(question)}" if to_sign else text


def record_task_start(gate: Gate, session: str, name: str) -> lifecycle.Report:
    return _record_change(
        gate, session, events.TaskBegun, lambda state, now: lifecycle.report_task_begin(state, name, now)
    )


def record_task_end(gate: Gate, session: str) -> lifecycle.Report:
    return _record_change(gate, session, events.Cleared, lifecycle.report_task_end)


def record_context_switch(gate: Gate, session: str) -> lifecycle.Report:
    return _record_change(gate, session, events.Cleared, lifecycle.report_switch)


def _record_change(gate: Gate, session: str, event: ChangeEvent, change: Change) -> lifecycle.Report:
    with writing(gate) as tx:
        found = load_open_session(gate, tx, session, select_live_rows())
        report = change(found.session, tx.now)
        apply_and_save(gate, tx, found, report.effects)
        changed = event(report.cleared, report.announced, _why_cleared(report.effects))
        record(tx, changed, session=session, agent=found.row.agent, stream=gate.stream)
        clear_children(gate, tx, session, report.effects)
    return report


def _why_cleared(effects: tuple[Effect, ...]) -> events.Text:
    """Return why consent was cleared, if it was."""
    return next((effect.why for effect in effects if isinstance(effect, ConsentCleared)), UNSET)


def clear_children(
    gate: Gate, tx: Writer, session: str, effects: tuple[Effect, ...], *, by: str = ""
) -> tuple[str, ...]:
    """Clear in child sessions what is cleared here, in the same transaction; return what was lost."""
    clearing = tuple(
        ConsentCleared(e.reach, words.in_session_above(e.why))
        for e in effects
        if isinstance(e, ConsentCleared) and e.reach in ("all_but_allowlist", "everything")
    )
    return tuple(_clear_below(gate, tx, session, clearing, by)) if clearing else ()


def _clear_below(
    gate: Gate, tx: Writer, session: str, clearing: tuple[ConsentCleared, ...], by: str
) -> list[str]:
    gone: list[str] = []
    cleared = events.Cleared(why=clearing[0].why, by=by or UNSET)
    for child in load_children(tx, gate.sealer, session, select_live_rows()):
        gone += end_in_handoff(gate, tx, child, clearing) if by else ()
        after = apply_and_save(gate, tx, child, clearing, by=by)
        gone += (
            words.in_child_session(one, child.row.id)
            for one in list_lost_consents(child.session, after, tx.now)
        )
        record(tx, cleared, session=child.row.id, stream=gate.stream)
        gone += _clear_below(gate, tx, child.row.id, clearing, by)
    return gone


def _open_claim_question(
    gate: Gate, tx: Writer, found: LoadedSession, heard: Heard
) -> tuple[Question | None, tuple[Effect, ...]]:
    """The question whether the user wrote what is only claimed; a notice if too much was asked already."""
    claimed = next((effect for effect in heard.effects if isinstance(effect, MessageClaimed)), None)
    if claimed is None:
        return None, ()
    question = None
    flood = reason_not_to_ask(gate, tx, found.session)
    if flood is None:
        session = apply_effects(found.session, heard.effects)
        call = make_call(TOOL, {"text": claimed.text, "turn": session.turn}, workspace=session.workspace)
        request = make_request(call, [OPERATION], agent=found.row.agent, session=found.row.id)
        unsigned = highest_unsigned_risk(gate, tx)
        question = claim_question(claimed.text, request, session, gate.policy, tx.now, unsigned=unsigned)
    opened = () if question is None else (QuestionOpened(question),)
    more = opened if flood is None else flood_effects(found.session, flood, tx.now)
    event = events.Claimed(claimed.kind, "" if question is None else question.id, notice_in(more))
    record(tx, event, session=found.row.id, stream=gate.stream)
    return question, more

"""Deciding a call for real: load what it depends on, decide, write effects and entry in one transaction."""

from __future__ import annotations

from types import TracebackType

import msgspec
from msgspec import UNSET, UnsetType

from sayso.core.audit import events
from sayso.core.deciding.decide import decide
from sayso.core.deciding.facts import spell_facts
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import find_or_open_question
from sayso.core.decision import Decision, Question
from sayso.core.durations import HOUR
from sayso.core.effects import Alerted, Effect, Noticed, QuestionOpened, SessionChanged
from sayso.core.model import Request, Risk, Verdict
from sayso.core.rulebook import APPROVED_CALL, EFFECT_KEY, FLOODING, USER_INITIATED, Rule
from sayso.core.session import Scope, Session, find_replaced_questions
from sayso.core.session.numbering import question_id
from sayso.gate import words
from sayso.gate.call_rows import EffectTaken, find_fault, find_record
from sayso.gate.deciding.approvals import question_behind
from sayso.gate.deciding.request import gate_and_reading
from sayso.gate.gate import (
    NO_SCOPE,
    Gate,
    apply_and_save,
    load_open_session,
    select_rows_for,
    writing,
)
from sayso.gate.policy.projects import decide_here, record_project_alerts
from sayso.gate.questions.expiry import expire_in
from sayso.gate.questions.view import view_of
from sayso.gate.rows.journal import call_for_entry, record
from sayso.gate.rows.row_seals import running_label
from sayso.gate.telemetry import DecidingSpan
from sayso.store.contract import Reader, Writer

# Bound once: looking a member up on its enum class is slow, and this runs for every decision.
ALLOW, ASK, LOW = Verdict.ALLOW, Verdict.ASK, Risk.LOW


class Bundle(msgspec.Struct, frozen=True):
    """Calls that are checked ahead together: their label, and what will be asked when it is reached."""

    label: str
    later: tuple[str, ...] = ()


class Authorization(msgspec.Struct, frozen=True):
    """A recorded decision; its question, if a person has to answer one, and whether that is new.

    `entry` is 0 if the call keeps waiting for the question it had opened. `clearings` and `revocations` are
    how often all consent of the session had been cleared, and some taken back by name, by then. `begins`: a
    story begins with the entry.
    """

    decision: Decision
    question: Question | None
    entry: int
    opened: bool = False
    clearings: int = 0
    revocations: int = 0
    begins: bool = False


def authorize(gate: Gate, request: Request, scope: Scope = NO_SCOPE) -> Authorization:
    """Decide this call and write down what follows. If that cannot be written, nothing was allowed.

    An allow of low risk that uses and changes nothing does not wait for the disk.
    """
    gate, request = gate_and_reading(gate, request)
    with Reporting(gate, request.session) as told, writing(gate) as tx:
        done = authorize_in(gate, tx, request, scope)
        tx.durable = not is_harmless(done.decision)
        told.set_decision(request, done.decision, done.question, opened=done.opened)
        return done


def authorize_in(
    gate: Gate,
    tx: Writer,
    request: Request,
    scope: Scope = NO_SCOPE,
    *,
    call: str | None = None,
    bundle: Bundle | None = None,
    fence: int | None = None,
    again: bool = False,
    told: bool = False,
) -> Authorization:
    """Authorize as part of a larger transaction. `fence`: if the call is allowed, it starts with this number.

    `again`: the call was decided before. If it still waits for the same question, nothing new is written.
    `told`: it has a story of its own, which this continues.
    """
    if scope.run is not None:
        scope = with_run_standing(gate, tx, request.session, scope)
    wanted = select_rows_for(request, gate.policy, scope)
    found = load_open_session(gate, tx, request.session, wanted)
    if found.session.plan is not None:  # an ask may end the plan, and with it grants that are not among these
        found = load_open_session(gate, tx, request.session, msgspec.structs.replace(wanted, live=True))
    view, now = view_of(gate, tx, found, request, scope), tx.now
    decision, question = decide_here(gate, request, view, now), None
    if decision.verdict is ASK:
        decision = with_offers(decision, request, gate.policy, view, now)
        question, flood = _find_or_open_question(gate, tx, request, decision, found.session, bundle)
        if flood is not None:
            decision = _deny(decision, flood, flood_effects(found.session, flood, now))
    opened = () if question is None else (QuestionOpened(question),)
    stands = None
    if call is not None and fence is not None and decision.verdict is ALLOW:
        stands = (call, running_label(fence))
    apply_and_save(gate, tx, found, (*decision.effects, *opened), call=call, stands=stands)
    record_project_alerts(gate, tx)
    new = question is not None and question.id not in found.session.questions
    joined = question is not None and not new
    entry, goes_on = 0, told or joined or is_answer(gate, tx, decision)
    if not (again and joined):
        facts = spell_facts(request, gate.policy, view, now)
        entry = record_decision(
            gate, tx, request, decision, question, bundle, call, again=goes_on, facts=facts
        )
    if question is not None:
        _record_replaced(gate, tx, question, found.session)
    session = found.session
    return Authorization(decision, question, entry, new, session.clearings, session.revocations, not goes_on)


def is_answer(gate: Gate, tx: Reader, decision: Decision) -> bool:
    """Return whether the answer to a question allows the call. It then belongs to that question's story."""
    return decision.rule == APPROVED_CALL.name and question_behind(gate, tx, decision.grants)


def is_harmless(decision: Decision) -> bool:
    """Return whether all it does is to allow what has low risk. Whatever uses or changes more has to last."""
    if decision.grants or decision.effects:
        return False
    return decision.verdict is ALLOW and decision.risk is LOW


class Reporting(DecidingSpan):
    """Log what was decided in a transaction once the transaction is over.

    A call that was refused for its effect key changed nothing in it; its entry is written here.
    """

    __slots__ = ("_gate",)

    def __init__(self, gate: Gate, session: str) -> None:
        super().__init__(session, gate.marked_store.when_committed)
        self._gate = gate

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, EffectTaken):
            try:
                refused = _record_taken(self._gate, error)
            except BaseException as failed:
                super().__exit__(type(failed), failed, failed.__traceback__)
                raise
            self.set_decision(error.request, refused, None, opened=False)
            kind = error = trace = None  # that it was refused is what was decided, not a failure of deciding
        super().__exit__(kind, error, trace)


def _record_taken(gate: Gate, refusal: EffectTaken) -> Decision:
    """Write the entry of a call that was refused because another one took its effect."""
    request = refusal.request
    with writing(gate) as tx:
        gate = gate.in_workspace(request.call.workspace)
        found = load_open_session(gate, tx, request.session, select_rows_for(request, gate.policy, NO_SCOPE))
        decision = decide(request, gate.policy, view_of(gate, tx, found, request), tx.now)
        decision = _deny(decision, str(refusal), rule=EFFECT_KEY)
        record_decision(gate, tx, request, decision, call=refusal.call, again=refusal.again)
    return decision


def with_run_standing(gate: Gate, tx: Reader, session: str, scope: Scope) -> Scope:
    """The scope with its run as the ledger has it: alive while somebody keeps its lease or waits in it."""
    if scope.run is None:
        return scope
    row = tx.call(scope.run.id)
    leased = row is not None and row.lease_until is not None and tx.now < row.lease_until
    alive = (
        row is not None
        and row.session == session
        and find_fault(gate, tx, row) is None
        and (row.state == "waiting" or (row.state == "running" and leased))
    )
    kept = find_record(gate, row) if row is not None and alive else None
    since = None if kept is None else kept.revocations
    return msgspec.structs.replace(
        scope, run=msgspec.structs.replace(scope.run, alive=alive, revocations=since)
    )


def _find_or_open_question(
    gate: Gate, tx: Writer, request: Request, decision: Decision, session: Session, bundle: Bundle | None
) -> tuple[Question | None, str | None]:
    """The question to ask, the open one if there is; or, if too much was asked, the reason to refuse."""
    label, later = (bundle.label, bundle.later) if bundle is not None else (None, ())
    question = find_or_open_question(
        decision, request, gate.policy, session, tx.now, bundle=label, later=later
    )
    if question.id in session.questions:
        return question, None
    flood = reason_not_to_ask(gate, tx, session, len(find_replaced_questions(question, session)))
    return (question, None) if flood is None else (None, flood)


def _record_replaced(gate: Gate, tx: Writer, question: Question, session: Session) -> None:
    """The entry of each question that this one took the place of."""
    for before in find_replaced_questions(question, session):
        replaced = events.Cancelled(before, why=words.replacement_note(question.id))
        record(tx, replaced, session=session.id, stream=gate.stream)


def reason_not_to_ask(gate: Gate, tx: Writer, session: Session, replaced: int = 0) -> str | None:
    """Why this session may ask no more now, or None; what nobody answered in time does not count as open.

    Nor do those that the next question takes the place of.
    """
    most_open, an_hour = gate.policy.settings.open_questions, gate.policy.settings.questions_per_hour
    still_open = tx.count_open(session.id) - replaced
    if still_open >= most_open:
        still_open -= expire_in(gate, tx, session.id)
    if still_open < most_open and not _asked_within_the_hour(gate, tx, session, an_hour):
        return None
    return words.flood_reason(still_open >= most_open, most_open, an_hour)


def _asked_within_the_hour(gate: Gate, tx: Writer, session: Session, questions: int) -> bool:
    """Return whether the session's last questions, as many as this, were all asked within the last hour.

    The first of these says it. One that was changed or deleted by hand says nothing: it counts as asked, and
    is reported.
    """
    first = session.asked - questions + 1
    if first < 1:
        return False
    name = question_id(session.id, first)
    row = tx.question(name)
    if row is None or gate.sealer.open_question(row) is None:
        gate.sealer.doubts.note_once(words.changed_or_deleted(f"question {name}"), session.id)
        return True
    return row.opened_at >= tx.now - HOUR


def flood_effects(session: Session, reason: str, now: float) -> tuple[Effect, ...]:
    """The notice that this session asks too much: one an hour, however often it is refused."""
    last = session.flood_told_at
    if last is not None and 0 <= now - last < HOUR:
        return ()
    notice = words.flood_notice(session.agent, session.id, reason)
    return (Noticed(notice), SessionChanged(flood_told_at=now))


def _deny(
    decision: Decision, reason: str, effects: tuple[Effect, ...] = (), *, rule: Rule = FLOODING
) -> Decision:
    """The same call denied by a limit that is not the policy's: it uses nothing, and nothing is offered."""
    return msgspec.structs.replace(
        decision, verdict=Verdict.DENY, rule=rule.name, reason=reason, grants=(), effects=effects, offers=()
    )


def notice_in(effects: tuple[Effect, ...]) -> events.Text:
    """Return all that the operator is told by these effects, each text once, if there is anything."""
    if not effects:
        return UNSET
    told: dict[str, None] = {}
    for effect in effects:
        if isinstance(effect, (Noticed, Alerted)):
            told[effect.text] = None
    return "; ".join(told) if told else UNSET


def record_decision(
    gate: Gate,
    tx: Writer,
    request: Request,
    decision: Decision,
    question: Question | None = None,
    bundle: Bundle | None = None,
    call: str | None = None,
    *,
    again: bool = False,
    facts: str | UnsetType = UNSET,
) -> int:
    """Record a decision, with the call's name in the ledger if it has one, and return the entry's number.

    Unless the call is allowed, the entry commits to what would have run; and where a click of the user
    allowed it, to what that click let run. `again`: the entry continues a story
    that has begun: the call's own, or that of the question it joined or was answered by. `facts` is what the
    decision rested on, if a check made it.
    """
    made = events.event_of(decision)(
        request.digest,
        request.call.tool,
        request.origin._value_,  # where `value` has it from, by way of two functions
        decision.verdict._value_,
        decision.rule,
        decision.reason,
        decision.risk.word,
        decision.grants,
        gate.policy.digest,
        notice_in(decision.effects),
        UNSET if question is None else question.id,
        UNSET if question is None else question.task or "",
        UNSET if bundle is None else bundle.label,
        UNSET if call is None else call,
        again or UNSET,
        facts,
    )
    return record(
        tx,
        made,
        session=request.session,
        agent=request.agent,
        operations=request.operation_names,
        stream=gate.stream,
        sensitive=call_for_entry(request.call) if _commits_to_call(decision) else None,
    )


def _commits_to_call(decision: Decision) -> bool:
    """Return whether a person has to do with it: they are asked, or alerted, or it was their click."""
    if decision.verdict is not ALLOW:
        return True
    for item in decision.items:  # noqa: SIM110  most often it is one
        if item.ruling.rule == USER_INITIATED.name:
            return True
    return False

"""The story of a call: asked, edited, answered, started, ended, from the rows that record it.

- A story begins with the entry of a call's first decision. Later entries of the same call continue it and
  begin none; so do entries of an identical call while its question is open, or on the approval it got.
- A call that only joined a question has no story until something happens to it alone: it is asked by itself,
  allowed by something else, or denied.
- A call that a person denied and that was made again in the same turn continues the story of that denial, as
  far as it is near: "tried again, so many times".
- What is over is never shown as pending: a denied question ends its call, tried again or not. Nor is an
  approval shown as waiting once it ran out or was taken back.
- What was erased beside the first entry is not shown from other rows either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from sayso.core.audit.commitments import SaltedValue, opens
from sayso.core.audit.entry import AuditEntry, read_entry
from sayso.core.audit.events import DECISIONS, DecisionEvent, read_decision
from sayso.core.deciding.titles import make_title, title_of
from sayso.core.digest import decode_canonical, encode_canonical
from sayso.core.errors import SaysoError
from sayso.core.ledger import IN_PROGRESS, NOT_STARTED, OUTCOMES
from sayso.core.model import Call, Request, Verdict
from sayso.core.rulebook import APPROVED_CALL, DENIED_CALL
from sayso.core.words import visible
from sayso.gate.call_rows import find_record, sound_call
from sayso.gate.deciding.approvals import CallApproval, load_approval, question_behind
from sayso.gate.gate import Gate
from sayso.gate.ledger.attempts import with_question_outcome
from sayso.gate.ledger.start import STATE_OF_VERDICT
from sayso.gate.questions.read import Read, questions_in
from sayso.gate.rows.journal import call_for_entry
from sayso.store.contract import CallRow, EntryRow, QuestionRow, Reader, SecretRow, SpendRow

StepKind = Literal[
    "asked",
    "edited",
    "answered",
    "expired",
    "cancelled",
    "allowed",
    "denied",
    "ran_out",
    "taken_back",
    "started",
    "ended",
    "repeated",
]
"""`ran_out` and `taken_back` are said of an approval that nothing was started with."""
QuestionAndApproval = tuple[Read, CallApproval | None]
ShownCall = Mapping[str, Any]
"""A call as it is told: tool, command, arguments, folder."""
STEP_OF: Mapping[Verdict, StepKind] = {
    Verdict.ALLOW: "allowed",
    Verdict.ASK: "asked",
    Verdict.DENY: "denied",
}
STARTED = (*IN_PROGRESS, *OUTCOMES)
NEAR = 1_000
"""How many entries around a denial are looked through for repetitions of its call."""


class StoryStep(msgspec.Struct, frozen=True):
    """One thing that happened to a call. `at` is None where nothing says when."""

    what: StepKind
    at: float | None
    by: str | None = None
    answer: str | None = None
    reason: str | None = None
    """Why it was asked or decided so; of an answer, what the person wrote for the agent; of an end, how the
    program says that the call failed."""
    state: str | None = None
    """How it ended."""
    before: ShownCall | None = None
    after: ShownCall | None = None
    times: int = 0
    """How often a denied call was made again; `at` is the last time."""


class Story(msgspec.Struct, frozen=True):
    """One call from its first decision to its end.

    `state`: pending while its question is open, else allowed, ran_out, taken_back, denied,
    expired, cancelled, running, waiting, succeeded, failed or ambiguous. `question` is its last one. `call`
    is what runs, or would; None once erased.
    """

    row: EntryRow
    said: AuditEntry
    question: QuestionRow | None
    ledger: CallRow | None
    call: ShownCall | None
    request: Request | None
    title: str
    state: str
    steps: tuple[StoryStep, ...]
    decision: DecisionEvent
    """The details of the entry."""


def begins_story(gate: Gate, tx: Reader, row: EntryRow, said: AuditEntry) -> bool:
    """Return whether a story begins with the decision of this entry. Any other entry begins none."""
    decided = read_decision(said.details)
    if decided.again or said.event not in DECISIONS:
        return False
    if decided.rule == DENIED_CALL.name:
        return not _follows_denial(tx, row, said.session, decided.digest)
    if decided.rule != APPROVED_CALL.name:
        return True
    return not question_behind(gate, tx, decided.grants)


def load_story(gate: Gate, tx: Reader, row: EntryRow, said: AuditEntry) -> Story:
    """The story that begins with this entry, as it is now."""
    decided = read_decision(said.details)
    asked = [_with_approval(gate, tx, one) for one in _load_questions(gate, tx, row, decided)]
    last, approval = asked[-1] if asked else (None, None)
    question = None if last is None else last.row
    used = next((one.used for _, one in reversed(asked) if one is not None and one.used is not None), None)
    ledger = _load_call(gate, tx, decided, used)
    first = _describe_first_call(gate, tx, row, said, decided, asked[0][0] if asked else None)
    edited = None if question is None or first is None else gate.sealer.open_edited(question)
    steps = (
        *_decision_steps(said, decided, asked),
        *(step for one in asked for step in _question_steps(gate, decided, one, first, tx.now)),
        *_run_steps(gate, said, ledger, used),
        *_repeat_steps(tx, row, said, decided, question),
    )
    call = first if edited is None else _describe_call(edited.call)
    request = None if first is None else edited or _find_request(gate, decided, ledger, last)
    return Story(
        row=row,
        said=said,
        question=question,
        ledger=ledger,
        call=call,
        request=request,
        title=_title(said, decided, call, request),
        state=_state(said, question, approval, ledger, tx.now),
        steps=steps,
        decision=decided,
    )


def is_expired(question: QuestionRow, now: float) -> bool:
    return question.state == "expired" or (question.state == "open" and now >= question.expires_at)


def _load_questions(gate: Gate, tx: Reader, row: EntryRow, decided: DecisionEvent) -> list[Read]:
    """Return the questions of this story, in order, without those that were tampered with."""
    ledger = tx.call(decided.call) if decided.call else None
    kept = None if ledger is None else find_record(gate, ledger, any_result=True)
    own = kept is not None and kept.story == (row.stream, row.seq)
    named = kept.questions if kept is not None and own else (decided.question or "",)
    rows = (one for one in map(tx.question, filter(None, named)) if one is not None)
    return list(questions_in(gate, tx, rows))


def _with_approval(gate: Gate, tx: Reader, asked: Read) -> QuestionAndApproval:
    return asked, load_approval(gate, tx, asked.row)


def _load_call(gate: Gate, tx: Reader, decided: DecisionEvent, used: SpendRow | None) -> CallRow | None:
    """The call in the ledger: the one that ran on the approval, else the one that was decided here."""
    name = decided.call if used is None or used.call is None else used.call
    found = tx.call(name) if name else None
    row = None if found is None else sound_call(gate, tx, found)
    return None if row is None else with_question_outcome(gate, tx, row)


def _describe_first_call(
    gate: Gate, tx: Reader, row: EntryRow, said: AuditEntry, decided: DecisionEvent, asked: Read | None
) -> ShownCall | None:
    """The call as it was first decided. Entries of calls that were stopped commit to it: erased is erased."""
    kept = next((one for one in tx.secrets(row.stream, row.seq) if one.name == "call"), None)
    committed = said.commitments.get("call")
    if committed is not None:
        if kept is None or not _is_meant(kept, committed):
            return None
        shown: ShownCall = decode_canonical(kept.value)
        return shown
    ledger = tx.call(decided.call) if decided.call else None
    found = _find_request(gate, decided, ledger, asked)
    return None if found is None else _describe_call(found.call)


def _is_meant(kept: SecretRow, committed: str) -> bool:
    """Return whether this is the value that the entry speaks of, and none that was put in its place."""
    return opens(SaltedValue(kept.name, kept.value, kept.salt), committed)


def _find_request(
    gate: Gate, decided: DecisionEvent, ledger: CallRow | None, asked: Read | None
) -> Request | None:
    """The request that was decided, as far as the ledger or the question still has it."""
    kept = None if ledger is None else find_record(gate, ledger)
    known = [] if kept is None else [kept.request]
    known += [] if asked is None else [asked.question.request]
    return next((one for one in known if one.digest == decided.digest), None)


def _describe_call(call: Call) -> ShownCall:
    shown: ShownCall = decode_canonical(call_for_entry(call)["call"])
    return shown


def _title(said: AuditEntry, decided: DecisionEvent, call: ShownCall | None, request: Request | None) -> str:
    """The call in a line; of one that was erased only what the trail itself says."""
    if request is not None:
        return title_of(request.call)
    if call is None:
        return visible(f"{decided.tool} {', '.join(said.operations)}".strip())
    return make_title(str(call["tool"]), encode_canonical(call["arguments"]), command=call["command"])


def _decision_steps(
    said: AuditEntry, decided: DecisionEvent, asked: Sequence[QuestionAndApproval]
) -> tuple[StoryStep, ...]:
    """Return the first decision as a step, unless a question shows it."""
    verdict = DECISIONS[said.event]
    if verdict is Verdict.ASK and asked:
        return ()
    return (StoryStep(STEP_OF[verdict], said.at, reason=decided.reason),)


def _question_steps(
    gate: Gate, decided: DecisionEvent, one: QuestionAndApproval, first: ShownCall | None, now: float
) -> tuple[StoryStep, ...]:
    """A question from asking to what became of its answer."""
    asked, approval = one
    question = asked.row
    edited = None if first is None else gate.sealer.open_edited(question)
    return (
        StoryStep("asked", question.opened_at, reason=_why_asked(decided, asked)),
        *_closing_steps(question, now),
        *_answer_steps(question, first, edited),
        *(() if approval is None or approval.ended is None else (_approval_ended(approval),)),
    )


def _approval_ended(approval: CallApproval) -> StoryStep:
    return StoryStep(approval.ended or "taken_back", approval.at, approval.by, reason=approval.why)


def _why_asked(decided: DecisionEvent, asked: Read) -> str:
    if decided.question == asked.row.id:
        return decided.reason
    return next((item.ruling.reason for item in asked.question.items), "")


def _closing_steps(question: QuestionRow, now: float) -> tuple[StoryStep, ...]:
    if is_expired(question, now):
        return (StoryStep("expired", question.closed_at or question.expires_at),)
    if question.state == "cancelled":
        return (StoryStep("cancelled", question.closed_at, question.by, reason=question.reason),)
    return ()


def _answer_steps(
    question: QuestionRow, first: ShownCall | None, edited: Request | None
) -> tuple[StoryStep, ...]:
    if question.state != "answered":
        return ()
    told: dict[str, Any] = {"by": question.by, "answer": question.answer, "reason": question.reason}
    if question.answer != "edit":
        return (StoryStep("answered", question.closed_at, **told),)
    after = None if edited is None else _describe_call(edited.call)
    return (StoryStep("edited", question.closed_at, **told, before=first, after=after),)


def _run_steps(
    gate: Gate, said: AuditEntry, ledger: CallRow | None, used: SpendRow | None
) -> tuple[StoryStep, ...]:
    if ledger is None or ledger.state not in STARTED:
        return ()
    at_once = said.at if DECISIONS[said.event] is Verdict.ALLOW else None
    started = StoryStep("started", at_once if used is None else used.at)
    if ledger.state not in OUTCOMES:
        return (started,)
    kept = find_record(gate, ledger) if ledger.state == "failed" else None
    why = None if kept is None else kept.unkept
    return (started, StoryStep("ended", ledger.ended_at, reason=why, state=ledger.state))


def _repeat_steps(
    tx: Reader, row: EntryRow, said: AuditEntry, decided: DecisionEvent, question: QuestionRow | None
) -> tuple[StoryStep, ...]:
    """Return how often a denied call was made again, among the entries that follow."""
    if question is None or question.answer != "deny":
        return ()
    later = tx.entries(row.stream, after=row.seq, limit=NEAR)
    found = [one.at for one in later if _decides_call(one, said.session, decided.digest, repeated=True)]
    return (StoryStep("repeated", found[-1], times=len(found)),) if found else ()


def _follows_denial(tx: Reader, row: EntryRow, session: str, digest: str) -> bool:
    """Return whether this call was decided shortly before this entry, and not as a repetition."""
    before = tx.entries(row.stream, after=max(row.seq - 1 - NEAR, 0), limit=min(NEAR, row.seq - 1))
    return any(_decides_call(one, session, digest, repeated=False) for one in reversed(before))


def _decides_call(row: EntryRow, session: str, digest: str, *, repeated: bool) -> bool:
    """Return whether this entry decides this call, as a repetition of a denied one or as the first."""
    if row.session != session or row.event not in DECISIONS or row.body is None:
        return False
    try:
        decided = read_decision(read_entry(row.body).details)
    except SaysoError:  # one that was tampered with: `audit verify` reports it
        return False
    return decided.digest == digest and (decided.rule == DENIED_CALL.name) is repeated


def _state(
    said: AuditEntry,
    question: QuestionRow | None,
    approval: CallApproval | None,
    ledger: CallRow | None,
    now: float,
) -> str:
    if ledger is not None and ledger.state not in NOT_STARTED:
        return ledger.state
    if question is None:
        return STATE_OF_VERDICT[DECISIONS[said.event].value]
    if question.state == "answered":
        ended = None if approval is None else approval.ended
        return "denied" if question.answer == "deny" else ended or "allowed"
    return "expired" if is_expired(question, now) else {"open": "pending"}.get(question.state, "cancelled")

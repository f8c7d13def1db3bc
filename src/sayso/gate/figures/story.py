"""The story of a call: asked, edited, answered, started, ended, told from the rows that record it.

- A story begins with the entry of a call's first decision. Later entries of the same call, and of the same
  call made again while its question is open or on the approval it got, go on with it and begin none.
- A call that only joined a question has no story until something happens to it alone: it is asked by itself,
  allowed by something else, or denied.
- What is over is never told as pending: a denied question ends its call, tried again or not. Nor is an
  approval told as one that waits when it ran out or was taken back.
- What was erased beside the first entry is not told from other rows either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from sayso.core.audit.commitments import Sealed, opens
from sayso.core.audit.entry import Entry
from sayso.core.digest import canonical, decode
from sayso.core.model import Call, Request
from sayso.core.titles import title, title_of
from sayso.core.words import visible
from sayso.gate.gate import Gate
from sayso.gate.ledger.approvals import Approval, approval_of, question_behind
from sayso.gate.ledger.rows import found_record, sound_call
from sayso.gate.ledger.start import as_it_is_now
from sayso.gate.questions.read import Read, questions_in
from sayso.gate.rows.journal import what_would_run
from sayso.store.contract import CallRow, EntryRow, QuestionRow, Reader, SecretRow, SpendRow

What = Literal[
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
]
"""`ran_out` and `taken_back` are said of an approval that nothing was started with."""
Asked = tuple[Read, Approval | None]
Shown = Mapping[str, Any]
"""A call as it is told: tool, command, arguments, folder."""
STARTED = ("running", "waiting", "succeeded", "failed", "ambiguous")
ENDED = ("succeeded", "failed", "ambiguous")


class Step(msgspec.Struct, frozen=True):
    """One thing that happened to a call. `at` is None where nothing says when."""

    what: What
    at: float | None
    by: str | None = None
    answer: str | None = None
    reason: str | None = None
    """Why it was asked or decided so; of an answer, what the person wrote for the agent."""
    state: str | None = None
    """How it ended."""
    before: Shown | None = None
    after: Shown | None = None


class Story(msgspec.Struct, frozen=True):
    """One call from its first decision to its end.

    `state` is where it stands: pending while its question is open, else allowed, ran_out, taken_back, denied,
    expired, cancelled, running, waiting, succeeded, failed or ambiguous. `question` is its last one. `call`
    is what runs, or would; None once erased.
    """

    row: EntryRow
    said: Entry
    question: QuestionRow | None
    ledger: CallRow | None
    call: Shown | None
    request: Request | None
    title: str
    state: str
    steps: tuple[Step, ...]


def begins(gate: Gate, tx: Reader, said: Entry) -> bool:
    """Whether a story begins with the decision of this entry."""
    if said.details.get("again"):
        return False
    if said.details.get("rule") != "approved_call":
        return True
    return not question_behind(gate, tx, map(str, said.details.get("grants", ())))


def story_of(gate: Gate, tx: Reader, row: EntryRow, said: Entry) -> Story:
    """The story that begins with this entry, as it stands now."""
    asked = [_with_approval(gate, tx, one) for one in _asked(gate, tx, row, said)]
    last, approval = asked[-1] if asked else (None, None)
    question = None if last is None else last.row
    used = next((one.used for _, one in reversed(asked) if one is not None and one.used is not None), None)
    ledger = _ledger(gate, tx, said, used)
    first = _first_shown(gate, tx, row, said, asked[0][0] if asked else None)
    edited = None if question is None or first is None else gate.sealer.open_edited(question)
    steps = (
        *_decided(said, asked),
        *(step for one in asked for step in _questioned(gate, said, one, first, tx.now)),
        *_ran(said, ledger, used),
    )
    call = first if edited is None else _shown(edited.call)
    request = None if first is None else edited or _request(gate, said, ledger, last)
    return Story(
        row=row,
        said=said,
        question=question,
        ledger=ledger,
        call=call,
        request=request,
        title=_title(said, call, request),
        state=_state(said, question, approval, ledger, tx.now),
        steps=steps,
    )


def is_expired(question: QuestionRow, now: float) -> bool:
    return question.state == "expired" or (question.state == "open" and now >= question.expires_at)


def _asked(gate: Gate, tx: Reader, row: EntryRow, said: Entry) -> list[Read]:
    """The questions of this story, in order; those that were changed by hand are not told."""
    name = said.details.get("call")
    ledger = tx.call(str(name)) if name else None
    kept = None if ledger is None else found_record(gate, ledger, any_result=True)
    own = kept is not None and kept.story == (row.stream, row.seq)
    named = kept.questions if kept is not None and own else (str(said.details.get("question") or ""),)
    rows = (one for one in map(tx.question, filter(None, named)) if one is not None)
    return list(questions_in(gate, tx, rows))


def _with_approval(gate: Gate, tx: Reader, asked: Read) -> Asked:
    return asked, approval_of(gate, tx, asked.row)


def _ledger(gate: Gate, tx: Reader, said: Entry, used: SpendRow | None) -> CallRow | None:
    """The call in the ledger: the one that ran on the approval, else the one that was decided here."""
    name = said.details.get("call") if used is None or used.call is None else used.call
    found = tx.call(str(name)) if name else None
    row = None if found is None else sound_call(gate, tx, found)
    return None if row is None else as_it_is_now(gate, tx, row)


def _first_shown(gate: Gate, tx: Reader, row: EntryRow, said: Entry, asked: Read | None) -> Shown | None:
    """The call as it was first decided. Entries of calls that were stopped commit to it: erased is erased."""
    kept = next((one for one in tx.secrets(row.stream, row.seq) if one.name == "call"), None)
    committed = said.commitments.get("call")
    if committed is not None:
        if kept is None or not _is_meant(kept, committed):
            return None
        shown: Shown = decode(kept.value)
        return shown
    name = said.details.get("call")
    ledger = tx.call(str(name)) if name else None
    found = _request(gate, said, ledger, asked)
    return None if found is None else _shown(found.call)


def _is_meant(kept: SecretRow, committed: str) -> bool:
    """Whether this is the value that the entry speaks of, and none that was put in its place."""
    return opens(Sealed(kept.name, kept.value, kept.salt), committed)


def _request(gate: Gate, said: Entry, ledger: CallRow | None, asked: Read | None) -> Request | None:
    """The request that was decided, as far as the ledger or the question still has it."""
    kept = None if ledger is None else found_record(gate, ledger)
    known = [] if kept is None else [kept.request]
    known += [] if asked is None else [asked.question.request]
    return next((one for one in known if one.digest == said.details.get("digest")), None)


def _shown(call: Call) -> Shown:
    shown: Shown = decode(what_would_run(call)["call"])
    return shown


def _title(said: Entry, call: Shown | None, request: Request | None) -> str:
    """The call in a line; of one that was erased only what the trail itself says."""
    if request is not None:
        return title_of(request.call)
    if call is None:
        return visible(f"{said.details.get('tool') or ''} {', '.join(said.operations)}".strip())
    return title(str(call["tool"]), canonical(call["arguments"]), command=call["command"])


def _decided(said: Entry, asked: Sequence[Asked]) -> tuple[Step, ...]:
    """What was decided at first, where no question tells it."""
    reason = str(said.details.get("reason", ""))
    if said.event == "ASKED":
        return () if asked else (Step("asked", said.at, reason=reason),)
    return (Step("denied" if said.event == "BLOCKED" else "allowed", said.at, reason=reason),)


def _questioned(gate: Gate, said: Entry, one: Asked, first: Shown | None, now: float) -> tuple[Step, ...]:
    """A question from asking to what became of its answer."""
    asked, approval = one
    question = asked.row
    edited = None if first is None else gate.sealer.open_edited(question)
    return (
        Step("asked", question.opened_at, reason=_why_asked(said, asked)),
        *_unanswered(question, now),
        *_answered(question, first, edited),
        *(() if approval is None or approval.ended is None else (_approval_ended(approval),)),
    )


def _approval_ended(approval: Approval) -> Step:
    return Step(approval.ended or "taken_back", approval.at, approval.by, reason=approval.why)


def _why_asked(said: Entry, asked: Read) -> str:
    if said.details.get("question") == asked.row.id:
        return str(said.details.get("reason", ""))
    return next((item.ruling.reason for item in asked.question.items), "")


def _unanswered(question: QuestionRow, now: float) -> tuple[Step, ...]:
    if is_expired(question, now):
        return (Step("expired", question.closed_at or question.expires_at),)
    if question.state == "cancelled":
        return (Step("cancelled", question.closed_at, question.by, reason=question.reason),)
    return ()


def _answered(question: QuestionRow, first: Shown | None, edited: Request | None) -> tuple[Step, ...]:
    if question.state != "answered":
        return ()
    told: dict[str, Any] = {"by": question.by, "answer": question.answer, "reason": question.reason}
    if question.answer != "edit":
        return (Step("answered", question.closed_at, **told),)
    after = None if edited is None else _shown(edited.call)
    return (Step("edited", question.closed_at, **told, before=first, after=after),)


def _ran(said: Entry, ledger: CallRow | None, used: SpendRow | None) -> tuple[Step, ...]:
    if ledger is None or ledger.state not in STARTED:
        return ()
    at_once = said.at if said.event not in ("ASKED", "BLOCKED") else None
    started = Step("started", at_once if used is None else used.at)
    if ledger.state not in ENDED:
        return (started,)
    return (started, Step("ended", ledger.ended_at, state=ledger.state))


def _state(
    said: Entry, question: QuestionRow | None, approval: Approval | None, ledger: CallRow | None, now: float
) -> str:
    if ledger is not None and ledger.state not in ("pending", "allowed"):
        return ledger.state
    if question is None:
        return {"ASKED": "pending", "BLOCKED": "denied"}.get(said.event, "allowed")
    if question.state == "answered":
        ended = None if approval is None else approval.ended
        return "denied" if question.answer == "deny" else ended or "allowed"
    return "expired" if is_expired(question, now) else {"open": "pending"}.get(question.state, "cancelled")

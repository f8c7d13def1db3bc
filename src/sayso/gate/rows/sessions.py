"""Sessions: from their rows in the store to their value in the core, and back.

- Rows are sealed when written and checked when read. A row that does not fit its seal grants nothing and is
  reported.
- The sealed row of the session names all that is live in it: grants with their uses, open questions, calls
  under way, what was denied and sent lately. Its version is compared with the mark beside the key. So an
  older row that is restored, or one that was missing for a while, revives nothing.
- What is live is looked up by its name, so what is over costs nothing, however much of it there is. A live
  row that was changed or is gone is noticed. One that the session does not name grants nothing, whoever wrote
  it; it is noticed by whoever looks up what it is for, and by `audit verify`.
- The spend rows are the log of each grant's uses and end, each row under its own number.
- Changes are found by comparing the session before and after, so there is only one way in which they reach
  the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from sayso.core.deciding.rules import DENIAL_LASTS, FAN_OUT_LASTS
from sayso.core.decision import Question
from sayso.core.durations import DAY
from sayso.core.grants import Grant, GrantKey, HeldGrant
from sayso.core.model import Request
from sayso.core.session import CallUnderWay, Sending, Session, SessionHead
from sayso.core.session.numbering import is_grant_id
from sayso.gate import words
from sayso.gate.rows.row_seals import GrantUsage, Sealer, SentOnce, SessionState
from sayso.gate.rows.spends import find_entered, find_grants_of_same_answers, find_spends
from sayso.store.contract import Ahead, CallRow, GrantRow, QuestionRow, Reader, SessionRow, SpendRow, Writer

OfCall = TypeVar("OfCall")
ENDED_LASTS = 30 * DAY
"""How long what ended is remembered for calls under way: longer than one can wait for its answers."""
UNTRIED_LASTS = 30 * DAY
"""How long a call can be tried that nobody has tried: longer than questions and approvals can last."""
MOST_OPEN = 10_000
"""How many open questions are read with a session."""
MOST_UNTRIED = 256
"""How many of those a session names. Who polls by making the same call again leaves one each time."""


class LoadedSession(msgspec.Struct, frozen=True):
    """A session from the store: its row, the state sealed in it, and signs of tampering.

    `missing` names the grants that are live by the session's row, and have no untampered row of their own.
    """

    row: SessionRow
    session: Session
    kept: SessionState
    findings: tuple[str, ...] = ()
    believed: bool = True
    missing: frozenset[str] = frozenset()
    void: bool = False
    """It is as we wrote it, in an earlier epoch: it has ended."""


class Closing(msgspec.Struct, frozen=True):
    """The closing of questions: by these answers; for the others, by whom and why."""

    answers: Mapping[str, str] = {}
    by: str | None = None
    why: str | None = None


NOTHING_SAID = Closing()
_fields_of_head = attrgetter(*SessionHead.__struct_fields__)


class _StartedCall(msgspec.Struct, frozen=True):
    """The parts of a running call's record that are read here."""

    request: Request


_decode_started_call = msgspec.json.Decoder(_StartedCall).decode


class RowSelection(msgspec.Struct, frozen=True):
    """Which rows to load with a session: the grants of these keys, and the open question about this digest.

    With `live`, every live grant and open question as well, and what free retries stem from. `names`: and
    these grants, whatever became of them. `over`: and every grant that is over. `calls`: and the calls under
    way.
    """

    keys: tuple[GrantKey, ...] = ()
    digest: str | None = None
    live: bool = False
    names: tuple[str, ...] = ()
    over: bool = False
    calls: bool = False


class _SelectedGrants(msgspec.Struct, frozen=True):
    """The grants as they are, those that are missing, and what was noticed."""

    held: dict[GrantKey, tuple[HeldGrant, ...]]
    missing: frozenset[str] = frozenset()
    findings: tuple[str, ...] = ()


def load_session(tx: Reader, sealer: Sealer, session: str, wanted: RowSelection) -> LoadedSession | None:
    """A session with the rows wanted. Rows that are not ours grant nothing and are named in the findings."""
    row = tx.session(session)
    if row is None:
        return None
    kept = sealer.open_session(row)
    if kept is None:
        return _session_not_believed(row, void=sealer.void_session(row) is not None)
    grants = _load_grants(tx, sealer, row.id, kept, wanted)
    questions, more = _load_questions(tx, sealer, session, kept, wanted)
    fields: tuple[Any, ...] = (
        *_fields_of_head(kept.head),
        grants.held,
        kept.denials,
        questions,
        _sendings_by_key(kept.sent) if kept.sent else {},
        _load_calls_under_way(tx, sealer, kept) if wanted.calls and kept.calls else {},
    )
    findings = (*grants.findings, *more)
    return LoadedSession(row, Session(*fields), kept, findings, True, grants.missing)


def live_rows_ahead(sealer: Sealer, session: str, names: Iterable[str] = ()) -> Ahead:
    """What ending any of a session's live rows and these grants is going to read, as far as is remembered."""
    state = sealer.last_state(session)
    live, calls = {*names}, frozenset[str]()
    if state is not None:
        live, calls = live.union(state.spent), frozenset(state.calls)
    known = [grant for grant in map(sealer.last_grant, live) if grant is not None]
    live.update(stem for grant in known for stem in grant.stems if is_grant_id(stem, session))
    return Ahead(calls=calls, grants=frozenset(live), questions_of=frozenset({session}))


def _session_not_believed(row: SessionRow, *, void: bool) -> LoadedSession:
    why = words.SESSION_VOID if void else words.changed_or_restored("the session row")
    state = SessionState(SessionHead())
    return LoadedSession(row, _without_consent(row), state, findings=(why,), believed=False, void=void)


def save_session(
    tx: Writer,
    sealer: Sealer,
    before: LoadedSession,
    after: Session,
    *,
    call: str | None = None,
    closing: Closing = NOTHING_SAID,
    stands: tuple[str, str | None] | None = None,
    same_head: bool = False,
) -> None:
    """Write what changed: rows that are new, spends for what was used or ended, the head if it differs.

    `stands` is a call and its state from now on, None if it is neither running nor parked. `same_head`: it is
    known that the head does not differ.
    """
    old, was, now = before.session, before.kept, tx.now
    leaves_rest = bool(was.calls) or not (was.ended or old.taken_back)
    if after is old and stands is not None and leaves_rest and not before.missing:
        _save_standing(tx, sealer, before, stands)
        return
    spent, spends = _save_grants(tx, sealer, before, after, call)
    over = _find_ended(tx, sealer, before, after, spends) if spends or old.under_way else {}
    if after.taken_back and not was.calls:
        after, same_head = msgspec.structs.replace(after, taken_back=()), False
    kept = SessionState(
        was.head if same_head else _head_of(after, was.head),
        spent,
        _save_questions(tx, sealer, before, after, closing),
        was.calls if stands is None else with_call(was.calls, *stands),
        was.children,
        after.denials,
        was.sent if after.sent == old.sent else _flatten_sendings(after.sent),
        was.version,
        was.epoch,
        _without_restarted_call({**was.ended, **over}, stands) if was.calls else {},
        with_call(was.untried, stands[0], None) if stands is not None and was.untried else was.untried,
        was.forgotten,
    )
    if spends or kept != was:
        row = before.row
        if spends or after.workspace != row.workspace:
            count = row.spends + len(spends)
            row = msgspec.structs.replace(row, spends=count, workspace=after.workspace)
        tx.change_session(sealer.session(row, _next_state(kept, old, after, now)))


def _head_of(after: Session, was: SessionHead) -> SessionHead:
    """The head of the session as it is now: the same object if it is as it was."""
    fields = _fields_of_head(after)
    return was if fields == _fields_of_head(was) else SessionHead(*fields)


def _save_grants(
    tx: Writer, sealer: Sealer, before: LoadedSession, after: Session, call: str | None
) -> tuple[Mapping[str, GrantUsage], Sequence[SpendRow]]:
    """Store the grants that are new, and what became of the others. Return what is live, and the spends."""
    old, spent = before.session, dict(before.kept.spent)
    for name in before.missing:
        spent.pop(name, None)
    if after.grants is old.grants and after.unentered is old.unentered:
        return spent, ()
    known = {held.grant.id: held for row in old.grants.values() for held in row}
    still = {held.grant.id: held for row in after.grants.values() for held in row}
    for name, held in still.items():
        if name not in known:
            tx.add_grant(sealer.grant(held.grant))
            spent[name] = GrantUsage(until=held.grant.expires_at)
    marked = tx.local and sealer.mark.outlasts_gate
    spends = find_spends(known, still, find_entered(old, after), spent, at=tx.now, call=call, marked=marked)
    for spend in spends:
        if spend.what == "revoke":
            tx.add_last_spend(spend)  # no row that somebody added to the log, or took from it, keeps it out
        else:
            tx.add_spend(spend)
    return spent, spends


def _find_ended(
    tx: Writer, sealer: Sealer, before: LoadedSession, after: Session, spends: Sequence[SpendRow]
) -> dict[str, float]:
    """Return the grants and calls under way that end, and until when that is remembered."""
    old, until = before.session, tx.now + ENDED_LASTS
    over = {spend.grant: until for spend in spends if spend.what == "revoke"}
    if over and before.kept.calls:
        ending = find_grants_of_same_answers(tx, sealer, old.id, before.kept, over)
        over |= dict.fromkeys(ending, until)
    for call in old.under_way:
        if call not in after.under_way:
            over[call] = until
    return over


def _save_standing(tx: Writer, sealer: Sealer, before: LoadedSession, stands: tuple[str, str | None]) -> None:
    """The same where nothing changed but how one of the calls under way stands."""
    was, session = before.kept, before.session
    calls, untried = with_call(was.calls, *stands), with_call(was.untried, stands[0], None)
    ended = _without_restarted_call(was.ended, stands) if was.ended else was.ended
    if calls is not was.calls or untried is not was.untried or ended != was.ended:
        kept = msgspec.structs.replace(was, calls=calls, ended=ended, untried=untried)
        tx.change_session(sealer.session(before.row, _next_state(kept, session, session, tx.now)))


def _without_restarted_call(
    over: Mapping[str, float], stands: tuple[str, str | None] | None
) -> dict[str, float]:
    """Return these without a call that was restarted just now, which rests on new consent."""
    begun = None if stands is None or stands[1] is None else stands[0]
    return {name: until for name, until in over.items() if name != begun}


def _load_calls_under_way(tx: Reader, sealer: Sealer, kept: SessionState) -> dict[str, CallUnderWay]:
    """The calls under way whose consent has not been taken back, as their rows say."""
    found = {name: tx.call(name) for name in kept.calls if name not in kept.ended}
    return {name: _as_under_way(name, row, sealer) for name, row in found.items()}


def _as_under_way(name: str, row: CallRow | None, sealer: Sealer) -> CallUnderWay:
    body = None if row is None else sealer.open_call(row)
    if row is None or body is None:
        return CallUnderWay(name)
    request = _decode_started_call(body).request
    waits_for = row.question if row.state == "waiting" else None
    call, workflow = request.call, request.workflow
    return CallUnderWay(name, call.tool, workflow, call.command, request.operation_names, waits_for)


def with_call(calls: Mapping[str, OfCall], call: str, one: OfCall | None) -> Mapping[str, OfCall]:
    """Return the map with this entry for one call, or without that call if the entry is None."""
    if calls.get(call) == one:
        return calls
    changed = dict(calls)
    changed.pop(call, None)
    if one is not None:
        changed[call] = one
    return changed


def keep_within_bounds(kept: SessionState, now: float) -> SessionState:
    """The same without the calls that wait to be tried for too long, and the oldest if they are too many."""
    if not kept.untried:
        return kept
    waiting = sorted(kept.untried.items(), key=lambda item: item[1].at)
    old = [item for item in waiting if item[1].at <= now - UNTRIED_LASTS]
    gone = waiting[: max(len(old), len(waiting) - MOST_UNTRIED)]
    if not gone:
        return kept
    left = dict(waiting[len(gone) :])
    return msgspec.structs.replace(kept, untried=left, forgotten=max(kept.forgotten, gone[-1][1].at))


def save_session_row(tx: Writer, sealer: Sealer, row: SessionRow, kept: SessionState) -> SessionRow:
    """Store the session's row with this kept in it, under the next version."""
    row = sealer.session(row, msgspec.structs.replace(kept, version=kept.version + 1))
    tx.change_session(row)
    return row


def _next_state(kept: SessionState, old: Session, after: Session, now: float) -> SessionState:
    """The next version, without what cannot count again: grants used up or expired, old denials and so on.

    A use can be given back until its call is entered, and that is noted just after it was used.
    """
    over = _find_used_up(old)
    if over:
        over &= _find_used_up(after)
        over -= {grant for used in after.unentered.values() for grant in used}
    return SessionState(
        kept.head,
        {name: one for name, one in kept.spent.items() if name not in over and now < one.until},
        {name: end for name, end in kept.questions.items() if now < end} if kept.questions else {},
        kept.calls,
        kept.children,
        {
            digest: one
            for digest, one in kept.denials.items()
            if one.turn == after.turn and now - one.at <= DENIAL_LASTS
        }
        if kept.denials
        else {},
        tuple(one for one in kept.sent if now - one.at <= FAN_OUT_LASTS) if kept.sent else (),
        kept.version + 1,
        kept.epoch,
        {name: end for name, end in kept.ended.items() if now < end} if kept.ended else {},
        kept.untried,
        kept.forgotten,
    )


def _find_used_up(session: Session) -> set[str]:
    found = set()
    for row in session.grants.values():
        for one in row:
            if one.grant.uses is not None and one.used >= one.grant.uses:
                found.add(one.grant.id)
    return found


def _save_questions(
    tx: Writer, sealer: Sealer, before: LoadedSession, after: Session, closing: Closing
) -> Mapping[str, float]:
    """Store the questions that are new and close those that are gone; those that are open then."""
    old, was = before.session.questions, before.kept.questions
    if old == after.questions:
        return was
    left = {name: end for name, end in was.items() if name not in old or name in after.questions}
    for name, question in after.questions.items():
        if name not in old:
            row = new_question_row(sealer, question)
            tx.add_question(row)
            left[name] = row.expires_at
    for name in old:
        if name not in after.questions:
            _close_question(tx, sealer, name, closing)
    return left


def _close_question(tx: Writer, sealer: Sealer, question: str, closing: Closing) -> None:
    """A question that was answered in the conversation, or ended with what it was asked in."""
    row, answer = tx.question(question), closing.answers.get(question)
    if row is None or row.state != "open":
        return
    if answer is None:
        close_question_row(
            tx, sealer, row, state="cancelled", by=closing.by, reason=closing.why, closed_at=tx.now
        )
    else:
        close_question_row(tx, sealer, row, state="answered", answer=answer, by="user", closed_at=tx.now)


def close_question_row(tx: Writer, sealer: Sealer, row: QuestionRow, **how: Any) -> bool:
    """Close the question in this way and seal its row; False if it was closed before.

    A row that was tampered with is closed as well, and gets no seal: it counts for nothing.
    """
    kept = load_kept(tx, sealer, row.session)
    epoch = None if kept is None else kept.epoch
    closed = msgspec.structs.replace(row, **how)
    if sealer.open_question(row, epoch=epoch) is None:
        sealer.doubts.note_once(words.changed_or_reopened(row.id), row.session)
        return tx.close_question(closed)
    return tx.close_question(sealer.question(closed, epoch=epoch))


def load_kept(tx: Reader, sealer: Sealer, session: str) -> SessionState | None:
    """Return the state in this session's row, even of an earlier epoch; None if it was tampered with."""
    row = tx.session(session)
    return None if row is None else sealer.open_session(row) or sealer.void_session(row)


def new_session_row(
    sealer: Sealer, session: Session, *, owner: str, user: str, parent: str | None, now: float
) -> SessionRow:
    """The row of a session that begins now."""
    row = SessionRow(
        session.id, owner, session.agent, user, session.workspace, parent, now, None, b"", 0, b""
    )
    return sealer.session(row, SessionState(SessionHead(*_fields_of_head(session))))


def new_question_row(sealer: Sealer, question: Question) -> QuestionRow:
    request = question.request
    expires = question.opened_at + question.lasts
    row = QuestionRow(question.id, request.session, request.digest, b"", question.opened_at, expires)
    return sealer.question(row, question)


def _without_consent(row: SessionRow) -> Session:
    """Return a session in which nothing was ever granted; for one whose row was tampered with."""
    return Session(id=row.id, agent=row.agent, workspace=row.workspace)


def _load_grants(
    tx: Reader, sealer: Sealer, session: str, kept: SessionState, wanted: RowSelection
) -> _SelectedGrants:
    """A row that does not fit its seal is not one of them, and one that the session does not name is over."""
    loading = _GrantLoading(sealer, kept)
    if wanted.over:
        loading.add(tx.grants(session))
    elif wanted.keys:
        loading.add(tx.grants(session, wanted.keys))
    if wanted.live and not wanted.over:
        loading.add_named(tx, session, (*kept.spent, *wanted.names))
        loading.add_named(tx, session, loading.find_stems(session))
    if not (wanted.live or wanted.over):
        return _SelectedGrants(loading.held, findings=tuple(loading.findings))
    missing = frozenset(kept.spent) - loading.sound
    gone = (words.deleted_outside(f"grant {name}") for name in sorted(missing))
    return _SelectedGrants(loading.held, missing, (*loading.findings, *gone))


class _GrantLoading:
    """The grants of a session while they are loaded. Each row is looked at once."""

    def __init__(self, sealer: Sealer, kept: SessionState) -> None:
        self._sealer = sealer
        self._kept = kept
        self._seen: set[str] = set()
        self.held: dict[GrantKey, tuple[HeldGrant, ...]] = {}
        self.sound: set[str] = set()
        """The names of the grants whose rows are as we wrote them."""
        self.findings: list[str] = []

    def add_named(self, tx: Reader, session: str, names: Iterable[str]) -> None:
        """Add the grants of these names, in this order."""
        left = [name for name in dict.fromkeys(names) if name not in self._seen]
        found = {row.id: row for row in tx.grants_named(session, left)} if left else {}
        self.add([found[name] for name in left if name in found])

    def add(self, rows: Sequence[GrantRow]) -> None:
        for row in rows:
            self._seen.add(row.id)
            grant = self._sealer.open_grant(row)
            if grant is None:
                if not self._sealer.is_void(row):
                    self.findings.append(words.changed_or_void(f"grant {row.id}"))
                continue
            self.sound.add(grant.id)
            became, key = self._kept.spent.get(grant.id), grant.key
            one = _dead_grant(grant, self._kept) if became is None else HeldGrant(grant, became.used)
            self.held[key] = (*self.held[key], one) if key in self.held else (one,)

    def find_stems(self, session: str) -> list[str]:
        """The grants that retries stem from: where these are cleared, the retries end as well."""
        every = (stem for row in self.held.values() for one in row for stem in one.grant.stems)
        return [stem for stem in every if is_grant_id(stem, session)]


def _dead_grant(grant: Grant, kept: SessionState) -> HeldGrant:
    """A grant that the session does not name: used up, expired or revoked. It is dead in any case."""
    if grant.uses is None:
        return HeldGrant(grant, revoked=True)
    return HeldGrant(grant, grant.uses, revoked=grant.id in kept.ended)


def _load_questions(
    tx: Reader, sealer: Sealer, session: str, kept: SessionState, wanted: RowSelection
) -> tuple[dict[str, Question], tuple[str, ...]]:
    """Return the open questions, and signs of tampering: a tampered or reopened question is not answered."""
    questions: dict[str, Question] = {}
    findings: list[str] = []
    for row in _find_question_rows(tx, session, wanted):
        question = sealer.open_question(row)
        if question is None:
            findings.append(words.changed_outside(f"question {row.id}"))
        elif row.id in kept.questions:
            questions[row.id] = question
        elif tx.now < row.expires_at:
            findings.append(words.reopened_outside(row.id))
    return questions, tuple(findings)


def _find_question_rows(tx: Reader, session: str, wanted: RowSelection) -> Sequence[QuestionRow]:
    if wanted.live or wanted.over:
        return tx.questions(session, limit=MOST_OPEN)
    found = tx.open_question(session, wanted.digest) if wanted.digest is not None else None
    return () if found is None else (found,)


def _sendings_by_key(flat: Iterable[SentOnce]) -> dict[GrantKey, tuple[Sending, ...]]:
    sent: dict[GrantKey, tuple[Sending, ...]] = {}
    for one in flat:
        key = (one.domain, one.content)
        sent[key] = (*sent.get(key, ()), Sending(one.operation, one.at))
    return sent


def _flatten_sendings(sent: Mapping[GrantKey, tuple[Sending, ...]]) -> tuple[SentOnce, ...]:
    return tuple(
        SentOnce(domain, content, one.operation, one.at)
        for (domain, content), sendings in sent.items()
        for one in sendings
    )

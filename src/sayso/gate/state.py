"""A session between its rows in the store and its value in the core.

Rows are sealed when written and checked when read. Whatever does not fit its seal grants nothing and is told.
How often a grant was used, and whether it was revoked, stands in the sealed row of its session; the spend
rows are the log of it, each under a number of its own. So an older session row put back by hand revives
nothing: the next use meets its own number in the log, and fails.
What a decision or event changed is found by comparing the session before and after, so there is one way only
in which changes reach the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

import msgspec

from sayso.core.decision import Question
from sayso.core.grants import Held, Key
from sayso.core.session import Denial, Head, Sending, Session
from sayso.gate.sealer import MAC_BYTES, Kept, Sealer, Spent
from sayso.store.base import (
    DenialRow,
    QuestionRow,
    Reader,
    SendingRow,
    SessionRow,
    SpendRow,
    What,
    Writer,
)

QUESTION_LASTS = 7_200.0
COUNTS: dict[What, int] = {"use": 1, "return": -1, "enter": 0, "revoke": 0}


class Loaded(msgspec.Struct, frozen=True):
    """A session as the store has it, its row, and what about it was tampered with."""

    row: SessionRow
    session: Session
    spent: Mapping[str, Spent] = {}
    findings: tuple[str, ...] = ()
    believed: bool = True


_fields_of_head = attrgetter(*Head.__struct_fields__)
_encode = msgspec.json.Encoder().encode
_question = msgspec.json.Decoder(Question).decode


class Wanted(msgspec.Struct, frozen=True):
    """Which rows to load with a session: those of these keys and digest; everything if `keys` is None."""

    keys: tuple[Key, ...] | None = None
    digest: str | None = None
    sent: tuple[Key, ...] = ()


def load(tx: Reader, sealer: Sealer, session: str, wanted: Wanted) -> Loaded | None:
    """A session with the rows wanted. Rows that are not ours grant nothing and are named in the findings."""
    row = tx.session(session)
    if row is None:
        return None
    kept = sealer.open_session(row)
    if kept is None:
        why = ("the session row was changed by hand",)
        return Loaded(row, _without_consent(row), findings=why, believed=False)
    grants, findings = _grants(tx, sealer, row.id, kept.spent, wanted.keys)
    fields: tuple[Any, ...] = (
        *_fields_of_head(kept.head),
        grants,
        _denials(tx, session, wanted),
        _questions(tx, sealer, session, wanted),
        _sent(tx, session, wanted.sent),
    )
    return Loaded(row, Session(*fields), kept.spent, findings)


def save(
    tx: Writer,
    sealer: Sealer,
    before: Loaded,
    after: Session,
    *,
    call: str | None = None,
    answers: Mapping[str, str] | None = None,
) -> None:
    """Write what changed: rows that are new, spends for what was used or ended, the head if it differs."""
    old = before.session
    known = {held.grant.id for held in old.held}
    for held in after.held:
        if held.grant.id not in known:
            tx.add_grant(sealer.grant(held.grant))
    spent = dict(before.spent)
    spends = list(_spends(old, after, spent, tx.now, call))
    for spend in spends:
        tx.add_spend(_after_all(tx, spend) if spend.what == "revoke" else spend)
    _save_denials_and_sendings(tx, old, after)
    _save_questions(tx, sealer, old, after, answers or {})
    kept = Kept(Head(*_fields_of_head(after)), spent)
    head, count = _encode(kept), before.row.spends + len(spends)
    if head != before.row.head or spends:
        row = msgspec.structs.replace(before.row, head=head, spends=count, workspace=after.workspace)
        row = sealer.session(row)
        tx.change_session(row)
        sealer.remember(row, kept)


def _after_all(tx: Reader, spend: SpendRow) -> SpendRow:
    """A revocation after whatever stands in the log: no row put there or taken away keeps it out."""
    taken = max((row.number for row in tx.spends([spend.grant])), default=0)
    return msgspec.structs.replace(spend, number=taken + 1)


def _save_denials_and_sendings(tx: Writer, old: Session, after: Session) -> None:
    for digest, denial in after.denials.items():
        if old.denials.get(digest) != denial:
            tx.put_denial(DenialRow(old.id, digest, denial.turn, denial.at))
    for (domain, content), sendings in after.sent.items():
        for sending in sendings[len(old.sent.get((domain, content), ())) :]:
            tx.add_sending(SendingRow(old.id, domain, content, sending.operation, sending.at))


def _save_questions(
    tx: Writer, sealer: Sealer, old: Session, after: Session, answers: Mapping[str, str]
) -> None:
    for name, question in after.questions.items():
        if name not in old.questions:
            tx.add_question(question_row(sealer, question))
    for name in old.questions:
        if name not in after.questions:
            _close(tx, name, answers.get(name))


def _close(tx: Writer, question: str, answer: str | None) -> None:
    """A question that was answered in the conversation, or ended with what it was asked in."""
    row = tx.question(question)
    if row is None or row.state != "open":
        return
    if answer is None:
        tx.close_question(msgspec.structs.replace(row, state="cancelled", closed_at=tx.now))
    else:
        closed = msgspec.structs.replace(row, state="answered", answer=answer, by="user", closed_at=tx.now)
        tx.close_question(closed)


def new_row(
    sealer: Sealer, session: Session, *, owner: str, user: str, parent: str | None, now: float
) -> SessionRow:
    """The row of a session that begins now."""
    row = SessionRow(
        session.id,
        owner,
        session.agent,
        user,
        session.workspace,
        parent,
        now,
        None,
        _encode(Kept(Head(*_fields_of_head(session)))),
        0,
        b"",
    )
    return sealer.session(row)


def question_row(sealer: Sealer, question: Question) -> QuestionRow:
    request = question.request
    expires = question.opened_at + QUESTION_LASTS
    return QuestionRow(
        question.id, request.session, request.digest, sealer.question(question), question.opened_at, expires
    )


def as_written(row: QuestionRow) -> Question:
    """The question as its row has it, seal or no seal: for figures and lists, never for an answer."""
    return _question(row.body[MAC_BYTES:])


def _without_consent(row: SessionRow) -> Session:
    """A session that nothing was ever granted in; for one whose row cannot be believed."""
    return Session(id=row.id, agent=row.agent, workspace=row.workspace)


def _grants(
    tx: Reader, sealer: Sealer, session: str, spent: Mapping[str, Spent], keys: Iterable[Key] | None
) -> tuple[Mapping[Key, tuple[Held, ...]], tuple[str, ...]]:
    """The session's grants as they stand. A row that does not fit its seal is not one of them."""
    held: dict[Key, tuple[Held, ...]] = {}
    findings: list[str] = []
    for row in tx.grants(session, keys):
        grant = sealer.open_grant(row)
        if grant is None:
            if not sealer.is_void(row):
                findings.append(f"grant {row.id} was written by hand or is of an earlier epoch")
            continue
        became = spent.get(grant.id, Spent())
        held[grant.key] = (*held.get(grant.key, ()), Held(grant, became.used, became.revoked))
    return held, tuple(findings)


def _spends(
    old: Session, after: Session, spent: dict[str, Spent], now: float, call: str | None
) -> Iterator[SpendRow]:
    """What became of each grant that was used, given back, entered on or ended; `spent` is kept up."""
    still = {held.grant.id: held for held in after.held}
    entered = [
        grant for name in old.unentered if name not in after.unentered for grant in old.unentered[name]
    ]
    for held in old.held:
        became = still.get(held.grant.id)
        ended = not held.revoked and (became is None or became.revoked)
        used = 0 if became is None else became.used - held.used
        returned = max(-used, 0)
        kept = max(entered.count(held.grant.id) - returned, 0)
        for what in _whats(use=used, back=returned, enter=kept, revoke=ended):
            before = spent.get(held.grant.id, Spent())
            after_it = Spent(
                before.number + 1, before.used + COUNTS[what], before.revoked or what == "revoke"
            )
            spent[held.grant.id] = after_it
            yield SpendRow(held.grant.id, after_it.number, old.id, what, call, now)


def _whats(*, use: int, back: int, enter: int, revoke: bool) -> list[What]:
    """Each as often as it happened, in an order in which they make sense."""
    times: dict[What, int] = {"use": use, "return": back, "enter": enter, "revoke": revoke}
    return [what for what, count in times.items() for _ in range(count)]


def _denials(tx: Reader, session: str, wanted: Wanted) -> dict[str, Denial]:
    row = tx.denial(session, wanted.digest) if wanted.digest is not None else None
    return {row.digest: Denial(row.turn, row.at)} if row else {}


def _questions(tx: Reader, sealer: Sealer, session: str, wanted: Wanted) -> dict[str, Question]:
    """The open questions; one that was changed by hand cannot be answered."""
    if wanted.keys is None:
        rows = tx.questions(session, limit=10_000)
    else:
        found = tx.open_question(session, wanted.digest) if wanted.digest is not None else None
        rows = [found] if found is not None else []
    opened = ((row.id, sealer.open_question(row)) for row in rows)
    return {name: question for name, question in opened if question is not None}


def _sent(tx: Reader, session: str, keys: tuple[Key, ...]) -> dict[Key, tuple[Sending, ...]]:
    sent: dict[Key, tuple[Sending, ...]] = {}
    for row in tx.sendings(session, keys) if keys else ():
        key = (row.domain, row.content)
        sent[key] = (*sent.get(key, ()), Sending(row.operation, row.at))
    return sent

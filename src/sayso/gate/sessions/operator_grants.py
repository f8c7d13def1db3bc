"""Grants for the operator: listed in plain words, given directly, revoked at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from sayso.core import words
from sayso.core.audit import events
from sayso.core.conversation.words import consent_name
from sayso.core.durations import GRANT_MINUTES
from sayso.core.effects import (
    ConsentCleared,
    ConsentTakenBack,
    Effect,
    GrantAdded,
    GrantRevoked,
    SuspensionLifted,
)
from sayso.core.errors import SaysoError
from sayso.core.grants import Grant, GrantKey, GrantKind, HeldGrant, Pins, outlived, spent
from sayso.core.model import Risk
from sayso.core.session import Session, find_ended_grants
from sayso.gate.audit.consent_entries import operations_of_grant, record_grant
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import (
    Gate,
    TamperedSession,
    UnknownSession,
    apply_and_save,
    load_open_session,
    select_every_row,
    select_live_rows,
    time_trusted,
)
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import LoadedSession, RowSelection, load_session
from sayso.gate.sessions.allowance import NO_PINS, GrantWish, build_grant
from sayso.gate.sessions.children import load_children
from sayso.gate.sessions.grant_title import call_of_grant
from sayso.gate.sessions.handoff import end_in_handoff
from sayso.gate.words import GRANT_ROWS_CHANGED, doubtful_sessions
from sayso.store.contract import GrantRow, Reader, Writer

AT_ONCE = 200
"""How many rows are read at a time."""


NOTHING = RowSelection()


class UnknownGrant(SaysoError):
    code = "unknown_grant"
    advice = "`sayso grants` lists them"


class TamperedGrant(SaysoError):
    code = "tampered_grant"


class ListedGrant(msgspec.Struct, frozen=True):
    """A live grant for people to read. `left` is seconds; `uses` is None for any number."""

    id: str
    session: str
    agent: str
    kind: GrantKind
    value: str
    words: str
    risk: str
    left: float
    expires_at: float
    used: int
    uses: int | None
    ends_with: str
    pins: Pins
    given_at: float
    given_by: str
    question: str | None
    about: str | None = None
    """The call it is for, in a line, if it is for exactly one."""


class EndedGrant(msgspec.Struct, frozen=True):
    """A grant that is over. `already`: it had been used up, expired or revoked before.

    `also` are the unused approvals that the same answer gave, and that ended with it.
    """

    id: str
    session: str
    words: str
    already: bool
    also: tuple[EndedGrant, ...] = ()


def list_grants(gate: Gate, session: str | None = None) -> list[ListedGrant]:
    """List the live grants: of this session, in the order given, or of all open ones, in the order they end.

    A tampered grant is not live.
    """
    with gate.store.read() as tx:
        if session is not None:
            return list_live_grants(gate, tx, load_open_session(gate, tx, session, select_live_rows()))
        return list(_find_live(gate, tx))


def list_grants_page(
    gate: Gate, *, session: str | None = None, owner: str | None = None, after: str = "", limit: int = 100
) -> tuple[list[ListedGrant], bool]:
    """So many of what is granted now, those that end first first, one for each answer; and if there are more.

    In one session, in those of one owner, or in all that are open; `after` the id of a grant.
    """
    with gate.store.read() as tx:
        if session is not None:
            load_open_session(gate, tx, session, NOTHING)
        found = list(islice(_find_live(gate, tx, session, owner, after, as_one=True), limit + 1))
    return found[:limit], len(found) > limit


def give_grant(
    gate: Gate,
    session: str,
    *,
    by: str,
    operation: str | None = None,
    category: str | None = None,
    command: str | None = None,
    risk: Risk | None = None,
    minutes: float = GRANT_MINUTES,
    uses: int | None = None,
    pins: Pins = NO_PINS,
) -> Grant:
    """Grant an operation, the category of the task under way, or a command verbatim; by the operator alone.

    At most 24 hours, never what the policy would not let anybody grant, and bound to the session's workspace
    unless the pins name another.
    """
    wish = GrantWish(operation, category, command, risk, minutes, uses, pins)
    with operator_act(gate) as tx:
        found = load_open_session(gate, tx, session, select_live_rows())
        grant = build_grant(wish, gate.policy, found.session, tx.now, by)
        effects: tuple[Effect, ...] = (GrantAdded(grant),)
        if grant.kind == "category" and grant.value in found.session.suspended:
            effects = (SuspensionLifted(grant.value), *effects)
        apply_and_save(gate, tx, found, effects)
        record_grant(gate, tx, grant, found.row.agent)
    return grant


def revoke_grant(gate: Gate, grant: str, by: str) -> EndedGrant:
    """End this grant. The next decision of any process does not use it."""
    with operator_act(gate) as tx:
        found, held = _find_grant(gate, tx, grant)
        if held is not None:
            return _revoke_one(gate, tx, found, held, by)
        apply_and_save(gate, tx, found, ())
    raise TamperedGrant(GRANT_ROWS_CHANGED, hint="end the session, and look at the audit")


def revoke_all(gate: Gate, session: str, by: str) -> list[EndedGrant]:
    """End every consent of a session and of those it started, and their open questions, all at once."""
    with operator_act(gate) as tx:
        found = load_open_session(gate, tx, session, select_every_row())
        ended, doubtful = _revoke_all(gate, tx, found, by)
    if doubtful:
        raise TamperedGrant(
            doubtful_sessions(", ".join(doubtful)),
            hint="end these sessions, and look at the audit",
        )
    return ended


def clear_allowlist(gate: Gate, session: str, by: str, command: str | None = None) -> list[EndedGrant]:
    """Take standing consent back: of this command, word for word, or of all in this session."""
    wanted = None if command is None else command.strip()
    with operator_act(gate) as tx:
        found = load_open_session(gate, tx, session, select_live_rows())
        listed = [
            held for held in found.session.all_grants if held.grant.kind == "command" and not held.revoked
        ]
        ending = [held for held in listed if wanted in (None, held.grant.value)]
        named = ConsentCleared("allowlist", "") if wanted is None else ConsentTakenBack(wanted)
        unsaved = end_in_handoff(gate, tx, found, (named,))
        if wanted is not None and not ending and not unsaved:
            raise UnknownGrant(f"{words.visible(wanted)} is not on the allowlist of {session}")
        ended = _end_grants(gate, tx, found, ending, by)
        return [_describe_ended(held, live=is_live(gate, held, found.session, tx.now)) for held in ended]


def is_live(gate: Gate, held: HeldGrant, session: Session, now: float) -> bool:
    """Return whether the grant can still be used: it is not spent, and what it ends with has not ended."""
    grant, plan = held.grant, session.plan
    if spent(held, now) or outlived(grant, gate.policy.settings, now):
        return False
    if grant.group is not None and (plan is None or not plan.accepted or plan.id != grant.group):
        return False
    if grant.ends_with == "task":
        return session.task is not None and session.task.id == grant.bound_to
    return grant.ends_with != "turn" or grant.bound_to == str(session.turn)


def _describe_ended(held: HeldGrant, *, live: bool) -> EndedGrant:
    return EndedGrant(held.grant.id, held.grant.session, consent_name(held.grant), already=not live)


def list_live_grants(gate: Gate, tx: Reader, found: LoadedSession) -> list[ListedGrant]:
    """Return the live grants of this session, among all that was read with it."""
    if not found.believed or not time_trusted(gate, tx):
        return []
    session, agent = found.session, found.row.agent
    return [
        _describe_grant(gate, tx, held, agent)
        for held in session.all_grants
        if is_live(gate, held, session, tx.now)
    ]


def one_for_each_answer(gate: Gate, found: Sequence[ListedGrant]) -> list[ListedGrant]:
    """The same for people: an approval is told with what its answer gave beyond that one call.

    Revoking what is told ends the approval as well. An approval of more than that is told by itself.
    """
    wider = [one for one in found if one.kind != "call" and one.question is not None]
    return [one for one in found if one.kind != "call" or not _is_within(gate, one, wider)]


def _is_within(gate: Gate, approval: ListedGrant, wider: list[ListedGrant]) -> bool:
    """Return whether wider grants of the same answer cover every operation of the approval."""
    given = [grant for grant in wider if grant.question == approval.question]
    operations = approval.pins.operations or ()
    return bool(operations) and all(any(_is_for(gate, grant, name) for grant in given) for name in operations)


def _is_for(gate: Gate, grant: ListedGrant, operation: str) -> bool:
    if grant.kind == "operation":
        return grant.value == operation
    if grant.kind == "category":
        return grant.value == gate.policy.entry(operation).category
    return operation in (grant.pins.operations or ())


def _find_live(
    gate: Gate,
    tx: Reader,
    session: str | None = None,
    owner: str | None = None,
    after: str = "",
    *,
    as_one: bool = False,
) -> Iterator[ListedGrant]:
    """Yield what is granted in open sessions, as it ends. Of each session only what may be live is read.

    With `as_one`, one for each answer.
    """
    if not time_trusted(gate, tx):
        return
    while rows := tx.grants_ending_after(tx.now, session=session, owner=owner, after=after, limit=AT_ONCE):
        yield from _still_live(gate, tx, rows, as_one=as_one)
        after = rows[-1].id


def _still_live(gate: Gate, tx: Reader, rows: Sequence[GrantRow], *, as_one: bool) -> Iterator[ListedGrant]:
    """Those of these grants that are live: what became of each is in the sealed row of its session."""
    keys: dict[str, list[GrantKey]] = {}
    for row in rows:
        keys.setdefault(row.session, []).append((row.kind, row.value))
    live: dict[str, ListedGrant] = {}
    for name, wanted in keys.items():
        beside = _keys_beside(tx, name) if as_one and any(kind == "call" for kind, _ in wanted) else []
        found = load_session(
            tx, gate.sealer, name, RowSelection(keys=tuple(dict.fromkeys((*wanted, *beside))))
        )
        if found is not None and found.believed and found.row.ended_at is None:
            granted = list_live_grants(gate, tx, found)
            live |= {one.id: one for one in (one_for_each_answer(gate, granted) if as_one else granted)}
    return (live[row.id] for row in rows if row.id in live)


def _keys_beside(tx: Reader, session: str) -> list[GrantKey]:
    """The keys of what else may be live in a session: an approval may be part of an answer that gave more."""
    return [(row.kind, row.value) for row in tx.grants_ending_after(tx.now, session=session, limit=AT_ONCE)]


def _describe_grant(gate: Gate, tx: Reader, held: HeldGrant, agent: str) -> ListedGrant:
    grant, now = held.grant, tx.now
    return ListedGrant(
        id=grant.id,
        session=grant.session,
        agent=agent,
        kind=grant.kind,
        value=grant.value,
        words=consent_name(grant),
        risk=grant.risk.word,
        left=grant.expires_at - now,
        expires_at=grant.expires_at,
        used=held.used,
        uses=grant.uses,
        ends_with=grant.ends_with,
        pins=grant.pins,
        given_at=grant.given_at,
        given_by=grant.given_by,
        question=grant.question,
        about=call_of_grant(gate, tx, grant),
    )


def _find_grant(gate: Gate, tx: Writer, grant: str) -> tuple[LoadedSession, HeldGrant | None]:
    """Return the grant in its session; None for the grant if its rows were tampered with."""
    row = tx.grant(grant)
    if row is None and (hidden := _session_missing_grant(gate, tx, grant)) is not None:
        return hidden, None
    if row is None:
        raise UnknownGrant(f"there is no grant {words.visible(grant)}", hint="sayso grants lists them")
    if gate.sealer.is_void(row):
        raise UnknownGrant(f"{grant} has ended: the store has begun a new epoch since")
    try:
        found = load_open_session(gate, tx, row.session, select_live_rows(grant))
    except UnknownSession as error:
        raise UnknownGrant(f"the session of {grant} has ended, and its grants with it") from error
    return found, next((held for held in found.session.all_grants if held.grant.id == grant), None)


def _session_missing_grant(gate: Gate, tx: Writer, grant: str) -> LoadedSession | None:
    """The session that names this grant as alive although its row is gone. Saved again, it does not."""
    try:
        found = load_open_session(gate, tx, grant.rpartition(".g")[0], select_live_rows())
    except (UnknownSession, TamperedSession):
        return None
    return found if grant in found.missing else None


def _revoke_one(gate: Gate, tx: Writer, found: LoadedSession, held: HeldGrant, by: str) -> EndedGrant:
    """End a grant. One that has expired is revoked too: clocks can be set back."""
    if held.revoked:
        return _describe_ended(held, live=False)
    _, *beside = _end_grants(gate, tx, found, [held], by)
    told = _describe_ended(held, live=is_live(gate, held, found.session, tx.now))
    return msgspec.structs.replace(told, also=tuple(_describe_ended(one, live=True) for one in beside))


def _end_grants(
    gate: Gate, tx: Writer, found: LoadedSession, ending: list[HeldGrant], by: str
) -> tuple[HeldGrant, ...]:
    """Revoke these, with an entry for each grant that ends: also for approvals that end with them."""
    revoked = tuple(GrantRevoked(held.grant.key, held.grant.id) for held in ending)
    ended = find_ended_grants(found.session, revoked, tx.now)
    end_in_handoff(gate, tx, found, revoked)
    apply_and_save(gate, tx, found, revoked)
    for held in ended:
        _record_ended(gate, tx, found, held.grant, by)
    return ended


def _revoke_all(gate: Gate, tx: Writer, found: LoadedSession, by: str) -> tuple[list[EndedGrant], list[str]]:
    """Revoke everything here and below; return what ended, and the sessions with tampered rows."""
    session = found.session
    live = [held.grant for held in session.all_grants if is_live(gate, held, session, tx.now)]
    clearing = ConsentCleared("everything", "the operator revoked everything")
    end_in_handoff(gate, tx, found, (clearing,))
    apply_and_save(gate, tx, found, (clearing,), by=by)
    for grant in live:
        _record_ended(gate, tx, found, grant, by)
    cleared = events.Cleared(cleared=("everything",), by=by, questions=len(session.questions))
    record(tx, cleared, session=session.id, agent=found.row.agent, stream=gate.stream)
    ended = [EndedGrant(grant.id, grant.session, consent_name(grant), already=False) for grant in live]
    doubtful = [session.id] if found.findings else []
    below = load_children(tx, gate.sealer, session.id, select_every_row())
    doubtful += sorted(set(found.kept.children) - {child.row.id for child in below})
    for child in below:
        more, doubts = _revoke_all(gate, tx, child, by)
        ended, doubtful = ended + more, doubtful + doubts
    return ended, doubtful


def _record_ended(gate: Gate, tx: Writer, found: LoadedSession, grant: Grant, by: str) -> None:
    record(
        tx,
        events.Revoked(by, grant=grant.id, kind=grant.kind),
        session=found.row.id,
        agent=found.row.agent,
        operations=operations_of_grant(grant),
        stream=gate.stream,
    )

"""Ending calls, and what that means for the consent of their session."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UNSET

from sayso.core import ledger, words
from sayso.core.audit import events
from sayso.core.conversation import lifecycle
from sayso.core.conversation.lifecycle import Report
from sayso.core.deciding.retries import Start
from sayso.core.decision import operations_of
from sayso.core.effects import Effect, GrantAdded, GrantRevoked, RetriesEnded, SessionChanged
from sayso.core.grants import Grant, GrantKey, HeldGrant
from sayso.core.ledger import OUTCOMES, NotNow
from sayso.core.session import Session, SessionHead
from sayso.gate.audit.consent_entries import record_grant
from sayso.gate.call_rows import (
    Record,
    SeenSession,
    find_record,
    load_call_and_session,
    move_call_row,
    see_session,
    standing_of,
    with_record,
    with_standing,
)
from sayso.gate.gate import EPOCH_READ, Gate, apply_and_save, load_open_session, select_live_rows, writing
from sayso.gate.ledger.resume import find_ending_since, was_tightened_since_start
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import LoadedSession, RowSelection, live_rows_ahead, load_session
from sayso.gate.telemetry import log_tampering
from sayso.gate.words import changed_outside
from sayso.store.contract import Ahead, CallRow, GrantRow, Reader, Writer

KEPT_RESULT = 64 * 1024
NOTHING_FOLLOWS = Report()
LONGEST_REASON = 500


def end_call(
    gate: Gate,
    call: str,
    fence: int,
    state: ledger.State,
    result: bytes | None = None,
    unkept: str | None = None,
    *,
    claimed: bool = False,
) -> Report:
    """Record how the call ended, as its holder reports it, and apply what follows for consent.

    `unkept` is why there is no result: why the returned value is not stored, or how the call failed.
    `claimed`: the holder is the agent itself, whose word tightens and frees nothing.
    """
    with writing(gate) as tx:
        return end_call_in(gate, tx, call, fence, state, result, unkept, claimed=claimed)[0]


def end_call_in(
    gate: Gate,
    tx: Writer,
    call: str,
    fence: int,
    state: ledger.State,
    result: bytes | None = None,
    unkept: str | None = None,
    *,
    claimed: bool = False,
) -> tuple[Report, CallRow]:
    """Do the same as part of a transaction; return the row of the call as well."""
    if state not in OUTCOMES:
        raise NotNow(f"a call does not end as {state}", hint=f"say one of: {', '.join(OUTCOMES)}")
    if not tx.local:
        tx.read_ahead(rows_ahead_of_end(gate, call, state))
    row, kept, session = load_call_and_session(gate, tx, call)
    over = ledger.finish_running(standing_of(row), fence, state)
    if result is not None and len(result) > KEPT_RESULT:
        result, unkept = None, words.RESULT_TOO_LARGE
    if row.workflow is not None and state != "succeeded":
        result = row.result  # how far it has come, for whoever goes on with it
    ended = with_standing(row, over, result=result, ended_at=tx.now)
    if claimed or unkept is not None:
        kept = _with_ending(kept, unkept, claimed=claimed)
        ended = with_record(gate, ended, kept)
    followed = _follow_up_recorded(gate, tx, ended, kept, session, doubted=row.state == "ambiguous")
    return followed.report, move_call_row(gate, tx, row, ended, named=followed.named, seen=session)


def rows_ahead_of_end(gate: Gate, call: str, state: str) -> Ahead:
    """What ending this call so is going to read, as far as is remembered of its start."""
    kept: Record | None = gate.sealer.records.last(call)
    here = Ahead(metas=EPOCH_READ, calls=frozenset({call}), streams=frozenset({gate.stream}))
    if kept is None:
        return here
    session, used = kept.request.session, _grants_used(kept)
    here = msgspec.structs.replace(here, sessions=frozenset({session}))
    if state != "succeeded" or _may_change_more(gate, call, kept):
        return _with_live_rows(gate, here, session, used)
    if not _may_use_up(gate, used):
        return here
    grants = [gate.sealer.last_grant(name) for name in used]
    by_key = frozenset({(session, _keys_of(call, kept.request.digest, grants))})
    return msgspec.structs.replace(here, grants=frozenset(used), grants_by_key=by_key)


def _with_live_rows(gate: Gate, here: Ahead, session: str, used: Iterable[str]) -> Ahead:
    """Add the live rows of the session, and what its other calls under way were started with."""
    live = live_rows_ahead(gate.sealer, session, used)
    others = [kept for kept in map(gate.sealer.records.last, live.calls) if kept is not None]
    started = (grant for kept in others for grant in _grants_used(kept))
    return msgspec.structs.replace(
        here,
        calls=here.calls | live.calls,
        grants=live.grants.union(started),
        questions_of=live.questions_of,
    )


def _may_change_more(gate: Gate, call: str, kept: Record) -> bool:
    """Return whether a success may change more than the grants of the call, as its session was last seen."""
    session = gate.sealer.last_state(kept.request.session)
    return session is not None and not _ends_plainly(session.head, call, kept)


def _with_ending(kept: Record, unkept: str | None, *, claimed: bool) -> Record:
    """The record with why the result is not kept, and whether only the agent says how the call ended."""
    why = None if unkept is None else unkept[:LONGEST_REASON]
    return msgspec.structs.replace(kept, unkept=why, claimed=claimed)


class FollowedUp(msgspec.Struct, frozen=True):
    """What the end of a call meant for consent. `named`: its session says already that the call is over."""

    report: Report = NOTHING_FOLLOWS
    named: bool = False


NOTHING_FOLLOWED = FollowedUp()


def follow_up(gate: Gate, tx: Writer, row: CallRow, *, doubted: bool = False) -> FollowedUp:
    """Record the end of the call, and apply what a success or failure means for the session's consent.

    `doubted`: it was ambiguous before. Then a failure lets nothing run again without asking.
    """
    kept = find_record(gate, row)
    if kept is None:
        _record_tampered_end(gate, tx, row)
        return NOTHING_FOLLOWED
    return _follow_up_recorded(gate, tx, row, kept, see_session(gate, tx, row.session), doubted=doubted)


def _follow_up_recorded(
    gate: Gate, tx: Writer, row: CallRow, kept: Record, session: SeenSession, *, doubted: bool
) -> FollowedUp:
    """The same with the record of the call, and its session as this transaction read it."""
    executed = events.Executed(row.id, row.digest, row.state, rule=kept.rule, claimed=kept.claimed or UNSET)
    operations = operations_of(kept.items)
    record(tx, executed, session=row.session, operations=operations, stream=gate.stream)
    if session.row is None or session.row.ended_at is not None:
        return NOTHING_FOLLOWED
    if row.state == "ambiguous":
        end_retries(gate, tx, row, kept)
        return NOTHING_FOLLOWED
    if session.state is not None and _changes_nothing_else(gate, session.state.head, row, kept):
        if not doubted:
            _end_unsynced(gate, tx)
        return NOTHING_FOLLOWED
    plain = session.state is not None and _ends_plainly(session.state.head, row.id, kept)
    return _follow_up_consent(gate, tx, row, kept, plain=plain, doubted=doubted)


def _record_tampered_end(gate: Gate, tx: Writer, row: CallRow) -> None:
    """Record the end of a call whose row was tampered with: nothing follows from it."""
    finding = changed_outside(f"call {row.id}")
    record(tx, events.TamperingFound(finding=finding), session=row.session, stream=gate.stream)
    log_tampering(row.session, finding)
    executed = events.Executed(row.id, row.digest, row.state)
    record(tx, executed, session=row.session, stream=gate.stream)


def _follow_up_consent(
    gate: Gate, tx: Writer, row: CallRow, kept: Record, *, plain: bool, doubted: bool
) -> FollowedUp:
    """Apply what a success or failure means for the session's consent.

    `plain`: as the session is, a success changes nothing but the grants of the call.
    """
    plain = plain and row.state == "succeeded"
    wanted = _select_rows_of(gate, tx, row, kept) if plain else select_live_rows()
    found = load_open_session(gate, tx, row.session, wanted)
    report = NOTHING_FOLLOWS if plain else _report_end(gate, tx, found, row, kept, doubted=doubted)
    ending = tuple(
        [
            GrantRevoked(held.grant.key, held.grant.id)
            for held in found.session.all_grants
            if _is_of_run(held, row.id)
        ]
    )
    apply_and_save(
        gate,
        tx,
        found,
        (*report.effects, *ending, *effects_of_entering(found.session, row.id)),
        call=row.id,
        stands=(row.id, None),
    )
    for effect in report.effects:
        if isinstance(effect, GrantAdded):
            record_grant(gate, tx, effect.grant, found.row.agent)
    if plain and not (doubted or report.effects or ending or found.findings):
        _end_unsynced(gate, tx)
    return FollowedUp(report, named=True)


def _end_unsynced(gate: Gate, tx: Writer) -> None:
    """Do not wait for the disk: lost with the power, the call is ambiguous: nothing runs on its account."""
    if tx.local and gate.sealer.mark.marks_unsynced:
        tx.durable = False


def _report_end(
    gate: Gate, tx: Reader, found: LoadedSession, row: CallRow, kept: Record, *, doubted: bool
) -> Report:
    ok, claimed = row.state == "succeeded", kept.claimed
    start = None if ok else _start(gate, tx, found, row, kept, doubted=doubted)
    about = (kept.request, kept.decision, ok, gate.policy, tx.now)
    return lifecycle.report_call_end(found.session, *about, start=start, claimed=claimed)


def _select_rows_of(gate: Gate, tx: Reader, row: CallRow, kept: Record) -> RowSelection:
    """The grants that this call was started with, and its own if it is a run. Their keys never change."""
    used = [gate.sealer.last_grant(name) or tx.grant(name) for name in _grants_used(kept)]
    return RowSelection(_keys_of(row.id, row.digest, used))


def _grants_used(kept: Record) -> list[str]:
    return [name for item in kept.items for name in item.ruling.grants]


def _may_use_up(gate: Gate, used: Iterable[str]) -> bool:
    """Return whether the end of a call with these grants may change one, because its uses are counted."""
    for name in used:
        grant = gate.sealer.last_grant(name)
        if grant is None or grant.uses is not None:
            return True
    return False


def _keys_of(call: str, digest: str, grants: Iterable[Grant | GrantRow | None]) -> tuple[GrantKey, ...]:
    keys: list[GrantKey] = [("run", call), ("call", digest), ("retry", digest)]
    keys += [(grant.kind, grant.value) for grant in grants if grant is not None]
    return tuple(dict.fromkeys(keys))


def _changes_nothing_else(gate: Gate, session: SessionHead, row: CallRow, kept: Record) -> bool:
    """Return whether the call succeeded, and all that its session has to note is that it is over.

    Each grant it was started with can be used any number of times: then its end changes none, and uses none
    up.
    """
    if row.state != "succeeded" or row.workflow is not None or not _ends_plainly(session, row.id, kept):
        return False
    return not _may_use_up(gate, _grants_used(kept))


def _ends_plainly(session: SessionHead, call: str, kept: Record) -> bool:
    """Return whether the success of this call can change nothing but the grants it was started with.

    There is no plan that it could be a step of, and no suspension that it could lift. Then the other grants
    of the session, of which there may be thousands, need not be read.
    """
    planned = session.plan is not None or session.shelved is not None
    return not (planned or session.suspended or call in session.unentered or kept.request.workflow)


def end_retries(gate: Gate, tx: Writer, row: CallRow, kept: Record) -> None:
    """Nobody knows how this run ended: the identical call does not run again without asking."""
    found = load_session(tx, gate.sealer, row.session, select_live_rows())
    if found is not None and found.believed and found.row.ended_at is None:
        apply_and_save(gate, tx, found, (RetriesEnded(kept.request.digest),), call=row.id)


def _start(
    gate: Gate, tx: Reader, found: LoadedSession, row: CallRow, kept: Record, *, doubted: bool
) -> Start:
    """Return what the call was started on, and whether that still exists."""
    used = {grant for item in kept.items for grant in item.ruling.grants}
    rows = [tx.grant(grant) for grant in sorted(used)]
    grants = [gate.sealer.open_grant(one) for one in rows if one is not None]
    known = tuple(grant for grant in grants if grant is not None)
    lasts = (
        find_ending_since(found, row, kept) is None
        and not was_tightened_since_start(gate, row, kept)
        and all(_goes_on(grant, found.session) for grant in known)
    )
    certain = not doubted and len(known) == len(used)
    return Start(row.id, known, kept.terms, lasts=lasts, certain=certain)


def _goes_on(grant: Grant, session: Session) -> bool:
    """Return whether the task that the grant belongs to is still the one under way."""
    return grant.ends_with != "task" or (session.task is not None and session.task.id == grant.bound_to)


def _is_of_run(held: HeldGrant, run: str) -> bool:
    return held.grant.kind == "run" and held.grant.value == run and not held.revoked


def effects_of_entering(session: Session, call: str) -> tuple[Effect, ...]:
    """The call has been entered: from now on what it used cannot be given back."""
    if call not in session.unentered:
        return ()
    left = {name: grants for name, grants in session.unentered.items() if name != call}
    return (SessionChanged(unentered=left),)

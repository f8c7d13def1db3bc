"""Consent is taken back by name: by the operator, or by the user in the conversation.

It ends in the sessions below as well, in the same transaction.
"""

from __future__ import annotations

import msgspec

from sayso.core.audit import events
from sayso.core.conversation.hear import revoke_for_operator, take_back_below
from sayso.core.conversation.hearing import Heard
from sayso.core.conversation.revocations import is_known_name, means_everything
from sayso.core.conversation.words import (
    call_under_way_name,
    carried_name,
    consent_name,
    describe_taken_back,
    nothing_to_revoke,
    order_name,
    revokes_nothing,
)
from sayso.core.effects import (
    CallEnded,
    ConsentTakenBack,
    Effect,
    GrantRevoked,
    PlanEnded,
    SessionChanged,
    Withheld,
)
from sayso.core.session import find_ended_grants
from sayso.core.words import visible
from sayso.gate import words
from sayso.gate.audit.consent_entries import record_consents
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import (
    Gate,
    apply_and_save,
    load_open_session,
    select_every_row,
    select_live_rows,
)
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import LoadedSession
from sayso.gate.sessions.children import load_children
from sayso.gate.sessions.handoff import end_in_handoff
from sayso.gate.sessions.operator_grants import EndedGrant, UnknownGrant, revoke_all
from sayso.store.contract import Writer


class EndedBelow(msgspec.Struct, frozen=True):
    """The consent a name ended in the sessions below, and its parts that matched nothing there."""

    ended: tuple[EndedGrant, ...]
    missing: tuple[str, ...]


def revoke_by_name(gate: Gate, session: str, name: str, by: str) -> list[EndedGrant]:
    """End the grants for what the name means, and keep calls under way from going on, here and below.

    A name is an operation, category, domain, tool, command or call, as the listings print it; or everything.
    """
    if means_everything(name):
        return revoke_all(gate, session, by)
    with operator_act(gate) as tx:
        found = load_open_session(gate, tx, session, select_every_row(calls=True))
        taken = revoke_for_operator(found.session, name, gate.policy, tx.now)
        below = [_take_back_below(gate, tx, session, one, by) for one in _find_taken_back(taken.effects)]
        unsaved = end_in_handoff(gate, tx, found, taken.effects)
        unknown = _is_unknown(gate, found, name, taken.effects)
        unknown = unknown and not unsaved and not any(one.ended for one in below)
        if unknown and not found.session.under_way:
            raise _make_unknown(session, name)
        apply_and_save(gate, tx, found, taken.effects)
        _record_revocation(gate, tx, found, taken, by)
        here = _describe_all_ended(found, taken.effects, tx.now)
    if unknown:  # calls under way do not carry it all the same
        raise _make_unknown(session, name)
    return [*here, *(ended for one in below for ended in one.ended)]


def _is_unknown(gate: Gate, found: LoadedSession, name: str, effects: tuple[Effect, ...]) -> bool:
    """Return whether a name ended nothing, and no call under way could do what it means either."""
    if not all(isinstance(effect, ConsentTakenBack) for effect in effects):
        return False
    return not (found.session.under_way and is_known_name(name, gate.policy, found.session))


def _make_unknown(session: str, name: str) -> UnknownGrant:
    hint = "sayso grants lists what is granted"
    return UnknownGrant(f"{session} has no consent for {visible(name)}", hint=hint)


def with_sessions_below(gate: Gate, tx: Writer, session: str, heard: Heard) -> Heard:
    """Take back in the sessions below what a message named or refused, and tell that with the rest."""
    for refusal in (effect for effect in heard.effects if isinstance(effect, Withheld)):
        lost = _withhold_below(gate, tx, session, refusal)
        told = (describe_taken_back(lost),) if lost else ()
        heard = msgspec.structs.replace(
            heard, cleared=(*heard.cleared, *lost), announced=(*heard.announced, *told)
        )
    for named in _find_taken_back(heard.effects):
        below = _take_back_below(gate, tx, session, named, "user")
        found = {part for part in named.missing if part not in below.missing}
        untrue = {nothing_to_revoke(part) for part in found}
        undone = {revokes_nothing(part) for part in found}
        heard = msgspec.structs.replace(
            heard,
            did=tuple(line for line in heard.did if line not in undone),
            announced=tuple(line for line in heard.announced if line not in untrue),
            cleared=(
                *heard.cleared,
                *(words.in_child_session(one.words, one.session) for one in below.ended),
            ),
        )
    return heard


def _withhold_below(gate: Gate, tx: Writer, session: str, refusal: Withheld) -> list[str]:
    """Let a refusal take back what it does in the sessions below; all of that in words."""
    lost: list[str] = []
    for child in load_children(tx, gate.sealer, session, select_live_rows(calls=True)):
        taken = take_back_below(child.session, refusal, gate.policy, tx.now)
        end_in_handoff(gate, tx, child, taken.effects)
        apply_and_save(gate, tx, child, taken.effects)
        record_consents(gate, tx, child.session, taken.effects)
        lost += (words.in_child_session(one, child.row.id) for one in taken.cleared)
        lost += _withhold_below(gate, tx, child.row.id, refusal)
    return lost


def _find_taken_back(effects: tuple[Effect, ...]) -> list[ConsentTakenBack]:
    return [effect for effect in effects if isinstance(effect, ConsentTakenBack)]


def _take_back_below(gate: Gate, tx: Writer, session: str, named: ConsentTakenBack, by: str) -> EndedBelow:
    ended: list[EndedGrant] = []
    missing = named.missing
    for child in load_children(tx, gate.sealer, session, select_every_row(calls=True)):
        taken = revoke_for_operator(child.session, named.name, gate.policy, tx.now)
        end_in_handoff(gate, tx, child, taken.effects)
        apply_and_save(gate, tx, child, taken.effects)
        _record_revocation(gate, tx, child, taken, by)
        (here,) = _find_taken_back(taken.effects)
        further = _take_back_below(gate, tx, child.row.id, here, by)
        ended += (*_describe_all_ended(child, taken.effects, tx.now), *further.ended)
        missing = tuple(part for part in missing if part in further.missing)
    return EndedBelow(tuple(ended), missing)


def _record_revocation(gate: Gate, tx: Writer, found: LoadedSession, taken: Heard, by: str) -> None:
    """Record each grant and call that ended; without one, the name that calls under way carry no longer."""
    record_consents(gate, tx, found.session, taken.effects, by=by)
    if taken.cleared and not any(isinstance(effect, (CallEnded, GrantRevoked)) for effect in taken.effects):
        named = ", ".join(effect.name for effect in _find_taken_back(taken.effects))
        record(tx, events.Revoked(by, name=named), session=found.row.id, stream=gate.stream)


def _describe_all_ended(found: LoadedSession, effects: tuple[Effect, ...], now: float) -> list[EndedGrant]:
    """The grants, calls and plan that these effects end, before they are applied."""
    session = found.session
    grants = [
        EndedGrant(held.grant.id, session.id, consent_name(held.grant), already=False)
        for held in find_ended_grants(session, effects, now)
    ]
    return [*grants, *(ended for effect in effects if (ended := _describe_ended(found, effect)) is not None)]


def _describe_ended(found: LoadedSession, effect: object) -> EndedGrant | None:
    session = found.session
    if isinstance(effect, CallEnded):
        tool = session.under_way[effect.call].tool
        return EndedGrant(effect.call, session.id, call_under_way_name(tool), already=False)
    if isinstance(effect, PlanEnded) and session.plan is not None:
        return EndedGrant(session.plan.id, session.id, "plan consent", already=False)
    if isinstance(effect, ConsentTakenBack) and effect.missing and session.under_way:
        return EndedGrant("-", session.id, carried_name(effect.name), already=False)
    if isinstance(effect, SessionChanged) and effect.slash is None and session.slash is not None:
        return EndedGrant("-", session.id, order_name(session.slash), already=False)
    return None

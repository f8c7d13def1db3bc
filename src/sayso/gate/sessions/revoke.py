"""Consent is taken back by name: by the operator, or by the user in the conversation.

It ends in the sessions below as well, in the same transaction.
"""

from __future__ import annotations

import msgspec

from sayso.core import words
from sayso.core.conversation.hear import Heard, take_back, take_back_below
from sayso.core.effects import CallEnded, Effect, PlanEnded, TakenBack, Withheld
from sayso.core.session import ended_by
from sayso.gate.gate import Gate, all_that_can_end, loaded, settle
from sayso.gate.rows.sessions import Loaded, children_of
from sayso.gate.sessions.consents import record_consents
from sayso.gate.sessions.operator_grants import Ended, UnknownGrant
from sayso.gate.upkeep.operator_transaction import operator_act
from sayso.store.contract import Writer


class Below(msgspec.Struct, frozen=True):
    """What a name ended in the sessions below, and which parts of it meant nothing in any of them."""

    ended: tuple[Ended, ...]
    missing: tuple[str, ...]


def revoke_by_name(gate: Gate, session: str, name: str, by: str) -> list[Ended]:
    """End the grants for what the name means, and keep calls under way from going on, here and below.

    A name is an operation, category, domain, tool, command or call, as the listings print it.
    """
    with operator_act(gate) as tx:
        found = loaded(gate, tx, session, all_that_can_end())
        taken = take_back(found.session, name, gate.policy, tx.now)
        below = [_take_back_below(gate, tx, session, one, by) for one in _named(taken.effects)]
        if not taken.cleared and not any(one.ended for one in below):
            hint = "sayso grants lists what is granted"
            raise UnknownGrant(f"{session} has no consent for {words.visible(name)}", hint=hint)
        settle(gate, tx, found, taken.effects)
        record_consents(gate, tx, found.session, taken.effects, by=by)
        here = _all_ended(found, taken.effects, tx.now)
    return [*here, *(ended for one in below for ended in one.ended)]


def with_sessions_below(gate: Gate, tx: Writer, session: str, heard: Heard) -> Heard:
    """Take back in the sessions below what a message named or refused, and tell that with the rest."""
    for refusal in (effect for effect in heard.effects if isinstance(effect, Withheld)):
        lost = _withhold_below(gate, tx, session, refusal)
        told = (words.taken_back(lost),) if lost else ()
        heard = msgspec.structs.replace(
            heard, cleared=(*heard.cleared, *lost), announced=(*heard.announced, *told)
        )
    for named in _named(heard.effects):
        below = _take_back_below(gate, tx, session, named, "user")
        found = {part for part in named.missing if part not in below.missing}
        untrue = {words.nothing_to_revoke(part) for part in found}
        undone = {words.revokes_nothing(part) for part in found}
        heard = msgspec.structs.replace(
            heard,
            did=tuple(line for line in heard.did if line not in undone),
            announced=tuple(line for line in heard.announced if line not in untrue),
            cleared=(*heard.cleared, *(words.below(one.words, one.session) for one in below.ended)),
        )
    return heard


def _withhold_below(gate: Gate, tx: Writer, session: str, refusal: Withheld) -> list[str]:
    """Let a refusal take back what it does in the sessions below; all of that in words."""
    lost: list[str] = []
    for child in children_of(tx, gate.sealer, session, all_that_can_end()):
        taken = take_back_below(child.session, refusal, gate.policy, tx.now)
        settle(gate, tx, child, taken.effects)
        record_consents(gate, tx, child.session, taken.effects)
        lost += (words.below(one, child.row.id) for one in taken.cleared)
        lost += _withhold_below(gate, tx, child.row.id, refusal)
    return lost


def _named(effects: tuple[Effect, ...]) -> list[TakenBack]:
    return [effect for effect in effects if isinstance(effect, TakenBack)]


def _take_back_below(gate: Gate, tx: Writer, session: str, named: TakenBack, by: str) -> Below:
    ended: list[Ended] = []
    missing = named.missing
    for child in children_of(tx, gate.sealer, session, all_that_can_end()):
        taken = take_back(child.session, named.name, gate.policy, tx.now)
        settle(gate, tx, child, taken.effects)
        record_consents(gate, tx, child.session, taken.effects, by=by)
        (here,) = _named(taken.effects)
        further = _take_back_below(gate, tx, child.row.id, here, by)
        ended += (*_all_ended(child, taken.effects, tx.now), *further.ended)
        missing = tuple(part for part in missing if part in further.missing)
    return Below(tuple(ended), missing)


def _all_ended(found: Loaded, effects: tuple[Effect, ...], now: float) -> list[Ended]:
    """The grants, calls and plan that these effects end, before they are applied."""
    session = found.session
    grants = [
        Ended(held.grant.id, session.id, words.consent(held.grant), already=False)
        for held in ended_by(session, effects, now)
    ]
    return [*grants, *(ended for effect in effects if (ended := _ended(found, effect)) is not None)]


def _ended(found: Loaded, effect: object) -> Ended | None:
    session = found.session
    if isinstance(effect, CallEnded):
        tool = session.under_way[effect.call].tool
        return Ended(effect.call, session.id, words.under_way(tool), already=False)
    if isinstance(effect, PlanEnded) and session.plan is not None:
        return Ended(session.plan.id, session.id, "plan consent", already=False)
    return None

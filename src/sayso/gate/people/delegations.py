"""Delegations: one person lets another approve for them, within limits, for a while.

- Only somebody who is declared in the policy delegates, and only what is theirs by the policy: a delegate
  passes nothing on.
- It counts for as long as the id by which it was given is that person's, and what proves it does; and as
  some id is still theirs that the other had then. Who gets the name of somebody who left inherits nothing.
- All delegations are one sealed value. If it was tampered with, nothing is approved that would depend on it.
"""

from __future__ import annotations

import secrets

import msgspec

from sayso.core.audit import events
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.core.team import Delegation, Team
from sayso.core.text.foreign import visible
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import Answerer, is_vouched_for
from sayso.gate.rows.journal import record
from sayso.gate.rows.moves import hold_streams
from sayso.gate.sealed_values import lock_values, read_value, write_value
from sayso.store.contract import Reader, Writer

ROW = "delegations"
LONGEST = 30 * DAY
MOST = 200


class DelegationRefused(SaysoError):
    code = "delegation_refused"


class UnknownDelegation(SaysoError):
    code = "unknown_delegation"
    advice = "`sayso people list` lists them"


class DelegationSet(msgspec.Struct, frozen=True):
    delegations: tuple[Delegation, ...] = ()


def load_delegations(gate: Gate, tx: Reader, team: Team) -> tuple[Delegation, ...]:
    """Return those that count in this team; an error if they were tampered with."""
    return tuple(
        one
        for one in _load_unexpired(gate, tx)
        if team.person_of(one.identity) == one.giver
        and any(team.person_of(own) == one.to for own in one.to_ids)
        and is_vouched_for(gate, tx, one.identity, one.passkey)
    )


def _load_unexpired(gate: Gate, tx: Reader) -> tuple[Delegation, ...]:
    kept = read_value(gate, tx, ROW, DelegationSet)
    return () if kept is None else tuple(one for one in kept.delegations if tx.now < one.until)


def delegate(
    gate: Gate,
    who: Answerer,
    to: str,
    *,
    seconds: float,
    by: str,
    domain: str | None = None,
    highest: Risk = Risk.HIGH,
) -> Delegation:
    """Let `to` approve for the person who delegates, until this time is over."""
    team = gate.policy.team
    if not 0 < seconds <= LONGEST:
        raise DelegationRefused("a delegation ends within 30 days")
    if domain is not None and domain not in {*gate.policy.domains, *(one.domain for one in team.approvals)}:
        raise DelegationRefused(f"the policy has no domain {visible(domain)}", hint="see domains in it")
    with operator_act(gate) as tx:
        giver = team.person_of(who.identity)
        if giver is None or not is_vouched_for(gate, tx, who.identity, who.passkey):
            raise DelegationRefused(f"{who.identity} is not an id of anybody in the policy")
        if to not in team.people or to == giver:
            raise DelegationRefused(f"{to} is not another person of the policy", hint="see people in it")
        if not team.people[to].ids:
            raise DelegationRefused(f"{to} has no id in the policy to answer by", hint="see people in it")
        lock_values(tx, "delegations")
        kept = _load_unexpired(gate, tx)
        if len(kept) >= MOST:
            raise DelegationRefused(f"there are {MOST} delegations already", hint="end one first")
        name, until = f"d_{secrets.token_hex(6)}", tx.now + seconds
        proven, ids = (who.identity, who.passkey), team.people[to].ids
        made = Delegation(name, giver, to, until, domain, highest, *proven, ids)
        _save(gate, tx, (*kept, made))
        event = events.Delegated(made.id, giver, to, made.until, domain or "", highest.word, by)
        record(tx, event, stream=gate.stream)
    return made


def end_delegation(gate: Gate, name: str, *, by: str) -> Delegation:
    """From now on it serves nobody, also for what was approved under it and has not started."""
    with operator_act(gate) as tx:
        lock_values(tx, "delegations")
        kept = _load_unexpired(gate, tx)
        found = next((one for one in kept if one.id == name), None)
        if found is None:
            raise UnknownDelegation(f"there is no delegation {name}")
        _save(gate, tx, tuple(one for one in kept if one.id != name))
        hold_streams(tx)  # what is decided in any service after this was committed finds it
        record(tx, events.DelegationEnded(name, found.giver, found.to, by), stream=gate.stream)
    return found


def _save(gate: Gate, tx: Writer, delegations: tuple[Delegation, ...]) -> None:
    write_value(gate, tx, ROW, DelegationSet(delegations))

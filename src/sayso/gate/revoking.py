"""The operator takes consent back by name, as the user does in the conversation."""

from __future__ import annotations

from sayso.core import words
from sayso.core.effects import CallEnded, PlanEnded
from sayso.core.hear import take_back
from sayso.core.session import ended_by
from sayso.gate.acts import operator_act
from sayso.gate.consents import record_consents
from sayso.gate.gate import Gate, all_that_can_end, loaded, settle
from sayso.gate.grants import Ended, UnknownGrant
from sayso.gate.state import Loaded


def revoke_by_name(gate: Gate, session: str, name: str, by: str) -> list[Ended]:
    """End the grants of this session for what the name means, and keep its calls under way from going on.

    A name is an operation, category, domain, tool, command or call, as the listings print it.
    """
    with operator_act(gate) as tx:
        found = loaded(gate, tx, session, all_that_can_end())
        taken = take_back(found.session, name, gate.policy, tx.now)
        if not taken.cleared:
            hint = "sayso grants lists what is granted"
            raise UnknownGrant(f"{session} has no consent for {words.visible(name)}", hint=hint)
        settle(gate, tx, found, taken.effects)
        record_consents(gate, tx, found.session, taken.effects, by=by)
        grants = ended_by(found.session, taken.effects, tx.now)
    others = [ended for effect in taken.effects if (ended := _ended(found, effect)) is not None]
    named = [Ended(held.grant.id, session, words.consent(held.grant), already=False) for held in grants]
    return [*named, *others]


def _ended(found: Loaded, effect: object) -> Ended | None:
    session = found.session
    if isinstance(effect, CallEnded):
        tool = session.under_way[effect.call].tool
        return Ended(effect.call, session.id, words.under_way(tool), already=False)
    if isinstance(effect, PlanEnded) and session.plan is not None:
        return Ended(session.plan.id, session.id, "plan consent", already=False)
    return None

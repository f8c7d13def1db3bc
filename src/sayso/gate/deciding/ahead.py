"""What deciding a call is going to read, as far as one can tell: to be read at once, where that counts.

Nothing is decided by it. What it leaves out is read when it is needed.
"""

from __future__ import annotations

from typing import Any

from sayso.core.model import Request, Tier
from sayso.core.session import Scope
from sayso.core.session.numbering import question_id
from sayso.gate.gate import EPOCH_READ, NO_SCOPE, Gate, reviewed_names, select_rows_for
from sayso.gate.rows.sessions import RowSelection
from sayso.store.contract import Ahead

POLICY_READ = frozenset({"policy"})
"""What is told of a call that waits for its approval depends on it."""
MOST_GUESSED = 64
"""How many grants are looked at to guess what comes of a call."""
_NOTHING: frozenset[Any] = frozenset()


def rows_ahead(
    gate: Gate,
    request: Request,
    scope: Scope = NO_SCOPE,
    *,
    host_id: str | None = None,
    key: str | None = None,
    effect_key: str | None = None,
) -> Ahead:
    """What deciding this request, as a call with these names, is going to read."""
    session, wanted = request.session, select_rows_for(request, gate.policy, scope)
    call = frozenset({(session, request.digest)})
    may_ask, approved = _guess(gate, request, wanted)
    values = EPOCH_READ if gate.live is None else EPOCH_READ | gate.live.rows_read
    return Ahead(
        metas=values if host_id is None and key is None else values | POLICY_READ,
        sessions=frozenset({session}),
        calls=_NOTHING if scope.run is None else frozenset({scope.run.id}),
        host_ids=_NOTHING if host_id is None else frozenset({(session, host_id)}),
        call_keys=_NOTHING if key is None else frozenset({(session, request.call.tool, key)}),
        effects=_NOTHING if effect_key is None else frozenset({effect_key}),
        grants_by_key=frozenset({(session, wanted.keys)}),
        approvals=call if approved else _NOTHING,
        open_questions=call,
        questions=_question_of_the_hour(gate, session) if may_ask else _NOTHING,
        counted=frozenset({session}) if may_ask else _NOTHING,
        reviews=frozenset(reviewed_names(gate, request)),
        streams=frozenset({gate.stream}),
    )


def _guess(gate: Gate, request: Request, wanted: RowSelection) -> tuple[bool, bool]:
    """Guess whether a person will be asked, and whether one has approved this call.

    By the lists of the policy, and by the live grants of the session as far as they are remembered. Where the
    store is on this machine it does not matter.
    """
    tiers = (gate.policy.entry(one.name).tier for one in request.operations)
    if gate.store.local or all(tier is Tier.AUTONOMOUS for tier in tiers):
        return False, False
    state = gate.sealer.last_state(request.session)
    if state is None or len(state.spent) > MOST_GUESSED:
        return state is None, True
    keys = [None if grant is None else grant.key for grant in map(gate.sealer.last_grant, state.spent)]
    approved = any(key in (None, ("call", request.digest)) for key in keys)
    return not any(key in wanted.keys for key in keys), approved


def _question_of_the_hour(gate: Gate, session: str) -> frozenset[tuple[str, str]]:
    """The question that says whether the session has asked as many as it may, if it has asked so many."""
    state = gate.sealer.last_state(session)
    first = 0 if state is None else state.head.asked - gate.policy.settings.questions_per_hour + 1
    return frozenset({(session, question_id(session, first))}) if first > 0 else _NOTHING

"""What deciding a call is going to read, as far as one can tell: to be read at once, where that counts.

Nothing is decided by it. What it leaves out is read when it is needed.
"""

from __future__ import annotations

from typing import Any

from sayso.core.durations import HOUR
from sayso.core.model import Request, Tier
from sayso.core.policy import Policy
from sayso.core.session import Scope
from sayso.gate.gate import EPOCH_READ, NO_SCOPE, Gate, reviewed_names, select_rows_for
from sayso.gate.rows.sessions import RowSelection
from sayso.store.contract import Ahead

POLICY_READ = frozenset({"policy"})
"""What is told of a call that waits for its approval depends on it."""
MOST_GUESSED = 64
"""How many grants are looked at to guess whether a call is asked about."""
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
    recorded = host_id is not None or key is not None
    may_ask = not gate.store.local and _needs_approval(gate.policy, request)
    asks = may_ask and not _may_have_grant(gate, session, wanted)
    values = EPOCH_READ if gate.live is None else EPOCH_READ | gate.live.rows_read
    return Ahead(
        metas=values | POLICY_READ if recorded else values,
        sessions=frozenset({session}),
        calls=_NOTHING if scope.run is None else frozenset({scope.run.id}),
        host_ids=_NOTHING if host_id is None else frozenset({(session, host_id)}),
        call_keys=_NOTHING if key is None else frozenset({(session, request.call.tool, key)}),
        effects=_NOTHING if effect_key is None else frozenset({effect_key}),
        grants_by_key=frozenset({(session, wanted.keys or ())}),
        approvals=call if may_ask or recorded else _NOTHING,
        open_questions=call,
        asked=frozenset({(session, HOUR)}) if asks else _NOTHING,
        reviews=frozenset(reviewed_names(gate, request)),
        streams=frozenset({gate.stream}),
    )


def _needs_approval(policy: Policy, request: Request) -> bool:
    """Return whether a person may have to allow it, as far as the lists of the policy say."""
    return any(policy.entry(one.name).tier is not Tier.AUTONOMOUS for one in request.operations)


def _may_have_grant(gate: Gate, session: str, wanted: RowSelection) -> bool:
    """Return whether a grant may allow it, as far as is remembered of the session: then nobody is asked."""
    live = gate.sealer.last_grants(session, most=MOST_GUESSED)
    return live is None or any(grant.key in (wanted.keys or ()) for grant in live)

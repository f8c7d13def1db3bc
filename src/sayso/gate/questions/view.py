"""The view of a decision: all that it may look at, from the rows that were loaded for it."""

from __future__ import annotations

import msgspec

from sayso.core.conversation.revocations import was_taken_back
from sayso.core.grants import was_tightened
from sayso.core.model import Request
from sayso.core.session import OuterCall, Scope, View, join_outers
from sayso.gate.gate import NO_SCOPE, Gate, PolicyMoved, is_stopped, reviews_for, time_trusted
from sayso.gate.questions.team.complete import end_broken_approvals
from sayso.gate.rows.sessions import LoadedSession
from sayso.store.contract import Reader


def view_of(gate: Gate, tx: Reader, found: LoadedSession, request: Request, scope: Scope = NO_SCOPE) -> View:
    """Return what the decision of this request may look at, as of this transaction.

    PolicyMoved if the policy of this gate is not in force any more, or not the one of the call's workspace.
    """
    if gate.live is not None:
        gate.live.check(tx, gate.base or gate.policy)
    if gate.projects is not None:
        known = gate.projects.last_policy_for(gate.base or gate.policy, request.call.workspace)
        if known is not gate.policy:
            raise PolicyMoved("the project's own file changed just now")
    parent = found.row.parent
    trusted = time_trusted(gate, tx)  # it holds the stream: who takes an approver away holds it too
    return View(
        end_broken_approvals(gate, tx, found.session) if _has_approvals(found) else found.session,
        scope if scope is NO_SCOPE else _without_ended_consent(gate, found, request, scope),
        reviews_for(gate, tx, request),
        gate.notices_to is not None,
        trusted,
        parent is not None and is_stopped(gate, tx, parent),
    )


def _has_approvals(found: LoadedSession) -> bool:
    for row in found.session.grants.values():
        for held in row:
            if held.grant.approved:
                return True
    return False


def _without_ended_consent(gate: Gate, found: LoadedSession, request: Request, scope: Scope) -> Scope:
    """Return the scope without what carries this request no longer, as consent for that has ended."""
    outer, run, click = scope.outer, scope.run, scope.click
    if outer is not None:
        parts = outer.parts or (outer,)
        left = [one for one in parts if _carries(gate, found, request, one)]
        if len(left) < len(parts):
            scope = msgspec.structs.replace(scope, outer=join_outers(left))
    since = None if run is None else run.revocations
    if run is not None and since is not None and was_taken_back(request, found.session, since, gate.policy):
        scope = msgspec.structs.replace(scope, run=msgspec.structs.replace(run, alive=False))
    if scope.user_initiated is not None:
        cleared = click.clearings != found.session.clearings
        if cleared or was_taken_back(request, found.session, click.revocations, gate.policy):
            scope = msgspec.structs.replace(scope, user_initiated=None)
    return scope


def _carries(gate: Gate, found: LoadedSession, request: Request, outer: OuterCall) -> bool:
    """Return whether an outer call's own consent is still there, and was not taken back for this request."""
    if outer.clearings != found.session.clearings or not found.kept.ended.keys().isdisjoint(outer.grants):
        return False
    names = (operation.name for operation in request.operations)
    if outer.decided_at is not None and was_tightened(gate.policy.tightened, names, outer.decided_at):
        return False
    return not was_taken_back(request, found.session, outer.revocations, gate.policy)

"""The free retry: after a failure the identical call may run again without a question.

It is a grant like any other: listed, revoked by name, ended by whatever ends consent.

- Each failure gives one use, three at most. A run whose end nobody knows gives none, so nothing runs twice
  because of a doubt; neither does one whose end only the agent reports.
- It ends with the consent that the failed call ran on, 15 minutes after the failure at the latest, and with
  the task.
- High risk has no retry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sayso.core.decision import Decision, Item, operations_of
from sayso.core.durations import MINUTE
from sayso.core.grants import Grant, Pins, spent
from sayso.core.model import Request
from sayso.core.policy import Policy, Terms, terms_of
from sayso.core.session import RETRIES, Session
from sayso.core.session.numbering import new_grant

RETRY_LASTS = 15 * MINUTE


class Start(msgspec.Struct, frozen=True):
    """What a call that failed was started on: the grants it used, and what the policy said of it then.

    `lasts`: that consent was not cleared or taken back since. `certain`: nobody doubts that the call failed.
    """

    call: str = ""
    grants: tuple[Grant, ...] = ()
    terms: Mapping[str, Terms] = {}
    lasts: bool = True
    certain: bool = True


def start_from_session(session: Session, decision: Decision, policy: Policy) -> Start:
    """The start of a call as far as the session itself says it."""
    used = {grant for item in decision.items for grant in item.ruling.grants}
    grants = tuple(held.grant for held in session.all_grants if held.grant.id in used)
    terms = terms_of(policy, ((item.operation, item.risk) for item in decision.items))
    return Start(grants=grants, terms=terms)


def retries_left(session: Session, category: str, digest: str, now: float, start: Start) -> int:
    """Return the number of retries left after a failure: one less if a retry failed."""
    before = session.suspended.get(category)
    if before is None or before.digest != digest:
        return RETRIES if start.certain and start.lasts else 0
    if not start.lasts:
        return 0
    return before.left if has_retry(session, digest, now) else max(before.left - 1, 0)


def has_retry(session: Session, digest: str, now: float) -> bool:
    """Return whether a retry of this call is granted and unused."""
    return any(not spent(held, now) for held in session.grants.get(("retry", digest), ()))


def retry_grant(
    session: Session, request: Request, retried: Sequence[Item], policy: Policy, now: float, start: Start
) -> Grant | None:
    """One more run of the identical call; None where it may have none, or has one already."""
    digest, task = request.digest, session.task
    until = min([now + RETRY_LASTS, *(grant.expires_at for grant in start.grants)])
    if not retried or not start.certain or now >= until or has_retry(session, digest, now):
        return None
    grant = Grant(
        id="",
        kind="retry",
        value=digest,
        risk=max(item.risk for item in retried),
        expires_at=until,
        session=session.id,
        pins=Pins(
            tool=request.call.tool,
            command=request.call.command,
            operations=operations_of(retried),
        ),
        uses=1,
        ends_with="session" if task is None else "task",
        bound_to=None if task is None else task.id,
        source="retry",
        given_by=next((used.given_by for used in start.grants), "policy"),
        terms=start.terms,
        stems=_stems(start),
    )
    return new_grant(grant, session, policy, now)


def _stems(start: Start) -> tuple[str, ...]:
    """The failed call, what it ran on, and the questions behind that; of a retry, those before it as well."""
    stems = [start.call]
    for grant in start.grants:
        stems += (grant.id, grant.question or "", *grant.stems)
    return tuple(filter(None, dict.fromkeys(stems)))

"""A session's consents as the user sees them: the allowlist, the categories of the task, other grants."""

from __future__ import annotations

from sayso.core.conversation import words
from sayso.core.conversation.hearing import Hearing
from sayso.core.durations import DAY
from sayso.core.grants import Grant, HeldGrant, Pins, spent
from sayso.core.model import Risk
from sayso.core.policy import Policy
from sayso.core.session import Session
from sayso.core.session.numbering import new_grant

LISTED = frozenset({"command", "category"})
"""The kinds of grants that have a block of their own in what the user consented to."""


def answer_queries(h: Hearing) -> None:
    command = h.policy.slash_commands.get(h.message.slash or "")
    query = h.message.query or (command.query if command else None)
    if query is None:
        return
    blocks = [words.allowlist_block(list_allowlist_entries(h.session, h.now))]
    if query == "consents":
        task = h.session.task
        name = task.name if task else "none"
        risky = [
            one.grant for one in h.session.all_grants if one.grant.kind == "operation" and _risky(one, h.now)
        ]
        blocks.append(words.task_block(name, list_category_grants(h.session, h.now), risky))
        other = [
            one.grant
            for one in h.session.all_grants
            if not spent(one, h.now) and one.grant.kind not in LISTED
        ]
        blocks += [words.other_block(other)] if other else []
        blocks.append(words.TO_REVOKE)
    h.announced.append("\n\n".join(blocks))


def _risky(held: HeldGrant, now: float) -> bool:
    return held.grant.risk >= Risk.HIGH and not spent(held, now)


def allowlist_entry(
    session: Session,
    command: str,
    risk: Risk,
    policy: Policy,
    now: float,
    *,
    by: str = "user",
    after: int = 0,
) -> Grant:
    """Standing consent for a command, verbatim, in this workspace; `after` so many other new grants."""
    grant = Grant(
        id="",
        kind="command",
        value=command,
        risk=risk,
        expires_at=now + DAY,
        session=session.id,
        pins=Pins(workspace=session.workspace),
        source="allowlist",
        given_by=by,
    )
    return new_grant(grant, session, policy, now, after=after)


def list_allowlist_entries(session: Session, now: float) -> list[HeldGrant]:
    """The live entries of the allowlist in this workspace."""
    return [
        held
        for held in session.all_grants
        if held.grant.kind == "command"
        and not spent(held, now)
        and held.grant.pins.workspace == session.workspace
    ]


def list_category_grants(session: Session, now: float) -> list[Grant]:
    """The categories consented to in the current task."""
    task = session.task
    return [
        held.grant
        for held in session.all_grants
        if held.grant.kind == "category" and not spent(held, now) and task and held.grant.bound_to == task.id
    ]

"""Grants: what agents may do now without asking; given and taken back by operators alone."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from sayso.core.durations import GRANT_MINUTES
from sayso.core.grants import Pins
from sayso.core.model import Risk
from sayso.gate.decoding import convert_to
from sayso.gate.ledger.workflows import cascade_revoke
from sayso.gate.people.passkeys import needs_proof
from sayso.gate.sessions.allowance import NO_PINS
from sayso.gate.sessions.operator_grants import (
    EndedGrant,
    ListedGrant,
    give_grant,
    list_grants,
    list_grants_page,
    revoke_all,
    revoke_grant,
)
from sayso.gate.sessions.revoke import revoke_by_name
from sayso.service.http.callers import own_session, session_for, visible_owner
from sayso.service.http.endpoints import ANY, OPERATORS, Context, Endpoint, Paged
from sayso.service.http.problems import RequestRefused

PAGE = 200
MOST = 1_000


class PinsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values a covered call must match."""

    tool: str | None = None
    workspace: str | None = None
    command: str | None = None
    targets: tuple[str, ...] | None = None


class GrantBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to grant: exactly one of operation, category and command."""

    session: str
    operation: str | None = None
    category: str | None = None
    command: str | None = None
    risk: str | None = None
    minutes: float = GRANT_MINUTES
    uses: int | None = None
    pins: PinsBody | None = None


class NameBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name to take consent back for."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


class WorkflowRevocation(msgspec.Struct, frozen=True):
    workflow: str
    ended: int
    """How many grants ended."""


def list_all_grants(context: Context) -> Paged:
    """A page of what is granted now, in one session or in all the caller may see; the first to end first."""
    wanted, limit = context.query.get("session"), context.whole_number("limit", PAGE, 1, MOST)
    session = None if wanted is None else own_session(context, wanted)
    after = context.query.get("after", "")
    found, more = list_grants_page(
        context.gate, session=session, owner=visible_owner(context), after=after, limit=limit
    )
    return Paged(list(found), {**context.query, "after": found[-1].id} if more else None)


def post_grant(context: Context) -> ListedGrant:
    body: GrantBody = context.body
    _check_signed(context, None if body.risk is None else Risk.parse(body.risk))
    grant = give_grant(
        context.gate,
        body.session,
        by=context.token.name,
        operation=body.operation,
        category=body.category,
        command=body.command,
        risk=None if body.risk is None else Risk.parse(body.risk),
        minutes=body.minutes,
        uses=body.uses,
        pins=NO_PINS if body.pins is None else convert_to(msgspec.structs.asdict(body.pins), Pins),
    )
    return next(one for one in list_grants(context.gate, body.session) if one.id == grant.id)


def delete_grant(context: Context) -> EndedGrant:
    """End a grant. The next decision of any process does not use it."""
    return revoke_grant(context.gate, context.parameters["grant"], by=context.token.name)


def post_revoke_all(context: Context) -> list[EndedGrant]:
    """End every consent of a session and of those it started, and cancel their open questions."""
    session = session_for(context, context.parameters["session"])
    return revoke_all(context.gate, session, by=context.token.name)


def post_revoke_by_name(context: Context) -> list[EndedGrant]:
    """End the consent of a session for what is named, and keep its calls under way from going on.

    The name of an operation, category, domain, tool, command or call, as the listings print it.
    """
    session = session_for(context, context.parameters["session"])
    return revoke_by_name(context.gate, session, context.body.name, by=context.token.name)


def post_revoke_workflow(context: Context) -> WorkflowRevocation:
    """Withdraw trust in a workflow: its class grant, and every run grant in flight."""
    session, name = context.parameters["session"], context.parameters["workflow"]
    return WorkflowRevocation(name, cascade_revoke(context.gate, session, name, by=context.token.name))


ALL: Any = list[ListedGrant]
EVERY: Any = list[EndedGrant]
LISTING = {
    "session": "Only those of this session.",
    "after": "Only those that end after this grant.",
    "limit": f"How many at most, up to {MOST:,}.",
}


def _check_signed(context: Context, risk: Risk | None) -> None:
    """Refuse a grant here where a yes must be signed; it can be given at a terminal."""
    asked = Risk.HIGH if risk is None else risk
    with context.gate.store.read() as tx:
        needed = needs_proof(context.gate, tx, asked)
    if needed:
        raise RequestRefused(
            403,
            "signature_needed",
            f"consent at {asked.word} risk is signed with a passkey, and a grant given here is not",
            hint="answer a question, give a grant of a lower risk, or use `sayso grant` at a terminal",
        )


ENDPOINTS = (
    Endpoint("GET", "/v1/grants", ANY, "List the live grants", list_all_grants, result=ALL, query=LISTING),
    Endpoint(
        "POST",
        "/v1/grants",
        OPERATORS,
        "Give a grant",
        post_grant,
        GrantBody,
        ListedGrant,
        status=201,
    ),
    Endpoint("DELETE", "/v1/grants/{grant}", OPERATORS, "Revoke a grant", delete_grant, result=EndedGrant),
    Endpoint(
        "POST",
        "/v1/sessions/{session}/revoke-all",
        OPERATORS,
        "End all consent of a session",
        post_revoke_all,
        result=EVERY,
    ),
    Endpoint(
        "POST",
        "/v1/sessions/{session}/revoke",
        OPERATORS,
        "End what a session consented to by name",
        post_revoke_by_name,
        NameBody,
        EVERY,
    ),
    Endpoint(
        "POST",
        "/v1/sessions/{session}/workflows/{workflow}/revoke",
        OPERATORS,
        "Withdraw trust in a workflow",
        post_revoke_workflow,
        result=WorkflowRevocation,
    ),
)

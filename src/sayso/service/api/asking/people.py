"""The team over HTTP: its people and rules, who stands in for whom, and every broken glass."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.core.durations import HOUR
from sayso.core.model import Risk
from sayso.core.team import Delegation
from sayso.gate.people.delegations import delegate, end_delegation
from sayso.gate.people.team_view import BrokenGlass, TeamView, find_broken_glass, load_team_view
from sayso.service.http.callers import answerer_of
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint


class DelegationBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person who approves for you: for how long, in which domain, up to which risk."""

    to: str
    hours: float
    domain: str | None = None
    up_to: str = "high"


class DelegationView(msgspec.Struct, frozen=True):
    id: str
    giver: str
    to: str
    until: float
    domain: str | None
    up_to: str


class PersonView(msgspec.Struct, frozen=True):
    name: str
    groups: tuple[str, ...]
    ids: tuple[str, ...]


class PeopleView(msgspec.Struct, frozen=True):
    """The team of the policy in force. Without people, any operator's answer is enough."""

    people: tuple[PersonView, ...]
    rules: tuple[str, ...]
    break_glass: tuple[str, ...]
    delegations: tuple[DelegationView, ...]
    you: str | None = None
    """Who of them you are; null if the policy names nobody for your id."""


def get_people(context: Context) -> PeopleView:
    found: TeamView = load_team_view(context.gate)
    people = tuple(PersonView(name, one.groups, one.ids) for name, one in found.people.items())
    delegations = tuple(map(_describe_delegation, found.delegations))
    you = context.gate.policy.team.person_of(answerer_of(context).identity)
    return PeopleView(people, found.rules, found.break_glass, delegations, you)


def post_delegation(context: Context) -> DelegationView:
    """Let somebody approve for you: for a while, and never more than you may approve yourself."""
    body: DelegationBody = context.body
    made = delegate(
        context.gate,
        answerer_of(context),
        body.to,
        seconds=body.hours * HOUR,
        by=context.token.name,
        domain=body.domain,
        highest=Risk.parse(body.up_to),
    )
    return _describe_delegation(made)


def delete_delegation(context: Context) -> DelegationView:
    """End a delegation. What was approved under it, and is not complete, no longer counts."""
    name = context.parameters["delegation"]
    return _describe_delegation(end_delegation(context.gate, name, by=context.token.name))


def list_broken_glass(context: Context) -> list[BrokenGlass]:
    return find_broken_glass(context.gate)


def _describe_delegation(one: Delegation) -> DelegationView:
    return DelegationView(one.id, one.giver, one.to, one.until, one.domain, one.highest.word)


GLASS: Any = list[BrokenGlass]
ENDPOINTS = (
    Endpoint("GET", "/v1/people", OPERATORS, "Get the team", get_people, result=PeopleView),
    Endpoint(
        "GET",
        "/v1/people/broken-glass",
        OPERATORS,
        "List every broken glass",
        list_broken_glass,
        result=GLASS,
    ),
    Endpoint(
        "POST",
        "/v1/people/delegations",
        OPERATORS,
        "Let somebody approve for you",
        post_delegation,
        DelegationBody,
        DelegationView,
        status=201,
    ),
    Endpoint(
        "DELETE",
        "/v1/people/delegations/{delegation}",
        OPERATORS,
        "End a delegation",
        delete_delegation,
        result=DelegationView,
    ),
)

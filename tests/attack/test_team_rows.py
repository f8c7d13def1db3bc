"""Approvals, delegations and revocations of a team do not come back, or go away, with rows of before.

Whoever does this can write the database, and neither read the key nor write the folder it lies in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.gate.audit.verifying.check_rows import check_rows
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import with_token
from sayso.gate.people.delegations import delegate, end_delegation
from sayso.gate.people.tokens import issue_token, revoke_token
from sayso.gate.sealed_values import TamperedValue
from tests.attack.opening import Again
from tests.support.by_hand import Place, postgres_place, sqlite_place
from tests.support.postgres_place import new_schema
from tests.support.teams import ANA, BO, CY, ED, allow, asks, team_policy, under, verdict


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    policy = team_policy()
    if request.param == "sqlite":
        made = sqlite_place(tmp_path, policy=policy)
    else:
        made = postgres_place(new_schema(request.getfixturevalue("postgres_server")), tmp_path, policy)
    with closing(made):
        yield made


def meta_of(place: Place, begins: str) -> list[tuple[str, tuple[str]]]:
    return [("meta", key) for key in place.hand.copy("meta")["meta"] if key[0].startswith(begins)]


def test_an_approval_of_another_question_is_not_one_of_this(place: Place, again: Again) -> None:
    _, first = asks(place.gate)
    allow(place.gate, first, ANA)
    request, second = asks(place.gate)
    before = place.hand.copy("meta")
    body = before["meta"][(f"approvals/{first}",)]
    before["meta"][(f"approvals/{second}",)] = {**body, "name": f"approvals/{second}"}
    place.hand.put_back(before, [("meta", (f"approvals/{second}",))])
    gate = again(place)
    with pytest.raises(TamperedValue):
        allow(gate, second, BO)
    assert verdict(gate, request) == "ask"


def test_approvals_that_were_replaced_do_not_come_back(place: Place, again: Again) -> None:
    """Ana approved by a token that was then revoked; the token's row is put back."""
    _, token = issue_token(place.gate, "operator", "ana", by="root")
    gate = under(place.gate, team_policy(ana=token.id))
    request, question = asks(gate)
    allow(gate, question, with_token(token.id))
    before = place.hand.copy("meta")
    revoke_token(gate, token.id, by="root")
    place.hand.put_back(before, meta_of(place, "token/"))
    gate = under(again(place), team_policy(ana=token.id))
    with suppress(SaysoError):
        assert allow(gate, question, BO).state == "open"
    assert verdict(gate, request) == "ask"


def test_a_deleted_row_of_approvals_is_no_new_beginning(place: Place, again: Again) -> None:
    request, question = asks(place.gate)
    allow(place.gate, question, ANA)
    empty = place.hand.copy("meta")
    del empty["meta"][(f"approvals/{question}",)]
    place.hand.put_back(empty, [("meta", (f"approvals/{question}",))])
    gate = again(place)
    with pytest.raises(TamperedValue):
        allow(gate, question, BO)
    assert verdict(gate, request) == "ask"
    assert allow(gate, question, CY, "deny").state == "answered"
    assert verdict(gate, request) == "deny"


def test_a_closed_question_does_not_open_again_for_one_more_approval(place: Place, again: Again) -> None:
    request, question = asks(place.gate)
    allow(place.gate, question, ANA)
    before = place.hand.copy("questions")
    allow(place.gate, question, CY, "deny")
    place.hand.put_back(before)
    gate = again(place)
    with pytest.raises(SaysoError):
        allow(gate, question, BO)
    assert verdict(gate, request) == "deny"


def test_a_delegation_that_ended_does_not_come_back(place: Place, again: Again) -> None:
    made = delegate(place.gate, ANA, "ed", seconds=600, by="ana")
    before = place.hand.copy("meta")
    end_delegation(place.gate, made.id, by="ana")
    place.hand.put_back(before, [("meta", ("delegations",))])
    gate: Gate = again(place)
    request, question = asks(gate)
    with pytest.raises(SaysoError):
        allow(gate, question, ED)
    assert verdict(gate, request) == "ask"
    assert any("delegations" in one.text for one in check_rows(gate))

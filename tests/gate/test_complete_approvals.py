"""A team's approval that is complete, and has not been used: it serves while those who gave it count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.approvals import load_approval
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.answerers import on_page, with_token
from sayso.gate.people.delegations import delegate, end_delegation
from sayso.gate.people.passkeys import remove_passkey
from sayso.gate.people.tokens import issue_token, revoke_token
from sayso.gate.words import APPROVER_GONE
from tests.support.answers import edit_and_allow
from tests.support.authenticator import Authenticator
from tests.support.gates import KEY, Clock, embedded
from tests.support.signing import added
from tests.support.teams import ANA, BO, CY, ED, allow, asks, pay, team_policy, under, verdict

Case = tuple[Gate, Callable[[Gate, str], None], Callable[[], object]]
"""A gate; how its people approve a question; and what takes one of them away."""
MINUTE = 60.0


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(request.param, tmp_path, clock) as store:
        yield open_gate(team_policy(), store, key=KEY)


def by_token(gate: Gate, clock: Clock) -> Case:
    _, token = issue_token(gate, "operator", "ana", by="root")

    def approve(here: Gate, question: str) -> None:
        allow(here, question, with_token(token.id))
        allow(here, question, BO)

    ruled = under(gate, team_policy(ana=token.id))
    return ruled, approve, lambda: revoke_token(ruled, token.id, by="root")


def by_passkey(gate: Gate, clock: Clock) -> Case:
    passkey = added(gate, Authenticator()).id

    def approve(here: Gate, question: str) -> None:
        allow(here, question, on_page("ana", passkey))
        allow(here, question, BO)

    return gate, approve, lambda: remove_passkey(gate, passkey, by="root")


def by_delegate(gate: Gate, clock: Clock) -> Case:
    made = delegate(gate, ANA, "ed", seconds=5 * MINUTE, by="ana")

    def approve(here: Gate, question: str) -> None:
        allow(here, question, ED)
        allow(here, question, CY)

    return gate, approve, lambda: end_delegation(gate, made.id, by="ana")


def by_delegate_for_a_while(gate: Gate, clock: Clock) -> Case:
    gate, approve, _ = by_delegate(gate, clock)

    def wait() -> None:
        clock.now += 5 * MINUTE

    return gate, approve, wait


def by_delegate_who_gets_it_again(gate: Gate, clock: Clock) -> Case:
    gate, approve, end = by_delegate(gate, clock)

    def end_and_give_again() -> None:
        end()
        delegate(gate, ANA, "ed", seconds=5 * MINUTE, by="ana")

    return gate, approve, end_and_give_again


def with_glass(gate: Gate, clock: Clock) -> Case:
    _, token = issue_token(gate, "operator", "ana", by="root")
    ruled = under(gate, team_policy(ana=token.id, glass="finance"))

    def approve(here: Gate, question: str) -> None:
        allow(here, question, with_token(token.id), reason="the site is down", glass=True)

    return ruled, approve, lambda: revoke_token(ruled, token.id, by="root")


WAYS = [
    by_token,
    by_passkey,
    by_delegate,
    by_delegate_for_a_while,
    by_delegate_who_gets_it_again,
    with_glass,
]


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_with_what_one_of_them_approved_by(
    gate: Gate, clock: Clock, way: Callable[[Gate, Clock], Case]
) -> None:
    gate, approve, taken = way(gate, clock)
    request, question = asks(gate)
    approve(gate, question)
    taken()
    with gate.store.read() as tx:
        row = tx.question(question)
        assert row is not None
        approval = load_approval(gate, tx, row)
    assert approval is not None
    assert (approval.ended, approval.why) == ("taken_back", APPROVER_GONE)
    assert verdict(gate, request) == "ask"
    assert verify_audit(gate).clean


@pytest.mark.parametrize("way", WAYS)
def test_it_serves_while_all_of_them_count(
    gate: Gate, clock: Clock, way: Callable[[Gate, Clock], Case]
) -> None:
    gate, approve, taken = way(gate, clock)
    request, question = asks(gate)
    approve(gate, question)
    with gate.store.read() as tx:
        row = tx.question(question)
        assert row is not None
        approval = load_approval(gate, tx, row)
    assert approval is not None
    assert approval.ended is None
    assert verdict(gate, request) == "allow"
    taken()
    assert verdict(gate, request) == "ask"


@pytest.mark.parametrize("revoked", [False, True])
def test_that_of_an_edited_call_ends_likewise(gate: Gate, revoked: bool) -> None:
    _, token = issue_token(gate, "operator", "ana", by="root")
    gate = under(gate, team_policy(ana=token.id))
    request, question = asks(gate)
    edited = pay(request.session, 3)
    _, last = (
        edit_and_allow(gate, question, edited, by="x", who=who, seen_edited=edited.digest)
        for who in (with_token(token.id), BO)
    )
    assert last.state == "answered"
    if revoked:
        revoke_token(gate, token.id, by="root")
    assert verdict(gate, edited) == ("ask" if revoked else "allow")


def test_a_token_that_approved_nothing_takes_nothing_with_it(gate: Gate) -> None:
    _, token = issue_token(gate, "operator", "ana", by="root")
    gate = under(gate, team_policy(ana=token.id))
    request, question = asks(gate)
    for who in (BO, CY):
        allow(gate, question, who)
    revoke_token(gate, token.id, by="root")
    assert verdict(gate, request) == "allow"


def test_the_decision_names_everybody_who_approved(gate: Gate) -> None:
    request, question = asks(gate)
    for who in (BO, CY):
        allow(gate, question, who)
    assert authorize(gate, request).decision.reason == "bo and cy approved exactly this call"


def test_the_log_says_answered_of_the_last_one_alone(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    _, question = asks(gate)
    with caplog.at_level("INFO", "sayso.asking"):
        for who in (BO, CY):
            allow(gate, question, who)
    first, last = caplog.messages
    assert first == f"question {question} approved by bo: 1 of 2, waits for finance: ana or cy"
    assert last == f"question {question} answered: once by cy"

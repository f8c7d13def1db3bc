"""Somebody approves a proposal, and loses what they approved by before it is applied: it is not applied."""

from __future__ import annotations

import pytest

from sayso.core.proposals.proposal import Proposal, ProposalRefused
from sayso.gate.people.answerers import Answerer, at_terminal, on_page, with_token
from sayso.gate.people.tokens import issue_token, revoke_token
from sayso.gate.proposals.file_proposal import approve_proposal
from sayso.policy import load_text
from tests.attack.test_proposals import NEW, OLD, Desk, desk
from tests.support.teams import under

__all__ = ["desk"]
TEAM = 'extends: [balanced]\npeople: {ana: {ids: ["email:work/ana@example.com"]}}\n'


def approved_by(desk: Desk, who: Answerer) -> Proposal:
    one = approve_proposal(desk.gate, desk.file().id, by="ana", who=who)
    desk.pass_time(7_200)
    return one


def check_not_applied(desk: Desk, one: Proposal) -> None:
    """The service does not apply it, nobody else can, and another operator may approve it."""
    desk.carry_on()
    assert (desk.state(one), desk.text()) == ("proposed", OLD)
    with pytest.raises(ProposalRefused, match="proposed, not approved"):
        desk.apply(one)
    approve_proposal(desk.gate, one.id, by="bo", who=at_terminal("bo"))
    desk.carry_on()
    assert (desk.state(one), desk.text()) == ("applied", NEW)


def test_what_a_revoked_token_approved_is_not_applied(desk: Desk) -> None:
    _, token = issue_token(desk.gate, "operator", "ana", by="root")
    one = approved_by(desk, with_token(token.id))
    revoke_token(desk.gate, token.id, by="root")
    check_not_applied(desk, one)


def test_nor_by_somebody_who_asks_for_it(desk: Desk) -> None:
    _, token = issue_token(desk.gate, "operator", "ana", by="root")
    one = approved_by(desk, with_token(token.id))
    revoke_token(desk.gate, token.id, by="root")
    with pytest.raises(ProposalRefused, match="may approve nothing any more"):
        desk.apply(one)
    assert (desk.state(one), desk.text()) == ("proposed", OLD)


def test_what_a_removed_passkey_vouched_for_is_not_applied(desk: Desk) -> None:
    check_not_applied(desk, approved_by(desk, on_page("ana", passkey="gone")))


def test_what_somebody_approved_who_left_the_team_is_not_applied(desk: Desk) -> None:
    desk.gate = under(desk.gate, load_text(TEAM))
    one = approved_by(desk, Answerer("email:work/ana@example.com"))
    desk.gate = under(desk.gate, load_text(TEAM.replace("ana@", "bo@")))
    check_not_applied(desk, one)


@pytest.mark.parametrize("who", [at_terminal("ana"), on_page("ana")])
def test_an_approval_that_nothing_was_taken_from_is_applied(desk: Desk, who: Answerer) -> None:
    one = approved_by(desk, who)
    desk.carry_on()
    assert (desk.state(one), desk.text()) == ("applied", NEW)


def test_a_live_token_of_another_does_not_speak_for_a_revoked_one(desk: Desk) -> None:
    _, token = issue_token(desk.gate, "operator", "ana", by="root")
    issue_token(desk.gate, "operator", "ana", by="root")
    one = approved_by(desk, with_token(token.id))
    revoke_token(desk.gate, token.id, by="root")
    check_not_applied(desk, one)

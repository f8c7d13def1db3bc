"""A team approves: so many of these people, each once, none of whom asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from sayso.core.audit.notices import notice_of
from sayso.core.durations import DAY
from sayso.core.model import Operation, Risk
from sayso.core.team import Person, join_teams, make_team
from sayso.core.words import approvals_line
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.answerers import (
    Answerer,
    at_terminal,
    find_requesters,
    on_page,
    on_surface,
    with_token,
)
from sayso.gate.people.delegations import DelegationRefused, delegate, end_delegation
from sayso.gate.people.team_view import load_team_view
from sayso.gate.people.tokens import issue_token, revoke_token
from sayso.gate.policy.acting_policy import OtherPolicy
from sayso.gate.questions.read import question_of
from sayso.gate.questions.team.progress import load_progress
from sayso.gate.questions.team.quorum import ApprovalProgress, NotApprover, OwnApproval
from sayso.gate.sessions.allowance import GrantRefused
from sayso.gate.sessions.messages import ask_in_conversation, record_message
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from tests.support.answers import edit_and_allow
from tests.support.gates import KEY, Clock, embedded
from tests.support.teams import (
    ANA,
    BO,
    CY,
    DI,
    ED,
    acting_under,
    allow,
    asks,
    pay,
    team_policy,
    under,
    under_since,
    verdict,
)

MINUTE = 60.0


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(request.param, tmp_path, clock) as store:
        yield open_gate(team_policy(), store, key=KEY)


def events_named(gate: Gate, name: str) -> list[bytes]:
    with gate.store.read() as tx:
        return [row.body or b"" for row in tx.entries(gate.stream) if row.event == name]


def approvals_of(gate: Gate, question: str) -> str | None:
    with gate.store.read() as tx:
        read = question_of(gate, tx, question)
        found = load_progress(gate, tx, read.row, read.question)
    return None if found is None else approvals_line(found.approved, found.missing)


def progress_for(gate: Gate, question: str, who: Answerer) -> ApprovalProgress:
    with gate.store.read() as tx:
        read = question_of(gate, tx, question)
        found = load_progress(gate, tx, read.row, read.question, who)
    assert found is not None
    return found


def test_two_people_allow_what_two_have_to_approve(gate: Gate) -> None:
    request, question = asks(gate)
    first = allow(gate, question, ANA)
    assert (first.state, first.yours, first.missing) == ("open", True, "1 of 2, waits for finance: bo or cy")
    assert verdict(gate, request) == "ask"
    last = allow(gate, question, BO)
    assert (last.state, last.by, last.missing) == ("answered", "ana and bo", None)
    assert verdict(gate, request) == "allow"
    assert verdict(gate, request) == "ask"  # it was for one call, once
    assert len(events_named(gate, "APPROVED")) == 1
    assert b"ana by page:ana" in events_named(gate, "ANSWERED")[0]
    assert verify_audit(gate).clean


def test_one_deny_closes_the_question(gate: Gate) -> None:
    request, question = asks(gate)
    allow(gate, question, ANA)
    assert allow(gate, question, ED, "deny").state == "answered"
    assert not allow(gate, question, BO).yours
    assert verdict(gate, request) == "deny"


def test_one_person_counts_once_with_every_id_they_have(gate: Gate) -> None:
    request, question = asks(gate)
    for who in (ANA, at_terminal("ana"), on_surface("phone", "1"), ANA):
        assert allow(gate, question, who).state == "open"
    assert approvals_of(gate, question) == "1 of 2, waits for finance: bo or cy (approved: ana)"
    assert verdict(gate, request) == "ask"


@pytest.mark.parametrize("who", [None, ED, DI, on_page("mallory"), on_page("t_a"), at_terminal("page:ana")])
def test_nobody_else_counts_and_the_attempt_is_recorded(gate: Gate, who: object) -> None:
    _, question = asks(gate)
    with pytest.raises(NotApprover):
        allow(gate, question, who)  # type: ignore[arg-type]
    assert approvals_of(gate, question) == "0 of 2, waits for finance: ana, bo or cy"
    assert len(events_named(gate, "APPROVAL_REFUSED")) == 1


def test_whoever_asked_does_not_approve_by_any_of_their_ids(gate: Gate) -> None:
    session = open_session(gate, agent="payer", owner="t_a")
    _, question = asks(gate, session)
    for who in (ANA, at_terminal("ana"), on_surface("phone", "1")):
        with pytest.raises(NotApprover, match="asked for this"):
            allow(gate, question, who)
    assert approvals_of(gate, question) == "0 of 2, waits for finance: bo or cy"


def test_a_child_session_asks_for_whoever_its_parent_asks_for(gate: Gate) -> None:
    parent = open_session(gate, agent="payer", owner="t_a")
    _, question = asks(gate, open_session(gate, agent="sub", owner="t_other", parent=parent))
    with pytest.raises(NotApprover):
        allow(gate, question, ANA)


def test_whoever_issued_a_token_that_is_nobodys_counts_as_asking_with_it(gate: Gate) -> None:
    _, token = issue_token(gate, "agent", "second", by="ana", issuer="page:ana")
    _, question = asks(gate, open_session(gate, agent="second", owner=token.id))
    with pytest.raises(NotApprover, match="asked for this"):
        allow(gate, question, ANA)
    revoke_token(gate, token.id, by="ana")
    with pytest.raises(NotApprover, match="asked for this"):
        allow(gate, question, ANA)


def test_whoever_issued_a_token_counts_as_asking_with_all_that_it_issues(gate: Gate) -> None:
    """Ana makes a token for herself, and with that one the agent's: nobody declares either."""
    _, own = issue_token(gate, "operator", "mine", by="ana", issuer="page:ana")
    _, token = issue_token(gate, "agent", "second", by="mine", issuer=f"token:{own.id}")
    revoke_token(gate, own.id, by="ana")
    _, question = asks(gate, open_session(gate, agent="second", owner=token.id))
    with pytest.raises(NotApprover, match="asked for this"):
        allow(gate, question, ANA)


def test_a_policy_that_waits_takes_nobody_out_of_those_who_asked(gate: Gate) -> None:
    """Neither by declaring the token as somebody else's, nor by leaving the user out."""
    _, token = issue_token(gate, "agent", "second", by="ana", issuer="page:ana")
    waiting = make_team({"ghost": Person(ids=(f"token:{token.id}",))}, (), (), None)
    joined = join_teams(team_policy().team, waiting)
    sessions = [
        open_session(gate, agent="second", owner=token.id),
        open_session(gate, agent="second", owner="t_host", user="ana"),
    ]
    with gate.store.read() as tx:
        for session in sessions:
            assert "ana" in find_requesters(gate, tx, session, joined).people


def test_the_account_of_a_local_program_does_not_approve_what_it_asks(gate: Gate) -> None:
    _, question = asks(gate, open_session(gate, agent="payer", owner="program"))
    with pytest.raises(NotApprover):
        allow(gate, question, at_terminal("ana"))
    assert allow(gate, question, ANA).state == "open"


def test_the_user_of_a_session_does_not_approve(gate: Gate) -> None:
    _, question = asks(gate, open_session(gate, agent="payer", owner="t_host", user="bo"))
    with pytest.raises(NotApprover):
        allow(gate, question, BO)


def test_a_revoked_token_does_not_count_even_if_it_approved_before(gate: Gate) -> None:
    _, token = issue_token(gate, "operator", "ana", by="root")
    gate = under(gate, team_policy(ana=token.id))
    request, question = asks(gate)
    assert allow(gate, question, with_token(token.id)).missing == "1 of 2, waits for finance: bo or cy"
    revoke_token(gate, token.id, by="root")
    assert approvals_of(gate, question) == "0 of 2, waits for finance: ana, bo or cy"
    assert allow(gate, question, BO).state == "open"
    assert verdict(gate, request) == "ask"


def test_an_operators_token_of_the_same_name_is_nobody(gate: Gate) -> None:
    _, token = issue_token(gate, "operator", "ana", by="bo", issuer="page:bo")
    _, question = asks(gate)
    with pytest.raises(NotApprover):
        allow(gate, question, with_token(token.id))


def test_somebody_removed_from_the_group_does_not_count_any_more(gate: Gate) -> None:
    request, question = asks(gate)
    allow(gate, question, ANA)
    policy = team_policy()
    people = {**policy.team.people, "ana": Person((), policy.team.people["ana"].ids)}
    team = make_team(people, policy.team.approvals, policy.team.break_glass, None)
    gate = under(gate, msgspec.structs.replace(policy, team=team))
    assert approvals_of(gate, question) == "0 of 2, waits for finance: bo or cy"
    assert allow(gate, question, BO).missing == "1 of 2, waits for finance: cy"
    assert verdict(gate, request) == "ask"


@pytest.mark.parametrize("away", [1.0, 3 * DAY], ids=["a moment", "days"])
def test_somebody_who_left_and_came_back_approves_again(gate: Gate, clock: Clock, away: float) -> None:
    """What they approved before they left does not count again: it may be why they had to."""
    gate = under_since(gate, team_policy(lasts="7d"))
    request, question = asks(gate)
    assert allow(gate, question, ANA).missing == "1 of 2, waits for finance: bo or cy"
    clock.now += 1
    under_since(gate, team_policy(lasts="7d", without="ana"))
    clock.now += away
    gate = under_since(gate, team_policy(lasts="7d"))
    assert approvals_of(gate, question) == "0 of 2, waits for finance: ana, bo or cy"
    assert allow(gate, question, BO).missing == "1 of 2, waits for finance: ana or cy"
    assert allow(gate, question, ANA).state == "answered"
    assert verdict(gate, request) == "allow"


def test_a_policy_tightened_while_a_question_is_open_counts(gate: Gate) -> None:
    loose = under(gate, team_policy(needed=1))
    request, question = asks(loose)
    strict = under(gate, team_policy(needed=2))
    assert allow(strict, question, ANA).state == "open"
    assert verdict(strict, request) == "ask"


def test_an_approval_given_under_a_looser_rule_does_not_serve_under_a_stricter_one(gate: Gate) -> None:
    loose = under(gate, team_policy(needed=1))
    request, question = asks(loose)
    assert allow(loose, question, ANA).state == "answered"
    assert verdict(under(gate, team_policy(needed=2)), request) == "ask"
    assert verdict(loose, request) == "ask"  # of a gate under a policy that is not in force
    assert verdict(under(gate, loose.policy), request) == "allow"


def test_an_answer_of_a_gate_without_the_team_allows_nothing(gate: Gate) -> None:
    request, question = asks(gate)
    assert allow(acting_under(gate, load_preset("balanced")), question, None).state == "answered"
    assert verdict(gate, request) == "ask"
    gate = under(gate, gate.policy)
    request, question = asks(gate)
    with pytest.raises(OtherPolicy):
        allow(acting_under(gate, load_preset("balanced")), question, None)


def test_below_its_risk_a_rule_asks_for_nothing(gate: Gate) -> None:
    call = make_call("look", {})
    request = make_request(call, [Operation("bank.look")], session=open_session(gate, agent="a", owner="t_x"))
    question = authorize(gate, request).question
    assert question is not None
    assert approvals_of(gate, question.id) is None
    assert allow(gate, question.id, None).state == "answered"
    assert verdict(gate, request) == "allow"


def test_only_once_is_offered_and_no_grant_stands_in(gate: Gate) -> None:
    request, question = asks(gate)
    with gate.store.read() as tx:
        offers = [one.answer for one in question_of(gate, tx, question).question.offers]
    assert offers == ["once", "deny"]
    with pytest.raises(GrantRefused):
        give_grant(gate, request.session, operation="bank.pay", uses=1, by="root")


def test_a_yes_in_the_conversation_approves_nothing(gate: Gate) -> None:
    request, question = asks(gate)
    ask_in_conversation(gate, question)
    heard = record_message(gate, request.session, "yes")
    assert "not an answer: this needs the approvals of others" in heard.did
    assert verdict(gate, request) == "ask"
    ask_in_conversation(gate, question)
    record_message(gate, request.session, "no")
    assert verdict(gate, request) == "deny"


def test_an_edited_call_needs_approvals_of_the_same_edit(gate: Gate) -> None:
    request, question = asks(gate)
    edited, other = pay(request.session, 4), pay(request.session, 3)
    allow(gate, question, ANA)
    how = {"by": "bo", "who": BO, "seen_edited": edited.digest}
    assert edit_and_allow(gate, question, edited, **how).missing == "1 of 2, waits for finance: ana or cy"
    how = {"by": "cy", "who": CY, "seen_edited": other.digest}
    assert edit_and_allow(gate, question, other, **how).state == "open"
    how = {"by": "ana", "who": ANA, "seen_edited": edited.digest}
    assert edit_and_allow(gate, question, edited, **how).state == "answered"
    assert verdict(gate, edited) == "allow"
    assert verdict(gate, request) == "ask"
    assert verdict(gate, other) == "ask"


def test_after_a_time_others_may_approve_too(gate: Gate, clock: Clock) -> None:
    gate = under(gate, team_policy(more=", escalate: {after: 15m, to: [leads]}"))
    _, question = asks(gate)
    with pytest.raises(NotApprover):
        allow(gate, question, DI)
    clock.now += 15 * MINUTE
    assert allow(gate, question, DI).missing == "1 of 2, waits for finance: ana, bo or cy"
    assert allow(gate, question, ANA).state == "answered"


def test_a_delegate_takes_one_seat_and_never_a_second(gate: Gate) -> None:
    delegate(gate, ANA, "ed", seconds=600, by="ana")
    request, question = asks(gate)
    assert allow(gate, question, ED).state == "open"
    assert allow(gate, question, ANA).state == "open"  # her seat is taken
    assert verdict(gate, request) == "ask"
    assert allow(gate, question, CY).state == "answered"


def test_a_delegation_narrows_expires_and_ends(gate: Gate, clock: Clock) -> None:
    low = delegate(gate, ANA, "ed", seconds=600, by="ana", highest=Risk.MODERATE)
    elsewhere = delegate(gate, ANA, "ed", seconds=600, by="ana", domain="files")
    _, question = asks(gate)
    with pytest.raises(NotApprover):
        allow(gate, question, ED)
    for one in (low, elsewhere):
        end_delegation(gate, one.id, by="ana")
    made = delegate(gate, ANA, "ed", seconds=600, by="ana")
    assert allow(gate, question, ED).missing == "1 of 2, waits for finance: bo or cy"  # ana's seat is taken
    clock.now += 600
    assert load_team_view(gate).delegations == ()
    assert made.until == clock.now
    assert allow(gate, question, BO).state == "open"  # what ed gave has ended with the delegation


def test_approvals_name_those_who_count_and_those_who_would_add_something(gate: Gate) -> None:
    delegate(gate, ANA, "ed", seconds=600, by="ana")
    _, question = asks(gate)
    allow(gate, question, ANA)
    allow(gate, question, ED)  # in a seat that ana has already taken
    assert approvals_of(gate, question) == "1 of 2, waits for finance: bo or cy (approved: ana)"


def test_everybody_is_told_what_their_allow_would_do_and_that_is_what_it_does(gate: Gate) -> None:
    delegate(gate, BO, "ed", seconds=600, by="bo")
    _, question = asks(gate, open_session(gate, agent="payer", owner="t_agent", user="cy"))
    allow(gate, question, ANA)
    for who, said, glass in [
        (ANA, "ana has approved this; it waits for others", False),
        (at_terminal("ana"), "ana has approved this; it waits for others", False),
        (CY, "cy asked for this, or somebody asked in their name: others have to approve it", False),
        (DI, "di is not among those who have to approve this", True),
        (BO, "", False),
        (ED, "", False),
    ]:
        yours = progress_for(gate, question, who).yours
        assert yours is not None
        assert (yours.counts, yours.why_not, yours.glass) == (not said, said, glass)
    for who in (CY, DI):
        with pytest.raises(NotApprover, match=progress_for(gate, question, who).yours.why_not):  # type: ignore[union-attr]
            allow(gate, question, who)
    assert allow(gate, question, ED).state == "answered"


def test_nobody_is_told_that_their_allow_would_count_where_it_is_not_known_who_they_are(gate: Gate) -> None:
    _, question = asks(gate)
    yours = progress_for(gate, question, on_page("mallory")).yours
    assert yours is not None
    assert not yours.counts
    assert "names nobody for page:mallory" in yours.why_not


def test_an_approval_rests_on_the_very_delegation_it_was_given_under(gate: Gate) -> None:
    """One that is given again, or later, revives nothing: whoever holds it approves again, and may."""
    made = delegate(gate, ANA, "ed", seconds=600, by="ana")
    _, question = asks(gate)
    assert allow(gate, question, ED).state == "open"
    end_delegation(gate, made.id, by="ana")
    delegate(gate, ANA, "ed", seconds=600, by="ana")
    assert allow(gate, question, BO).state == "open"
    with gate.store.read() as tx:
        read = question_of(gate, tx, question)
        seen = load_progress(gate, tx, read.row, read.question, ED)
    assert seen is not None
    assert (seen.approved, seen.there, seen.yours) == (("bo",), 1, OwnApproval(counts=True))
    assert "ed" in seen.missing
    assert allow(gate, question, ED).state == "answered"


def test_a_delegation_for_a_domain_that_is_none_is_refused(gate: Gate) -> None:
    """Somebody who misspells it believes that they are represented."""
    with pytest.raises(DelegationRefused, match="bnak"):
        delegate(gate, ANA, "ed", seconds=600, by="ana", domain="bnak")


def test_a_delegate_passes_nothing_on(gate: Gate) -> None:
    delegate(gate, ANA, "di", seconds=600, by="ana")
    delegate(gate, DI, "ed", seconds=600, by="di")
    _, question = asks(gate)
    with pytest.raises(NotApprover):
        allow(gate, question, ED)


@pytest.mark.parametrize(("who", "to"), [(ANA, "ana"), (ANA, "mallory"), (on_page("mallory"), "bo")])
def test_only_people_of_the_policy_delegate_to_each_other(gate: Gate, who: object, to: str) -> None:
    with pytest.raises(DelegationRefused):
        delegate(gate, who, to, seconds=600, by="x")  # type: ignore[arg-type]


def test_whoever_stands_in_for_the_requester_does_not_approve(gate: Gate) -> None:
    delegate(gate, ANA, "bo", seconds=600, by="ana")
    _, question = asks(gate, open_session(gate, agent="payer", owner="t_a"))
    with pytest.raises(NotApprover):
        allow(gate, question, BO)


def test_breaking_the_glass_allows_alone_with_a_reason_and_an_alarm(gate: Gate) -> None:
    request, question = asks(gate)
    for who, reason in (
        (DI, "short"),
        (DI, "          x"),
        (DI, "\u200b" * 20),
        (DI, "\u3164\u2800\ufe0f" * 5 + "ok"),
        (ANA, "the site is down"),
        (ED, "the site is down"),
    ):
        with pytest.raises(NotApprover):
            allow(gate, question, who, reason=reason, glass=True)
    broken = allow(gate, question, DI, reason="the site is down", glass=True)
    assert (broken.state, broken.by) == ("answered", "di")
    assert verdict(gate, request) == "allow"
    with gate.store.read() as tx:
        rows = [row for row in tx.entries(gate.stream) if row.event == "GLASS_BROKEN"]
    notice = notice_of(gate.stream, rows[0].seq, rows[0].at, rows[0].event, rows[0].body)
    assert notice is not None
    assert "di broke the glass" in notice.text
    assert "the site is down" in notice.text


def test_the_glass_does_not_open_what_is_blocked_or_what_oneself_asks(gate: Gate) -> None:
    session = open_session(gate, agent="payer", owner="t_x")
    close = make_request(make_call("close", {}), [Operation("bank.close")], session=session)
    assert authorize(gate, close).question is None
    _, question = asks(gate, open_session(gate, agent="payer", owner="t_x", user="di"))
    with pytest.raises(NotApprover):
        allow(gate, question, DI, reason="the site is down", glass=True)


def test_without_rules_everything_is_as_it_was(gate: Gate) -> None:
    plain = under(gate, load_preset("balanced"))
    request, question = asks(plain)
    assert allow(plain, question, None).state == "answered"
    assert verdict(plain, request) == "allow"


def test_a_delegation_ends_with_the_token_it_was_given_by(gate: Gate) -> None:
    """A stolen token that was found out leaves nobody behind who approves for its owner."""
    _, token = issue_token(gate, "operator", "ana", by="root")
    gate = under(gate, team_policy(ana=token.id))
    delegate(gate, with_token(token.id), "ed", seconds=600, by="ana")
    _, question = asks(gate)
    assert allow(gate, question, ED).state == "open"
    revoke_token(gate, token.id, by="root")
    assert load_team_view(gate).delegations == ()
    with pytest.raises(NotApprover):
        allow(gate, question, ED)
    assert allow(gate, question, BO).state == "open"  # ed's approval ended with it


def test_a_delegation_of_somebody_who_left_serves_nobody_who_gets_their_name(gate: Gate) -> None:
    delegate(gate, ANA, "ed", seconds=600, by="ana")
    people = team_policy().team.people
    other = {**people, "ana": Person(("finance",), ("page:ana-of-sales",))}
    team = make_team(other, team_policy().team.approvals, (), None)
    gate = under(gate, msgspec.structs.replace(team_policy(), team=team))
    _, question = asks(gate)
    with pytest.raises(NotApprover):
        allow(gate, question, ED)
    assert allow(gate, question, on_page("ana-of-sales")).state == "open"


def test_a_delegation_to_somebody_who_left_serves_nobody_who_gets_their_name(gate: Gate) -> None:
    delegate(gate, ANA, "ed", seconds=600, by="ana")
    other = {**team_policy().team.people, "ed": Person((), ("page:ed-of-sales",))}
    team = make_team(other, team_policy().team.approvals, (), None)
    gate = under(gate, msgspec.structs.replace(team_policy(), team=team))
    _, question = asks(gate)
    with pytest.raises(NotApprover):
        allow(gate, question, on_page("ed-of-sales"))
    assert load_team_view(gate).delegations == ()


def test_a_delegation_to_somebody_who_cannot_answer_is_refused(gate: Gate) -> None:
    other = {**team_policy().team.people, "ed": Person()}
    team = make_team(other, team_policy().team.approvals, (), None)
    gate = under(gate, msgspec.structs.replace(team_policy(), team=team))
    with pytest.raises(DelegationRefused, match="ed has no id"):
        delegate(gate, ANA, "ed", seconds=600, by="ana")

"""A team over HTTP: the token says who answers, and everybody sees whose approvals are missing."""

from __future__ import annotations

import asyncio

import pytest

from sayso.gate.gate import Gate
from sayso.gate.people.tokens import issue_token
from sayso.policy import load_text
from tests.service.conftest import POLICY
from tests.support.service import PUSH, WRITE, Service
from tests.support.teams import under

TEAM = """
people:
  ana: {{groups: [leads, oncall], ids: ["token:{ana}"]}}
  bo: {{groups: [leads], ids: ["token:{bo}"]}}
  cy: {{groups: [leads], ids: ["token:{host}"]}}
approvals:
  - {{domain: git, risk: high, from: [leads], needed: 2}}
break_glass: [oncall]
"""


@pytest.fixture
def service(gate: Gate, runner: asyncio.Runner) -> Service:
    made = Service(gate, runner)
    for name in ("ana", "bo", "same_name"):
        called = "ana" if name == "same_name" else name
        made.secrets[name], made.tokens[name] = issue_token(gate, "operator", called, by="test")
    ids = {name: made.tokens[name].id for name in ("ana", "bo", "host")}
    made.running.gate = under(gate, load_text(POLICY + TEAM.format(**ids)))
    return made


def answer(service: Service, who: str, question: str, **more: object) -> tuple[int, dict[str, object]]:
    seen = service.told("operator", "GET", f"/v1/questions/{question}")["digest"]
    body = {"answer": "once", "digest": seen, **more}
    told = service.post(who, f"/v1/questions/{question}/answer", body)
    return told.status_code, told.json()


def test_two_tokens_of_two_people_allow_together(service: Service) -> None:
    question = service.asked("agent", PUSH)
    told = service.told("operator", "GET", f"/v1/questions/{question}")
    assert told["approvals"]["missing"] == "0 of 2, waits for leads: ana, bo or cy"
    status, first = answer(service, "ana", question)
    assert (status, first["state"], first["missing"]) == (200, "open", "1 of 2, waits for leads: bo or cy")
    for who in ("operator", "same_name"):
        status, refused = answer(service, who, question)
        assert (status, refused["code"]) == (403, "not_approver")
    listed = service.told("operator", "GET", "/v1/questions")
    assert listed[0]["approvals"]["approved"] == ["ana"]
    status, last = answer(service, "bo", question)
    assert (status, last["state"], last["by"], last["missing"]) == (200, "answered", "ana and bo", None)


def test_a_call_of_ones_own_is_for_others_to_approve(service: Service) -> None:
    question = service.asked("host", PUSH, session=service.opened())
    told = service.told("operator", "GET", f"/v1/questions/{question}")
    assert told["approvals"]["missing"] == "0 of 2, waits for leads: ana or bo"


def test_each_caller_is_offered_the_answers_that_count_from_them(service: Service) -> None:
    question = service.asked("agent", PUSH)

    def offered(who: str) -> tuple[list[str], dict[str, object]]:
        told = service.told(who, "GET", f"/v1/questions/{question}")
        (listed,) = service.told(who, "GET", "/v1/questions")
        answers = [one["answer"] for one in told["offers"]]
        assert answers == [one["answer"] for one in listed["offers"]]
        assert (told["editing"] is None) == (listed["editing"] is None) == (answers == ["deny"])
        return answers, told["approvals"]["yours"]

    assert offered("bo") == (["once", "deny"], {"counts": True, "why_not": "", "glass": False})
    assert offered("ana") == (["once", "deny"], {"counts": True, "why_not": "", "glass": True})
    answers, yours = offered("same_name")
    assert (answers, yours["counts"], yours["glass"]) == (["deny"], False, False)
    answer(service, "ana", question)
    answers, yours = offered("ana")
    assert (answers, yours["why_not"]) == (["deny"], "ana has approved this; it waits for others")
    assert offered("bo")[0] == ["once", "deny"]


def test_the_team_says_who_you_are(service: Service) -> None:
    assert service.told("ana", "GET", "/v1/people")["you"] == "ana"
    assert service.told("operator", "GET", "/v1/people")["you"] is None


def test_the_glass_is_broken_with_a_reason_and_listed(service: Service) -> None:
    question = service.asked("agent", PUSH)
    assert answer(service, "ana", question, break_glass=True)[0] == 422
    why = "the site is down"
    assert answer(service, "bo", question, break_glass=True, reason=why)[1]["code"] == "not_approver"
    assert answer(service, "ana", question, break_glass=True, reason=why)[1]["state"] == "answered"
    listed = service.told("operator", "GET", "/v1/people/broken-glass")
    assert [(one["person"], one["reason"], one["question"]) for one in listed] == [("ana", why, question)]


def test_people_delegate_and_end_it(service: Service) -> None:
    body = {"to": "cy", "hours": 2, "domain": "git", "up_to": "moderate"}
    assert service.post("operator", "/v1/people/delegations", body).json()["code"] == "delegation_refused"
    made = service.told("ana", "POST", "/v1/people/delegations", body)
    told = service.told("operator", "GET", "/v1/people")
    assert [(one["giver"], one["to"], one["up_to"]) for one in told["delegations"]] == [
        ("ana", "cy", "moderate")
    ]
    assert told["rules"] == ["git from high: 2 of leads"]
    service.told("ana", "DELETE", f"/v1/people/delegations/{made['id']}")
    assert service.request("ana", "DELETE", f"/v1/people/delegations/{made['id']}").status_code == 404


def test_whoever_answered_rates_the_question(service: Service) -> None:
    question = service.asked("agent", WRITE)
    assert service.post("ana", f"/v1/questions/{question}/rating", {"clear": True}).status_code == 409
    service.answer(question, "once")
    assert service.told("ana", "POST", f"/v1/questions/{question}/rating", {"clear": True})["yours"]
    assert not service.told("ana", "POST", f"/v1/questions/{question}/rating", {"clear": False})["yours"]
    assert service.told("operator", "GET", "/v1/stats")["figures"]["rated_clear"] == 1.0
    assert service.post("agent", f"/v1/questions/{question}/rating", {"clear": False}).status_code == 403

"""Lists tell what is so: approved calls, grants of one answer, approvals that a stricter policy ended."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any

import pytest
from msgspec.structs import replace

from sayso.core.model import Mode
from sayso.gate.figures.stories import StoryFilter, find_stories
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_items
from sayso.gate.sessions.operator_grants import list_grants, list_grants_page, revoke_grant
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY, Clock
from tests.support.service import WRITE, Service

pytestmark = pytest.mark.each_store


def listed_call(service: Service) -> dict[str, Any]:
    (found,) = service.told("agent", "GET", "/v1/calls")
    call: dict[str, Any] = found
    assert call == service.told("agent", "GET", f"/v1/calls/{call['operation_id']}")
    return call


def test_an_approved_call_is_not_listed_as_one_that_still_waits_for_its_answer(
    service: Service, clock: Clock
) -> None:
    question = service.asked()
    assert not listed_call(service)["approved"]
    service.answer(question, "once")
    assert (listed_call(service)["approved"], listed_call(service)["answered"]) == (True, True)
    clock.now += 3600
    assert not listed_call(service)["approved"], "its approval has run out"


def test_a_call_whose_approval_was_taken_back_is_not_told_as_approved(service: Service) -> None:
    service.answer(service.asked(), "once")
    (grant,) = service.told("operator", "GET", "/v1/grants")
    service.told("operator", "DELETE", f"/v1/grants/{grant['id']}")
    assert not listed_call(service)["approved"]


def stricter(gate: Gate) -> Gate:
    return replace(gate, live=None, policy=replace(gate.policy, mode=Mode.PARANOID))


def test_an_approval_that_a_stricter_policy_ended_is_not_told_as_allowed(service: Service) -> None:
    service.answer(service.asked(), "once")
    (before,) = find_stories(service.gate, StoryFilter()).stories
    assert before.state == "allowed"
    (story,) = find_stories(stricter(service.gate), StoryFilter()).stories
    assert story.state == "taken_back"
    last = story.steps[-1]
    assert (last.what, last.by) == ("taken_back", None)
    assert last.reason == "the policy is stricter now than when this was asked"


def test_one_answer_is_one_row_of_the_grants(service: Service) -> None:
    service.answer(service.asked(), "temporary")
    (listed,) = service.told("operator", "GET", "/v1/grants")
    assert listed["kind"] == "operation"
    (session,) = service.told("operator", "GET", "/v1/sessions")
    assert [one["id"] for one in session["grants"]] == [listed["id"]]
    assert len(list_grants(service.gate)) == 2, "both are live"
    pages, more = list_grants_page(service.gate, limit=1)
    assert ([one.id for one in pages], more) == ([listed["id"]], False)


def test_revoking_the_one_row_ends_the_approval_of_the_same_answer(service: Service) -> None:
    service.answer(service.asked(), "temporary")
    (listed,) = service.told("operator", "GET", "/v1/grants")
    ended = revoke_grant(service.gate, listed["id"], by="ana")
    assert [one.already for one in ended.also] == [False]
    assert service.told("operator", "GET", "/v1/grants") == []
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "pending"


def test_an_approval_alone_is_still_listed(service: Service) -> None:
    service.answer(service.asked(), "once")
    (listed,) = service.told("operator", "GET", "/v1/grants")
    assert listed["kind"] == "call"


def test_an_approval_of_more_than_the_same_answer_granted_is_still_listed(service: Service) -> None:
    declared = [{"operation": "files.write"}, {"operation": "files.note"}]
    session = service.opened()
    call = {**WRITE, "session": session, "operations": declared}
    question = service.asked("host", call)
    told = service.told("operator", "GET", f"/v1/questions/{question}")
    if len(told["items"]) < 2:
        pytest.fail("the call has to ask for two operations")
    first, second = (item["id"] for item in told["items"])
    given = {first: "temporary", second: "once"}
    answer_items(service.gate, question, given, by="ana", seen=told["digest"])
    kinds = sorted(one["kind"] for one in service.told("operator", "GET", "/v1/grants"))
    assert kinds == ["call", "operation"]


@pytest.mark.parametrize(("lasts", "told"), [(900.0, 600.0), (120.0, 120.0)])
def test_a_question_never_promises_more_time_than_the_policy_gives(
    runner: asyncio.Runner, clock: Clock, lasts: float, told: float
) -> None:
    policy = load_preset("coding")
    policy = replace(policy, settings=replace(policy.settings, approval_lasts=lasts))
    with closing(MemoryStore(clock=clock)) as store:
        service = Service(open_gate(policy, store, key=KEY), runner)
        service.asked()
        (question,) = service.told("operator", "GET", "/v1/questions")
    assert (question["approval_lasts"], question["sentence"]) == (told, False)

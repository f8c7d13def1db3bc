"""The history tells one story a call: asked, edited, answered, started, ended. Polling adds nothing to it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.gate.audit.prune import erase_value
from sayso.gate.questions.expiry import expire_questions
from tests.support.gates import Clock
from tests.support.service import PUSH, READ, WIPE, WRITE, Service

pytestmark = pytest.mark.each_store


def history(service: Service, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.told("operator", "GET", f"/v1/history?{query}")
    return found


def steps(story: dict[str, Any]) -> list[str]:
    return [one["what"] for one in story["steps"]]


def asked(service: Service, call: dict[str, Any] = WRITE) -> tuple[str, str]:
    """The call that asks, and its question."""
    told = service.told("agent", "POST", "/v1/calls", call)
    assert told["status"] == "pending", told
    return told["operation_id"], told["question"]


def poll(service: Service, call: str) -> None:
    service.told("agent", "POST", f"/v1/calls/{call}/retry", {})
    service.told("agent", "GET", f"/v1/calls/{call}")
    service.told("agent", "GET", f"/v1/calls/{call}?wait=0.01")
    service.told("agent", "POST", f"/v1/calls/{call}/retry?wait=0.01", {})


def test_three_polls_and_one_approval_are_one_story(service: Service, clock: Clock) -> None:
    call, question = asked(service)
    opened = clock.now
    for _ in range(3):
        clock.now += 1
        poll(service, call)
    clock.now += 7
    body = {"answer": "once", "reason": "go on"}
    service.told("operator", "POST", f"/v1/questions/{question}/answer", body)
    clock.now += 5
    started = service.told("agent", "POST", f"/v1/calls/{call}/retry", {})
    assert started["status"] == "allowed"
    (story,) = history(service)
    assert steps(story) == ["asked", "answered", "started"]
    assert [one["at"] for one in story["steps"]] == [opened, opened + 10, opened + 15]
    answered = story["steps"][1]
    assert (answered["by"], answered["answer"], answered["reason"]) == ("operator", "once", "go on")
    assert story["state"] == "running"


def test_polling_writes_no_entry(service: Service) -> None:
    call, _ = asked(service)
    before = service.told("operator", "GET", "/v1/audit")["entries"]
    for _ in range(3):
        poll(service, call)
    assert service.told("operator", "GET", "/v1/audit")["entries"] == before


def test_the_same_call_made_again_while_it_is_asked_is_the_same_story(service: Service) -> None:
    _, question = asked(service)
    for _ in range(3):
        assert asked(service)[1] == question
    assert len(history(service)) == 1
    service.answer(question, "once")
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "allowed"
    (story,) = history(service)
    assert steps(story) == ["asked", "answered", "started"]
    assert story["state"] == "running"


def test_how_a_call_ended_is_part_of_its_story(service: Service, clock: Clock) -> None:
    session = service.opened()
    told = service.told("host", "POST", "/v1/calls", {**WRITE, "session": session})
    service.answer(told["question"], "once")
    started = service.told("host", "POST", f"/v1/calls/{told['operation_id']}/retry", {})
    clock.now += 3
    outcome = {"fence": started["fence"], "state": "failed"}
    service.told("host", "POST", f"/v1/calls/{told['operation_id']}/outcome", outcome)
    (story,) = history(service)
    assert steps(story) == ["asked", "answered", "started", "ended"]
    assert story["state"] == story["steps"][-1]["state"] == "failed"
    assert story["steps"][-1]["at"] == clock.now


def test_an_edit_is_told_with_what_it_was_before_and_after(service: Service) -> None:
    call, question = asked(service)
    edited = {"path": "b.txt", "text": "hello"}
    service.told("operator", "POST", f"/v1/questions/{question}/answer", {"answer": "edit", "edited": edited})
    service.told("agent", "POST", f"/v1/calls/{call}/retry", {})
    (story,) = history(service)
    assert steps(story) == ["asked", "edited", "started"]
    edit = story["steps"][1]
    assert edit["before"]["arguments"] == WRITE["args"]
    assert edit["after"]["arguments"] == edited
    assert edit["by"] == "operator"
    assert len(history(service, "text=b.txt")) == len(history(service, "text=a.txt")) == 1


@pytest.mark.parametrize("how", ["denied", "expired", "cancelled"])
def test_what_is_over_is_never_called_pending(service: Service, clock: Clock, how: str) -> None:
    session = service.opened()
    told = service.told("host", "POST", "/v1/calls", {**WRITE, "session": session})
    call, question = told["operation_id"], told["question"]
    if how == "denied":
        body = {"answer": "deny", "reason": "not today"}
        service.told("operator", "POST", f"/v1/questions/{question}/answer", body)
    elif how == "expired":
        clock.now += 3 * 3600
        expire_questions(service.gate)
    else:
        service.told("operator", "POST", f"/v1/sessions/{session}/stop")
    (story,) = history(service)
    assert story["state"] == how
    assert len(story["steps"]) == 2
    whole = service.told("operator", "GET", f"/v1/history/{story['seq']}?stream={story['stream']}")
    assert whole["state"] == how
    assert service.told("host", "GET", f"/v1/calls/{call}")["status"] == how
    under_way = service.told("operator", "GET", "/v1/calls")
    assert [one for one in under_way if one["operation_id"] == call] == []


def test_a_question_whose_time_is_over_is_not_called_pending_before_anybody_tidies(
    service: Service, clock: Clock
) -> None:
    call, _ = asked(service)
    clock.now += 3 * 3600
    assert history(service)[0]["state"] == "expired"
    assert service.told("agent", "GET", f"/v1/calls/{call}")["status"] == "expired"


def test_search_finds_what_ran_though_nobody_was_asked(service: Service) -> None:
    service.told("agent", "POST", "/v1/calls", {"tool": "read_file", "args": {"path": "deep/needle.txt"}})
    service.told("agent", "POST", "/v1/calls", READ)
    (found,) = history(service, "text=NEEDLE")
    assert found["call"]["arguments"] == {"path": "deep/needle.txt"}
    assert history(service, "text=haystack") == []


def test_search_finds_commands_and_refused_calls(service: Service) -> None:
    asked(service, PUSH)
    service.told("agent", "POST", "/v1/calls", {**WIPE, "args": {"disk": "sda-needle"}})
    assert len(history(service, "text=push origin")) == 1
    assert len(history(service, "text=sda-needle")) == 1


def test_what_was_erased_is_neither_shown_nor_found(service: Service) -> None:
    call, question = asked(service)
    service.answer(question, "once")
    service.told("agent", "POST", f"/v1/calls/{call}/retry", {})
    (story,) = history(service, "text=hello")
    erase_value(service.gate, story["seq"], "call", by="ana")
    assert history(service, "text=hello") == []
    (story,) = history(service)
    assert story["call"] is None
    assert "hello" not in str(story)


def test_results_are_filtered_by_how_they_came_out(service: Service) -> None:
    _, question = asked(service)
    service.answer(question, "deny")
    service.told("agent", "POST", "/v1/calls", READ)
    service.told("agent", "POST", "/v1/calls", WIPE)
    assert {one["tool"] for one in history(service, "verdict=deny")} == {"write_file", "wipe"}
    assert {one["tool"] for one in history(service, "verdict=allow")} == {"read_file"}
    assert {one["tool"] for one in history(service, "verdict=ask")} == {"write_file"}


def test_a_call_that_the_wider_answer_covers_later_is_a_story_of_its_own(service: Service) -> None:
    call, question = asked(service)
    service.answer(question, "temporary")
    service.told("agent", "POST", f"/v1/calls/{call}/retry", {})
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "allowed"
    first, second = history(service)
    assert steps(first) == ["allowed", "started"]
    assert steps(second) == ["asked", "answered", "started"]


def test_a_search_goes_on_where_a_page_found_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.told("agent", "POST", "/v1/calls", {"tool": "read_file", "args": {"path": "needle"}})
    for _ in range(5):
        service.told("agent", "POST", "/v1/calls", READ)
    monkeypatch.setattr("sayso.gate.figures.stories.SEARCHED", 2)
    path, found = "/v1/history?text=needle", []
    while path:
        response = service.get("operator", path)
        found += response.json()
        path = response.links.get("next", {}).get("url", "")
    assert [one["call"]["arguments"] for one in found] == [{"path": "needle"}]


def test_items_answered_one_by_one_are_one_story_that_was_allowed(service: Service) -> None:
    call = {"tool": "read_file", "args": {"path": "x"}}
    both = {"operations": [{"operation": "files.write"}, {"operation": "git.commit"}]}
    told = service.told("agent", "POST", "/v1/calls", {**call, **both})
    shown = service.told("operator", "GET", f"/v1/questions/{told['question']}")
    items = {item["id"]: "once" for item in shown["items"]}
    service.told("operator", "POST", f"/v1/questions/{told['question']}/answer", {"items": items})
    (story,) = history(service, "verdict=allow")
    assert steps(story) == ["asked", "answered"]
    assert story["state"] == "allowed"


def retry(service: Service, call: str) -> dict[str, Any]:
    told: dict[str, Any] = service.told("agent", "POST", f"/v1/calls/{call}/retry", {})
    return told


def asks_again(service: Service) -> tuple[str, str, str]:
    """The same call made twice while one question is open, and allowed once: the second asks by itself.

    The first call, the second, and the second's own question.
    """
    first, question = asked(service)
    second, joined = asked(service)
    assert joined == question
    service.answer(question, "once")
    assert retry(service, first)["status"] == "allowed"
    told = retry(service, second)
    assert told["status"] == "pending"
    assert told["question"] != question
    return first, second, told["question"]


def test_a_second_run_of_the_same_call_is_not_hidden_behind_the_first(service: Service) -> None:
    first, second, question = asks_again(service)
    assert [one["state"] for one in history(service)] == ["pending", "running"]
    service.answer(question, "once")
    assert retry(service, second)["status"] == "allowed"
    newer, older = history(service)
    assert (newer["question"], newer["state"]) == (question, "running")
    assert steps(newer) == steps(older) == ["asked", "answered", "started"]
    assert older["question"] != question
    whole = [service.told("operator", "GET", f"/v1/history/{one['seq']}") for one in (newer, older)]
    assert [one["call"] for one in whole] == [second, first]


def test_a_denial_is_not_hidden_behind_an_identical_call_that_ran(service: Service) -> None:
    _, second, question = asks_again(service)
    body = {"answer": "deny", "reason": "not twice"}
    service.told("operator", "POST", f"/v1/questions/{question}/answer", body)
    (denied,) = history(service, "verdict=deny")
    assert (denied["state"], denied["question"]) == ("denied", question)
    assert denied["steps"][-1]["reason"] == "not twice"
    assert retry(service, second)["status"] == "denied"
    assert [one["state"] for one in history(service)] == ["denied", "running"]


def test_the_entry_of_a_new_question_does_not_say_that_it_goes_on_with_another(service: Service) -> None:
    _, _, question = asks_again(service)
    with service.gate.store.read() as tx:
        rows = [row for row in tx.entries(service.gate.stream) if row.event == "ASKED" and row.body]
        said = [msgspec.json.decode(row.body or b"")["details"] for row in rows]
    assert [one.get("again", False) for one in said] == [False, True, False]
    assert said[-1]["question"] == question


def test_a_call_that_joined_and_is_covered_by_the_wider_answer_has_its_own_story(service: Service) -> None:
    first, question = asked(service)
    second, _ = asked(service)
    service.answer(question, "temporary")
    assert retry(service, first)["status"] == retry(service, second)["status"] == "allowed"
    newer, older = history(service)
    assert steps(newer) == ["allowed", "started"]
    assert steps(older) == ["asked", "answered", "started"]


def test_a_call_whose_approval_an_identical_one_used_has_its_own_story_afterwards(service: Service) -> None:
    first, question = asked(service)
    second, _ = asked(service)
    service.answer(question, "once")
    assert retry(service, second)["status"] == "allowed"
    own = retry(service, first)["question"]
    assert own != question
    service.answer(own, "deny")
    newer, older = history(service)
    assert (newer["question"], newer["state"]) == (own, "denied")
    assert (older["question"], older["state"]) == (question, "running")


def test_a_call_that_is_asked_twice_is_one_story_with_both_questions(service: Service, clock: Clock) -> None:
    call, question = asked(service)
    service.answer(question, "once")
    clock.now += 3600
    again = retry(service, call)["question"]
    assert again != question
    assert [one["state"] for one in history(service)] == ["pending"]
    service.answer(again, "once")
    assert retry(service, call)["status"] == "allowed"
    (story,) = history(service)
    assert steps(story) == ["asked", "answered", "ran_out", "asked", "answered", "started"]
    assert story["state"] == "running"


@pytest.mark.parametrize("how", ["stop", "stop all", "revoke", "task end", "session end"])
def test_an_approval_that_was_taken_back_does_not_say_that_it_waits_to_start(
    service: Service, clock: Clock, how: str
) -> None:
    session = service.opened()
    service.told("host", "POST", f"/v1/sessions/{session}/tasks", {"name": "tidy"})
    told = service.told("host", "POST", "/v1/calls", {**WRITE, "session": session})
    service.answer(told["question"], "once")
    assert history(service)[0]["state"] == "allowed"
    clock.now += 60
    if how == "stop":
        service.told("operator", "POST", f"/v1/sessions/{session}/stop")
    elif how == "stop all":
        service.told("operator", "POST", "/v1/sessions/stop")
    elif how == "revoke":
        (grant,) = service.told("operator", "GET", f"/v1/sessions/{session}")["grants"]
        service.told("operator", "DELETE", f"/v1/grants/{grant['id']}")
    elif how == "task end":
        service.told("host", "DELETE", f"/v1/sessions/{session}/tasks")
    else:
        service.told("host", "DELETE", f"/v1/sessions/{session}")
    (story,) = history(service)
    assert story["state"] == "taken_back"
    assert steps(story) == ["asked", "answered", "taken_back"]
    assert story["steps"][-1]["at"] == clock.now


def test_an_approval_that_ran_out_does_not_say_that_it_waits_to_start(service: Service, clock: Clock) -> None:
    _, question = asked(service)
    service.answer(question, "once")
    at = clock.now
    clock.now += 3 * 3600
    (story,) = history(service)
    assert (story["state"], steps(story)) == ("ran_out", ["asked", "answered", "ran_out"])
    assert at < story["steps"][-1]["at"] < clock.now


def test_an_answer_for_longer_still_stands_when_its_approval_of_one_call_ran_out(
    service: Service, clock: Clock
) -> None:
    _, question = asked(service)
    service.answer(question, "always")
    clock.now += 3 * 3600
    assert history(service)[0]["state"] == "allowed"

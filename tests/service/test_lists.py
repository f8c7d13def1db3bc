"""Lists over HTTP: in pages that leave nothing out, quick at size, and of one's own."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest

from sayso.gate.sessions.operator_grants import give_grant
from tests.service.test_agents import until_awaited
from tests.support.gates import Clock
from tests.support.service import WRITE, Service

pytestmark = pytest.mark.each_store

AGENTS = 7


def walked(service: Service, who: str, path: str, **query: str) -> list[list[dict[str, Any]]]:
    """The pages of a list, as its links lead from one to the next."""
    found: list[list[dict[str, Any]]] = []
    following: str | None = path
    while following is not None:
        response = service.get(who, following, params=query or None)
        assert response.status_code == 200, response.text
        found.append(response.json())
        following, query = response.links.get("next", {}).get("url"), {}
        assert following is None or urlsplit(following).path == path
    return found


def ids(pages: list[list[dict[str, Any]]]) -> list[str]:
    return [one["id"] for page in pages for one in page]


def test_the_first_page_holds_the_questions_that_were_asked_first(service: Service, clock: Clock) -> None:
    asked = []
    for number in range(AGENTS):
        clock.now += 1
        session = service.opened()
        call = {"tool": "write_file", "args": {"path": f"{number}"}, "session": session}
        asked.append(service.asked("host", call))
    assert asked != sorted(asked), "ids are in no order, or this test says nothing"
    pages = walked(service, "operator", "/v1/questions", limit="3")
    assert ([len(page) for page in pages], ids(pages)) == ([3, 3, 1], asked)
    service.told("operator", "POST", f"/v1/questions/{asked[2]}/answer", {"answer": "deny"})
    after = service.told("operator", "GET", f"/v1/questions?after={asked[2]}&limit=2")
    assert [one["id"] for one in after] == asked[3:5], "a page may begin behind one that was answered since"


def test_a_host_pages_through_the_questions_of_its_own_sessions_alone(service: Service) -> None:
    asked = [
        service.asked(who, {"tool": "write_file", "args": {}, "session": service.opened(who)})
        for who in ("host", "other_host") * 3
    ]
    pages = walked(service, "host", "/v1/questions", limit="2")
    assert ([len(page) for page in pages], ids(pages)) == ([2, 1], asked[::2])
    assert service.told("agent", "GET", "/v1/questions") == []


def test_sessions_come_in_pages_each_caller_sees_their_own(service: Service) -> None:
    opened = [service.opened(who) for who in ("host", "other_host") * 3]
    assert ids(walked(service, "operator", "/v1/sessions", limit="4")) == opened
    pages = walked(service, "host", "/v1/sessions", limit="2")
    assert ([len(page) for page in pages], ids(pages)) == ([2, 1], opened[::2])
    assert service.told("host", "GET", f"/v1/sessions?after={opened[2]}") == pages[1]
    assert service.told("host", "GET", "/v1/sessions?after=unknown") == []


def test_grants_come_in_pages_the_first_to_end_first_and_each_caller_sees_their_own(service: Service) -> None:
    opened = [service.opened(who) for who in ("host", "other_host") * 3]
    given = [
        give_grant(service.gate, session, by="ana", operation="files.write", minutes=60 - number).id
        for number, session in enumerate(opened)
    ]
    pages = walked(service, "operator", "/v1/grants", limit="4")
    assert ([len(page) for page in pages], ids(pages)) == ([4, 2], given[::-1])
    assert ids(walked(service, "host", "/v1/grants", limit="1")) == given[::-1][1::2]
    assert ids(walked(service, "operator", "/v1/grants", session=opened[3], limit="1")) == [given[3]]
    assert service.get("host", f"/v1/grants?session={opened[1]}").status_code == 404


@pytest.mark.parametrize("path", ["/v1/questions", "/v1/sessions", "/v1/grants"])
@pytest.mark.parametrize("limit", ["0", "-1", "1e3", "x", "1000000"])
def test_a_page_has_a_size_that_can_be_had(service: Service, path: str, limit: str) -> None:
    assert service.get("operator", path, params={"limit": limit}).status_code == 400


def test_a_session_is_told_with_what_is_granted_and_asked_in_it(service: Service) -> None:
    session = service.opened()
    service.asked("host", {"tool": "write_file", "args": {"path": "a"}, "session": session})
    service.asked("host", {"tool": "push", "args": {"line": "git push"}, "session": session})
    given = give_grant(service.gate, session, by="ana", operation="git.commit")
    ended = give_grant(service.gate, session, by="ana", command="make")
    service.told("operator", "DELETE", f"/v1/grants/{ended.id}")
    (told,) = service.told("operator", "GET", "/v1/sessions")
    assert (told["questions"], [one["id"] for one in told["grants"]]) == (2, [given.id])


def test_the_operator_stops_every_session_at_once(service: Service) -> None:
    for who in ("host", "other_host"):
        service.asked(who, {"tool": "write_file", "args": {}, "session": service.opened(who)})
    service.asked("agent")
    told = service.told("operator", "POST", "/v1/sessions/stop")
    assert told == {"stopped": 3, "tampered": 0, "settled": True}
    assert [one["stopped"] for one in service.told("operator", "GET", "/v1/sessions")] == [True] * 3
    assert service.told("operator", "GET", "/v1/questions") == []


@pytest.mark.parametrize("content", [b"", b"{}", b" {} \n"])
def test_a_stop_arrives_though_it_comes_with_an_empty_object(service: Service, content: bytes) -> None:
    session = service.opened()
    stopped = service.post("operator", f"/v1/sessions/{session}/stop", content=content)
    assert stopped.status_code == 200, stopped.text
    assert service.post("operator", "/v1/sessions/stop", content=content).status_code == 200
    refused = service.post("operator", "/v1/sessions/stop", content=b'{"session": "other"}')
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed")


@pytest.mark.parametrize("who", ["agent", "host", "trusted", None])
def test_nobody_else_stops_every_session(service: Service, who: str | None) -> None:
    service.opened()
    assert service.post(who, "/v1/sessions/stop").status_code in (401, 403)
    assert not service.told("operator", "GET", "/v1/sessions")[0]["stopped"]


def test_the_operator_lets_one_stopped_session_or_all_of_them_go_on(service: Service) -> None:
    first, second, third = service.opened(), service.opened("other_host"), service.opened()
    service.told("operator", "POST", "/v1/sessions/stop")
    told = service.told("operator", "POST", f"/v1/sessions/{second}/resume")
    assert told == {"session": second, "already": False, "held_by": None}
    states = {one["id"]: one["stopped"] for one in service.told("operator", "GET", "/v1/sessions")}
    assert states == {first: True, second: False, third: True}
    told = service.told("operator", "POST", "/v1/sessions/resume")
    assert told == {"resumed": 2, "tampered": 0, "busy": 0}
    assert not any(one["stopped"] for one in service.told("operator", "GET", "/v1/sessions"))


@pytest.mark.parametrize("who", ["agent", "host", "trusted", None])
def test_nobody_but_the_operator_lets_a_stopped_session_go_on(service: Service, who: str | None) -> None:
    session = service.opened()
    service.told("host", "POST", f"/v1/sessions/{session}/stop")
    for path in (f"/v1/sessions/{session}/resume", "/v1/sessions/resume"):
        assert service.post(who, path).status_code in (401, 403)
    assert service.told("operator", "GET", f"/v1/sessions/{session}")["stopped"]


def test_a_question_says_that_somebody_waits_only_where_that_is_known(service: Service) -> None:
    question = service.asked()
    path = f"/v1/questions/{question}"
    assert service.told("operator", "GET", path)["waiting"] is None
    service.told("operator", "POST", f"{path}/answer", {"answer": "deny"})
    assert service.told("operator", "GET", path)["waiting"] is False


def test_another_service_on_the_same_store_does_not_say_that_nobody_waits(
    service: Service, runner: asyncio.Runner
) -> None:
    other = Service(service.gate, runner)
    made = service.told("agent", "POST", "/v1/calls", WRITE)
    path = f"/v1/questions/{made['question']}"

    async def looked() -> list[bool | None]:
        waits = service.ask("agent", "GET", f"/v1/calls/{made['operation_id']}?wait=60", timeout=None)
        waiting = asyncio.create_task(waits)
        await asyncio.to_thread(until_awaited, service, made["question"])
        told = [(await one.ask("operator", "GET", path)).json()["waiting"] for one in (service, other)]
        await other.ask("operator", "POST", f"{path}/answer", {"answer": "deny"})
        await waiting
        return told

    assert runner.run(looked()) == [True, None]

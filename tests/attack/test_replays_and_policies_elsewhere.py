"""The same over a connection, plain HTTP and MCP: no consent of another session or an older policy serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp import Client

from sayso import Sayso
from sayso.core.errors import SaysoError
from sayso.core.model import Mode
from sayso.core.policy import Policy, with_mode
from sayso.doors.mcp.serve import make_server
from sayso.doors.remote.connected import Connected, connect
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.attack.test_parked_calls import ALWAYS_ASK, BLOCKED, POLICY, RISKIER, TRUSTED, UNLISTED
from tests.support.doors_in_process import KEY
from tests.support.doors_over_lines import Served, serving
from tests.support.people import Person, answer_open

SEND = {"tool": "send", "args": {}, "operations": [{"operation": "mail.send", "risk": "moderate"}]}
TIGHTENED = [
    (ALWAYS_ASK, None),
    (RISKIER, None),
    (UNLISTED, None),
    (BLOCKED, None),
    (TRUSTED, None),
    (POLICY, Mode.PARANOID),
]
NAMES = ["always_ask", "riskier", "unlisted", "blocked", "trusted channel", "paranoid"]
TIGHTER = pytest.mark.parametrize(("policy", "mode"), TIGHTENED, ids=NAMES)


def in_force(policy: str, mode: Mode | None = None) -> Policy:
    return with_mode(load_text(policy), mode)


@pytest.fixture(scope="module")
def service() -> Iterator[Served]:
    with serving() as running:
        yield running


@pytest.fixture
def served(service: Served) -> Served:
    service.put_in_force(in_force(POLICY))
    return service


class OverHttp:
    """A host's calls in plain HTTP, the tool itself being the host's."""

    def __init__(self, served: Served) -> None:
        self.served, self.sent = served, 0

    def session(self, parent: str | None = None) -> str:
        return str(self._ask("POST", "/v1/sessions", {"agent": "a", "parent": parent})["id"])

    def run(self, session: str) -> tuple[str, str]:
        """The name of the call, and what became of it."""
        return self._tried(self._ask("POST", "/v1/calls", {**SEND, "session": session}))

    def retry(self, session: str, call: str) -> str:
        return self._tried(self._ask("POST", f"/v1/calls/{call}/retry"))[1]

    def replay(self, session: str, call: str) -> tuple[str, str]:
        return self._tried(self._ask("POST", f"/v1/calls/{call}/replay", {"session": session}))

    def hear(self, session: str, text: str) -> None:
        self._ask("POST", f"/v1/sessions/{session}/messages", {"text": text})

    def end(self, session: str) -> None:
        self._ask("DELETE", f"/v1/sessions/{session}")

    def _tried(self, told: Any) -> tuple[str, str]:
        """A call that may run is run here, and its end reported."""
        call = str(told["operation_id"])
        if told["status"] != "allowed":
            return call, str(told["status"])
        self.sent += 1
        self._ask("POST", f"/v1/calls/{call}/outcome", {"state": "succeeded", "fence": told["fence"]})
        return call, "ok"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return self.served.ask(self.served.tokens["host"], method, path, body)


class OverConnection:
    """A connected program with a gated function."""

    def __init__(self, served: Served) -> None:
        self.gate: Connected = connect(served.url, served.tokens["host"])
        self.sent = 0

        @self.gate.requires_consent("mail.send", risk="moderate")
        def send() -> str:
            self.sent += 1
            return "sent"

    def session(self, parent: str | None = None) -> str:
        return self.gate.session(parent=parent).id

    def run(self, session: str) -> tuple[str, str]:
        result = self.gate.session_by_id(session).run("send", wait=0)
        return result.operation_id or "", result.status

    def retry(self, session: str, call: str) -> str:
        return self.gate.session_by_id(session).retry(call, wait=0).status

    def replay(self, session: str, call: str) -> tuple[str, str]:
        result = self.gate.session_by_id(session).replay(call, wait=0)
        return result.operation_id or "", result.status

    def hear(self, session: str, text: str) -> None:
        self.gate.hear(session, text)

    def end(self, session: str) -> None:
        self.gate.end_session(session)


Place = OverHttp | OverConnection


@pytest.fixture(params=["http", "connection"])
def place(request: pytest.FixtureRequest, served: Served) -> Iterator[Place]:
    if request.param == "http":
        yield OverHttp(served)
        return
    connected = OverConnection(served)
    yield connected
    connected.gate.close()


Ending = Callable[[Place, dict[str, str]], None]


def stopping(who: str) -> Ending:
    return lambda place, sessions: place.hear(sessions[who], "stop")


def over(who: str) -> Ending:
    return lambda place, sessions: place.end(sessions[who])


WHO = ["maker", "maker's parent", "later", "later's parent"]
ENDINGS = {f"{who} stopped": stopping(who) for who in WHO} | {f"{who} over": over(who) for who in WHO}
EACH_ENDING = pytest.mark.parametrize("ending", list(ENDINGS))


def opened(place: Place) -> dict[str, str]:
    """A session that makes a call and one that replays it, each with one above it."""
    above = {"maker's parent": place.session(), "later's parent": place.session()}
    return above | {
        "maker": place.session(above["maker's parent"]),
        "later": place.session(above["later's parent"]),
    }


def made(place: Place, served: Served, session: str, answer: str) -> str:
    call, _ = place.run(session)
    served.answer(session, answer)
    assert place.retry(session, call) == "ok"
    place.sent = 0
    return call


def attempted(work: Callable[[], Any]) -> None:
    """Try it; being refused is as good as being denied."""
    try:
        work()
    except SaysoError:
        return


@EACH_ENDING
def test_no_replay_runs_while_a_session_of_it_is_stopped_or_over(
    served: Served, place: Place, ending: str
) -> None:
    sessions = opened(place)
    call = made(place, served, sessions["maker"], "always")
    ENDINGS[ending](place, sessions)
    for _ in range(2):
        attempted(lambda: place.replay(sessions["later"], call))
    assert place.sent == 0


@EACH_ENDING
def test_no_yes_to_a_replay_counts_once_a_session_of_it_is_stopped_or_over(
    served: Served, place: Place, ending: str
) -> None:
    sessions = opened(place)
    call = made(place, served, sessions["maker"], "once")
    waiting, _ = place.replay(sessions["later"], call)
    served.answer(sessions["later"], "once")
    ENDINGS[ending](place, sessions)
    for _ in range(2):
        attempted(lambda: place.retry(sessions["later"], waiting))
    assert place.sent == 0


def test_a_replay_runs_while_its_sessions_go_on(served: Served, place: Place) -> None:
    sessions = opened(place)
    call = made(place, served, sessions["maker"], "always")
    assert place.replay(sessions["later"], call)[1] == "ok"
    assert place.sent == 1


@TIGHTER
def test_no_approval_serves_under_a_policy_that_was_tightened_since(
    served: Served, place: Place, policy: str, mode: Mode | None
) -> None:
    session = place.session()
    call, _ = place.run(session)
    served.answer(session, "once")
    served.put_in_force(in_force(policy, mode))
    assert place.retry(session, call) != "ok"
    assert place.run(session)[1] != "ok"
    assert place.sent == 0


def test_an_approval_serves_under_a_policy_that_is_no_stricter(served: Served, place: Place) -> None:
    session = place.session()
    call, _ = place.run(session)
    served.answer(session, "once")
    served.put_in_force(in_force(POLICY + "  mail.read: {risk: low}\n"))
    assert place.retry(session, call) == "ok"


# MCP: an agent's tools are run and retry; it cannot replay


class OverMcp:
    """A gated function behind an MCP server, on a store of its own."""

    def __init__(self) -> None:
        self.store, self.sent = MemoryStore(), 0

    def gate(self, policy: Policy) -> Sayso:
        gate = Sayso(open_gate(policy, self.store, key=KEY), [Person()])

        @gate.requires_consent("mail.send", risk="moderate")
        def send() -> str:
            self.sent += 1
            return "sent"

        return gate


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    return result.structured_content or {}


async def asked_then_tightened(place: OverMcp, later: Policy | None) -> list[str]:
    """What becomes of the retry and of the same call made again, after a yes under the first policy."""
    gate = place.gate(in_force(POLICY))
    async with Client(make_server(gate)) as client:
        asked = await told(client, "run", name="send", params={}, wait=0)
        answer_open(gate, "once")
        if later is not None:
            gate.door.gate = open_gate(later, place.store, key=KEY)
        again = await told(client, "retry", operation_id=asked["operation_id"], wait=0)
        anew = await told(client, "run", name="send", params={}, wait=0)
        return [again["status"], anew["status"]]


@TIGHTER
def test_no_approval_serves_over_mcp_under_a_policy_that_was_tightened_since(
    policy: str, mode: Mode | None
) -> None:
    place = OverMcp()
    statuses = asyncio.run(asked_then_tightened(place, in_force(policy, mode)))
    assert "ok" not in statuses
    assert place.sent == 0


def test_an_approval_serves_over_mcp_under_the_same_policy() -> None:
    place = OverMcp()
    assert asyncio.run(asked_then_tightened(place, None)) == ["ok", "timeout"]
    assert place.sent == 1


def test_no_agent_replays_over_mcp() -> None:
    async def offered() -> set[str]:
        async with Client(make_server(OverMcp().gate(in_force(POLICY)))) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert "replay" not in asyncio.run(offered())

"""How `sayso mcp serve` ends: clients that leave or are killed, and servers that are told to stop."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.e2e.mcp_place import BEGIN, ERAS, HANDSHAKE, PATIENCE, STATELESS, Place, told


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with closing(Place(tmp_path)) as made:
        yield made


@pytest.mark.parametrize("era", ERAS)
def test_a_session_ends_with_the_client_and_a_new_client_has_a_clean_slate(place: Place, era: str) -> None:
    async def played() -> Any:
        wanted: dict[str, Any] = {"name": "create_task", "params": {"title": "a"}}
        async with place.stdio(era) as client:
            running = asyncio.create_task(told(client, "run", **wanted))
            await asyncio.to_thread(place.answer, "always")
            await running
        await asyncio.to_thread(place.once, lambda tx: not tx.sessions())
        async with place.stdio(era) as client:
            return await told(client, "run", wait=0.1, **wanted)

    assert asyncio.run(played())["status"] == "timeout"
    assert place.ran == ["a"]


def test_over_http_a_connection_that_its_client_ends_takes_its_session_along(place: Place) -> None:
    async def played() -> None:
        async with place.http(HANDSHAKE) as client:
            await told(client, "list_consents")
            assert [row.agent for row in place.sessions()] == ["mcp:tester"]
        await asyncio.to_thread(place.once, lambda tx: not tx.sessions())

    with place.over_http() as server:
        asyncio.run(played())
        assert server.poll() is None


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.e2e.mcp_place import Place, told
async def main():
    async def progress(*said): print("waiting", flush=True)
    place = Place(Path(sys.argv[1]))
    async with place.stdio(sys.argv[2]) as client:
        await told(client, "run", progress, name=sys.argv[3], params={"title": "a"} if sys.argv[4:] else {})
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("era", "capability"),
    [(HANDSHAKE, ("create_task", "titled")), (STATELESS, ("tidy",))],
    ids=["asked", "inside"],
)
def test_a_client_that_is_killed_leaves_no_session_and_nothing_to_approve(
    place: Place, era: str, capability: tuple[str, ...]
) -> None:
    command = [sys.executable, "-c", KILLED, str(place.home), era, *capability]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "waiting\n"
        assert place.question()
        client.kill()
    place.once(lambda tx: not tx.sessions())
    assert place.ran == []
    assert place.waiting() == 0


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "tidy"), (signal.SIGINT, "create_task")])
def test_a_server_told_to_stop_ends_sessions_and_goes_in_peace(
    place: Place, number: signal.Signals, name: str
) -> None:
    async def played(server: subprocess.Popen[str]) -> None:
        async with place.http(STATELESS) as client:
            params = {"title": "a"} if name == "create_task" else {}
            running = asyncio.create_task(told(client, "run", name=name, params=params))
            await asyncio.to_thread(place.question)
            server.send_signal(number)
            assert await asyncio.to_thread(server.wait, PATIENCE) == 0
            with pytest.raises(MCPError):
                await running

    with place.over_http() as server:
        asyncio.run(played(server))
    assert place.sessions() == []
    assert (place.ran, place.waiting()) == ([], 0)


def test_a_server_on_stdio_can_be_told_to_stop_while_its_client_says_nothing(place: Place) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        place.command(), env=place.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(BEGIN) + "\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "sayso"
        server.terminate()
        assert server.wait(PATIENCE) == 0

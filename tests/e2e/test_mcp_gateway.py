"""`sayso mcp wrap` between a client and a server of the mcp SDK, with the real service and a person."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.e2e.agents.gated import Serving
from tests.e2e.mcp_place import ERAS, HANDSHAKE
from tests.support.repository import ROOT
from tests.support.service_process import a_home

PATIENCE = 180.0
SERVER = Path(__file__).with_name("sdk_server.py")
POLICY = """
sayso: 1
domains:
  work: {trust_level: high, autonomous: [look], requires_approval: [write], blocked: [wipe]}
operations:
  work.look: {risk: low}
  work.write: {risk: moderate}
tools:
  - {tool: mcp__files__look, operation: work.look}
  - {tool: mcp__files__write, operation: work.write}
  - {tool: mcp__files__wipe, operation: work.wipe}
"""


class GatedServer:
    """A user whose MCP client has the server behind the gateway, by `sayso install mcp`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, folder / "made"
        self.made.mkdir()
        config = folder / "XDG_CONFIG_HOME"
        (config / "sayso").mkdir(mode=0o700)
        (config / "sayso" / "policy.yaml").write_text(POLICY)
        self.config = config / "Claude" / "claude_desktop_config.json"
        self.config.parent.mkdir()
        server = {"command": sys.executable, "args": [str(SERVER), str(self.made)]}
        self.config.write_text(json.dumps({"mcpServers": {"files": server}}))
        self.sayso("install", "mcp", "--yes")

    def sayso(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "sayso", *arguments],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True,
            timeout=PATIENCE,
        )  # fmt: skip
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(ROOT / "src")}

    @contextmanager
    def serving(self, answer: str | None = None) -> Iterator[Serving]:
        token = json.loads(self.sayso("token", "new", "operator", "ana", "--json"))["token"]
        with subprocess.Popen(
            [sys.executable, "-m", "sayso", "serve", "--port", "0"],
            cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True,
        ) as service:  # fmt: skip
            assert service.stdout is not None
            found = re.match(r"Sayso serves on (http://\S+)", service.stdout.readline())
            assert found is not None
            with Serving(service, found[1], token).watching(answer) as serving:
                yield serving

    @asynccontextmanager
    async def client(self, era: str = HANDSHAKE) -> AsyncIterator[Client]:
        words = json.loads(self.config.read_text())["mcpServers"]["files"]
        server = StdioServerParameters(
            command=words["command"], args=words["args"], env=self.environment, cwd=self.folder
        )
        with (self.folder / "stderr").open("a", encoding="utf-8") as said:
            async with Client(stdio_client(server, errlog=said), mode=era) as client:
                yield client

    def call(self, tool: str, era: str = HANDSHAKE) -> tuple[bool, str]:
        """Call a tool; return whether it ran, and what was answered."""

        async def run() -> Any:
            async with self.client(era) as client:
                return await client.call_tool(tool, {"name": tool})

        result = asyncio.run(run())
        return not result.is_error, " ".join(one.text for one in result.content)

    @property
    def files(self) -> set[str]:
        return {one.name for one in self.made.iterdir()}


def wait_for(look: Callable[[], object]) -> None:
    """Look until something is there."""
    until = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < until, "nothing happened"


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> GatedServer:
    a_home(monkeypatch, tmp_path)
    return GatedServer(tmp_path)


@pytest.mark.parametrize("era", ERAS)
def test_each_tool_runs_only_as_the_policy_and_the_person_say(gated: GatedServer, era: str) -> None:
    with gated.serving("once") as serving:
        assert gated.call("look", era) == (True, "wrote look")
        assert not serving.questions
        assert gated.call("write", era) == (True, "wrote write")
        assert len(serving.questions) == 1
        ran, why = gated.call("wipe", era)
        assert len(serving.questions) == 1
    assert not ran
    assert why.startswith("Sayso: ")
    assert gated.files == {"look", "write"}


def test_a_person_who_says_no_is_heard(gated: GatedServer) -> None:
    with gated.serving("deny"):
        ran, _ = gated.call("write")
    assert not ran
    assert gated.files == set()


def test_the_server_is_listed_as_it_is_and_its_annotations_change_nothing(gated: GatedServer) -> None:
    async def list_tools() -> list[str]:
        async with gated.client() as client:
            return [one.name for one in (await client.list_tools()).tools]

    with gated.serving("deny") as serving:
        assert asyncio.run(list_tools()) == ["look", "write", "wipe"]
        assert not gated.call("write")[0]
        (question,) = serving.questions.values()
    assert "mcp__files__write" in json.dumps(question)


def test_a_client_that_wants_progress_is_kept_waiting_and_told(gated: GatedServer) -> None:
    heard: list[float] = []

    async def run() -> Any:
        told = asyncio.Event()

        async def note(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)
            told.set()

        async with gated.client() as client:
            call = asyncio.create_task(client.call_tool("write", {"name": "write"}, progress_callback=note))
            await asyncio.wait_for(told.wait(), PATIENCE)
            (question,) = await asyncio.to_thread(serving.get, "/v1/questions")
            said = {"answer": "once", "digest": question["digest"]}
            path = f"/v1/questions/{question['id']}/answer"
            (await asyncio.to_thread(serving.http.post, path, json=said)).raise_for_status()
            result = await asyncio.wait_for(call, PATIENCE)
            await asyncio.to_thread(wait_for, is_over)
            return result

    def is_over() -> bool:
        return not serving.get("/v1/calls")

    with gated.serving() as serving:
        result = asyncio.run(run())
    assert not result.is_error
    assert heard
    assert gated.files == {"write"}


def test_a_service_that_is_killed_while_a_call_waits_lets_nothing_run(gated: GatedServer) -> None:
    async def run() -> Any:
        async with gated.client() as client:
            call = asyncio.create_task(client.call_tool("write", {"name": "write"}))
            await asyncio.to_thread(wait_for, lambda: serving.questions)
            serving.service.send_signal(signal.SIGKILL)
            return await asyncio.wait_for(call, PATIENCE)

    with gated.serving() as serving:
        assert asyncio.run(run()).is_error
    assert gated.files == set()


def test_a_yes_after_the_client_gave_up_serves_the_same_call_made_again(gated: GatedServer) -> None:
    async def give_up() -> None:
        async with gated.client() as client:
            call = asyncio.create_task(client.call_tool("write", {"name": "write"}))
            await asyncio.to_thread(wait_for, lambda: serving.questions)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            assert gated.files == set()
            (question,) = serving.questions.values()
            said = {"answer": "once", "digest": question["digest"]}
            path = f"/v1/questions/{question['id']}/answer"
            (await asyncio.to_thread(serving.http.post, path, json=said)).raise_for_status()
            assert gated.files == set()
            again = await client.call_tool("write", {"name": "write"})
            assert not again.is_error

    with gated.serving() as serving:
        asyncio.run(give_up())
    assert gated.files == {"write"}

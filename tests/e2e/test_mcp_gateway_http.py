"""MCP servers of the SDK at an address, behind the gateway: real processes, the service, and a person."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ElicitResult

from tests.e2e.gateway_place import PATIENCE, POLICY, GatedServer, ending_services, wait_for
from tests.e2e.mcp_place import ERAS, STATELESS
from tests.support.repository import ROOT
from tests.support.service_process import a_home

TOKEN = "of-the-server"
AT_ADDRESS = (
    POLICY
    + """
  - {tool: mcp__files__grow, operation: work.look}
  - {tool: mcp__files__ask, operation: work.write}
  - {tool: mcp__other__write, operation: work.look}
"""
)


class RemoteServer:
    """The server's process, and where it is."""

    def __init__(self, process: subprocess.Popen[str], port: str) -> None:
        self.process, self.url = process, f"http://127.0.0.1:{port}/mcp"

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)


@contextmanager
def a_server(folder: Path) -> Iterator[RemoteServer]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.sdk_http_server", str(folder), TOKEN],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            yield RemoteServer(process, process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[RemoteServer]:
    a_home(monkeypatch, tmp_path)
    with a_server(tmp_path / "made") as server, ending_services():
        yield server


def entry_of(server: RemoteServer) -> dict[str, Any]:
    return {"type": "http", "url": server.url, "headers": {"Authorization": f"Bearer {TOKEN}"}}


@pytest.fixture
def gated(remote: RemoteServer, tmp_path: Path) -> GatedServer:
    return GatedServer(tmp_path, {"files": entry_of(remote)}, AT_ADDRESS)


@pytest.mark.parametrize("era", ERAS)
def test_each_tool_of_a_server_at_an_address_runs_only_as_the_policy_and_the_person_say(
    gated: GatedServer, era: str
) -> None:
    with gated.serving("once") as serving:
        assert gated.call("look", era) == (True, "wrote look")
        assert not serving.questions
        assert gated.call("write", era) == (True, "wrote write")
        assert len(serving.questions) == 1
        assert not gated.call("wipe", era)[0]
    assert gated.files == {"look", "write"}


def test_a_person_who_says_no_is_heard(gated: GatedServer) -> None:
    with gated.serving("deny"):
        assert not gated.call("write")[0]
    assert gated.files == set()


def test_a_service_that_does_not_run_lets_nothing_run(gated: GatedServer) -> None:
    (gated.folder / "XDG_CONFIG_HOME" / "sayso" / "policy.yaml").write_text("sayso: 1\nbroken")
    assert not gated.call("look")[0]
    assert gated.files == set()


def test_a_server_that_is_gone_is_an_error_and_the_gateway_goes_on(
    gated: GatedServer, remote: RemoteServer
) -> None:
    async def run() -> list[Any]:
        async with gated.client() as client:
            found: list[Any] = [await client.call_tool("look", {"name": "look"})]
            remote.stop()
            for _ in range(2):
                found += await asyncio.gather(
                    asyncio.wait_for(client.call_tool("look", {"name": "late"}), PATIENCE),
                    return_exceptions=True,
                )
            return found

    with gated.serving():
        first, *later = asyncio.run(run())
    assert not first.is_error
    assert len(later) == 2
    assert all(isinstance(one, Exception) and not isinstance(one, TimeoutError) for one in later)
    assert gated.files == {"look"}


def test_a_call_that_was_given_up_while_it_waited_does_not_run(gated: GatedServer) -> None:
    async def give_up() -> None:
        async with gated.client() as client:
            call = asyncio.create_task(client.call_tool("write", {"name": "write"}))
            await asyncio.to_thread(wait_for, lambda: serving.questions)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await client.call_tool("look", {"name": "look"})

    with gated.serving() as serving:
        asyncio.run(give_up())
    assert gated.files == {"look"}


def test_two_servers_with_a_tool_of_one_name_are_asked_about_apart(
    remote: RemoteServer, tmp_path: Path
) -> None:
    with a_server(tmp_path / "made") as second:
        both = GatedServer(tmp_path, {"files": entry_of(remote), "other": entry_of(second)}, AT_ADDRESS)
        with both.serving("deny") as serving:
            assert both.call("write", name="other")[0]
            assert not serving.questions
            assert not both.call("write", name="files")[0]
            assert len(serving.questions) == 1


def test_a_tool_that_comes_later_is_listed_and_asked_about(gated: GatedServer) -> None:
    async def run() -> tuple[set[str], set[str], Any]:
        async with gated.client() as client:
            before = {one.name for one in (await client.list_tools()).tools}
            await client.call_tool("grow", {"name": "x"})
            after = {one.name for one in (await client.list_tools()).tools}
            return before, after, await client.call_tool("later", {"name": "later"})

    with gated.serving("deny") as serving:
        before, after, result = asyncio.run(run())
        assert len(serving.questions) == 1
    assert after - before == {"later"}
    assert result.is_error
    assert gated.files == set()


@pytest.mark.parametrize("era", ERAS)
def test_a_server_may_ask_the_user_in_the_middle_of_a_call_that_is_asked_about_once(
    gated: GatedServer, era: str
) -> None:
    async def fill_in(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"word": "chosen"})

    with gated.serving("once") as serving:
        assert gated.call("ask", era, elicitation_callback=fill_in) == (True, "wrote chosen")
        assert len(serving.questions) == 1
    assert gated.files == {"chosen"}


def test_headers_of_the_configuration_reach_the_server_and_no_list_of_processes(gated: GatedServer) -> None:
    with gated.serving():
        assert gated.call("look", STATELESS) == (True, "wrote look")
    text = gated.config.read_text()
    assert TOKEN in text
    gated.sayso("uninstall", "mcp", "--yes")
    assert "SAYSO_HEADER" not in gated.config.read_text()

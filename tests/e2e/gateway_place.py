"""A user whose MCP clients have their servers behind the gateway, with the real service and a person."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client

from sayso.gate.open import gate_data_folder
from sayso.gate.running_services import list_running_services
from tests.e2e.agents.gated import Serving
from tests.e2e.mcp_place import HANDSHAKE
from tests.support.repository import ROOT

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


@contextmanager
def ending_services() -> Iterator[None]:
    """End the services that still run in this home: a gateway's last event may have started one."""
    try:
        yield
    finally:
        for one in list_running_services(gate_data_folder()):
            os.kill(one.process, signal.SIGTERM)


class GatedServer:
    """A user whose MCP client has its servers behind the gateway, by `sayso install mcp`."""

    def __init__(self, folder: Path, servers: Mapping[str, Any] | None = None, policy: str = POLICY) -> None:
        self.folder, self.made = folder, folder / "made"
        self.made.mkdir()
        config = folder / "XDG_CONFIG_HOME"
        (config / "sayso").mkdir(mode=0o700)
        (config / "sayso" / "policy.yaml").write_text(policy)
        self.config = config / "Claude" / "claude_desktop_config.json"
        self.config.parent.mkdir()
        started = {"command": sys.executable, "args": [str(SERVER), str(self.made)]}
        self.config.write_text(json.dumps({"mcpServers": servers or {"files": started}}))
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
    async def client(self, era: str = HANDSHAKE, name: str = "files", **how: Any) -> AsyncIterator[Client]:
        words = json.loads(self.config.read_text())["mcpServers"][name]
        env = self.environment | words.get("env", {})
        server = StdioServerParameters(command=words["command"], args=words["args"], env=env, cwd=self.folder)
        with (self.folder / "stderr").open("a", encoding="utf-8") as said:
            async with Client(stdio_client(server, errlog=said), mode=era, **how) as client:
                yield client

    def call(self, tool: str, era: str = HANDSHAKE, name: str = "files", **how: Any) -> tuple[bool, str]:
        """Call a tool; return whether it ran, and what was answered."""

        async def run() -> Any:
            async with self.client(era, name, **how) as client:
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

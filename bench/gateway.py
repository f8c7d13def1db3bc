"""A tool call through the gateway, against the same call straight to the server.

Client and server are the mcp SDK's, each a process of its own, over stdin and stdout. Behind the gateway the
service decides about each call and records it before the server hears of it; the policy allows it, at low
risk and without a grant, so nobody waits for the disk. The two clients call in turns, and only the calmest
half of the pairs counts, as in `bench/hook.py`.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.hook import a_service
from bench.measure import Row, Timing, Watch
from sayso.doors.agents.mcp_servers.words import wrap_words

ROUNDS = 400
AIM = 1.35
SERVER = """
from mcp.server import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(text: str) -> str:
    return text


server.run()
"""
POLICY = """
sayso: 1
domains:
  echo: {trust_level: high, autonomous: [say], requires_approval: [], blocked: []}
operations:
  echo.say: {risk: low}
tools:
  - {tool: mcp__echo__echo, operation: echo.say}
"""


def gateway_against_direct_call(watch: Watch) -> list[Row]:
    """An allowed call, with the service running."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "server.py").write_text(SERVER)
        (place / "policy.yaml").write_text(POLICY)
        file = place / "config" / "sayso" / "hooks" / "mcp"
        file.parent.mkdir(mode=0o700, parents=True)
        with a_service(place, file, place / "policy.yaml"):
            pairs = asyncio.run(_call_in_turns(place, watch))
    pairs = sorted(pairs, key=sum)[: ROUNDS // 2]
    ours, direct = (Timing(tuple(1e3 * one for one in side)) for side in zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    return [
        Row(
            what="MCP gateway, per call",
            against="direct call",
            ours=ours.median,
            theirs=direct.median,
            unit=" ms",
            ratio=ratio,
            aim=f"≤ {AIM}×",
            met=ratio <= AIM,
            spread=(ours.spread, direct.spread),
        )
    ]


async def _call_in_turns(place: Path, watch: Watch) -> list[tuple[float, float]]:
    from mcp import Client, StdioServerParameters, stdio_client

    direct = [sys.executable, str(place / "server.py")]
    names = os.environ | {"XDG_CONFIG_HOME": str(place / "config")}

    def connect(words: list[str]) -> Client:
        server = StdioServerParameters(command=words[0], args=words[1:], env=names)
        return Client(stdio_client(server), mode="legacy")

    async def measure(client: Client) -> float:
        began = time.perf_counter()
        result = await client.call_tool("echo", {"text": "a"})
        spent = time.perf_counter() - began
        if result.is_error:
            raise RuntimeError(str(result))
        return spent

    pairs = []
    async with connect([*wrap_words("echo", direct)]) as gated, connect(direct) as bare:
        for done in range(ROUNDS + 20):
            pairs.append((await measure(gated), await measure(bare)))
            watch("MCP gateway", min(done, ROUNDS), ROUNDS)
    return pairs[20:]


if __name__ == "__main__":
    for row in gateway_against_direct_call(lambda *_: None):
        print(f"{row.what}: {row.ours:.2f} ms against {row.theirs:.2f} ms, {row.ratio:.2f}× (aim {row.aim})")

"""A place where `sayso mcp serve` runs as a real process, with clients of the mcp SDK and an operator."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from sayso import Sayso
from sayso.gate.questions.read import find_question
from sayso.store.contract import Reader, SessionRow
from tests.e2e.served import opened
from tests.support.answers import digest_of

SERVED = Path(__file__).with_name("served.py")
ERAS = HANDSHAKE, STATELESS = ("legacy", "2026-07-28")
PATIENCE = 180.0
BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


class Place:
    """A folder with a store, a policy and a key; the server's gate and the operator's are two processes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.tokens = [secrets.token_urlsafe(32) for _ in range(2)]
        self.operator: Sayso = opened(home)
        self.address = ""

    def close(self) -> None:
        self.operator.close()

    def command(self, *more: str, gate: str = f"{SERVED}:gate") -> list[str]:
        return [sys.executable, "-m", "sayso", "mcp", "serve", gate, *more]

    @property
    def environment(self) -> dict[str, str]:
        clean = {key: one for key, one in os.environ.items() if not key.startswith(("SAYSO", "XDG"))}
        return {**clean, "PLACE": str(self.home), "HOME": str(self.home)}

    @property
    def ran(self) -> list[str]:
        """The tasks that were really created, in order."""
        path = self.home / "ran"
        return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []

    @contextmanager
    def over_http(self) -> Iterator[subprocess.Popen[str]]:
        """A server at a port of its own, for two tokens."""
        tokens = self.home / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text("\n".join(self.tokens), encoding="utf-8")
        command = self.command("--http", "127.0.0.1:0", "--tokens", str(tokens))
        with subprocess.Popen(
            command, env=self.environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        ) as server:
            assert server.stderr is not None
            said = server.stderr.readline()
            while said and "serving at" not in said:
                said = server.stderr.readline()
            self.address = said.split()[-1]
            try:
                yield server
            finally:
                server.terminate()
                server.wait(PATIENCE)

    @asynccontextmanager
    async def stdio(self, era: str, name: str = "tester") -> AsyncIterator[Client]:
        command, *arguments = self.command()
        server = StdioServerParameters(command=command, args=arguments, env=self.environment)
        with (self.home / "stderr").open("a", encoding="utf-8") as said:
            transport = stdio_client(server, errlog=said)
            async with Client(transport, mode=era, client_info=_called(name)) as client:
                yield client

    @asynccontextmanager
    async def http(self, era: str, token: int = 0, name: str = "tester") -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {self.tokens[token]}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as web:
            transport = streamable_http_client(self.address, http_client=web)
            async with Client(transport, mode=era, client_info=_called(name)) as client:
                yield client

    def question(self) -> str:
        """The question that is open, once there is one."""
        return str(self.once(lambda tx: next((one.id for one in tx.questions(state="open")), None)))

    def once(self, look: Callable[[Reader], object]) -> object:
        """What is found in the store, as soon as it is there."""
        store, mark = self.operator.gate.store, 0
        while True:
            with store.read() as tx:
                found = look(tx)
            if found:
                return found
            before, mark = mark, store.wait_for_change(mark, PATIENCE)
            assert mark != before, "nothing happened"

    def asked(self) -> Any:
        """The request that the open question is about, with its items."""
        with self.operator.gate.store.read() as tx:
            (row,) = tx.questions(state="open")
        return find_question(self.operator.gate, row.id).question

    def sessions(self, *, open_only: bool = True) -> list[SessionRow]:
        with self.operator.gate.store.read() as tx:
            return list(tx.sessions(open_only=open_only))

    def waiting(self) -> int:
        """How many questions wait for an answer."""
        with self.operator.gate.store.read() as tx:
            return len(tx.questions(state="open"))

    def answer(self, given: str, reason: str | None = None) -> None:
        question = self.question()
        seen = digest_of(self.operator.gate, question)
        assert self.operator.answer(question, given, by="ana", reason=reason, seen=seen).yours


async def told(client: Client, tool: str, /, progress: Any = None, meta: Any = None, **arguments: Any) -> Any:
    """What a tool answers; its text says the same as its structure."""
    result = await client.call_tool(tool, arguments, progress_callback=progress, meta=meta)
    return result.structured_content


def _called(name: str) -> Implementation:
    return Implementation(name=name, version="1")

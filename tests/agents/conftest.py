"""A service under preset coding, and each host in front of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import issue_token
from sayso.policy import load_preset
from tests.agents.hosts import HOSTS, Host, Output
from tests.support.gates import KEY, Clock, clock, embedded, no_settings
from tests.support.service import Service

__all__ = ["KEY", "clock", "no_settings"]


@pytest.fixture
def gate(store_kind: str, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(store_kind, tmp_path, clock) as store:
        yield open_gate(load_preset("coding"), store, key=KEY)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def service(gate: Gate, runner: asyncio.Runner) -> Service:
    return Service(gate, runner)


def name_of(host: Host) -> str:
    return host.label or host.name


with_ids = pytest.mark.parametrize("host", [one for one in HOSTS if one.has_ids], ids=name_of, indirect=True)
with_messages = pytest.mark.parametrize(
    "host", [one for one in HOSTS if one.message is not None], ids=name_of, indirect=True
)


@pytest.fixture(params=HOSTS, ids=name_of)
def host(request: pytest.FixtureRequest) -> Host:
    found: Host = request.param
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.txt").write_text("text")
    return folder


@pytest.fixture
def desk(service: Service, host: Host, project: Path) -> Desk:
    return Desk(service, host, project)


class Desk:
    """One host at work in a project: it sends what the host would send, and gives what the hook prints."""

    def __init__(self, service: Service, host: Host, project: Path, session: str = "session-1") -> None:
        self.service, self.host, self.project, self.session = service, host, project, session
        secret, token = issue_token(service.gate, "agent", host.name, by="test")
        service.secrets[host.name], service.tokens[host.name] = secret, token
        self.secret = secret
        self._count = 0

    def fire(self, event: str, payload: Any, *, wait: float = 0) -> Output:
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return self.service.runner.run(self.send(event, raw, wait=wait))

    async def send(self, event: str, raw: bytes, *, wait: float = 0) -> Output:
        path = f"/v1/hooks/{self.host.name}/{event}?wait={wait}"
        response = await self.service.ask(self.host.name, "POST", path, content=raw)
        if response.status_code != 200:
            return self._refused(event, response.text)
        first, _, rest = response.content.partition(b"\n")
        mark, code, out, err = first.split()
        assert mark == b"sayso-hook"
        assert len(rest) == int(out) + int(err)
        return Output(int(code), rest[: int(out)].decode(), rest[int(out) :].decode())

    def _refused(self, event: str, why: str) -> Output:
        """What the hook prints of a refusal."""
        known = {one.name: one for one in self.host.agent.events}
        found = known.get(event)
        return Output(2, "", why) if found is None else Output(found.fail_code, found.fail_output, why)

    def payload(self, kind: str, what: str, id_: str | None = None, **more: Any) -> dict[str, Any]:
        self._count += 1
        tool, args = self.host.arguments(kind, what)
        named = id_ or f"call-{self._count}"
        return self.host.call(self.session, self.project, tool, args, named, **more)

    def call(self, kind: str, what: str, id_: str | None = None, *, wait: float = 0, **more: Any) -> Output:
        return self.fire(self.host.before, self.payload(kind, what, id_, **more), wait=wait)

    def ended(self, kind: str, what: str, id_: str = "call-1") -> Output:
        tool, args = self.host.arguments(kind, what)
        return self.fire(self.host.after, self.host.ended(self.session, self.project, tool, args, id_))

    def says(self, text: str) -> Output:
        assert self.host.message is not None
        assert self.host.prompt is not None
        return self.fire(self.host.prompt, self.host.message(self.session, self.project, text))

    def questions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.service.told("operator", "GET", "/v1/questions")
        return found

    def calls(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.service.told("operator", "GET", "/v1/calls")
        return found

    def file(self, name: str = "a.txt") -> str:
        return str(self.project / name)

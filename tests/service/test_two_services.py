"""Two services on one PostgreSQL: whoever waits at one that is killed gets their answer through the other."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from psycopg.conninfo import conninfo_to_dict

from sayso.doors.python.calls.results import Result
from sayso.doors.remote.connected import Connected, connect
from sayso.doors.remote.line import ServiceRequest
from tests.support.postgres_place import new_schema
from tests.support.service_process import Home, Service, a_home

CALLERS = 200 if os.environ.get("SAYSO_ALL") else 60
SESSIONS = 10
"""For each program; a session may have twenty questions open."""
PROGRAMS = 4
LONGEST = 300.0
PAUSE = 0.1


class Program:
    """A host of its own, whose callers all wait for a person; and what it ran."""

    def __init__(self, gate: Connected, numbers: range) -> None:
        self.gate = gate
        self.numbers = numbers
        self.ran: Counter[int] = Counter()

        @gate.requires_consent("tasks.create")
        async def create(number: int) -> int:
            self.ran[number] += 1
            return number

    def start(self) -> list[asyncio.Task[Result]]:
        sessions = [self.gate.session(agent="helper") for _ in range(SESSIONS)]
        return [
            asyncio.create_task(sessions[number % SESSIONS].arun("create", {"number": number}, wait=LONGEST))
            for number in self.numbers
        ]


def asked(operator: Connected) -> dict[int, str]:
    """The open questions, each by the number of its caller."""
    found: list[dict[str, Any]] = operator.door.line.ask(
        ServiceRequest("GET", "/v1/questions", query={"limit": "200"})
    )
    return {one["arguments"]["number"]: one["id"] for one in found}


def waiting(service: Service, token: str) -> int:
    """How many wait at this service."""
    text = httpx.get(f"{service.url}/metrics", headers={"Authorization": f"Bearer {token}"}).text
    line = next(line for line in text.splitlines() if line.startswith("sayso_open_waits "))
    return int(float(line.split()[1]))


def in_a_schema(server: str) -> str:
    """The URL of an empty schema on this server."""
    options = conninfo_to_dict(new_schema(server))["options"]
    return f"{server}{'&' if '?' in server else '?'}options={quote(str(options))}"


async def until(true: Callable[[], bool]) -> None:
    """Ask until it is so, and leave the services time for their work between the questions."""
    while not await asyncio.to_thread(true):  # noqa: ASYNC110  what is waited for is in other processes
        await asyncio.sleep(PAUSE)


def test_of_many_callers_none_is_lost_and_none_runs_twice_though_one_service_is_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postgres_server: str
) -> None:
    folder = a_home(monkeypatch, tmp_path).folder
    home = Home(folder, in_a_schema(postgres_server))
    with (
        home.serve(socket=tmp_path / "one" / "s") as one,
        home.serve(socket=tmp_path / "two" / "s") as two,
    ):
        urls = [one.url, two.url]
        share = CALLERS // PROGRAMS
        programs = [
            Program(
                connect(urls[n % 2 :] + urls[: n % 2], home.token("host")),
                range(n * share, (n + 1) * share),
            )
            for n in range(PROGRAMS)
        ]
        operator = home.token("operator")
        at_two = two.connect(operator)

        def both() -> tuple[int, int]:
            """Who waits where: a program goes elsewhere if its first service is slow to answer."""
            return waiting(one, operator), waiting(two, operator)

        async def all_answered() -> dict[int, Result]:
            async with asyncio.timeout(LONGEST):
                tasks = [task for program in programs for task in program.start()]
                await until(lambda: len(asked(at_two)) == CALLERS)
                await until(lambda: min(shared := both()) > 0 and sum(shared) == CALLERS)
                before = asked(at_two)
                await asyncio.to_thread(one.kill)
                assert asked(at_two) == before
                for number, question in before.items():
                    answer = "deny" if number % 5 == 0 else "once"
                    stands = await asyncio.to_thread(at_two.answer, question, answer)
                    assert stands.yours
                results = await asyncio.gather(*tasks)
            return dict(zip(range(CALLERS), results, strict=True))

        results = asyncio.run(all_answered())
        allowed = [number for number in range(CALLERS) if number % 5]
        assert sorted(n for n, one in results.items() if one.status == "ok") == allowed
        assert {one.status for n, one in results.items() if n % 5 == 0} == {"denied"}
        assert {n: result.value for n, result in results.items() if result.ok} == {n: n for n in allowed}
        assert sum((program.ran for program in programs), Counter()) == Counter(allowed)
        assert asked(at_two) == {}
        for gate in (at_two, *(program.gate for program in programs)):
            gate.close()

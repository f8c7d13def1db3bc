"""A service whose callers all come at the same moment, and what each is told against what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sayso.core.policy import Policy
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import load_or_make_key
from sayso.policy import load_text
from sayso.store.contract import Store
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.service import Service

CALLERS = 32
POLICY: Policy = load_text(
    "extends: [balanced]\ndomains:\n  desk: {autonomous: [tidy], requires_approval: [], blocked: []}\n"
)
TIDY = {"tool": "tidy", "args": {}, "operations": [{"operation": "desk.tidy"}]}
STORED = {"ended": "succeeded", "allowed": "running"}
"""The state in which a call is stored whose caller was told this. All others were told it did not happen."""


def gate_on(store: Store, folder: Path) -> Gate:
    """A gate with its key and marks in this folder."""
    key = load_or_make_key("batches", folder / "gate.key")
    return open_gate(POLICY, store, key=key, marks=folder)


def open_at(place: str) -> Store:
    """The store of this file, or at this address."""
    return SqliteStore(Path(place)) if place.endswith(".db") else PostgresStore(place)


class Together:
    """A service on this store, and one session for all callers."""

    def __init__(self, store: Store, marks: Path, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.gate = gate_on(store, marks)
        self.service = Service(self.gate, runner)
        self.session = self.service.told("host", "POST", "/v1/sessions", {"agent": "a"})["id"]

    def call_all(self, told: Callable[[int, Any], None]) -> None:
        """Every caller makes one call; `told` hears what each is answered."""

        async def one(number: int) -> None:
            told(number, await self._call(f"caller {number}"))

        self._run_all(one)

    def call_and_end_all(self, when: str) -> dict[str, str]:
        """Every caller makes one call, and reports its success if it was allowed; what each was told last."""
        told: dict[str, str] = {}

        async def one(number: int) -> None:
            name = f"{when} {number}"
            answer = await self._call(name)
            told[name] = str(answer.get("code") or answer["status"])
            if told[name] == "allowed":
                path = f"/v1/calls/{answer['operation_id']}/outcome"
                body = {"state": "succeeded", "fence": answer["fence"]}
                if (await self.service.ask("host", "POST", path, body)).is_success:
                    told[name] = "ended"

        self._run_all(one)
        return told

    async def _call(self, name: str) -> Any:
        body = {**TIDY, "session": self.session, "call_id": name}
        return (await self.service.ask("host", "POST", "/v1/calls", body)).json()

    def _run_all(self, one: Callable[[int], Any]) -> None:
        async def everybody() -> None:
            await asyncio.gather(*(one(number) for number in range(CALLERS)))

        self.runner.run(everybody())


def stored(gate: Gate, session: str, names: Mapping[str, object] | None = None) -> dict[str, str]:
    """The state of each call that is stored, by the name its caller gave it."""
    wanted = names or {f"caller {number}": None for number in range(CALLERS)}
    with gate.store.read() as tx:
        found = {name: tx.call_by_host(session, name) for name in wanted}
    return {name: row.state for name, row in found.items() if row is not None}


def find_lies(gate: Gate, session: str, told: Mapping[str, str]) -> list[str]:
    """What callers were told that is not what is stored."""
    states = stored(gate, session, told)
    return [
        f"{name} was told {said}, and is {states.get(name)}"
        for name, said in told.items()
        if STORED.get(said) != states.get(name)
    ]

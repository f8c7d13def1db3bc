"""The series of `python -m bench --scale`: calls a second and p99 against agents, services and history.

- Agents: more and more of them on one service.
- Services: a crew of agents on more and more services that share one store.
- History: the same crew on one service, on a store in which so many decisions were made before.
- Registered: a large number of agents with a token and a session each, of which some are at work.

Each of them on SQLite and on PostgreSQL. A service is started for each measurement, and the agents of one
series are the same ones each time.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from bench.durable import on_disk
from bench.figures import write_decisions
from bench.measure import Watch
from bench.postgres import a_schema, describe_server
from bench.scale import (
    FILE,
    Agent,
    Figures,
    add_agents,
    drive,
    open_bench_gate,
    register_idle_agents,
    running_services,
)
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.summaries.add_up import add_up

Series = Literal["agents", "services", "history", "registered"]
StoreName = Literal["SQLite", "PostgreSQL"]
STORES: tuple[StoreName, ...] = ("SQLite", "PostgreSQL")
PAGE = 5_000
"""How many entries of the history are written in one transaction."""
IDLE_AT_ONCE = 500


class Plan(msgspec.Struct, frozen=True):
    """How much of everything is measured, and for how many seconds each."""

    agents: tuple[int, ...] = (1, 8, 32, 128)
    services: tuple[int, ...] = (1, 2, 4)
    history: tuple[int, ...] = (0, 100_000, 1_000_000)
    crew: int = 32
    """So many agents work in the series of services and history."""
    registered: int = 10_000
    active: int = 128
    seconds: float = 5.0

    @property
    def measurements(self) -> int:
        return len(STORES) * (len(self.agents) + len(self.services) + len(self.history) + 1)


SMALL = Plan((1, 4), (1, 2), (0, 2_000), crew=4, registered=100, active=4, seconds=1.0)
"""To see that everything works."""


class Point(msgspec.Struct, frozen=True):
    """One measurement: where and how, and its figures."""

    series: Series
    store: StoreName
    history: int
    registered: int
    figures: Figures

    @property
    def value(self) -> int:
        """Return what changes along its series."""
        counts: dict[Series, int] = {
            "agents": self.figures.agents,
            "services": self.figures.services,
            "history": self.history,
            "registered": self.registered,
        }
        return counts[self.series]


class Measured(msgspec.Struct, frozen=True):
    """Everything that one run measured, and what one must know to read it."""

    date: str
    machine: dict[str, str]
    seconds: float
    points: list[Point]


def run_series(plan: Plan, server: str, watch: Watch) -> Measured:
    """Measure the whole plan; `server` is the address of a PostgreSQL."""
    machine = _describe_machine(server)
    run = Run(plan, server, watch)
    for store in STORES:
        run.measure_agents_and_services(store)
        run.measure_history(store)
        run.measure_registered(store)
    return Measured(f"{datetime.now(UTC):%Y-%m-%d}", machine, plan.seconds, run.points)


class Run:
    """A run of the series: what was measured so far."""

    def __init__(self, plan: Plan, server: str, watch: Watch) -> None:
        self.points: list[Point] = []
        self._plan = plan
        self._server = server
        self._watch = watch

    def measure_agents_and_services(self, store: StoreName) -> None:
        plan = self._plan
        with self._place(store) as (folder, where):
            self._tell(f"{store}: adding agents")
            who = add_agents(folder, where, max(*plan.agents, plan.crew))
            for count in plan.agents:
                figures = self._work(store, folder, where, who[:count])
                self._keep("agents", store, figures)
            for services in plan.services:
                figures = self._work(store, folder, where, who[: plan.crew], services)
                self._keep("services", store, figures)

    def measure_history(self, store: StoreName) -> None:
        with self._place(store) as (folder, where):
            who = add_agents(folder, where, self._plan.crew)
            written = 0
            for entries in self._plan.history:
                self._write_history(store, folder, where, written, entries)
                written = entries
                figures = self._work(store, folder, where, who, history=entries)
                self._keep("history", store, figures, history=entries)

    def measure_registered(self, store: StoreName) -> None:
        plan = self._plan
        with self._place(store) as (folder, where):
            opened, gate = open_bench_gate(folder, where)
            with closing(opened):
                for done in range(plan.active, plan.registered, IDLE_AT_ONCE):
                    self._tell(f"{store}: registering {plan.registered:,} agents, {done:,} so far")
                    register_idle_agents(gate, min(IDLE_AT_ONCE, plan.registered - done))
            who = add_agents(folder, where, plan.active)
            figures = self._work(store, folder, where, who, registered=plan.registered)
            self._keep("registered", store, figures, registered=plan.registered)

    @contextmanager
    def _place(self, store: StoreName) -> Iterator[tuple[Path, str]]:
        """A folder for the key and the mark, and a fresh store."""
        with on_disk() as folder:
            if store == "SQLite":
                yield folder, FILE
            else:
                with a_schema(self._server) as address:
                    yield folder, address

    def _work(
        self,
        store: StoreName,
        folder: Path,
        where: str,
        who: list[Agent],
        services: int = 1,
        *,
        history: int = 0,
        registered: int = 0,
    ) -> Figures:
        more = f", {history:,} entries" if history else f", {registered:,} registered" if registered else ""
        self._tell(f"{store}: {_count(len(who), 'agent')} on {_count(services, 'service')}{more}")
        with running_services(folder, where, services) as running:
            return drive(running, who, seconds=self._plan.seconds)

    def _write_history(self, store: StoreName, folder: Path, where: str, first: int, last: int) -> None:
        if first == last:
            return
        opened, gate = open_bench_gate(folder, where)
        with closing(opened):
            for start in range(first, last, PAGE):
                self._tell(f"{store}: writing {last:,} entries, {start:,} so far")
                write_decisions(gate, start, min(start + PAGE, last))
            self._tell(f"{store}: signing and adding up {last:,} entries")
            sign_audit(gate)
            add_up(gate, most=None)

    def _keep(
        self, series: Series, store: StoreName, figures: Figures, *, history: int = 0, registered: int = 0
    ) -> None:
        self.points.append(Point(series, store, history, registered, figures))

    def _tell(self, what: str) -> None:
        self._watch(what, len(self.points), self._plan.measurements)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _describe_machine(server: str) -> dict[str, str]:
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "PostgreSQL": describe_server(server),
    }

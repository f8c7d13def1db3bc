"""Services that share one PostgreSQL: four of them against one, and one against the database itself.

All four run all the time; the agents turn to one of them or to all, in turns, and begin with either in turns:
whoever is first comes right after the database was kept busy. On a machine without processors to spare four
services cannot be quicker than one, but they must not be slower. The calls of many agents are held against
commits of one row each, made by PostgreSQL's own pgbench with as many clients.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.durable import on_disk
from bench.measure import Row, Timing, Watch
from bench.postgres import a_schema, a_server, count_commits
from bench.scale import add_agents, drive, running_services

SERVICES, AGENTS, MANY_AGENTS = 4, 32, 128
ROUNDS, SECONDS = 6, 2
TIMES_ONE, TIMES_COMMITS = 1.0, 0.08


def services_on_postgres(watch: Watch) -> list[Row]:
    many: list[float] = []
    one: list[float] = []
    crowded: list[float] = []
    commits: list[float] = []
    with a_server() as server, a_schema(server) as address, a_schema(server) as bare, on_disk() as folder:
        who = add_agents(folder, address, MANY_AGENTS)
        with running_services(folder, address, SERVICES) as running:
            for done in range(ROUNDS):
                turns = [(one, running[:1]), (many, running)]
                for measured, services in turns if done % 2 else reversed(turns):
                    measured.append(drive(services, who[:AGENTS], seconds=SECONDS).per_second)
                crowded.append(drive(running[:1], who, seconds=SECONDS).per_second)
                commits.append(count_commits(bare, folder, clients=MANY_AGENTS, seconds=SECONDS))
                watch("services on PostgreSQL", done + 1, ROUNDS)
    return [
        _row(f"{SERVICES} services, {AGENTS} agents", "1 service, PostgreSQL", many, one, TIMES_ONE),
        _row(f"service, {MANY_AGENTS} agents", "PostgreSQL's own commits", crowded, commits, TIMES_COMMITS),
    ]


def _row(what: str, against: str, ours: Sequence[float], theirs: Sequence[float], times: float) -> Row:
    ratio = statistics.median(left / right for left, right in zip(ours, theirs, strict=True))
    left, right = Timing(tuple(ours)), Timing(tuple(theirs))
    return Row(
        what=what,
        against=against,
        ours=left.median,
        theirs=right.median,
        unit=" /s",
        ratio=ratio,
        aim=f"≥ {times:g}×",
        met=ratio >= times,
        spread=(left.spread, right.spread),
    )

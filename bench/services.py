"""Four services that share one PostgreSQL, against one of them alone, with the same agents.

All four run all the time; the agents turn to one of them or to all, in turns. On a machine without processors
to spare four services cannot be quicker than one, but they must not be slower.
"""

from __future__ import annotations

import statistics

from bench.durable import on_disk
from bench.measure import Row, Timing, Watch
from bench.postgres import a_schema, a_server
from bench.scale import add_agents, drive, running_services

SERVICES, AGENTS = 4, 32
ROUNDS, SECONDS = 5, 2.0
TIMES_ONE = 1.0


def services_against_one(watch: Watch) -> list[Row]:
    many, one = [], []
    with a_server() as server, a_schema(server) as address, on_disk() as folder:
        who = add_agents(folder, address, AGENTS)
        with running_services(folder, address, SERVICES) as running:
            for done in range(ROUNDS):
                one.append(drive(running[:1], who, seconds=SECONDS).per_second)
                many.append(drive(running, who, seconds=SECONDS).per_second)
                watch(f"{SERVICES} services and one, on PostgreSQL", done + 1, ROUNDS)
    ratio = statistics.median(left / right for left, right in zip(many, one, strict=True))
    ours, theirs = Timing(tuple(many)), Timing(tuple(one))
    return [
        Row(
            what=f"{SERVICES} services on PostgreSQL",
            against=f"1 service, {AGENTS} agents",
            ours=ours.median,
            theirs=theirs.median,
            unit=" calls/s",
            ratio=ratio,
            aim=f"≥ {TIMES_ONE:g}×",
            met=ratio >= TIMES_ONE,
            spread=(ours.spread, theirs.spread),
        )
    ]

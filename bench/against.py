"""`python -m bench.against CHECKOUT`: this code's service against that of another checkout of Sayso.

The same agents work on a service of each, in turns: calls a second, the processor time the service needs for
a call, and the ratio of the two. Both are started as people start them (`sayso serve`) and spoken to over
HTTP, so the other checkout may be as old as the commands and addresses that are used here. It needs no
environment of its own; for example:

    git worktree add ../before COMMIT
    python -m bench.against ../before
    python -m bench.against ../before --postgres --agents 128

Where SAYSO_BENCH_BEFORE names such a checkout, `make bench` has a row for each of these two.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import httpx

import sayso
from bench.durable import OPERATION, on_disk
from bench.measure import Row, Timing, Watch
from bench.postgres import a_schema, a_server
from bench.scale import Agent, Figures, Service, drive

HERE = Path(sayso.__file__).parents[2]
DOMAIN, _, ACTION = OPERATION.partition(".")
POLICY = f"sayso: 1\ndomains:\n  {DOMAIN}: {{autonomous: [], requires_approval: [{ACTION}], blocked: []}}\n"
A_DAY = 24 * 60
LONGEST_START = 60
BEFORE = "SAYSO_BENCH_BEFORE"
ROUNDS, SECONDS = 5, 3.0
AIMS = {False: (32, 4.0), True: (128, 8.0)}
"""On SQLite and on PostgreSQL: how many agents, and how many times the calls of the code before."""


class Side:
    """The service of one checkout, on a store of its own, with its agents."""

    def __init__(self, checkout: Path, folder: Path, store: str) -> None:
        self._checkout, self._folder, self._store = checkout, folder, store
        (folder / "policy.yaml").write_text(POLICY)
        self.agents: list[Agent] = []
        self.figures: list[Figures] = []

    @contextmanager
    def running(self) -> Iterator[Service]:
        """Its service, which takes as many requests as come, until this ends."""
        port = "--port", "0", "--socket", str(self._folder / "s")
        many = "--rate", "1000000", "--burst", "1000000", "--body-rate", "1000000000"
        command = self._command("serve", *port, *many, "--policy", str(self._folder / "policy.yaml"))
        with subprocess.Popen(  # noqa: S603  ourselves
            command,
            env=self._environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                yield Service(process.pid, _port_in(process.stdout or ()))
            finally:
                process.terminate()

    def add_agents(self, service: Service, count: int) -> None:
        """Agents with a token, a session and the operator's grant for a day each."""
        command = self._command("token", "new", "operator", "bench", "--json")
        told = subprocess.check_output(  # noqa: S603  ourselves
            command, env=self._environment(), text=True, stderr=subprocess.DEVNULL
        )
        with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=LONGEST_START) as client:
            operator = json.loads(told)["token"]
            for number in range(count):
                new = _ask(client, operator, "/v1/tokens", {"role": "host", "name": f"agent {number}"})
                session = _ask(client, new["secret"], "/v1/sessions", {"agent": "agent"})["id"]
                grant = {"session": session, "operation": OPERATION, "minutes": A_DAY}
                _ask(client, operator, "/v1/grants", grant)
                self.agents.append(Agent(new["secret"], session))

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "sayso", *words, "--store", self._store]

    def _environment(self) -> dict[str, str]:
        """Its own code, and a home of its own, so that nothing of whoever measures is used."""
        ours = {"HOME": str(self._folder), "PYTHONPATH": str(self._checkout / "src"), "PYTHONUNBUFFERED": "1"}
        return {**{k: v for k, v in os.environ.items() if not k.startswith(("SAYSO_", "XDG_"))}, **ours}


def _port_in(lines: Sequence[str] | Iterator[str]) -> int:
    for line in lines:
        found = line.partition("://")[2].partition("/")[0].rpartition(":")[2].split()
        if found and found[0].isdigit():
            return int(found[0])
    raise AssertionError("the service did not start")


def _ask(client: httpx.Client, token: str, path: str, body: dict[str, object]) -> dict[str, str]:
    answer = client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
    if answer.status_code not in (200, 201):
        raise AssertionError(f"{path}: {answer.status_code} {answer.text[:300]}")
    told: dict[str, str] = answer.json()
    return told


def service_against_before(watch: Watch) -> list[Row]:
    """The service against that of the checkout that SAYSO_BENCH_BEFORE names; nothing if it names none."""
    named = os.environ.get(BEFORE)
    if not named:
        return []
    rows = []
    for postgres, (agents, times) in AIMS.items():
        where = "PostgreSQL" if postgres else "SQLite"
        sides = compare(
            Path(named), postgres=postgres, agents=agents, seconds=SECONDS, rounds=ROUNDS, watch=watch
        )
        ours, theirs = (Timing(tuple(one.per_second for one in side.figures)) for side in sides)
        ratio = _find_ratio(sides)
        rows.append(
            Row(
                what=f"service, {agents} agents, {where}",
                against="the code before",
                ours=ours.median,
                theirs=theirs.median,
                unit=" /s",
                ratio=ratio,
                aim=f"≥ {times:g}×",
                met=ratio >= times,
                spread=(ours.spread, theirs.spread),
            )
        )
    return rows


def compare(
    checkout: Path, *, postgres: bool, agents: int, seconds: float, rounds: int, watch: Watch
) -> list[Side]:
    """This code's service and that of the checkout, with what the agents measured on each in turns."""
    if not (checkout / "src" / "sayso").is_dir():
        raise ValueError(f"{checkout} is not a checkout of Sayso")
    with on_disk() as folder, a_server() if postgres else nullcontext("") as server, ExitStack() as held:
        sides = []
        for name, code in (("here", HERE), ("there", checkout.absolute())):
            place = folder / name
            place.mkdir()
            store = str(place / "sayso.db")
            if postgres:
                from sayso.store.postgres.server import url_without_password

                store = url_without_password(held.enter_context(a_schema(server)))
            sides.append(Side(code, place, store))
        _measure(sides, agents=agents, seconds=seconds, rounds=rounds, watch=watch)
    return sides


def _measure(sides: Sequence[Side], *, agents: int, seconds: float, rounds: int, watch: Watch) -> None:
    """Let the agents of each work in turns."""
    with ExitStack() as held:
        services = [held.enter_context(side.running()) for side in sides]
        for side, service in zip(sides, services, strict=True):
            side.add_agents(service, agents)
        for done in range(rounds):
            for side, service in zip(sides, services, strict=True):
                side.figures.append(drive([service], side.agents, seconds=seconds))
            watch("the service and the code before", done + 1, rounds)


def _find_ratio(sides: Sequence[Side]) -> float:
    """How many times the calls a second, as the median of the turns."""
    pairs = zip(sides[0].figures, sides[1].figures, strict=True)
    return statistics.median(ours.per_second / theirs.per_second for ours, theirs in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.against", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("checkout", type=Path, help="a folder with another version of Sayso")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    parser.add_argument("--agents", type=int, default=AIMS[False][0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of work in each turn")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    try:
        sides = compare(**vars(args), watch=lambda what, done, of: None)
    except ValueError as error:
        parser.error(str(error))
    where = "PostgreSQL" if args.postgres else "SQLite"
    turns = f"{args.rounds} turns of {args.seconds:g} s"
    print(f"{args.agents} agents, 1 service on {where}, {turns}, load {load:.1f} before")
    for name, side in zip(("here", "there"), sides, strict=True):
        speed = statistics.median(one.per_second for one in side.figures)
        cpu = statistics.median(one.cpu for one in side.figures)
        print(f"{name:6} {speed:7.0f} calls/s {cpu * 1e3:7.2f} ms of the service's processor time a call")
    pairs = zip(sides[0].figures, sides[1].figures, strict=True)
    lighter = statistics.median(theirs.cpu / ours.cpu for ours, theirs in pairs)
    faster = _find_ratio(sides)
    print(f"ratio  {faster:7.2f}× calls/s {lighter:7.2f}× less processor time (medians of the turns)")


if __name__ == "__main__":
    main()

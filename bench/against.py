"""`python -m bench.against CHECKOUT`: this code's service against that of another checkout of Sayso.

The same agents work on a service of each, in turns: calls a second, the processor time the service needs for
a call, and the ratio of the two. Both are started as people start them (`sayso serve`) and spoken to over
HTTP, so the other checkout may be as old as the commands and addresses that are used here. It needs no
environment of its own; for example:

    git worktree add ../before COMMIT
    python -m bench.against ../before
    python -m bench.against ../before --postgres --agents 128
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
from bench.postgres import a_schema, a_server
from bench.scale import Agent, Figures, Service, drive

HERE = Path(sayso.__file__).parents[2]
DOMAIN, _, ACTION = OPERATION.partition(".")
POLICY = f"sayso: 1\ndomains:\n  {DOMAIN}: {{autonomous: [], requires_approval: [{ACTION}], blocked: []}}\n"
A_DAY = 24 * 60
LONGEST_START = 60


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


def measure(sides: Sequence[Side], *, agents: int, seconds: float, rounds: int) -> None:
    """Let the agents of each work in turns."""
    with ExitStack() as held:
        services = [held.enter_context(side.running()) for side in sides]
        for side, service in zip(sides, services, strict=True):
            side.add_agents(service, agents)
        for _ in range(rounds):
            for side, service in zip(sides, services, strict=True):
                side.figures.append(drive([service], side.agents, seconds=seconds))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.against", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("checkout", type=Path, help="a folder with another version of Sayso")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    parser.add_argument("--agents", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3.0, help="of work in each turn")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if not (args.checkout / "src" / "sayso").is_dir():
        parser.error(f"{args.checkout} is not a checkout of Sayso")
    load = os.getloadavg()[0]
    with on_disk() as folder, a_server() if args.postgres else nullcontext("") as server, ExitStack() as held:
        sides = []
        for name, checkout in (("here", HERE), ("there", args.checkout.absolute())):
            place = folder / name
            place.mkdir()
            store = str(place / "sayso.db")
            if args.postgres:
                from sayso.store.postgres.server import url_without_password

                store = url_without_password(held.enter_context(a_schema(server)))
            sides.append(Side(checkout, place, store))
        measure(sides, agents=args.agents, seconds=args.seconds, rounds=args.rounds)
    where = "PostgreSQL" if args.postgres else "SQLite"
    turns = f"{args.rounds} turns of {args.seconds:g} s"
    print(f"{args.agents} agents, 1 service on {where}, {turns}, load {load:.1f} before")
    for name, side in zip(("here", "there"), sides, strict=True):
        speed = statistics.median(one.per_second for one in side.figures)
        cpu = statistics.median(one.cpu for one in side.figures)
        print(f"{name:6} {speed:7.0f} calls/s {cpu * 1e3:7.2f} ms of the service's processor time a call")
    pairs = list(zip(sides[0].figures, sides[1].figures, strict=True))
    faster = statistics.median(ours.per_second / theirs.per_second for ours, theirs in pairs)
    lighter = statistics.median(theirs.cpu / ours.cpu for ours, theirs in pairs)
    print(f"ratio  {faster:7.2f}× calls/s {lighter:7.2f}× less processor time (medians of the turns)")


if __name__ == "__main__":
    main()

"""The service's lists at size: `python -m bench.lists [ADDRESS OF A DATABASE]` prints how long each takes.

10,000 open questions and 100 runs of a workflow, then 1,000 and 5,000 sessions with a grant each: the first
page of every list, then all pages, and the chore that tidies up after runs. In this process, with no network,
on SQLite or on the PostgreSQL whose address is given (an empty schema of it).
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import httpx

from bench.durable import DOMAINS, OPERATION, on_disk
from bench.questions import MANY, Crowd
from bench.world import make_world
from sayso.core.effects import GrantAdded
from sayso.core.grants import Pins
from sayso.core.model import Operation
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, apply_and_save, load_open_session, select_live_rows
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.ledger.workflows import list_workflow_runs, reconcile_runs
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import issue_token
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.allowance import GrantWish, build_grant
from sayso.gate.sessions.sessions import open_session
from sayso.service.app import make_app
from sayso.service.http.state import ServiceSettings
from sayso.store.contract import Store
from sayso.store.sqlite.store import SqliteStore

SIZES = (1_000, 5_000)
RUNS = 100
ROUNDS = 5
HOUR = 3_600.0
HOST = "sayso.test"
WISH = GrantWish(OPERATION, None, None, None, 60.0, None, Pins())


def main() -> None:
    with on_disk() as folder, closing(_store(str(folder / "sayso.db"))) as store:
        gate = open_gate(make_world(DOMAINS).policy, store, key=make_key("bench"))
        Crowd(gate, MANY, lambda what, done, of: None)
        with asking(gate) as ask:
            _say(f"{MANY:,} questions: first page", lambda: ask("/v1/questions"))
            for _ in range(RUNS):
                _run(gate)
            made = 0
            for size in SIZES:
                _grow(gate, size - made)
                made = size
                _measure(gate, ask, size)


def _measure(gate: Gate, ask: Callable[[str], str | None], size: int) -> None:
    for path in ("/v1/sessions", "/v1/grants"):
        _say(f"{size:,} sessions: first page of {path}", lambda path=path: ask(path))  # type: ignore[misc]
        _say(f"{size:,} sessions: all of {path}", lambda path=path: _all(ask, path), rounds=1)  # type: ignore[misc]
    _say(f"{size:,} sessions: reconcile", lambda: reconcile_runs(gate))
    _say(f"{size:,} sessions: list_runs", lambda: list_workflow_runs(gate))


def _run(gate: Gate) -> None:
    """A workflow that somebody allowed, under way in a session of its own."""
    session = open_session(gate, agent="agent", owner="bench")
    call = make_call("workflow:weekly", {})
    request = make_request(call, [Operation(OPERATION)], session=session, workflow="weekly")
    asked = start_call(gate, request, holder="bench")
    answer_question(gate, asked.question or "", "once", by="bench")
    if not retry_call(gate, asked.call, holder="bench", lease=HOUR).runs:
        raise AssertionError("the workflow does not run")


def _grow(gate: Gate, more: int) -> None:
    """So many further sessions, each with a grant."""
    for _ in range(more):
        session = open_session(gate, agent="agent", owner="bench")
        with gate.store.write(durable=False) as tx:
            found = load_open_session(gate, tx, session, select_live_rows())
            apply_and_save(
                gate, tx, found, (GrantAdded(build_grant(WISH, gate.policy, found.session, tx.now, "bench")),)
            )


@contextmanager
def asking(gate: Gate) -> Iterator[Callable[[str], str | None]]:
    """Asks for a list as an operator; what it gives is the address of the next page, if there is one."""
    app = make_app(gate, hosts=(HOST,), settings=ServiceSettings(rate=1e6, burst=1_000_000))
    secret, _ = issue_token(gate, "operator", "bench", by="bench")
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url=f"http://{HOST}",
        headers={"Authorization": f"Bearer {secret}"},
        timeout=600,
    )
    with asyncio.Runner() as runner:

        def ask(path: str) -> str | None:
            response = runner.run(client.get(path))
            response.raise_for_status()
            return response.links.get("next", {}).get("url")

        yield ask
        runner.run(client.aclose())


def _all(ask: Callable[[str], str | None], path: str) -> None:
    following: str | None = path
    while following is not None:
        following = ask(following)


def _say(what: str, act: Callable[[], object], rounds: int = ROUNDS) -> None:
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        act()
        took.append(time.perf_counter() - began)
    sys.stdout.write(f"{what:45} {statistics.median(took) * 1e3:9.1f} ms\n")
    sys.stdout.flush()


def _store(path: str) -> Store:
    if len(sys.argv) == 1:
        return SqliteStore(path)
    from sayso.store.postgres.store import PostgresStore

    return PostgresStore(sys.argv[1])


if __name__ == "__main__":
    main()

"""What is wrong with one request of a batch is told to whoever made it, and to nobody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.support import round_trips
from tests.support.gates import KEY
from tests.support.postgres_place import new_schema
from tests.support.round_trips import Asked, asking, check, plain, send_together
from tests.support.service import READ, Service

OPENERS: dict[str, Callable[[str, Path], SqliteStore | PostgresStore]] = {
    "sqlite": lambda _, folder: SqliteStore(str(folder / "store.db")),
    "postgres": lambda server, _: PostgresStore(new_schema(server)),
}


@pytest.fixture(params=OPENERS)
def service(request: pytest.FixtureRequest, postgres_server: str, tmp_path: Path) -> Iterator[Service]:
    store = OPENERS[request.param](postgres_server, tmp_path)
    with asyncio.Runner() as runner, closing(store):
        yield Service(open_gate(load_text(round_trips.POLICY), store, key=KEY), runner)


def naming_a_look_alike(service: Service, session: str) -> Asked:
    """An operation whose name differs from a listed one only by its case."""
    body = {**READ, "operations": [{"operation": "Files.Read"}]}
    return Asked("other_agent", "/v1/calls", body, 400)


def retrying_in_no_run(service: Service, session: str) -> Asked:
    """A call that waits for its answer, retried as part of a run that there is not."""
    asked = asking(service, "host", session, "waits")
    made = service.told(asked.who, "POST", asked.path, asked.body)
    return Asked("host", f"/v1/calls/{made['operation_id']}/retry", {"run": "op_none"}, 404)


@pytest.mark.parametrize("wrong", [naming_a_look_alike, retrying_in_no_run])
def test_others_in_the_batch_of_a_refused_request_are_answered_as_if_it_were_not_there(
    service: Service, wrong: Callable[[Service, str], Asked]
) -> None:
    session = service.opened()
    asked = [
        plain(service, "agent", "", "before"),
        wrong(service, session),
        plain(service, "host", session, "after"),
    ]
    for one, answer in zip(asked, send_together(service, asked), strict=True):
        check(one, answer)


@pytest.mark.parametrize(
    ("who", "field"), [("agent", "call_id"), ("host", "effect_key"), ("host", "run"), ("host", "session")]
)
def test_half_of_a_surrogate_pair_names_nothing_and_comes_to_no_batch(
    service: Service, who: str, field: str
) -> None:
    said = {"tool": READ["tool"], "args": {}, field: "\ud800"}
    if who == "host":
        said = {"session": service.opened(), **said}
    sent = {"content": json.dumps(said).encode(), "headers": {"Content-Type": "application/json"}}
    answer = service.request(who, "POST", "/v1/calls", **sent)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

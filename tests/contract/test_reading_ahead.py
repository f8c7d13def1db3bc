"""Reading ahead on PostgreSQL: each key by an index, and only once whoever holds what it guards has ended."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from msgspec.structs import replace

from sayso.store.contract import Ahead
from sayso.store.postgres.ahead import AHEAD
from sayso.store.postgres.server import number_parameters
from sayso.store.postgres.store import PostgresStore
from tests.contract import rows
from tests.support.postgres_place import new_schema

NAMED = replace(rows.CALL, host_id="host", effect_key="effect")
PATIENCE = 60.0


@pytest.fixture
def address(postgres_server: str) -> str:
    return new_schema(postgres_server)


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(address)) as store:
        with store.write() as w:
            w.put_session(rows.SESSION)
            w.put_session(rows.session("s2"))
        yield store


@pytest.mark.parametrize("kind", AHEAD)
@pytest.mark.usefixtures("store")
def test_a_plan_made_while_the_tables_are_empty_finds_each_key_by_an_index(address: str, kind: str) -> None:
    """Such a plan is kept while they grow: one that passes a whole table would take ever longer."""
    text = number_parameters(AHEAD[kind]).decode()  # type: ignore[index]
    values = ", ".join(["NULL"] * text.count("$"))
    with psycopg.connect(address) as connection:
        connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute(f"PREPARE asked AS {text}")
        plan = [line for (line,) in connection.execute(f"EXPLAIN (COSTS OFF) EXECUTE asked ({values})")]
    scans = [number for number, line in enumerate(plan) if re.search(r"Index (Only )?Scan", line)]
    assert scans
    assert not [line for line in plan if "Seq Scan" in line]
    for number in scans:
        assert re.search(
            r"Index Cond: .*(\$\d|wanted\.|session = |= calls|= newest|= grants)", plan[number + 1]
        )


@pytest.mark.parametrize(
    "wanted", [Ahead(sessions=frozenset({"s1"}), host_ids=frozenset({("s1", "host")})), None]
)
def test_what_another_is_about_to_commit_is_waited_for(store: PostgresStore, wanted: Ahead | None) -> None:
    """A call under this host id, or in another session with this effect key."""
    begun, found = threading.Event(), []

    def read() -> None:
        begun.wait(PATIENCE)
        with store.batch() as batch:
            batch.read_ahead(wanted or Ahead(sessions=frozenset({"s2"}), effects=frozenset({"effect"})))
            with batch.read() as r:
                found.append(r.call_by_host("s1", "host") if wanted else [*r.calls_by_effect("effect")])

    reader = threading.Thread(target=read)
    reader.start()
    with store.write() as w:
        w.session("s1")
        w.calls_by_effect("effect")
        begun.set()
        reader.join(0.2)
        assert not found
        w.put_call(NAMED)
    reader.join(PATIENCE)
    assert found == [NAMED if wanted else [NAMED]]

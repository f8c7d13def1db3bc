"""Two services on one PostgreSQL: what is good once is good once, and neither waits for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec
import psycopg
import pytest

from sayso.core.errors import SaysoError
from sayso.gate.call_rows import Attempt
from sayso.gate.gate import Gate
from sayso.gate.ledger.replay import replay_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.people.browsers import make_link, use_link
from sayso.gate.people.passkey_sign_in import begin_sign_in, finish_sign_in
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.contract import MetaRow
from sayso.store.postgres.store import PostgresStore
from tests.support.asking import edit
from tests.support.authenticator import Authenticator
from tests.support.gates import KEY
from tests.support.postgres_place import new_schema
from tests.support.signing import ORIGINS, registered

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND state = 'active'"
PATIENCE = 30.0


@pytest.fixture
def dsn(postgres_server: str) -> str:
    return new_schema(postgres_server)


@pytest.fixture
def services(dsn: str) -> Iterator[list[Gate]]:
    """Two gates on one database, each with a stream of its own."""
    store = PostgresStore(dsn)
    first = open_gate(load_preset("chat"), store, key=KEY)
    yield [first, msgspec.structs.replace(first, stream="worker-1")]
    store.close()


def let_in(dsn: str, services: list[Gate], kept: str, way: Callable[[Gate], object]) -> int:
    """How many are let in of two who have both come as far as they can while this row cannot be written."""

    def tried(gate: Gate) -> bool:
        try:
            way(gate)
        except SaysoError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        with services[0].store.write() as tx:
            (row,) = [
                one
                for one in tx.every(MetaRow)
                if one.name.startswith(kept) and not one.name.endswith("held")
            ]
            tx.set_meta(row.name, row.value)
            tx.count_open()  # what was to be written is written with the next read
            trying = [pool.submit(tried, gate) for gate in services]
            until_waiting(dsn, 2)
        return sum(one.result(PATIENCE) for one in trying)


def until_waiting(dsn: str, wanted: int) -> None:
    end = time.monotonic() + PATIENCE
    with psycopg.connect(dsn, autocommit=True) as connection:
        while connection.execute(WAITING).fetchone() != (wanted,):
            assert time.monotonic() < end


def test_a_link_used_at_two_services_at_once_signs_one_in(dsn: str, services: list[Gate]) -> None:
    code = make_link(services[0], "ana")
    assert let_in(dsn, services, "link/", lambda gate: use_link(gate, code)) == 1


def test_a_signature_sent_to_two_services_at_once_signs_one_in(dsn: str, services: list[Gate]) -> None:
    device = registered(services[0], device=Authenticator(counts=False))
    proof = device.get(begin_sign_in(services[0]))
    assert let_in(dsn, services, "passkeys", lambda gate: finish_sign_in(gate, proof, ORIGINS)) == 1


def test_two_replays_in_opposite_directions_never_wait_for_each_other(dsn: str, services: list[Gate]) -> None:
    sessions = [open_session(services[0], agent="agent", owner="host") for _ in services]
    calls = [start_call(services[0], edit(session), holder="one") for session in sessions]

    def replayed(number: int) -> Attempt:
        return replay_call(services[number], calls[number].call, sessions[1 - number], holder="one")

    with ThreadPoolExecutor(2) as pool:
        with services[0].store.write() as tx:
            assert all(tx.session(session) for session in sessions)
            replaying = [pool.submit(replayed, number) for number in range(2)]
            until_waiting(dsn, 2)
        assert [one.result(PATIENCE).state for one in replaying] == ["pending", "pending"]

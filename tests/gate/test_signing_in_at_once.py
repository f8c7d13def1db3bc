"""Two services on one PostgreSQL: what is good once is good once, whichever of them it reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.passkey_signin import begin_sign_in, finish_sign_in
from sayso.gate.signin import make_link, use_link
from sayso.policy import load_preset
from sayso.store.postgres import PostgresStore
from tests.contract.postgres_place import new_schema, running_server
from tests.gate.conftest import KEY
from tests.gate.signing import ORIGINS, registered
from tests.service.authenticator import Authenticator

AT_ONCE = 8


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as server:
        yield server


@pytest.fixture
def services(server: str) -> Iterator[list[Gate]]:
    """Two gates on one database, each with a stream of its own."""
    store = PostgresStore(new_schema(server))
    first = open_gate(load_preset("chat"), store, key=KEY)
    yield [first, msgspec.structs.replace(first, stream="worker-1")]
    store.close()


def let_in(services: list[Gate], way: Callable[[Gate], object]) -> int:
    """How many of those who try at the same time are let in."""

    def tried(number: int) -> bool:
        try:
            way(services[number % 2])
        except SaysoError:
            return False
        return True

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(pool.map(tried, range(AT_ONCE)))


def test_a_link_used_by_many_at_once_signs_one_in(services: list[Gate]) -> None:
    code = make_link(services[0], "ana")
    assert let_in(services, lambda gate: use_link(gate, code)) == 1


def test_a_passkeys_signature_sent_by_many_at_once_signs_one_in(services: list[Gate]) -> None:
    device = registered(services[0], device=Authenticator(counts=False))
    proof = device.get(begin_sign_in(services[0]))
    assert let_in(services, lambda gate: finish_sign_in(gate, proof, ORIGINS)) == 1

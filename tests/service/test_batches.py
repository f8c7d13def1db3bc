"""On PostgreSQL a batch has its price: agents that were answered together share the next one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.policy import load_text
from sayso.service.http import batches
from sayso.service.http.batches import BatchedStep, Batches
from sayso.store.contract import Ahead, Batch, BatchLost, StoreError, StoreHeld
from sayso.store.postgres.store import PostgresStore
from tests.service.conftest import POLICY
from tests.support.gates import KEY
from tests.support.postgres_place import Server, new_schema

AGENTS = 8


@pytest.fixture
def gate(postgres_server: str) -> Iterator[Gate]:
    with closing(PostgresStore(new_schema(postgres_server))) as store:
        yield open_gate(load_text(POLICY), store, key=KEY)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """A batch is added for each that begins."""
    begun: list[None] = []
    before = MarkedStore.batch

    @contextmanager
    def batch(self: MarkedStore) -> Iterator[Batch]:
        begun.append(None)
        with before(self) as one:
            yield one

    monkeypatch.setattr(MarkedStore, "batch", batch)
    return begun


async def answer_together(running: Batches, step: BatchedStep | None = None) -> list[object]:
    """All agents come while another batch is under way, and so are in one; what each is answered."""
    begun, all_there = threading.Event(), threading.Event()

    def wait_for_others() -> BatchedStep:
        begun.set()
        all_there.wait()
        return BatchedStep(lambda: 0)

    asked = [asyncio.ensure_future(running.run(wait_for_others))]
    await asyncio.to_thread(begun.wait)
    asked += [asyncio.ensure_future(ask(running, number, step)) for number in range(AGENTS)]
    await asyncio.sleep(0)  # now they have asked
    all_there.set()
    _, *answers = await asyncio.gather(*asked, return_exceptions=step is not None)
    return answers


async def ask(running: Batches, number: int, step: BatchedStep | None = None) -> int:
    found: int = await running.run(lambda: step or BatchedStep(lambda: number))
    return found


def test_agents_that_were_answered_together_share_the_next_batch(
    gate: Gate, counted: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "A_MOMENT", 60.0)
    running = Batches(gate.marked_store)

    async def come_one_by_one() -> list[int]:
        await answer_together(running)
        counted.clear()
        asked = []
        for number in range(AGENTS):
            asked.append(asyncio.ensure_future(ask(running, number)))
            await asyncio.sleep(0.01)
        return list(await asyncio.gather(*asked))

    assert asyncio.run(come_one_by_one()) == [*range(AGENTS)]
    assert len(counted) == 1


def test_one_that_comes_alone_is_answered_without_the_others(gate: Gate, counted: list[None]) -> None:
    running = Batches(gate.marked_store)

    async def come_alone() -> list[int]:
        await answer_together(running)
        counted.clear()
        return [await ask(running, number) for number in (1, 2)]

    assert asyncio.run(come_alone()) == [1, 2]
    assert len(counted) == 2


def test_the_policy_is_looked_at_once_before_each_batch(gate: Gate, counted: list[None]) -> None:
    looks: list[int] = []
    running = Batches(gate.marked_store, lambda: looks.append(len(counted)))
    asyncio.run(answer_together(running))
    assert looks == [0, 1], "one comes alone, and all others together"
    assert len(counted) == 2


def test_where_the_policy_cannot_be_looked_at_nothing_is_done(gate: Gate, counted: list[None]) -> None:
    def fail() -> None:
        raise StoreError("the policy cannot be read")

    done: list[int] = []
    running = Batches(gate.marked_store, fail)

    async def ask_all() -> list[object]:
        steps = [BatchedStep(lambda: done.append(0)) for _ in range(AGENTS)]
        asked = (running.run(lambda step=step: step) for step in steps)  # type: ignore[misc]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    assert [type(one) for one in asyncio.run(ask_all())] == [StoreError] * AGENTS
    assert not done
    assert not counted


def test_where_no_server_answers_those_of_a_lost_batch_do_not_wait_for_one_another(
    counted: list[None],
) -> None:
    with closing(Server()) as server:
        with closing(PostgresStore(server.address, busy=0.5)) as store:
            running = Batches(open_gate(load_text(POLICY), store, key=KEY).marked_store)
            once = iter([server.stop])

            def lose_the_server() -> Ahead:
                next(once, int)()
                return Ahead(metas=frozenset({"policy"}))

            answers = asyncio.run(answer_together(running, BatchedStep(lambda: 0, lose_the_server)))
            server.start()
        assert {type(one) for one in answers} <= {BatchLost, StoreError}
        tried_singly = len(counted) - 2  # one comes alone, and all others together
        assert tried_singly < AGENTS


def test_where_somebody_holds_everything_not_all_of_a_batch_wait_for_it_by_themselves(
    counted: list[None], postgres_server: str
) -> None:
    address = new_schema(postgres_server)
    with closing(PostgresStore(address, busy=0.1)) as store, closing(PostgresStore(address)) as other:
        running = Batches(open_gate(load_text(POLICY), store, key=KEY).marked_store)
        step = BatchedStep(lambda: 0, lambda: Ahead(sessions=frozenset({"held"})))
        with other.write() as tx:
            tx.session("held")
            answers = asyncio.run(answer_together(running, step))
    assert [type(one) for one in answers] == [StoreHeld] * AGENTS
    assert len(counted) == 2 + batches.MOST_HELD


def test_a_session_that_somebody_holds_keeps_only_those_waiting_who_ask_about_it(
    postgres_server: str,
) -> None:
    address = new_schema(postgres_server)
    with closing(PostgresStore(address, busy=0.5)) as store, closing(PostgresStore(address)) as other:
        running = Batches(open_gate(load_text(POLICY), store, key=KEY).marked_store)

        def about(session: str) -> BatchedStep:
            return BatchedStep(lambda: session, lambda: Ahead(sessions=frozenset({session})))

        async def ask_all() -> list[object]:
            asked = [running.run(partial(about, name)) for name in ("free", "held", "free too")]
            return list(await asyncio.gather(*asked, return_exceptions=True))

        with other.write() as tx:
            tx.session("held")
            answers = asyncio.run(ask_all())
    assert [answers[0], type(answers[1]), answers[2]] == ["free", StoreHeld, "free too"]

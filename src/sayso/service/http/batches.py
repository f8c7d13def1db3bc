"""Calls of agents and hosts, decided in batches: what comes at the same time shares one transaction.

- A thread takes all that wait, in the order they came. Each is prepared first: its token is looked up and its
  call is read, while others can write. Then all of them are decided in one batch of the store.
- Nobody is answered before the batch is on the disk. If it cannot be committed, everybody in it is notified,
  and nothing of it happened. One that fails by itself is undone by itself.
- Operators do not wait here: they have threads of their own.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

import msgspec

from sayso.gate.rows.sealed_store import MarkedStore
from sayso.store.contract import Ahead, Batch, BatchLost, StoreBusy, StoreHeld, join_ahead

NO_AHEAD = Ahead()
MOST = 64
"""How many requests share a batch at most."""
TOGETHER = 8
"""Up to this many a batch is worth waiting for: beyond, what all requests share costs each but little."""
A_MOMENT, A_BLINK = 0.002, 0.0005
"""How many seconds to wait for those that were answered together the last time, and to sleep meanwhile."""
MOST_HELD = 3
"""After so many of a batch were in vain waited for by themselves, nobody else of it is."""
IDLE = 10.0
"""After so many seconds without a request the thread ends; the next one starts another."""


class BatchedStep(msgspec.Struct, frozen=True):
    """Something to be done in the batch, and what it is going to read."""

    do: Callable[[], Any]
    ahead: Callable[[], Ahead] = Ahead


NOTHING = BatchedStep(lambda: None)


class BatchedRequest:
    """A request that waits: `prepare` returns what is to be done in the batch."""

    def __init__(self, prepare: Callable[[], BatchedStep], first: Ahead, answer: asyncio.Future[Any]) -> None:
        self.first = first
        self.answer = answer
        self.result: Any = None
        self.error: BaseException | None = None
        self._here = contextvars.copy_context()
        self._prepare = prepare
        self.step = NOTHING

    def begin_again(self) -> None:
        """Nothing of it happened."""
        self.result, self.error, self.step = None, None, NOTHING

    def prepare(self) -> None:
        self.step = self._run(self._prepare) or NOTHING

    def look_ahead(self) -> Ahead:
        """What its step is going to read. Where that cannot be told, the step itself finds out why."""
        try:
            return self._here.run(self.step.ahead)
        except Exception:  # noqa: BLE001  it is nobody else's in the batch
            return NO_AHEAD

    def decide(self) -> None:
        self.result = self._run(self.step.do)

    def _run(self, work: Callable[[], Any]) -> Any:
        try:
            return self._here.run(work)
        except Exception as error:  # noqa: BLE001  it is raised where the request is answered
            self.error = error
            return None

    def tell(self) -> None:
        """Answer whoever waits, in their own loop."""
        if self.answer.done():
            return
        if self.error is None:
            self.answer.set_result(self.result)
        else:
            self.answer.set_exception(self.error)


class Batches:
    """The queue, and the thread that works on it as long as there is something in it."""

    def __init__(self, store: MarkedStore, look_at_policy: Callable[[], object] = lambda: None) -> None:
        self._store = store
        self._look_at_policy = look_at_policy
        """To be called before each batch, which is decided under what it finds."""
        self._queue: SimpleQueue[BatchedRequest] = SimpleQueue()
        self._starting = threading.Lock()
        self._expected = 1
        """How many are likely to come together: as many as the last time, within bounds."""
        self._thread: threading.Thread | None = None
        self._stuck = False
        """Whether the last batch could not even begin."""

    async def run(self, prepare: Callable[[], BatchedStep], first: Ahead = NO_AHEAD) -> Any:
        """Prepare it, do what that returned in the next batch, and return its result once it is stored.

        `first` is what preparing it is going to read.
        """
        request = BatchedRequest(prepare, first, asyncio.get_running_loop().create_future())
        with self._starting:
            self._queue.put(request)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="sayso-batches", daemon=True)
                self._thread.start()
        return await request.answer

    def _work(self) -> None:
        """Take what waits, again and again, until nothing has come for a while."""
        while True:
            waiting = self._take()
            if waiting:
                self._decide(waiting)
                continue
            with self._starting:
                if self._queue.empty():
                    self._thread = None
                    return

    def _take(self) -> list[BatchedRequest]:
        """The requests that wait, after one came; and, for a moment, as many as came together before.

        Agents that were answered together ask again within a moment of each other.
        """
        found: list[BatchedRequest] = []
        with suppress(Empty):
            found.append(self._queue.get(timeout=IDLE))
            self._wait_for_others(until=time.monotonic() + A_MOMENT)
            while len(found) < MOST:
                found.append(self._queue.get_nowait())
        self._expected = min(TOGETHER, len(found))
        return found

    def _wait_for_others(self, until: float) -> None:
        """Where a batch costs several words to the database, wait for as many as came together before.

        Asleep, because to be woken by each of them takes longer than all of them are worth.
        """
        if self._store.local:
            return
        while self._queue.qsize() + 1 < self._expected and time.monotonic() < until:
            time.sleep(A_BLINK)

    def _decide(self, requests: Sequence[BatchedRequest]) -> None:
        self._stuck = False
        try:
            self._look_at_policy()
            self._decide_together(requests)
        except BaseException as error:  # noqa: BLE001  nobody may be told that their call was allowed
            for one in requests:
                one.error = one.error or error
        _tell_all(requests)

    def _decide_together(self, requests: Sequence[BatchedRequest]) -> None:
        """Together; by themselves if one took all others along, or is about what somebody else holds."""
        try:
            self._decide_again_if_busy(requests)
        except (StoreHeld, BatchLost):
            if len(requests) == 1:
                raise
            self._decide_singly(requests)

    def _decide_again_if_busy(self, requests: Sequence[BatchedRequest]) -> None:
        """Once more if another batch was in the way."""
        decide = self._decide_here if self._store.local else self._decide_there
        try:
            decide(requests)
        except StoreBusy as error:
            if self._store.local or self._stuck or isinstance(error, StoreHeld):
                raise  # it was waited for long enough
            for one in requests:
                one.begin_again()
            decide(requests)

    def _decide_singly(self, requests: Sequence[BatchedRequest]) -> None:
        """Each by itself, told at once.

        If no batch can begin, or somebody holds everything, the rest is not tried: each would wait as long.
        """
        for one in requests:
            one.begin_again()
        held, tried = 0, iter(requests)
        for one in tried:
            self._decide((one,))
            held += isinstance(one.error, StoreHeld)
            if self._stuck or held == MOST_HELD:
                for other in tried:
                    other.error = one.error

    @contextmanager
    def _begin_batch(self) -> Iterator[Batch]:
        self._stuck = True
        with self._store.batch() as batch:
            self._stuck = False
            yield batch

    def _decide_here(self, requests: Sequence[BatchedRequest]) -> None:
        """While calls are read, others write: here only one can write at a time."""
        with self._store.snapshot():
            for one in requests:
                one.prepare()
        ready = [one for one in requests if one.error is None]
        if ready:
            with self._begin_batch() as batch:
                batch.read_ahead(join_ahead(each for one in ready for each in (one.first, one.look_ahead())))
                for one in ready:
                    one.decide()

    def _decide_there(self, requests: Sequence[BatchedRequest]) -> None:
        """In one transaction, with few words to the database; only sessions of this batch are held."""
        with self._begin_batch() as batch:
            batch.read_ahead(join_ahead(one.first for one in requests))
            for one in requests:
                one.prepare()
            ready = [one for one in requests if one.error is None]
            batch.read_ahead(join_ahead(one.look_ahead() for one in ready))
            for one in ready:
                one.decide()


def _tell_all(requests: Sequence[BatchedRequest]) -> None:
    """Wake each loop once. One that is closed has nobody left who waits."""
    loops: dict[asyncio.AbstractEventLoop, list[BatchedRequest]] = {}
    for one in requests:
        loops.setdefault(one.answer.get_loop(), []).append(one)
    for loop, its in loops.items():
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_tell, its)


def _tell(requests: Sequence[BatchedRequest]) -> None:
    for one in requests:
        one.tell()

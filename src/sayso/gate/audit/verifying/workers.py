"""Processes that verify spans of the trail side by side, and the order their results come in.

- This process verifies spans as well, so nothing waits for the others to start.
- Spans come out in their order. Only so many are verified ahead of the one that is wanted next.
- One of them begins with the summaries, and joins in with the spans when it is done with them.
- A process that ends early, or fails, fails the whole verification.
- Processes are spawned, never forked, and run none of the program that started them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import IO, Self

import msgspec

from sayso.core.audit.bulk import SoundSpan
from sayso.core.audit.merkle import WIDTH
from sayso.core.errors import SaysoError
from sayso.gate.audit.verifying.spans import SpanTask, check_span
from sayso.gate.audit.verifying.worker import (
    SummariesTask,
    WorkerAnswer,
    encode,
    read_frame,
    write_frame,
)
from sayso.gate.open import ReaderPlace, find_reader_place
from sayso.gate.summaries.check import check_summaries
from sayso.store.contract import Store

SPAN = 64 * WIDTH
FEWEST_SPANS = 4
"""With fewer in a stream, one process is done before others have started."""
MOST_PROCESSES = 32
AHEAD = 4
"""How many spans each process may be ahead of the one that is wanted next."""
ANSWER = 1 << 20
"""More than one answer takes on its way here."""
_BOOT = (
    "import json, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from sayso.gate.audit.verifying.worker import serve_tasks; serve_tasks()"
)
LOOK_AGAIN = 0.05
"""After how many seconds to look again whether a process that is busy is still wanted."""
_ENDED = "a process that verified part of the trail ended early"
_decode_answer = msgspec.msgpack.Decoder(WorkerAnswer).decode


class VerifyFailed(SaysoError):
    """The trail could not be verified to its end, so nobody knows whether it is clean."""

    code = "verify_failed"
    advice = "look for a full memory or disk, then verify again"


def count_cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """One process, and whether it is free: whoever gives it tasks holds `free`."""

    def __init__(self, command: list[str], place: ReaderPlace) -> None:
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self.free = threading.Lock()
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)  # noqa: S603  ourselves
        self._tasks, self._answers = _require_pipe(self._process.stdin), _require_pipe(self._process.stdout)
        _widen(self._answers)
        with suppress(OSError):  # it has ended: found when its first answer is missing
            self._tasks.write(json.dumps(sys.path).encode() + b"\n")
            write_frame(self._tasks, encode(place))

    def give(self, task: SpanTask | SummariesTask) -> None:
        write_frame(self._tasks, encode(task))

    def take_answer(self) -> WorkerAnswer:
        """Wait for its answer to the first task that it has not answered."""
        found = read_frame(self._answers)
        return WorkerAnswer(fault=_ENDED) if found is None else _decode_answer(found)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.wait()
        for pipe in (self._tasks, self._answers):
            with suppress(OSError):  # what was not written yet
                pipe.close()


class Workers:
    """The processes, started when the first long stream comes; `processes` counts this one."""

    def __init__(self, store: Store, processes: int) -> None:
        self.span = SPAN
        self._store = store
        self._others = min(processes, MOST_PROCESSES) - 1
        self._place = find_reader_place(store) if self._others > 0 else None
        self._started: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._started:
            worker.kill()
        for worker in self._started:
            worker.close()

    def begin_summaries(self, entries: int) -> Callable[[], Sequence[str]]:
        """Let a process begin to check the summaries, if the longest stream has so many entries that it is
        worth it; return what waits for the findings.
        """
        if not self._start_for(entries):
            return lambda: [*check_summaries(self._store)]
        return _Answered(self._started[-1]).take_findings

    def check_spans(self, stream: str, entries: int) -> Generator[SoundSpan | None, None, None]:
        """The spans of a stream of so many entries, in order; None for each that is not right.

        A rest that fills no span is not among them, and neither is anything of a short stream.
        """
        if not self._start_for(entries):
            return
        count = entries // self.span
        share = _Share(count, AHEAD * (len(self._started) + 1))
        threads = [
            threading.Thread(target=_serve, args=(worker, partial(self._task, stream), share), daemon=True)
            for worker in self._started
        ]
        for thread in threads:
            thread.start()
        try:
            for number in range(count):
                while not share.is_there(number):
                    mine = share.take()
                    if mine is None:
                        share.wait(number)
                    else:
                        share.put(mine, check_span(self._store, self._task(stream, mine)))
                yield share.pop(number)
        finally:
            share.close()
            for thread in threads:
                thread.join()

    def _task(self, stream: str, number: int) -> SpanTask:
        return SpanTask(stream, number * self.span + 1, self.span)

    def _start_for(self, entries: int) -> bool:
        """Start the processes if a stream of so many entries is worth it; return whether it is."""
        if self._place is None or max(entries, 0) // self.span < FEWEST_SPANS:
            return False
        if not self._started:
            command = [sys.executable, "-I", *(["-B"] if sys.dont_write_bytecode else []), "-c", _BOOT]
            for _ in range(self._others):
                self._started.append(_Worker(command, self._place))
        return True


class _Answered:
    """What a process finds in the summaries, taken up as soon as it is there, so that it can go on."""

    def __init__(self, worker: _Worker) -> None:
        self._answer = WorkerAnswer(fault=_ENDED)
        worker.free.acquire()
        self._thread = threading.Thread(target=self._take, args=(worker,), daemon=True)
        self._thread.start()

    def _take(self, worker: _Worker) -> None:
        try:
            worker.give(SummariesTask())
            self._answer = worker.take_answer()
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            self._answer = WorkerAnswer(fault=f"{_ENDED}: {error}")
        if not self._answer.fault:  # otherwise it may never answer anything again
            worker.free.release()

    def take_findings(self) -> Sequence[str]:
        self._thread.join()
        if self._answer.fault:
            raise VerifyFailed(self._answer.fault, hint=self._answer.hint)
        return self._answer.findings


class _Share:
    """Which spans were taken, and the results that wait for their turn."""

    def __init__(self, count: int, ahead: int) -> None:
        self._count = count
        self._ahead = ahead
        self._taken = 0
        self._wanted = 0
        self._results: dict[int, SoundSpan | None] = {}
        self._fault: VerifyFailed | None = None
        self._news = threading.Condition()

    def take(self) -> int | None:
        """The next span that nobody has taken; None if there is none, for now."""
        with self._news:
            if self._taken >= min(self._count, self._wanted + self._ahead):
                return None
            self._taken += 1
            return self._taken - 1

    def take_or_wait(self) -> int | None:
        """The same; None once there will be none any more."""
        with self._news:
            while self._wanted + self._ahead <= self._taken < self._count:
                self._news.wait()
            return self.take()  # before another can

    def put(self, number: int, span: SoundSpan | None) -> None:
        with self._news:
            self._results[number] = span
            self._news.notify_all()

    def fail(self, fault: str, hint: str | None) -> None:
        with self._news:
            self._fault = self._fault or VerifyFailed(fault, hint=hint)
            self._news.notify_all()

    def is_there(self, number: int) -> bool:
        """Return whether this span was verified. A process that failed ends it all here."""
        with self._news:
            if self._fault is not None:
                raise self._fault
            return number in self._results

    def wait(self, number: int) -> None:
        with self._news:
            while number not in self._results and self._fault is None:
                self._news.wait()

    def pop(self, number: int) -> SoundSpan | None:
        with self._news:
            self._wanted = number + 1
            self._news.notify_all()
            return self._results.pop(number)

    @property
    def is_closed(self) -> bool:
        return self._count == 0

    def close(self) -> None:
        """Give out nothing more."""
        with self._news:
            self._count = 0
            self._news.notify_all()


def _serve(worker: _Worker, task: Callable[[int], SpanTask], share: _Share) -> None:
    """Pass spans to one process as long as there are any, once it is free."""
    while not worker.free.acquire(timeout=LOOK_AGAIN):
        if share.is_closed:
            return
    try:
        _pass_spans(worker, task, share)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        share.fail(f"{_ENDED}: {error}", None)
    finally:
        worker.free.release()


def _pass_spans(worker: _Worker, task: Callable[[int], SpanTask], share: _Share) -> None:
    number = share.take_or_wait()
    if number is not None:
        worker.give(task(number))
    while number is not None:
        following = share.take()
        if following is not None:
            worker.give(task(following))  # so that it never waits for us
        answer = worker.take_answer()
        if answer.fault:
            share.fail(answer.fault, answer.hint)
            return
        share.put(number, answer.span)
        number = following
        if number is None:
            number = share.take_or_wait()
            if number is not None:
                worker.give(task(number))


def _widen(pipe: IO[bytes]) -> None:
    """Make room for a whole answer, so that nobody waits until it is taken up; where that is possible."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, ANSWER)


def _require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise VerifyFailed(_ENDED)
    return pipe

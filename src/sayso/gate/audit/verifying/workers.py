"""Processes that verify spans of the trail side by side, and the order their results come in.

- This process verifies spans as well, so nothing waits for the others to start.
- Spans come out in their order. Only so many are verified ahead of the one that is wanted next.
- A process that ends early, or fails, fails the whole verification.
- Processes are spawned, never forked, and run none of the program that started them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import IO, Self

import msgspec

from sayso.core.audit.bulk import SoundSpan
from sayso.core.audit.merkle import WIDTH
from sayso.core.errors import SaysoError
from sayso.gate.audit.verifying.span_worker import SpanAnswer, encode, read_frame, write_frame
from sayso.gate.audit.verifying.spans import SpanTask, check_span
from sayso.gate.open import ReaderPlace, find_reader_place
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
    "from sayso.gate.audit.verifying.span_worker import serve_spans; serve_spans()"
)
_ENDED = "a process that verified part of the trail ended early"
_decode_answer = msgspec.msgpack.Decoder(SpanAnswer).decode


class VerifyFailed(SaysoError):
    """The trail could not be verified to its end, so nobody knows whether it is clean."""

    code = "verify_failed"
    advice = "look for a full memory or disk, then verify again"


def count_cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """The processes, started when the first long stream comes; `processes` counts this one."""

    def __init__(self, store: Store, processes: int) -> None:
        self.span = SPAN
        self._store = store
        self._others = min(processes, MOST_PROCESSES) - 1
        self._place = find_reader_place(store) if self._others > 0 else None
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was not written yet
                    _require_pipe(pipe).close()

    def check_spans(self, stream: str, entries: int) -> Generator[SoundSpan | None, None, None]:
        """The spans of a stream of so many entries, in order; None for each that is not right.

        A rest that fills no span is not among them, and neither is anything of a short stream.
        """
        count = max(entries, 0) // self.span
        if self._place is None or count < FEWEST_SPANS:
            return
        if not self._started:
            self._start(self._place)
        share = _Share(count, AHEAD * (len(self._started) + 1))
        threads = [
            threading.Thread(target=_serve, args=(process, partial(self._task, stream), share), daemon=True)
            for process in self._started
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

    def _start(self, place: ReaderPlace) -> None:
        command = [sys.executable, "-I", *(["-B"] if sys.dont_write_bytecode else []), "-c", _BOOT]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        for _ in range(self._others):
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)  # noqa: S603  ourselves
            self._started.append(process)
            _widen(_require_pipe(process.stdout))
            with suppress(OSError):  # it has ended: found when its first answer is missing
                _require_pipe(process.stdin).write(json.dumps(sys.path).encode() + b"\n")
                write_frame(_require_pipe(process.stdin), encode(place))


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
        return self.take()

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

    def close(self) -> None:
        """Give out nothing more."""
        with self._news:
            self._count = 0
            self._news.notify_all()


def _serve(process: subprocess.Popen[bytes], task: Callable[[int], SpanTask], share: _Share) -> None:
    """Pass spans to one process as long as there are any."""
    try:
        number = share.take_or_wait()
        _send(process, task, number)
        while number is not None:
            following = share.take()
            _send(process, task, following)  # so that it never waits for us
            found = read_frame(_require_pipe(process.stdout))
            answer = SpanAnswer(fault=_ENDED) if found is None else _decode_answer(found)
            if answer.fault:
                return share.fail(answer.fault, answer.hint)
            share.put(number, answer.span)
            number = following
            if number is None:
                number = share.take_or_wait()
                _send(process, task, number)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        share.fail(f"{_ENDED}: {error}", None)


def _send(process: subprocess.Popen[bytes], task: Callable[[int], SpanTask], number: int | None) -> None:
    if number is not None:
        write_frame(_require_pipe(process.stdin), encode(task(number)))


def _widen(pipe: IO[bytes]) -> None:
    """Make room for a whole answer, so that nobody waits until it is taken up; where that is possible."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, ANSWER)


def _require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise VerifyFailed(_ENDED)
    return pipe

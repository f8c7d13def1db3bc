"""The process that verifies parts of the store for another one: tasks by stdin, results by stdout.

It ends when stdin does, so it never outlives whoever started it.
"""

from __future__ import annotations

import sys
from typing import IO

import msgspec

from sayso.core.audit.bulk import SoundSpan
from sayso.core.errors import SaysoError
from sayso.gate.audit.verifying.spans import SpanTask, check_span
from sayso.gate.open import ReaderPlace, open_reader
from sayso.gate.summaries.check import check_summaries
from sayso.store.contract import ReadOnlyStore

LENGTH = 8


class SummariesTask(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Add everything up again, and compare it with the summaries."""


class WorkerAnswer(msgspec.Struct, frozen=True):
    """A verified span, None where one is not right; what is wrong with the summaries; or why nothing could be
    read, and what to do about it.
    """

    span: SoundSpan | None = None
    findings: tuple[str, ...] = ()
    fault: str = ""
    hint: str | None = None


encode = msgspec.msgpack.Encoder().encode
_decode_place = msgspec.msgpack.Decoder(ReaderPlace).decode
_decode_task = msgspec.msgpack.Decoder(SpanTask | SummariesTask).decode


def serve_tasks() -> None:
    """Serve tasks until there are no more."""
    tasks, answers = sys.stdin.buffer, sys.stdout.buffer
    try:
        place = read_frame(tasks)
        if place is None:
            return
        store = open_reader(_decode_place(place))
        while (task := read_frame(tasks)) is not None:
            write_frame(answers, encode(_answer(store, _decode_task(task))))
        store.close()
    except SaysoError as error:
        write_frame(answers, encode(WorkerAnswer(fault=error.message, hint=error.hint)))
    except Exception as error:  # noqa: BLE001  reported, and then it fails there
        write_frame(answers, encode(WorkerAnswer(fault=f"unexpected {type(error).__name__}: {error}")))


def _answer(store: ReadOnlyStore, task: SpanTask | SummariesTask) -> WorkerAnswer:
    if isinstance(task, SpanTask):
        return WorkerAnswer(check_span(store, task))
    return WorkerAnswer(findings=tuple(check_summaries(store)))


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Read one message; None if the other side has ended, in the middle of one or before."""
    size = stream.read(LENGTH)
    if len(size) < LENGTH:
        return None
    content = stream.read(wanted := int.from_bytes(size))
    return content if len(content) == wanted else None


def write_frame(stream: IO[bytes], content: bytes) -> None:
    stream.write(len(content).to_bytes(LENGTH) + content)
    stream.flush()

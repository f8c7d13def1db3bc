"""The process that verifies spans of the trail for another one: tasks by stdin, results by stdout.

It ends when stdin does, so it never outlives whoever started it.
"""

from __future__ import annotations

import sys
from typing import IO

import msgspec

from sayso.core.audit.bulk import SoundSpan
from sayso.core.errors import SaysoError
from sayso.gate.audit.spans import SpanTask, check_span
from sayso.gate.open import ReaderPlace, open_reader

LENGTH = 8


class SpanAnswer(msgspec.Struct, frozen=True):
    """A verified span, None where one is not right; or why it could not be read, and what to do about it."""

    span: SoundSpan | None = None
    fault: str = ""
    hint: str | None = None


encode = msgspec.msgpack.Encoder().encode
_decode_place = msgspec.msgpack.Decoder(ReaderPlace).decode
_decode_task = msgspec.msgpack.Decoder(SpanTask).decode


def serve_spans() -> None:
    """Serve tasks until there are no more."""
    tasks, answers = sys.stdin.buffer, sys.stdout.buffer
    try:
        place = read_frame(tasks)
        if place is None:
            return
        store = open_reader(_decode_place(place))
        while (task := read_frame(tasks)) is not None:
            write_frame(answers, encode(SpanAnswer(check_span(store, _decode_task(task)))))
        store.close()
    except SaysoError as error:
        write_frame(answers, encode(SpanAnswer(fault=error.message, hint=error.hint)))
    except Exception as error:  # noqa: BLE001  reported, and then it fails there
        write_frame(answers, encode(SpanAnswer(fault=f"unexpected {type(error).__name__}: {error}")))


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

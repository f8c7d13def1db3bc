"""Decode into types, in several threads at once.

msgspec works out how to decode a type when it is first asked to. Two threads that ask at the same moment
crash the process (seen with 0.22). So each type is first asked for here, by one thread, under a lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from sayso.core.audit.entry import AuditBody
from sayso.core.audit.events import DecisionEvent
from sayso.core.audit.opened_receipt import OpenedReceipt

Value = TypeVar("Value")
_lock = threading.Lock()
_ready: set[Any] = set()


def _begin_in_child() -> None:
    global _lock  # noqa: PLW0603  nobody in a process that was forked gives back what another thread held
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_begin_in_child)


def decode_json(content: bytes | str, kind: type[Value]) -> Value:
    """Decode JSON, as `msgspec.json.decode` does."""
    prepare_type(kind)
    return msgspec.json.decode(content, type=kind)


def decode_msgpack(content: bytes, kind: type[Value]) -> Value:
    """Decode MessagePack, as `msgspec.msgpack.decode` does."""
    prepare_type(kind)
    return msgspec.msgpack.decode(content, type=kind)


def convert_to(value: Any, kind: type[Value], **how: Any) -> Value:
    """Convert plain values, as `msgspec.convert` does."""
    prepare_type(kind)
    found: Value = msgspec.convert(value, kind, **how)
    return found


def prepare_type(kind: Any) -> None:
    """Let msgspec work out how to decode this type, if nobody has."""
    try:
        if kind in _ready:
            return
    except TypeError:  # a hint with a default or an example in it that has no hash
        with _lock:
            _work_out(kind)
        return
    with _lock:
        if kind not in _ready:
            _work_out(kind)
            _ready.add(kind)


def work_out_type(kind: Any) -> None:
    """Do so with this very type, even if an equal one is ready: msgspec keeps some types in themselves."""
    with _lock:
        _work_out(kind)


def prepare_loaded_types() -> None:
    """Do so with every type of Sayso that is loaded: before a service begins to answer."""
    for kind in _loaded_types(msgspec.Struct):
        prepare_type(kind)


def _loaded_types(base: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    kind: type[msgspec.Struct]
    for kind in base.__subclasses__():
        if kind.__module__.partition(".")[0] == "sayso":
            yield kind
        yield from _loaded_types(kind)


def _work_out(kind: Any) -> None:
    """Convert something that fits nothing. What is wrong with the type itself is told whoever decodes."""
    with suppress(Exception):
        msgspec.convert(_NOTHING, kind, dec_hook=lambda *_: None)


_NOTHING = object()

for _kind in (AuditBody, DecisionEvent, OpenedReceipt):  # core, which knows no threads, decodes these itself
    prepare_type(_kind)

"""When each operation was last used: read from the trail once, and from then on only what is new in it."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import msgspec

from sayso.core.audit.events import DECISIONS
from sayso.core.model import Verdict
from sayso.gate.gate import Gate
from sayso.service.shapes import LastUse

FIELDS = {Verdict.ALLOW: "allowed_at", Verdict.ASK: "asked_at", Verdict.DENY: "refused_at"}


class LastUses:
    """The last uses of a store, as far as this process has read its trail."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._read: dict[str, int] = {}
        self._known: dict[str, LastUse] = {}

    def read_uses(self, gate: Gate) -> Mapping[str, LastUse]:
        """For each operation that was ever decided when that was last."""
        with self._reading, gate.store.read() as tx:
            for stream in tx.streams():
                newest = tx.head(stream)
                if newest is None or newest.seq <= self._read.get(stream, 0):
                    continue
                for name, event, at in tx.last_named(stream, DECISIONS, after=self._read.get(stream, 0)):
                    self._note(name, FIELDS[DECISIONS[event]], at)
                self._read[stream] = newest.seq
            return dict(self._known)

    def _note(self, name: str, field: str, at: float) -> None:
        found = self._known.get(name, LastUse())
        before = getattr(found, field)
        self._known[name] = msgspec.structs.replace(
            found, **{field: at if before is None else max(at, before)}
        )

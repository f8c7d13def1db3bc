"""What happens in the store, as it happens: one reader of new audit entries for the whole process.

Every change of consent is an entry, whichever process made it. So the live events and the counters are made
from the entries that are new, and nobody who listens costs the store anything.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from sayso.core.audit import events
from sayso.gate.gate import Gate
from sayso.service.live.metrics import Metrics
from sayso.service.shapes import LiveEvent
from sayso.store.contract import EntryRow, Reader, StoreError

log = logging.getLogger("sayso.service")
PAGE = 1_000
KEPT = 1_000
"""How many events are remembered. Who was away for longer reads everything again."""
MOST_OWNERS = 10_000
LOOK_AGAIN = 1.0

LET_GO = {events.TokenRevoked.event: "", events.SignedOut.event: "browser:"}
"""Events that end what goes on for somebody, and what the names of those begin with."""


class NumberedEvent(msgspec.Struct, frozen=True):
    """An event, numbered, with the owner of its session: nobody else but operators hears of it."""

    number: int
    event: LiveEvent
    owner: str


class AuditDetails(msgspec.Struct, frozen=True):
    details: dict[str, Any]


_decode_details = msgspec.json.Decoder(AuditDetails).decode


class Trail:
    """Follows the audit entries of one store from now on."""

    def __init__(self, gate: Gate, metrics: Metrics) -> None:
        self._gate = gate
        self._metrics = metrics
        self._run = secrets.token_hex(4)
        self._events: deque[NumberedEvent] = deque(maxlen=KEPT)
        self._number = 0
        self._owners: dict[str, str] = {}
        self._reading = threading.Lock()
        self._lock = threading.Lock()
        self._listening: dict[asyncio.AbstractEventLoop, int] = {}
        self._following = False
        self._gone: dict[str, int] = {}
        self.over = False
        """Whether the service ends, and with it every stream of events."""
        self.bell = asyncio.Event()
        """Rung, and replaced, whenever there are new events: take it before reading, wait for it after."""
        with gate.store.read() as tx:
            heads = ((stream, tx.head(stream)) for stream in tx.streams())
            self._read = {stream: head.seq for stream, head in heads if head is not None}

    # --- for those who listen ---

    @property
    def newest(self) -> int:
        return self._number

    def name(self, number: int) -> str:
        """The id of an event, for whoever comes back after it."""
        return f"{self._run}-{number}"

    def place(self, name: str | None) -> int | None:
        """The number an id stands for; None if what came after it is not remembered any more."""
        run, _, number = (name or "").partition("-")
        if run != self._run or not (number.isascii() and number.isdigit() and len(number) < 16):
            return None
        oldest = self._events[0].number if self._events else self._number + 1
        return int(number) if oldest - 1 <= int(number) <= self._number else None

    def after(self, number: int) -> list[NumberedEvent] | None:
        """The events after this one; None if some of them are forgotten."""
        if number == self._number:
            return []
        with self._lock:
            if not self._events or self._events[0].number > number + 1:
                return None
            skip = number + 1 - self._events[0].number
            return [self._events[i] for i in range(skip, len(self._events))]

    def count_revocations(self, token: str) -> int:
        """Return how often this token was revoked, or its browser signed out; a higher count ends streams."""
        return self._gone.get(token, 0)

    def close(self) -> None:
        """End every stream, so that the service can stop."""
        self.over = True
        self._wake()

    def tell(self, event: LiveEvent) -> None:
        """Tell operators of something that no entry records."""
        self._publish([(event, "")])

    def listen(self) -> None:
        """Somebody listens, in the loop that runs here, until `leave`."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._listening[loop] = self._listening.get(loop, 0) + 1
            if not self._following:
                self._following = True
                threading.Thread(target=self._follow, name="sayso-events", daemon=True).start()

    def leave(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            self._listening[loop] -= 1
            if not self._listening[loop]:
                del self._listening[loop]

    # --- reading ---

    def catch_up(self) -> None:
        """Take in every entry that is new."""
        with self._reading:
            while self._take_in():
                pass

    def _take_in(self) -> bool:
        """One page of each stream; whether there may be more."""
        more = False
        told: dict[tuple[LiveEvent, str], None] = {}
        with self._gate.store.read() as tx:
            for stream in tx.streams():
                page = tx.entries(stream, after=self._read.get(stream, 0), limit=PAGE)
                for row in page:
                    told.update(dict.fromkeys(self._events_from_entry(tx, row)))
                if page:
                    self._read[stream] = page[-1].seq
                more = more or len(page) == PAGE
        self._publish(list(told))
        return more

    def _events_from_entry(self, tx: Reader, row: EntryRow) -> Iterator[tuple[LiveEvent, str]]:
        told = events.EVENTS.get(row.event)
        if told is None or row.body is None:
            return
        if row.event in LET_GO:
            token = f"{LET_GO[row.event]}{_decode_details(row.body).details.get(told.subject)}"
            self._gone[token] = self._gone.get(token, 0) + 1
            yield LiveEvent("session"), ""  # nobody's: it only wakes who has to see that they are gone
        if told.topic is None:
            return
        details = _decode_details(row.body).details
        if row.stream == self._gate.stream:
            self._metrics.count_entry(tx, row, details)
        subject = str(details.get(told.subject, ""))
        if told.topic in ("decision", "policy"):
            yield LiveEvent(told.topic, subject), ""
            return
        owner = self._owner(tx, row.session)
        yield LiveEvent(told.topic, subject if told.subject else row.session, row.session), owner
        for grant in details.get("grants", ()) if told is events.Answered else ():
            yield LiveEvent("grant", str(grant), row.session), owner

    def _owner(self, tx: Reader, session: str) -> str:
        if session not in self._owners:
            if len(self._owners) >= MOST_OWNERS:
                self._owners.clear()
            found = tx.session(session) if session else None
            self._owners[session] = found.owner if found is not None else ""
        return self._owners[session]

    def _publish(self, told: list[tuple[LiveEvent, str]]) -> None:
        if not told:
            return
        with self._lock:
            for event, owner in told:
                self._events.append(NumberedEvent(self._number + 1, event, owner))
                self._number += 1
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            loops = list(self._listening)
        for loop in loops:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        bell, self.bell = self.bell, asyncio.Event()
        bell.set()

    def _follow(self) -> None:
        """Until nobody listens any more: read after every change of the store."""
        mark, pause = 0, threading.Event()
        while self._still_heard():
            try:
                mark = self._gate.store.wait_for_change(mark, LOOK_AGAIN)
                self.catch_up()
            except StoreError as error:
                log.warning("the store cannot be read: %s", error)
                pause.wait(LOOK_AGAIN)

    def _still_heard(self) -> bool:
        with self._lock:
            self._listening = {loop: count for loop, count in self._listening.items() if not loop.is_closed()}
            self._following = bool(self._listening)
            return self._following

"""The seals on rows: what we wrote can be told from what was written, revived or refilled by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

import msgspec

from sayso.core.decision import Question
from sayso.core.grants import Grant
from sayso.core.model import Request
from sayso.core.session import Head
from sayso.gate.seals import seal, sealed
from sayso.store.base import UNTOLD, GrantRow, QuestionRow, ReviewRow, SessionRow

MAC_BYTES = 32
MOST_BELIEVED = 10_000
JUMP = 2**40
"""A new epoch is a number nobody has seen: the same old copy put back twice is two epochs."""


class Spent(msgspec.Struct, frozen=True):
    """What became of a grant: how many spends it has, how many uses they come to, whether it is over."""

    number: int = 0
    used: int = 0
    revoked: bool = False


class Kept(msgspec.Struct, frozen=True):
    """What is sealed in a session's row: its head, and what became of its grants."""

    head: Head
    spent: Mapping[str, Spent] = {}


_encode = msgspec.json.Encoder().encode
_kept = msgspec.json.Decoder(Kept).decode
_grant = msgspec.json.Decoder(Grant).decode
_question = msgspec.json.Decoder(Question).decode
_request = msgspec.json.Decoder(Request).decode

Row = TypeVar("Row")
Value = TypeVar("Value")


class Believed(Generic[Row, Value]):
    """The last row of each name whose seal was right, and what it says. An equal row is as right."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[Row, Value]] = {}

    def get(self, name: str, row: Row) -> Value | None:
        found = self._rows.get(name)
        return found[1] if found is not None and found[0] == row else None

    def put(self, name: str, row: Row, value: Value) -> Value:
        if len(self._rows) >= MOST_BELIEVED:  # a long life with many sessions must not fill the memory
            self._rows.clear()
        self._rows[name] = (row, value)
        return value


class Sealer:
    """Seals rows with the gate's key for one epoch of one store, and opens them again."""

    def __init__(self, key: bytes, store: str, epoch: int) -> None:
        self._key = key
        self._store = store.encode()
        self._where = f"{store}/{epoch}".encode()
        self.epoch = epoch
        self._sessions: Believed[SessionRow, Kept] = Believed()
        self._grants: Believed[GrantRow, Grant] = Believed()
        self._reviews: Believed[ReviewRow, float] = Believed()

    def session(self, row: SessionRow) -> SessionRow:
        return msgspec.structs.replace(row, mac=seal(self._key, "session", *self._session_parts(row)))

    def open_session(self, row: SessionRow) -> Kept | None:
        """What is kept in this row, if it is as we wrote it."""
        known = self._sessions.get(row.id, row)
        if known is None and sealed(self._key, row.mac, "session", *self._session_parts(row)):
            known = self._sessions.put(row.id, row, _kept(row.head))
        return known

    def remember(self, row: SessionRow, kept: Kept) -> None:
        """This row was sealed just now, and this is kept in it."""
        self._sessions.put(row.id, row, kept)

    def grant(self, grant: Grant) -> GrantRow:
        body = _encode(grant)
        mac = seal(self._key, "grant", self._where, body)
        row = (grant.id, grant.session, grant.kind, grant.value, body, self.epoch, mac)
        return GrantRow(*row, expires_at=grant.expires_at)

    def open_grant(self, row: GrantRow) -> Grant | None:
        """The grant in this row, if it is one we gave in this epoch."""
        known = self._grants.get(row.id, row)
        if known is None and sealed(self._key, row.mac, "grant", self._where, row.body):
            grant = _grant(row.body)
            same = (grant.id, grant.session, *grant.key) == (row.id, row.session, row.kind, row.value)
            # The end is not sealed by itself: moved by hand it would hide a live grant from the lists.
            same = same and row.expires_at in (grant.expires_at, UNTOLD)
            if same and _encode(grant) == row.body:
                known = self._grants.put(row.id, row, grant)
        return known

    def is_void(self, row: GrantRow) -> bool:
        """Whether we gave this grant in an earlier epoch: it grants nothing, and nobody tampered with it."""
        where = f"{self._store.decode()}/{row.epoch}".encode()
        return row.epoch < self.epoch and sealed(self._key, row.mac, "grant", where, row.body)

    def review(self, name: str, at: float, by: str | None) -> ReviewRow:
        row = ReviewRow(name, at, by, b"")
        return msgspec.structs.replace(row, mac=seal(self._key, "review", self._store, _encode(row)))

    def reviews(self, rows: Iterable[ReviewRow]) -> dict[str, float]:
        """When each was reviewed or first seen; rows that are not ours do not count."""
        found = ((row.name, self._reviewed(row)) for row in rows)
        return {name: at for name, at in found if at is not None}

    def _reviewed(self, row: ReviewRow) -> float | None:
        known = self._reviews.get(row.name, row)
        if known is None:
            bare = msgspec.structs.replace(row, mac=b"")
            if sealed(self._key, row.mac, "review", self._store, _encode(bare)):
                known = self._reviews.put(row.name, row, row.at)
        return known

    def question(self, question: Question) -> bytes:
        body = _encode(question)
        return seal(self._key, "question", self._where, body) + body

    def open_question(self, row: QuestionRow) -> Question | None:
        """The question in this row, if it is as we wrote it."""
        mac, body = row.body[:MAC_BYTES], row.body[MAC_BYTES:]
        if not sealed(self._key, mac, "question", self._where, body):
            return None
        question = _question(body)
        same = (question.id, question.request.session, question.request.digest)
        return question if same == (row.id, row.session, row.digest) else None

    def edited(self, question: str, request: Request) -> bytes:
        """A request allowed in place of the one that was asked about, sealed for this question."""
        body = _encode(request)
        return seal(self._key, "edited", self._where, question.encode(), body) + body

    def open_edited(self, row: QuestionRow) -> Request | None:
        """What was allowed in place of what was asked about; None if nothing was, or it is not ours."""
        if row.edited is None:
            return None
        mac, body = row.edited[:MAC_BYTES], row.edited[MAC_BYTES:]
        ours = sealed(self._key, mac, "edited", self._where, row.id.encode(), body)
        return _request(body) if ours else None

    def call(self, name: str, record: bytes) -> bytes:
        """The record of this call, sealed: for every epoch, as what ran has to be looked after in all."""
        return seal(self._key, "call", self._store, name.encode(), record) + record

    def open_call(self, name: str, body: bytes) -> bytes | None:
        """The record in this body, if we wrote it for this call."""
        mac, record = body[:MAC_BYTES], body[MAC_BYTES:]
        return record if sealed(self._key, mac, "call", self._store, name.encode(), record) else None

    def text(self, tag: str, text: str) -> bytes:
        """A seal on a text that is kept beside the rows."""
        return seal(self._key, tag, self._where, text.encode())

    def _session_parts(self, row: SessionRow) -> tuple[bytes, ...]:
        rest = (row.id, row.owner, row.agent, row.user, row.workspace, row.parent)
        return (self._where, row.head, _encode((*rest, row.opened_at, row.ended_at, row.spends)))

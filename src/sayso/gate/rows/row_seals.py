"""Seals on rows: they show whether Sayso wrote a row, and whether it is the newest version.

- A seal covers all columns of its row.
- Rows that may not go back (sessions, reviews, values) have a version under their seal, which is compared
  with the mark beside the key: a genuine older row is refused as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import isnan, nan
from operator import attrgetter
from struct import Struct
from typing import Any, Generic, TypeVar

import msgspec

from sayso.core.decision import Question
from sayso.core.grants import Grant
from sayso.core.model import Request
from sayso.core.session import Denial, SessionHead
from sayso.gate import words
from sayso.gate.rows.mark.versions import FORGOTTEN_AFTER
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.rows.tampering import Doubts, compute_seal, seal_matches
from sayso.store.contract import UNKNOWN_EXPIRY, CallRow, GrantRow, QuestionRow, ReviewRow, SessionRow

MAC_BYTES = 32
RESULT_BYTES = 32
NO_RESULT = bytes(RESULT_BYTES)
VERSION_BYTES = 8
_LEASE = Struct(">d")
_RECORD = MAC_BYTES + RESULT_BYTES + _LEASE.size
"""Where the record of a call begins in its body."""
_UNSEALED = bytes(_RECORD)
KNOWN_ROWS = 5_000
KNOWN_CALLS = 512
NEVER = 0.0
"""When something was reviewed that was not, or whose row cannot be believed."""
JUMP = 2**40
"""A new epoch is a number nobody has seen: the same old copy restored twice is two epochs."""


class GrantUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The use of a grant: its number of spends, the uses they add up to, and when it ends."""

    number: int = 0
    used: int = 0
    until: float = 0.0


class SentOnce(msgspec.Struct, frozen=True):
    """A content that went out, by which operation and when."""

    domain: str
    content: str
    operation: str
    at: float


class Untried(msgspec.Struct, frozen=True, array_like=True):
    """A call that waits to be tried: how often it was started and given back, and when it was made."""

    fence: int
    at: float


class SessionState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The sealed content of a session's row: its head, and all that is alive in the session.

    A grant that `spent` does not name is over; a question that `questions` does not name is closed, and says
    until when it is open; a call that `calls` does not name is neither running nor parked; one that `untried`
    does not name was started, or ended, and is not pending. Of those made until `forgotten` no call is named
    any more that is not in `untried`: they are too old, or too many came after them. `children` are the
    sessions it started that have not ended. `ended` are the grants that ended while calls were under way,
    which may have been started with them, and when they can be forgotten. `version` grows with every change
    of the row. So no row of theirs comes back, as long as this one does not.

    Here, in records of calls and in all they hold, what has its default is not written: a default stays what
    it is for as long as rows are kept.
    """

    head: SessionHead
    spent: Mapping[str, GrantUsage] = {}
    questions: Mapping[str, float] = {}
    calls: Mapping[str, str] = {}
    children: tuple[str, ...] = ()
    denials: Mapping[str, Denial] = {}
    sent: tuple[SentOnce, ...] = ()
    version: int = 1
    epoch: int = 0
    ended: Mapping[str, float] = {}
    untried: Mapping[str, Untried] = {}
    forgotten: float = 0.0


def running_label(fence: int) -> str:
    """Return the state of a call that runs under this number, as its session stores it."""
    return f"running {fence}"


def standing_label(row: CallRow) -> str | None:
    """Return the standing of a call that is under way, with the note of a parked one."""
    if row.state == "running":
        return running_label(row.fence)
    if row.state != "waiting":
        return None
    return f"waiting {row.fence} {sha256(row.result or b'').hexdigest()[:32]}"


def draft_of(record: bytes) -> bytes:
    """The body of a call's row with this record, not sealed yet: as it is, nobody believes it."""
    return _UNSEALED + record


_columns_beside_head = attrgetter(
    "id", "owner", "agent", "user", "workspace", "parent", "opened_at", "ended_at", "spends"
)
_encode = msgspec.json.Encoder().encode
_decode_session_state = msgspec.json.Decoder(SessionState).decode
_decode_grant = msgspec.json.Decoder(Grant).decode
_decode_question = msgspec.json.Decoder(Question).decode
_decode_request = msgspec.json.Decoder(Request).decode

Row = TypeVar("Row")
Value = TypeVar("Value")


class SealCache(Generic[Row, Value]):
    """The last row of each name whose seal was right, and what it says. An equal row is as right.

    The last `least` names are always known; when there are twice as many, the older half is forgotten.
    """

    def __init__(self, least: int = KNOWN_ROWS) -> None:
        self._least = least
        self._rows: dict[str, tuple[Row, Value]] = {}
        self._older: dict[str, tuple[Row, Value]] = {}

    def get(self, name: str, row: Row) -> Value | None:
        found = self._rows.get(name) or self._older.get(name)
        return found[1] if found is not None and found[0] == row else None

    def last_row(self, name: str) -> Row | None:
        """The last row of this name that was right; it may have changed since."""
        found = self._rows.get(name) or self._older.get(name)
        return None if found is None else found[0]

    def last(self, name: str) -> Value | None:
        """What the last row of this name said that was right: to guess what is going to be read."""
        found = self._rows.get(name) or self._older.get(name)
        return None if found is None else found[1]

    def put(self, name: str, row: Row, value: Value) -> Value:
        if len(self._rows) >= self._least and name not in self._rows:
            self._older, self._rows = self._rows, {}  # a long life must not fill the memory
        self._rows[name] = (row, value)
        return value


class Sealer:
    """Seals rows with the gate's key for one epoch of one store, and opens them again."""

    def __init__(
        self, key: bytes, store: str, epoch: int, mark: Watermark | None = None, doubts: Doubts | None = None
    ) -> None:
        self._key = key
        self.mark = mark if mark is not None else Watermark()
        self.doubts = doubts if doubts is not None else Doubts()
        self._store = store.encode()
        self._where = f"{store}/{epoch}".encode()
        self.epoch = epoch
        self._sessions: SealCache[SessionRow, SessionState] = SealCache()
        self._grants: SealCache[GrantRow, Grant] = SealCache()
        self._reviews: SealCache[ReviewRow, float] = SealCache()
        self._calls: SealCache[CallRow, bytes] = SealCache(KNOWN_CALLS)
        self.records: SealCache[bytes, Any] = SealCache(KNOWN_CALLS)
        """By call: the last record that was decoded, and what it says."""
        self.values: SealCache[str, Any] = SealCache()
        """By name: the last text of a sealed value that was right, and what is in it."""

    def answer_mac(self, surface: str, question: str, digest: str, answer: str, shown: str) -> bytes:
        """The MAC of one answer to one question about one call, on one surface, in this epoch.

        `shown` is how much of the call the surface was given with it.
        """
        parts = (part.encode() for part in (surface, question, digest, answer, shown))
        return compute_seal(self._key, "answer", self._where, *parts)

    def session(self, row: SessionRow, kept: SessionState) -> SessionRow:
        """The row with this kept in it. Once it is committed, no earlier one counts."""
        if kept.epoch != self.epoch:
            kept = msgspec.structs.replace(kept, epoch=self.epoch)
        head = _encode(kept)
        mac = compute_seal(self._key, "session", *self._session_parts(row, head))
        row = msgspec.structs.replace(row, head=head, mac=mac)
        self._sessions.put(row.id, row, kept)
        self.mark.note("session", row.id, kept.version, until=_forget_time(row))
        return row

    def open_session(self, row: SessionRow) -> SessionState | None:
        """Return the state in this row, if the row is untampered and nothing newer was written since."""
        known = self._sessions.get(row.id, row)
        if known is None and seal_matches(self._key, row.mac, "session", *self._session_parts(row)):
            known = self._sessions.put(row.id, row, _decode_session_state(row.head))
        if known is None or (row.opened_at < self.mark.floor and self._is_forgotten(row)):
            return None
        current = self.is_current("session", row.id, known.version, until=_forget_time(row))
        return known if current else None

    def last_session(self, session: str) -> SessionRow | None:
        """The row of this session as it was last found right: who asks and where, it says for good."""
        return self._sessions.last_row(session)

    def last_state(self, session: str) -> SessionState | None:
        """What the row of this session said when it was last found right: to guess what will be read."""
        return self._sessions.last(session)

    def void_session(self, row: SessionRow) -> SessionState | None:
        """Return the state in a row of an earlier epoch: nothing is decided by it, but its calls can be
        shown.
        """
        try:
            kept = _decode_session_state(row.head)
        except msgspec.MsgspecError:
            return None
        where = f"{self._store.decode()}/{kept.epoch}".encode()
        ours = seal_matches(self._key, row.mac, "session", where, *self._session_parts(row)[1:])
        return kept if ours and kept.epoch < self.epoch else None

    def has_dropped(self, row: SessionRow) -> bool:
        """Return whether this session, which we wrote, ended so long ago that the mark has dropped it."""
        ours = seal_matches(self._key, row.mac, "session", *self._session_parts(row))
        return ours and row.ended_at is not None and self._is_forgotten(row)

    def is_missing(self, session: str) -> bool:
        """Return whether a session of this name existed and its row is gone."""
        return self.mark.version("session", session) > 0

    def grant(self, grant: Grant) -> GrantRow:
        body = _encode(grant)
        mac = compute_seal(self._key, "grant", self._where, body)
        row = (grant.id, grant.session, grant.kind, grant.value, body, self.epoch, mac)
        return GrantRow(*row, expires_at=grant.expires_at)

    def last_grant(self, name: str) -> Grant | None:
        """The grant of this name as it was when it was last seen: to guess what is going to be read."""
        return self._grants.last(name)

    def open_grant(self, row: GrantRow) -> Grant | None:
        """The grant in this row, if it is one we gave in this epoch."""
        known = self._grants.get(row.id, row)
        if known is None and seal_matches(self._key, row.mac, "grant", self._where, row.body):
            grant = _decode_grant(row.body)
            same = (grant.id, grant.session, *grant.key) == (row.id, row.session, row.kind, row.value)
            # The end is not sealed by itself: moved, it would hide a live grant from the lists.
            same = same and row.expires_at in (grant.expires_at, UNKNOWN_EXPIRY)
            if same and _encode(grant) == row.body:
                known = self._grants.put(row.id, row, grant)
        return known

    def is_void(self, row: GrantRow) -> bool:
        """Return whether this grant is from an earlier epoch: it grants nothing, but is not tampered with."""
        where = f"{self._store.decode()}/{row.epoch}".encode()
        return row.epoch < self.epoch and seal_matches(self._key, row.mac, "grant", where, row.body)

    def open_past_grant(self, row: GrantRow) -> Grant | None:
        """The grant in this row, if we gave it in this epoch or an earlier one. Only for looking back."""
        return _decode_grant(row.body) if self.is_void(row) else self.open_grant(row)

    def review(self, name: str, at: float, by: str | None, *, before: ReviewRow | None = None) -> ReviewRow:
        """The row of a review, or of a permission first seen. Once committed, `before` does not count."""
        newest = max(self.mark.version("review", name), _review_version(before))
        self.mark.go_by("review", name, newest)
        version = 1 + newest
        self.mark.note("review", name, version)
        row = ReviewRow(name, at, by, version.to_bytes(VERSION_BYTES, "big"))
        return msgspec.structs.replace(row, mac=row.mac + self._review_mac(row))

    def reviews(self, rows: Iterable[ReviewRow]) -> dict[str, float]:
        """When each was reviewed or first seen; rows that are not ours, or not the last, do not count."""
        found = ((row.name, self._review_time(row, self.mark.version("review", row.name))) for row in rows)
        return {name: at for name, at in found if at is not None}

    def review_marks(self, names: Iterable[str]) -> dict[str, int]:
        """Return the version that each of these reviews has at least when it is read after this."""
        return {name: self.mark.committed_version("review", name) for name in names}

    def are_behind(self, marked: Mapping[str, int], rows: Sequence[ReviewRow]) -> bool:
        """Return whether one of these reviews is missing, or older than its mark."""
        found = {row.name: _review_version(row) for row in rows}
        return any(found.get(name, 0) < version for name, version in marked.items())

    def review_times(self, marked: Mapping[str, int], rows: Sequence[ReviewRow]) -> dict[str, float]:
        """Return when each name was reviewed or first seen; a deleted or tampered row means never.

        So no deletion hides a decayed review behind a younger row of another name. `marked` are the marks
        from before these were read: what another process has only just written is neither missed nor newer.
        """
        times = {row.name: self._review_time(row, marked[row.name]) or NEVER for row in rows}
        for name, version in marked.items():
            if version and name not in times:
                self.doubts.note_once(words.deleted_outside(f"the review of {name}"))
                times[name] = NEVER
        return times

    def was_reviewed(self, name: str) -> bool:
        """Return whether this name had a review, or was seen, and its row is gone."""
        return self.mark.version("review", name) > 0

    def _review_time(self, row: ReviewRow, marked: int) -> float | None:
        known = self._reviews.get(row.name, row)
        if known is None:
            bare = msgspec.structs.replace(row, mac=row.mac[:VERSION_BYTES])
            if seal_matches(self._key, row.mac[VERSION_BYTES:], "review", *self._review_parts(bare)):
                known = self._reviews.put(row.name, row, row.at)
        if known is not None and self.is_current("review", row.name, _review_version(row), marked=marked):
            return known
        self.doubts.note_once(words.changed_or_restored(f"the review of {row.name}"))
        return None

    def _review_mac(self, bare: ReviewRow) -> bytes:
        return compute_seal(self._key, "review", *self._review_parts(bare))

    def _review_parts(self, bare: ReviewRow) -> tuple[bytes, ...]:
        return (self._store, _encode(bare))

    def question(
        self, row: QuestionRow, question: Question | None = None, *, epoch: int | None = None
    ) -> QuestionRow:
        """The row sealed as it is, with this question in it or the one it has; for an epoch, or this."""
        body = row.body[MAC_BYTES:] if question is None else _encode(question)
        mac = compute_seal(self._key, "question", *self._parts(row, body, epoch))
        return msgspec.structs.replace(row, body=mac + body)

    def open_question(self, row: QuestionRow, *, epoch: int | None = None) -> Question | None:
        """The question in this row, if the row is one we wrote in this epoch, or in an earlier one."""
        mac, body = row.body[:MAC_BYTES], row.body[MAC_BYTES:]
        if not seal_matches(self._key, mac, "question", *self._parts(row, body, epoch)):
            return None
        question = _decode_question(body)
        same = (question.id, question.request.session, question.request.digest)
        return question if same == (row.id, row.session, row.digest) else None

    def _parts(self, row: QuestionRow, body: bytes, epoch: int | None = None) -> tuple[bytes, ...]:
        where = self._where if epoch is None else f"{self._store.decode()}/{epoch}".encode()
        edited = sha256(row.edited or b"").digest()
        return (where, body, _encode(msgspec.structs.replace(row, body=b"", edited=edited)))

    def seal_edit(self, question: str, request: Request) -> bytes:
        """A request allowed in place of the one that was asked about, sealed for this question."""
        body = _encode(request)
        return compute_seal(self._key, "edited", self._where, question.encode(), body) + body

    def open_edited(self, row: QuestionRow) -> Request | None:
        """Return what was allowed in place of what was asked about; None if nothing was, or it was tampered
        with.
        """
        if row.edited is None:
            return None
        mac, body = row.edited[:MAC_BYTES], row.edited[MAC_BYTES:]
        ours = seal_matches(self._key, mac, "edited", self._where, row.id.encode(), body)
        return _decode_request(body) if ours else None

    def call(self, row: CallRow) -> CallRow:
        """The row sealed as it is, with the record that it has.

        Sealed for every epoch, as what ran has to be looked after in all. Of its result a hash is sealed, so
        that results can be dropped when they are old; of its lease the end, which none can outlast.
        """
        if self._calls.get(row.id, row) is not None:
            return row  # the last one sealed, or found right, was equal to it
        kept = row.body[_RECORD:]
        result = NO_RESULT if row.result is None else sha256(row.result).digest()
        beside = result + _LEASE.pack(nan if row.lease_until is None else row.lease_until)
        mac = compute_seal(self._key, "call", *self._call_parts(row, row.lease_until, beside, kept))
        sealed = msgspec.structs.replace(row, body=mac + beside + kept)
        self._calls.put(row.id, sealed, kept)
        return sealed

    def open_call(self, row: CallRow, *, any_result: bool = False) -> bytes | None:
        """Return the record in this row, if the row is untampered; `any_result`: whatever its result is.

        A lease that somebody shortened only ends sooner, as if its holder had died.
        """
        known = self._calls.get(row.id, row)
        if known is not None:
            return known
        beside, record = row.body[MAC_BYTES:_RECORD], row.body[_RECORD:]
        if len(beside) != RESULT_BYTES + _LEASE.size or not (any_result or _result_fits(row, beside)):
            return None
        (sealed_end,) = _LEASE.unpack(beside[RESULT_BYTES:])
        lease = None if isnan(sealed_end) else sealed_end
        if (lease is None) != (row.lease_until is None) or (lease or 0.0) < (row.lease_until or 0.0):
            return None
        parts = self._call_parts(row, lease, beside, record)
        if not seal_matches(self._key, row.body[:MAC_BYTES], "call", *parts):
            return None
        return record if any_result else self._calls.put(row.id, row, record)

    def _call_parts(
        self, row: CallRow, lease: float | None, beside: bytes, record: bytes
    ) -> tuple[bytes, ...]:
        bare = msgspec.structs.replace(row, body=b"", result=None, lease_until=lease)
        return (self._store, beside, record, _encode(bare))

    def text(self, tag: str, text: str, *, epoch: int | None = None) -> bytes:
        """A seal on a text that is kept beside the rows, for this epoch or an earlier one."""
        where = self._where if epoch is None else f"{self._store.decode()}/{epoch}".encode()
        return compute_seal(self._key, tag, where, text.encode())

    def _session_parts(self, row: SessionRow, head: bytes | None = None) -> tuple[bytes, ...]:
        """Return the sealed parts of a row, with another head if one is given."""
        return (self._where, row.head if head is None else head, _encode(_columns_beside_head(row)))

    def is_current(
        self, kind: str, name: str, version: int, *, until: float = 0.0, marked: int | None = None
    ) -> bool:
        """Return whether nothing newer was marked. What is newer than its mark is marked from now on.

        So is what others have marked only until this machine starts again: they may have died meanwhile.
        `marked` is the mark from before the row was read. Without it, nobody else can write the row now.
        """
        marked = self.mark.version(kind, name, row=version) if marked is None else marked
        mark = self.mark
        if version > marked or (mark.passing and version == marked and mark.may_pass(kind, name, version)):
            mark.note(kind, name, version, until=until)
        if version >= marked:
            self.mark.go_by(kind, name, version)
        return version >= marked

    def _is_forgotten(self, row: SessionRow) -> bool:
        """Return whether the mark has dropped sessions as old as this one, and does not know it."""
        old = row.opened_at < self.mark.floor
        return old and not self.mark.version("session", row.id)


def _result_fits(row: CallRow, beside: bytes) -> bool:
    """Return whether the result of this call is the one that was sealed, or was dropped since it ended."""
    if row.result is None and row.ended_at is not None:
        return True
    return beside[:RESULT_BYTES] == (NO_RESULT if row.result is None else sha256(row.result).digest())


def _forget_time(row: SessionRow) -> float:
    return 0.0 if row.ended_at is None else row.ended_at + FORGOTTEN_AFTER


def _review_version(row: ReviewRow | None) -> int:
    return 0 if row is None else int.from_bytes(row.mac[:VERSION_BYTES], "big")

"""The rows that a store holds. What a row means, and whether its MAC is right, is for the gate to decide.

Rows that grant or end something are only ever added.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec


class MetaRow(msgspec.Struct, frozen=True):
    """A fact about the store itself."""

    name: str
    value: str


class SessionRow(msgspec.Struct, frozen=True):
    """A session: whose it is, and its head (everything of it that is not rows of its own), encoded.

    `spends` counts the spend rows of the session; the MAC covers head and count, so that a deleted
    spend row is noticed.
    """

    id: str
    owner: str
    agent: str
    user: str
    workspace: str
    parent: str | None
    opened_at: float
    ended_at: float | None
    head: bytes
    spends: int
    mac: bytes


UNKNOWN_EXPIRY = 1e18
"""The end of a grant that was stored before ends were kept beside it: only its body says when it is."""


class GrantRow(msgspec.Struct, frozen=True):
    """A grant, encoded and sealed. Never changed; what happens to it is added as spends."""

    id: str
    session: str
    kind: str
    value: str
    body: bytes
    epoch: int
    mac: bytes
    expires_at: float = UNKNOWN_EXPIRY


SpendKind = Literal["use", "return", "enter", "revoke"]
"""A grant is used; the use is given back; its call is entered, so that it cannot be any more; it ends."""


class SpendRow(msgspec.Struct, frozen=True):
    """One thing that happened to a grant. Each number of a grant is taken once.

    It has no MAC: what counts is in the sealed row of the session, and a number is taken in any case.
    """

    grant: str
    number: int
    session: str
    what: SpendKind
    call: str | None
    at: float


QuestionState = Literal["open", "answered", "expired", "cancelled"]


class QuestionRow(msgspec.Struct, frozen=True):
    """A question and, once it is closed, how: the first answer counts. `edited`: what was allowed instead."""

    id: str
    session: str
    digest: str
    body: bytes
    opened_at: float
    expires_at: float
    state: QuestionState = "open"
    answer: str | None = None
    reason: str | None = None
    by: str | None = None
    closed_at: float | None = None
    edited: bytes | None = None


class CallRow(msgspec.Struct, frozen=True):
    """A call in the ledger. `fence` grows with every start; only its holder may say how that start ended.

    `workflow` is set if the call is, or may be, a run of one: to find it by. What it is says its body.
    """

    id: str
    session: str
    digest: str
    tool: str
    body: bytes
    state: str
    at: float
    host_id: str | None = None
    key: str | None = None
    effect_key: str | None = None
    question: str | None = None
    fence: int = 0
    holder: str | None = None
    lease_until: float | None = None
    result: bytes | None = None
    ended_at: float | None = None
    workflow: str | None = None


class EntryRow(msgspec.Struct, frozen=True):
    """An audit entry as stored: the exact bytes that were hashed, and its place in the chain.

    `body` is None once it was pruned; the hashes stay.
    """

    stream: str
    seq: int
    at: float
    event: str
    session: str
    body: bytes | None
    prev: bytes
    hash: bytes


EntryTuple = tuple[int, bytes | None, bytes, bytes, float, str, str]
"""An entry for those who read all of them: seq, body, prev, hash, at, event, session."""


class NodeRow(msgspec.Struct, frozen=True):
    """A node of the audit tree that can never change again: the root of a full subtree."""

    stream: str
    level: int
    index: int
    hash: bytes


class CheckpointRow(msgspec.Struct, frozen=True):
    size: int
    at: float
    note: str


class SecretRow(msgspec.Struct, frozen=True):
    """A sensitive value and its salt, apart from the entry that commits to it, so that both can be erased."""

    stream: str
    seq: int
    name: str
    salt: bytes
    value: bytes


class SummaryRow(msgspec.Struct, frozen=True):
    """Something added up from rows that do not change any more, so that nobody has to read them all again.

    `source` is what it was added up from: a stream, or something else that the gate names. What was added up
    can be dropped and added up again; nothing is decided by it.
    """

    source: str
    kind: str
    name: str
    place: int
    body: bytes


class ReviewRow(msgspec.Struct, frozen=True):
    """When a domain was reviewed, and by whom; with `by` None, when a permission was first seen."""

    name: str
    at: float
    by: str | None
    mac: bytes


DeliveryKind = Literal["question", "notice"]
DeliveryState = Literal["due", "shown", "over"]
"""To be sent; on the surface; taken down again, or done with."""


class DeliveryRow(msgspec.Struct, frozen=True):
    """What one surface is to show of one subject, a question or a notice, and how far that came.

    Nothing is decided by it. `due_at` is when somebody should do something about it: who takes the work moves
    it ahead, so that it comes up again if they die. `version` grows with every change, so that of two who
    take the same work one gets it. `ref` is the surface's own name for what it shows.
    """

    surface: str
    subject: str
    kind: DeliveryKind
    state: DeliveryState
    due_at: float
    version: int = 0
    attempts: int = 0
    at: float = 0.0
    body: bytes = b""
    ref: str | None = None
    error: str | None = None


KINDS = (
    MetaRow, SessionRow, GrantRow, SpendRow, ReviewRow, QuestionRow, CallRow,
    EntryRow, NodeRow, CheckpointRow, SecretRow, SummaryRow, DeliveryRow,
)  # fmt: skip
"""Every kind of row. A store holds these and nothing else."""


AnyRow = (
    MetaRow | SessionRow | GrantRow | SpendRow | ReviewRow | QuestionRow | CallRow
    | EntryRow | NodeRow | CheckpointRow | SecretRow | SummaryRow | DeliveryRow
)  # fmt: skip


RowT = TypeVar("RowT", bound=AnyRow)

"""The contract of every store: reads and writes in transactions, all or nothing, seen by every process.

A store keeps rows and knows nothing of consent: what a row means, and whether its MAC is right, is the gate's
to say. Rows that grant or end something are only ever added. A transaction that writes is alone, reads what
was committed last, and leaves no trace when anything in it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeVar

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.grants import GrantKey


class StoreError(SaysoError):
    """The store cannot do its work: nothing was changed, and nothing may be allowed on its account."""

    code = "store"


class StoreBusy(StoreError):
    """Somebody else held the store for too long. Trying again may help."""

    code = "store_busy"


class BatchLost(StoreError):
    """The transactions of a batch were undone together: each may be tried again by itself."""

    code = "batch_lost"


class FateUnknown(StoreError):
    """The connection was lost in the middle of a commit, and nobody can say whether it was kept."""

    code = "fate_unknown"


class StoreNewer(StoreError):
    """The store was written by a newer Sayso; this one leaves it alone."""

    code = "store_newer"


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

    It has no MAC: what counts stands in the sealed row of the session, and a number is taken in any case.
    """

    grant: str
    number: int
    session: str
    what: SpendKind
    call: str | None
    at: float


class DenialRow(msgspec.Struct, frozen=True):
    session: str
    digest: str
    turn: int
    at: float


class SendingRow(msgspec.Struct, frozen=True):
    session: str
    domain: str
    content: str
    operation: str
    at: float


QuestionState = Literal["open", "answered", "expired", "cancelled"]


class QuestionRow(msgspec.Struct, frozen=True):
    """A question and, once it is closed, how: the first answer stands. `edited`: what was allowed instead."""

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
    """An audit entry as stored: the exact bytes that were hashed, and where it stands in its chain.

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
    MetaRow, SessionRow, GrantRow, SpendRow, DenialRow, SendingRow, ReviewRow, QuestionRow, CallRow,
    EntryRow, NodeRow, CheckpointRow, SecretRow, SummaryRow, DeliveryRow,
)  # fmt: skip
"""Every kind of row. A store holds these and nothing else."""

AnyRow = (
    MetaRow | SessionRow | GrantRow | SpendRow | DenialRow | SendingRow | ReviewRow | QuestionRow | CallRow
    | EntryRow | NodeRow | CheckpointRow | SecretRow | SummaryRow | DeliveryRow
)  # fmt: skip
RowT = TypeVar("RowT", bound=AnyRow)


class Reader(Protocol):
    """Reads of one moment."""

    @property
    def now(self) -> float:
        """The store's clock, read when the transaction began, or when it got hold of its first session."""

    def meta(self, name: str) -> str | None: ...

    def session(self, session: str) -> SessionRow | None: ...
    def sessions(
        self, *, open_only: bool = True, owner: str | None = None, after: str = "", limit: int = 1000
    ) -> Sequence[SessionRow]:
        """A page of sessions, of one owner or of all, oldest first, `after` an id."""

    def children(self, session: str) -> Sequence[SessionRow]: ...

    def grants(self, session: str, keys: Iterable[GrantKey] | None = None) -> Sequence[GrantRow]:
        """The grants of a session, for these keys or all of them, in the order given."""

    def grant(self, grant: str) -> GrantRow | None: ...
    def grants_ending_after(
        self,
        now: float,
        *,
        session: str | None = None,
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[GrantRow]:
        """A page of the grants in open sessions that end after `now`, those that end first first.

        Of one session, of the sessions of one owner, or of all; `after` the id of a grant. Those that were
        used up or revoked are among them: what became of a grant is not the store's to say.
        """

    def active_run_grants(self, now: float) -> Sequence[GrantRow]:
        """The same for run grants, all at once, without those that a spend says were revoked."""

    def spends(self, grants: Iterable[str]) -> Sequence[SpendRow]:
        """All spends of these grants, by grant and number."""

    def denial(self, session: str, digest: str) -> DenialRow | None: ...
    def sendings(self, session: str, keys: Iterable[GrantKey]) -> Sequence[SendingRow]: ...
    def reviews(self, names: Iterable[str] | None = None, *, anew: bool = False) -> Sequence[ReviewRow]:
        """The reviews of these names or all of them, by name. With `anew`, not as read ahead."""

    def question(self, question: str) -> QuestionRow | None: ...
    def open_question(self, session: str, digest: str) -> QuestionRow | None: ...
    def questions(
        self,
        session: str | None = None,
        *,
        state: QuestionState | None = "open",
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[QuestionRow]:
        """A page of questions, oldest first, `after` an id; of one session, of one owner's, or of all."""

    def count_questions(self, session: str, *, since: float) -> tuple[int, int]:
        """Return how many are open, and how many were opened since."""

    def count_open(self) -> int:
        """Return how many questions are open, in all sessions."""

    def late_sessions(self, now: float) -> Sequence[str]:
        """The sessions with an open question whose time is over, in order of their ids."""

    def call(self, call: str) -> CallRow | None: ...
    def call_by_host(self, session: str, host_id: str) -> CallRow | None: ...
    def call_by_key(self, session: str, tool: str, key: str) -> CallRow | None: ...
    def calls_by_effect(self, effect_key: str) -> Sequence[CallRow]: ...
    def calls(
        self, *, states: Iterable[str], runs_only: bool = False, limit: int = 1000
    ) -> Sequence[CallRow]:
        """The calls in these states, oldest first; with `runs_only`, those that may be runs of a workflow."""

    def bytes_of_calls(self, session: str, states: Iterable[str]) -> int:
        """Return how much the bodies of a session's calls in these states hold.

        Those that are pending although their question is closed do not count: nobody has tried them since.
        """

    def head(self, stream: str) -> EntryRow | None:
        """The newest entry of a stream."""

    def entries(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryRow]: ...
    def entry_tuples(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryTuple]:
        """The same entries in their plainest form, which is the quickest to read."""

    def streams(self) -> Sequence[str]: ...
    def newest_time(self) -> float | None:
        """The highest time among the newest entries of all streams. Nothing is held for it."""

    def nodes(self, stream: str, places: Iterable[tuple[int, int]]) -> Sequence[NodeRow]: ...
    def checkpoints(self, *, limit: int = 1, skip: int = 0) -> Sequence[CheckpointRow]:
        """Newest first, passing over so many of the newest."""

    def secrets(self, stream: str, seq: int) -> Sequence[SecretRow]: ...

    def summaries(self, source: str, kind: str, keys: Iterable[tuple[str, int]]) -> Sequence[SummaryRow]:
        """The summaries of this kind with these names and places, as far as there are any; in any order."""

    def newest_summaries(
        self, source: str, kind: str, name: str, *, first: int = 0, before: int, limit: int = 1000
    ) -> Sequence[SummaryRow]:
        """Those of one name from place `first` up to the one before `before`, the highest place first."""

    def delivery(self, surface: str, subject: str) -> DeliveryRow | None: ...
    def deliveries_due(self, surface: str, *, by: float, limit: int = 100) -> Sequence[DeliveryRow]:
        """What the surface is to send and is due by this time; what is due longest first."""

    def questions_to_show(self, surface: str, *, limit: int = 100) -> Sequence[str]:
        """The open questions of which the surface knows nothing yet, oldest first."""

    def deliveries_to_close(self, surface: str, *, by: float, limit: int = 100) -> Sequence[DeliveryRow]:
        """What the surface shows although the question is closed, and is due by this time."""

    def every(self, kind: type[RowT]) -> Iterator[RowT]:
        """All rows of one kind, read a page at a time; those of one session or stream in their order."""


class Writer(Reader, Protocol):
    """Reads and writes that are committed together, or not at all."""

    durable: bool
    """Whether the commit waits for the disk. Otherwise its end may be lost on power failure, never its
    consistency."""
    local: bool
    """Whether the store lives on this machine: then nothing is lost unless this machine starts again."""
    after_commit: Callable[[], object] | None
    """What to do once it is committed and before the disk is waited for, where that takes two steps. It must
    not fail."""

    def read_ahead(self, wanted: Ahead) -> None:
        """Read this at once. Nothing depends on it but the time it takes."""

    def set_meta(self, name: str, value: str) -> None: ...

    def put_session(self, row: SessionRow) -> None: ...
    def change_session(self, row: SessionRow) -> None:
        """Give a stored session this workspace, head, count and MAC; without one, StoreError."""

    def add_grant(self, row: GrantRow) -> None: ...
    def add_spend(self, row: SpendRow) -> None:
        """Refused with StoreError, at the latest on commit, if this number was taken by somebody else."""

    def put_denial(self, row: DenialRow) -> None: ...
    def add_sending(self, row: SendingRow) -> None: ...
    def put_review(self, row: ReviewRow) -> None: ...

    def add_question(self, row: QuestionRow) -> None: ...
    def close_question(self, row: QuestionRow) -> bool:
        """Close it as this row says if it is still open; False, and nothing changed, if it is not."""

    def put_call(self, row: CallRow) -> None: ...
    def move_call(self, row: CallRow, *, states: Iterable[str], fence: int) -> bool:
        """Store this row if the call is in one of these states with this fence; else False, no change."""

    def drop_results(self, *, before: float) -> int:
        """Forget the results of calls that ended before this time; how many."""

    def add_entry(self, row: EntryRow) -> None:
        """Refused with StoreError if this place in the chain is taken or leaves a gap."""

    def newest_own_entry(self, stream: str) -> EntryRow | None:
        """The newest entry that this transaction itself added to a stream."""

    def add_nodes(self, rows: Iterable[NodeRow]) -> None: ...
    def add_checkpoint(self, row: CheckpointRow) -> None: ...
    def add_secret(self, row: SecretRow) -> None: ...
    def erase_secret(self, stream: str, seq: int, name: str) -> bool: ...
    def prune_entries(self, stream: str, *, before: int) -> int:
        """Drop the bodies of entries before this one; how many were dropped.

        The summaries of the stream go with them, because they were made from these bodies, too.
        """

    def put_summaries(self, rows: Iterable[SummaryRow]) -> None:
        """Store these, each in the place of the one with the same source, kind, name and place."""

    def drop_summaries(self, source: str) -> None:
        """Forget everything that was added up from this source."""

    def add_delivery(self, row: DeliveryRow) -> bool:
        """Add it; False, and nothing changed, if the surface has one of this subject."""

    def move_delivery(self, row: DeliveryRow, *, version: int) -> bool:
        """Store this row if the delivery still has this version; else False, no change."""

    def drop_deliveries(self, *, before: float) -> int:
        """Forget those that are over and were due before this time; how many."""

    def put_rows(self, rows: Iterable[AnyRow]) -> None:
        """Add rows of any kind as they are, in this order: to fill a store that nobody else uses yet.

        Nothing is held and no chain is checked. Refused with StoreError if one of them is stored already.
        """


class Ahead(msgspec.Struct, frozen=True):
    """What is going to be read, as far as one can tell: each as the method of that name is asked for it."""

    metas: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    """With the sessions they belong to."""
    grants: frozenset[str] = frozenset()
    grants_by_key: frozenset[tuple[str, tuple[GrantKey, ...]]] = frozenset()
    open_questions: frozenset[tuple[str, str]] = frozenset()
    reviews: frozenset[str] = frozenset()
    streams: frozenset[str] = frozenset()
    """Their heads, and the newest time."""


def join_ahead(wanted: Iterable[Ahead]) -> Ahead:
    """All of it."""
    every = list(wanted)
    names = Ahead.__struct_fields__
    return Ahead(*(frozenset().union(*(getattr(one, name) for one in every)) for name in names))


class Batch(Protocol):
    """Several transactions, one after another, that are committed together.

    Each sees what those before it wrote, and if it fails it alone is undone. Nothing is kept of any of them
    before the batch ends; if that fails, all of them failed.
    """

    after_commit: Callable[[], object] | None
    """As that of a transaction; what each of them has is not asked for."""

    def read_ahead(self, wanted: Ahead) -> None:
        """Read this at once. Nothing depends on it but the time it takes."""

    def read(self) -> AbstractContextManager[Reader]: ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Writer]: ...


class ReadOnlyStore(Protocol):
    """A place where state lives, for looking alone."""

    def read(self) -> AbstractContextManager[Reader]: ...

    def close(self) -> None: ...


class Store(Protocol):
    """A place where state lives.

    A thread has one transaction at a time; one begun inside another is refused. An error of the store in a
    transaction ends it, even if somebody catches it: what comes after is refused, and nothing is kept.
    """

    @property
    def local(self) -> bool:
        """Whether it lives on this machine, so that a read takes next to no time."""

    def read(self) -> AbstractContextManager[Reader]: ...

    def write(self, *, durable: bool = True) -> AbstractContextManager[Writer]:
        """A transaction, `durable` unless it says otherwise here or before it ends."""

    def batch(self) -> AbstractContextManager[Batch]:
        """A batch of transactions. Until it ends, this thread has no other, and nobody else can write."""

    def wait_for_change(self, seen: int, timeout: float) -> int:
        """Wait until anything was committed since `seen` (any process), at most `timeout` seconds.

        Returns the new mark to pass next time. Waking too often is fine; sleeping past a change is not,
        beyond the bound the store states.
        """

    @property
    def bound(self) -> float:
        """Return how many seconds, at most, a change of another process can go unseen by `changed`."""

    def close(self) -> None: ...

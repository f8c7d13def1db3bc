"""The contract of every store: reads and writes in transactions, all or nothing, seen by every process.

A store keeps rows and knows nothing of consent: what a row means, and whether its MAC is right, is the gate's
to say. Rows that grant or end something are only ever added. A transaction that writes is alone, reads what
was committed last, and leaves no trace when anything in it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from sayso.core.grants import GrantKey
from sayso.store.contract.errors import StoreFault
from sayso.store.contract.rows import (
    AnyRow,
    CallRow,
    CheckpointRow,
    DeliveryRow,
    EntryRow,
    EntryTuple,
    GrantRow,
    NodeRow,
    QuestionRow,
    QuestionState,
    ReviewRow,
    RowT,
    SecretRow,
    SessionRow,
    SpendRow,
    SummaryRow,
)


class Reader(Protocol):
    """Reads of one moment."""

    @property
    def now(self) -> float:
        """The store's clock, read when the transaction began, or when it got hold of its first session."""

    def was_committed(self, number: int) -> bool | None:
        """Return whether the transaction of this number was committed before what is read here.

        None if it was not over by then. Where whoever writes is alone, transactions have no numbers.
        """

    def meta(self, name: str) -> str | None: ...

    def session(self, session: str) -> SessionRow | None: ...
    def sessions(
        self, *, open_only: bool = True, owner: str | None = None, after: str = "", limit: int = 1000
    ) -> Sequence[SessionRow]:
        """A page of sessions, of one owner or of all, oldest first, `after` an id."""

    def children(self, session: str) -> Sequence[SessionRow]: ...

    def grants(self, session: str, keys: Iterable[GrantKey] | None = None) -> Sequence[GrantRow]:
        """The grants of a session, for these keys or all of them, in the order given."""

    def grants_named(self, session: str, grants: Iterable[str]) -> Sequence[GrantRow]:
        """Those of these grants that the session has, in any order. What it has besides costs nothing."""

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

    def reviews(self, names: Iterable[str] | None = None, *, fresh: bool = False) -> Sequence[ReviewRow]:
        """The reviews of these names or all of them, by name. With `fresh`, not as read ahead."""

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

    def count_open(self, session: str | None = None) -> int:
        """Return how many questions are open, in this session or in all."""

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

    def bytes_of_calls(self, session: str) -> int:
        """Return how much the bodies of a session's calls that are not over hold.

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

    @property
    def number(self) -> int:
        """Which transaction this is, where others write at the same time; 0 where whoever writes is alone."""

    after_commit: Callable[[], object] | None
    """What to do once it is committed, before the disk is waited for and before another thread can write.
    Only where whoever writes is alone. It must not fail."""
    if_lost: Callable[[], object] | None
    """What to do if it is not committed, before anybody else can write. It must not fail."""

    def read_ahead(self, wanted: Ahead) -> None:
        """Read this at once. Nothing depends on it but the time it takes."""

    def set_meta(self, name: str, value: str) -> None: ...

    def put_session(self, row: SessionRow) -> None: ...
    def change_session(self, row: SessionRow) -> None:
        """Give a stored session this workspace, head, count and MAC; without one, StoreError."""

    def add_grant(self, row: GrantRow) -> None: ...
    def add_spend(self, row: SpendRow) -> None:
        """Refused with StoreError, at the latest on commit, if this number was taken by somebody else."""

    def add_last_spend(self, row: SpendRow) -> None:
        """Add it under the number after all of its grant, whatever number it has: nothing keeps it out."""

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
    """What is going to be read, as far as one can tell: each as the method of that name is asked for it.

    What begins with a session is of one that is read ahead as well, or was read before.
    """

    metas: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    """With the sessions they belong to."""
    host_ids: frozenset[tuple[str, str]] = frozenset()
    """Session and host id: the calls recorded under these, with the questions they wait for."""
    call_keys: frozenset[tuple[str, str, str]] = frozenset()
    """The same for session, tool and idempotency key."""
    effects: frozenset[str] = frozenset()
    """The calls with these effect keys."""
    grants: frozenset[str] = frozenset()
    grants_by_key: frozenset[tuple[str, tuple[GrantKey, ...]]] = frozenset()
    approvals: frozenset[tuple[str, str]] = frozenset()
    """Session and digest: the questions whose answers approve this call, and the spends of the approvals."""
    open_questions: frozenset[tuple[str, str]] = frozenset()
    questions: frozenset[tuple[str, str]] = frozenset()
    """Session and id."""
    questions_of: frozenset[str] = frozenset()
    """All open questions of these sessions."""
    counted: frozenset[str] = frozenset()
    """How many questions of these sessions are open."""
    reviews: frozenset[str] = frozenset()
    streams: frozenset[str] = frozenset()
    """Their heads, and the newest time."""


def join_ahead(wanted: Iterable[Ahead]) -> Ahead:
    """All of it."""
    every = list(wanted)
    if len(every) == 1:
        return every[0]
    kinds = Ahead.__struct_fields__
    return Ahead(*[frozenset().union(*[getattr(one, kind) for one in every]) for kind in kinds])


class Batch(Protocol):
    """Several transactions, one after another, that are committed together.

    Each sees what those before it wrote, and if it fails it alone is undone. Nothing is kept of any of them
    before the batch ends; if that fails, all of them failed.
    """

    @property
    def number(self) -> int:
        """As that of a transaction: it is one for all of them."""

    after_commit: Callable[[], object] | None
    """As that of a transaction; what each of them has is not asked for."""
    if_lost: Callable[[], object] | None
    """As that of a transaction. One that was undone by itself has done its own."""

    def read_ahead(self, wanted: Ahead) -> None:
        """Read this at once. Nothing depends on it but the time it takes."""

    def was_committed(self, number: int) -> bool | None:
        """As that of a transaction."""

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

    @property
    def fault(self) -> StoreFault | None:
        """Return why it cannot be written, as far as that is known; None if nothing is known to be wrong.

        Nothing is tried for it, so it may be asked as often as anybody likes. What the last write has met is
        known until another one is kept.
        """

    def close(self) -> None: ...

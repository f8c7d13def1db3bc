"""Stores broken on purpose, one fault each. The contract suite must catch every one of them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from sayso.core.grants import GrantKey
from sayso.store.contract import (
    AnyRow,
    Batch,
    CallRow,
    CheckpointRow,
    DeliveryRow,
    EntryRow,
    EntryTuple,
    GrantRow,
    QuestionRow,
    QuestionState,
    Reader,
    RowT,
    SessionRow,
    SpendRow,
    Store,
    SummaryRow,
    Writer,
)
from sayso.store.memory.store import MemoryBatch, MemoryStore, MemoryWriter
from sayso.store.memory.tables import MemoryReader
from sayso.store.sqlite.store import SqliteStore, SqliteTransaction
from sayso.store.threads import ChangeProbe
from tests.support.places import Open

Place = Callable[[Path], Open]
"""Gives what opens a new store, in this empty folder if it needs one."""


def in_memory(fault: type[MemoryWriter]) -> Place:
    """A store in memory whose transactions have this fault, those that only read as well."""

    class Broken(MemoryStore):
        writer = fault

        @contextmanager
        def read(self) -> Iterator[Reader]:
            with super().read() as whole:
                yield fault(self._tables, whole.now)

    return lambda folder: _always(Broken())


def _always(store: Store) -> Open:
    return lambda: store


def of_kind(kind: type[MemoryStore]) -> Place:
    return lambda folder: _always(kind())


class LosesRevocations(MemoryWriter):
    def add_spend(self, row: SpendRow) -> None:
        if row.what != "revoke":
            super().add_spend(row)


class SpendsANumberTwice(MemoryWriter):
    def add_spend(self, row: SpendRow) -> None:
        self._touch("spends", row.grant)[row.number] = row


class EndsASessionThatOnlyChanges(MemoryWriter):
    def change_session(self, row: SessionRow) -> None:
        super().change_session(row)
        self.put_session(row)


class MakesUpSessions(MemoryWriter):
    def change_session(self, row: SessionRow) -> None:
        self.put_session(row)


class AcceptsASecondAnswer(MemoryWriter):
    def close_question(self, row: QuestionRow) -> bool:
        if self.question(row.id) is None:
            return False
        self._touch("questions")[row.id] = row
        return True


class ClosesWithoutSayingHow(MemoryWriter):
    def close_question(self, row: QuestionRow) -> bool:
        return super().close_question(replace(row, answer=None))


class JoinsClosedQuestions(MemoryWriter):
    def open_question(self, session: str, digest: str) -> QuestionRow | None:
        found = [row for row in self.questions(session, state=None) if row.digest == digest]
        return found[-1] if found else None


class BeginsEveryPageAtTheTop(MemoryWriter):
    def questions(
        self,
        session: str | None = None,
        *,
        state: QuestionState | None = "open",
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[QuestionRow]:
        return super().questions(session, state=state, owner=owner, limit=limit)


class ListsQuestionsOfOthers(MemoryWriter):
    def questions(
        self,
        session: str | None = None,
        *,
        state: QuestionState | None = "open",
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[QuestionRow]:
        return super().questions(session, state=state, after=after, limit=limit)


class CountsClosedQuestionsAsOpen(MemoryWriter):
    def count_open(self) -> int:
        return len(self.questions(state=None))

    def count_questions(self, session: str, *, since: float) -> tuple[int, int]:
        return len(self.questions(session, state=None)), super().count_questions(session, since=since)[1]


class FindsClosedQuestionsLate(MemoryWriter):
    def late_sessions(self, now: float) -> Sequence[str]:
        return sorted({row.session for row in self.questions(state=None) if row.expires_at <= now})


class FindsSummariesOfAnyKind(MemoryWriter):
    def summaries(self, source: str, kind: str, keys: Iterable[tuple[str, int]]) -> Sequence[SummaryRow]:
        wanted = set(keys)
        rows = (row for row in self.every(SummaryRow) if row.source == source)
        return [row for row in rows if (row.name, row.place) in wanted]


class ListsTheOldestSummariesFirst(MemoryWriter):
    def newest_summaries(
        self, source: str, kind: str, name: str, *, first: int = 0, before: int, limit: int = 1000
    ) -> Sequence[SummaryRow]:
        found = super().newest_summaries(source, kind, name, first=first, before=before)
        return found[::-1][:limit]


class KeepsTheFirstSummary(MemoryWriter):
    def put_summaries(self, rows: Iterable[SummaryRow]) -> None:
        for row in rows:
            self._touch("summaries", row.source).setdefault((row.kind, row.name, row.place), row)


class KeepsSummariesOfPrunedEntries(MemoryWriter):
    def prune_entries(self, stream: str, *, before: int) -> int:
        kept = [row for row in self.every(SummaryRow) if row.source == stream]
        pruned = super().prune_entries(stream, before=before)
        self.put_summaries(kept)
        return pruned


class DropsSummariesOfOthers(MemoryWriter):
    def drop_summaries(self, source: str) -> None:
        for one in {row.source for row in self.every(SummaryRow)}:
            super().drop_summaries(one)


class GivesADeliveryToTwo(MemoryWriter):
    def move_delivery(self, row: DeliveryRow, *, version: int) -> bool:
        self._touch("deliveries", row.surface)[row.subject] = row
        return True


class AddsADeliveryAgain(MemoryWriter):
    def add_delivery(self, row: DeliveryRow) -> bool:
        self._touch("deliveries", row.surface)[row.subject] = row
        return True


class ShowsAQuestionOnOneSurface(MemoryWriter):
    def questions_to_show(self, surface: str, *, limit: int = 100) -> Sequence[str]:
        known = {row.subject for row in self.every(DeliveryRow)}
        return [one for one in super().questions_to_show(surface, limit=limit) if one not in known]


class LeavesClosedQuestionsShown(MemoryWriter):
    def deliveries_to_close(self, surface: str, *, by: float, limit: int = 100) -> Sequence[DeliveryRow]:
        return []


class ForgetsWhatIsDue(MemoryWriter):
    def drop_deliveries(self, *, before: float) -> int:
        for row in list(self.every(DeliveryRow)):
            if row.due_at < before:
                del self._touch("deliveries", row.surface)[row.subject]
        return super().drop_deliveries(before=before)


class DropsAnEntry(MemoryWriter):
    def add_entry(self, row: EntryRow) -> None:
        if row.event != "REVOKED" and row.seq != 2:
            super().add_entry(row)


class LeavesGapsInTheChain(MemoryWriter):
    def add_entry(self, row: EntryRow) -> None:
        self._add("entries", row.stream, row.seq, row)


class OverwritesEntries(MemoryWriter):
    def add_entry(self, row: EntryRow) -> None:
        self._touch("entries", row.stream)[row.seq] = row


class ForgetsItsOwnEntries(MemoryWriter):
    def head(self, stream: str) -> EntryRow | None:
        if not hasattr(self, "_first"):
            self._first = super().head(stream)
        return self._first


class ClaimsEntriesOfOthers(MemoryWriter):
    def newest_own_entry(self, stream: str) -> EntryRow | None:
        return self.head(stream)


class KnowsTheTimeOfMainAlone(MemoryWriter):
    def newest_time(self) -> float | None:
        newest = self.head("main")
        return None if newest is None else newest.at


class ReadsEntriesBackwards(MemoryWriter):
    def entries(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryRow]:
        return super().entries(stream, after=after, limit=limit)[::-1]


class FilesTheHashBeforeForItsOwn(MemoryWriter):
    def entry_tuples(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryTuple]:
        found = super().entry_tuples(stream, after=after, limit=limit)
        return [(seq, body, own, prev, *beside) for seq, body, prev, own, *beside in found]  # type: ignore[misc]


class NeverPassesOverCheckpoints(MemoryWriter):
    def checkpoints(self, *, limit: int = 1, skip: int = 0) -> Sequence[CheckpointRow]:
        return super().checkpoints(limit=limit)


class PrunesHashesToo(MemoryWriter):
    def prune_entries(self, stream: str, *, before: int) -> int:
        pruned = super().prune_entries(stream, before=before)
        for row in self.entries(stream, limit=before - 1):
            self._touch("entries", stream)[row.seq] = replace(row, hash=b"")
        return pruned


class ForgetsNewResultsToo(MemoryWriter):
    def drop_results(self, *, before: float) -> int:
        return super().drop_results(before=before + 1)


class IgnoresTheFence(MemoryWriter):
    def move_call(self, row: CallRow, *, states: Iterable[str], fence: int) -> bool:
        stored = self.call(row.id)
        return stored is not None and super().move_call(row, states=states, fence=stored.fence)


class IgnoresTheState(MemoryWriter):
    def move_call(self, row: CallRow, *, states: Iterable[str], fence: int) -> bool:
        stored = self.call(row.id)
        return stored is not None and super().move_call(row, states=[stored.state], fence=fence)


class MovesAllCalls(MemoryWriter):
    def move_call(self, row: CallRow, *, states: Iterable[str], fence: int) -> bool:
        moved = super().move_call(row, states=states, fence=fence)
        if moved:
            for other in list(self._touch("calls").values()):
                self.put_call(replace(other, state=row.state))
        return moved


class ForgetsEffectsOfOthers(MemoryWriter):
    def calls_by_effect(self, effect_key: str) -> Sequence[CallRow]:
        found = super().calls_by_effect(effect_key)
        return [row for row in found if row.session == found[0].session]


class GivesGrantsOfOtherSessions(MemoryWriter):
    def grants(self, session: str, keys: Iterable[GrantKey] | None = None) -> Sequence[GrantRow]:
        wanted = None if keys is None else list(keys)
        return [row for other in self._tables.grants for row in super(type(self), self).grants(other, wanted)]


class ReplacesGrants(MemoryWriter):
    def add_grant(self, row: GrantRow) -> None:
        self._touch("grants", row.session)[row.id] = row


class ListsEndedSessions(MemoryWriter):
    def sessions(
        self, *, open_only: bool = True, owner: str | None = None, after: str = "", limit: int = 1000
    ) -> Sequence[SessionRow]:
        return super().sessions(open_only=False, owner=owner, after=after, limit=limit)


class ListsSessionsOfOthers(MemoryWriter):
    def sessions(
        self, *, open_only: bool = True, owner: str | None = None, after: str = "", limit: int = 1000
    ) -> Sequence[SessionRow]:
        return super().sessions(open_only=open_only, after=after, limit=limit)


class PagesSessionsById(MemoryWriter):
    def sessions(
        self, *, open_only: bool = True, owner: str | None = None, after: str = "", limit: int = 1000
    ) -> Sequence[SessionRow]:
        rows = super().sessions(open_only=open_only, owner=owner, limit=10_000)
        return sorted((row for row in rows if row.id > after), key=lambda row: row.id)[:limit]


class PagesQuestionsById(MemoryWriter):
    def questions(
        self,
        session: str | None = None,
        *,
        state: QuestionState | None = "open",
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[QuestionRow]:
        rows = super().questions(session, state=state, owner=owner, limit=10_000)
        return sorted((row for row in rows if row.id > after), key=lambda row: row.id)[:limit]


class Unexpired(MemoryWriter):
    """What the next ones spoil: this much of a page of grants, in this order."""

    def grants_ending_after(
        self,
        now: float,
        *,
        session: str | None = None,
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[GrantRow]:
        return self.spoiled(now, session, owner, after)[:limit]

    def spoiled(self, now: float, session: str | None, owner: str | None, after: str) -> Sequence[GrantRow]:
        return super().grants_ending_after(now, session=session, owner=owner, after=after, limit=10_000)


class ListsExpiredGrants(Unexpired):
    def spoiled(self, now: float, session: str | None, owner: str | None, after: str) -> Sequence[GrantRow]:
        return super().spoiled(0.0, session, owner, after)


class ListsGrantsOfOthers(Unexpired):
    def spoiled(self, now: float, session: str | None, owner: str | None, after: str) -> Sequence[GrantRow]:
        return super().spoiled(now, session, None, after)


class LosesOneOfTwoThatEndAtOnce(Unexpired):
    def spoiled(self, now: float, session: str | None, owner: str | None, after: str) -> Sequence[GrantRow]:
        last = self.grant(after)
        found = super().spoiled(now, session, owner, after)
        return [row for row in found if last is None or row.expires_at > last.expires_at]


class HidesRevokedGrants(Unexpired):
    def spoiled(self, now: float, session: str | None, owner: str | None, after: str) -> Sequence[GrantRow]:
        found = super().spoiled(now, session, owner, after)
        return [row for row in found if all(one.what != "revoke" for one in self.spends([row.id]))]


class KeepsRevokedRuns(MemoryWriter):
    def active_run_grants(self, now: float) -> Sequence[GrantRow]:
        return [row for row in self.grants_ending_after(now, limit=10_000) if row.kind == "run"]


class CountsBytesOfOtherSessions(MemoryWriter):
    def bytes_of_calls(self, session: str, states: Iterable[str]) -> int:
        return sum(len(row.body) for row in self.calls(states=states))


class CountsCallsThatWereAnswered(MemoryWriter):
    def bytes_of_calls(self, session: str, states: Iterable[str]) -> int:
        return sum(len(row.body) for row in self.calls(states=states) if row.session == session)


class TakesEveryCallForARun(MemoryWriter):
    def calls(
        self, *, states: Iterable[str], runs_only: bool = False, limit: int = 1000
    ) -> Sequence[CallRow]:
        return super().calls(states=states, limit=limit)


class KeepsErasedSecrets(MemoryWriter):
    def erase_secret(self, stream: str, seq: int, name: str) -> bool:
        return any(row.name == name for row in self.secrets(stream, seq))


class ListsOnlyOpenSessions(MemoryWriter):
    def every(self, kind: type[RowT]) -> Iterator[RowT]:
        return (row for row in super().every(kind) if getattr(row, "ended_at", None) is None)


class ListsOnlyAPage(MemoryWriter):
    def every(self, kind: type[RowT]) -> Iterator[RowT]:
        return islice(super().every(kind), 1_000)


class PutsRowsBackwards(MemoryWriter):
    def put_rows(self, rows: Iterable[AnyRow]) -> None:
        super().put_rows(reversed(list(rows)))


class PutsOverWhatIsThere(MemoryWriter):
    def put_rows(self, rows: Iterable[AnyRow]) -> None:
        for row in rows:
            if isinstance(row, CallRow):
                self.put_call(row)
            else:
                super().put_rows([row])


class CommitsAfterACaughtError(MemoryWriter):
    @property
    def failed(self) -> bool:
        return False

    @failed.setter
    def failed(self, value: bool) -> None:
        pass


class WritesAfterTheEnd(MemoryWriter):
    @property
    def over(self) -> bool:
        return False

    @over.setter
    def over(self, value: bool) -> None:
        pass


class LeaksWhatFailed(MemoryStore):
    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with super().write(durable=durable) as w:
            assert isinstance(w, MemoryWriter)
            try:
                yield w
            except Exception:
                self._tables = w.tables
                raise


class KeepsWhatFailedInABatch(MemoryStore):
    @contextmanager
    def batch(self) -> Iterator[Batch]:
        with super().batch() as whole:
            yield cast("Batch", _Leaking(cast("MemoryBatch", whole)))


class _Leaking:
    def __init__(self, batch: MemoryBatch) -> None:
        self._batch = batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with self._batch.write(durable=durable) as w:
            try:
                yield w
            except Exception:
                self._batch.tables = cast("MemoryWriter", w).tables
                raise


class KeepsABatchThatFails(MemoryStore):
    @contextmanager
    def batch(self) -> Iterator[Batch]:
        with super().batch() as whole:
            try:
                yield whole
            except Exception:
                self._tables = cast("MemoryBatch", whole).tables
                raise


class ShowsWhatIsNotCommitted(MemoryStore):
    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with super().write(durable=durable) as w:
            assert isinstance(w, MemoryWriter)
            self.current: MemoryReader = w
            yield w

    @contextmanager
    def read(self) -> Iterator[Reader]:
        with super().read() as r:
            yield getattr(self, "current", r)


class LetsTwoWriteAtOnce(MemoryStore):
    def _take_turn(self) -> None:
        pass

    def _give_turn(self) -> None:
        pass


class NeverTellsOfChanges(MemoryStore):
    def wait_for_change(self, seen: int, timeout: float) -> int:
        return max(seen, 1)


class NestsTransactions(MemoryStore):
    @contextmanager
    def read(self) -> Iterator[Reader]:
        yield MemoryReader(self._tables, self._clock())


class KeepsTheClockRunning(MemoryWriter):
    @property
    def now(self) -> float:
        self._now += 1
        return self._now


def forgets_on_closing(folder: Path) -> Open:
    return MemoryStore


class Remembers:
    """Reads what it read first, whatever others committed since."""

    bound = 0.0
    local = True

    def __init__(self, whole: Store) -> None:
        self._whole = whole
        self._first: Reader | None = None

    @contextmanager
    def read(self) -> Iterator[Reader]:
        if self._first is None:
            with self._whole.read() as r:
                self._first = r
        yield self._first

    def write(self, *, durable: bool = True) -> AbstractContextManager[Writer]:
        return self._whole.write(durable=durable)

    def batch(self) -> AbstractContextManager[Batch]:
        return self._whole.batch()

    def wait_for_change(self, seen: int, timeout: float) -> int:
        return self._whole.wait_for_change(seen, timeout)

    def close(self) -> None:
        self._whole.close()


def reads_what_it_read_before(folder: Path) -> Open:
    whole = MemoryStore()
    return lambda: Remembers(whole)


class ReadsOfManyMoments(SqliteStore):
    def _begin_reading(self) -> SqliteTransaction:
        transaction = super()._begin_reading()
        transaction.connection.execute("COMMIT")
        return transaction


class CommitsEveryStatement(SqliteStore):
    def _begin_writing(self) -> SqliteTransaction:
        transaction = super()._begin_writing()
        transaction.connection.execute("COMMIT")
        return transaction

    def _commit(self, transaction: SqliteTransaction, *, urgent: bool) -> None:
        pass


class NeverLooksAtOthers(SqliteStore):
    def _open_probe(self) -> ChangeProbe:
        return _Blind()


class _Blind:
    def __call__(self, over: threading.Event) -> bool:
        over.wait()
        return False

    def close(self) -> None:
        pass


class LosesTheQuickOnes(SqliteStore):
    """What need not last does not even last until it is closed."""

    def _commit(self, transaction: SqliteTransaction, *, urgent: bool) -> None:
        if transaction.durable:
            super()._commit(transaction, urgent=urgent)
        else:
            with suppress(sqlite3.Error):
                transaction.connection.execute("ROLLBACK")


def in_a_file(kind: type[SqliteStore]) -> Place:
    return lambda folder: lambda: kind(folder / "store.db")


SPENDS = "spends_come_by_grant_and_number"
CHANGES = "a_session_that_changes_keeps_whose_it_is_and_when_it_ended"
OPEN_QUESTION = "the_open_question_of_a_digest_is_found_until_it_is_closed"
PAGES = "questions_come_in_pages_in_the_order_they_were_opened"
SESSIONS = "sessions_come_in_pages_of_one_owner_or_of_all"
ENDS = "grants_that_have_not_ended_come_in_pages_the_first_to_end_first"
CHAIN = "entries_are_read_in_the_order_of_the_chain"
PLACES = "a_place_in_the_chain_is_taken_once_and_without_gaps"
MOVES = "a_call_moves_only_from_the_states_and_the_fence_given"
OTHERS = "a_waiter_is_told_of_the_commit_of_another_handle"

WRITERS: dict[type[MemoryWriter], str] = {
    LosesRevocations: SPENDS,
    GivesADeliveryToTwo: "of_two_who_take_a_delivery_one_gets_it",
    AddsADeliveryAgain: "a_surface_has_one_delivery_of_a_subject",
    ShowsAQuestionOnOneSurface: "an_open_question_is_to_be_shown_once_on_each_surface",
    LeavesClosedQuestionsShown: "a_question_that_was_closed_is_to_be_taken_down",
    ForgetsWhatIsDue: "what_is_over_is_forgotten_and_nothing_else",
    SpendsANumberTwice: "a_number_of_a_grant_is_spent_once",
    EndsASessionThatOnlyChanges: CHANGES,
    MakesUpSessions: CHANGES,
    AcceptsASecondAnswer: "the_first_answer_stands",
    ClosesWithoutSayingHow: "the_first_answer_stands",
    JoinsClosedQuestions: OPEN_QUESTION,
    BeginsEveryPageAtTheTop: PAGES,
    CountsClosedQuestionsAsOpen: "questions_are_counted_by_session_state_and_time",
    FindsClosedQuestionsLate: "sessions_with_a_late_question_are_found",
    FindsSummariesOfAnyKind: "summaries_are_found_by_name_and_place",
    ListsTheOldestSummariesFirst: "the_newest_summaries_of_a_name_come_first",
    KeepsTheFirstSummary: "a_summary_takes_the_place_of_the_one_before",
    KeepsSummariesOfPrunedEntries: "summaries_go_with_the_bodies_they_were_made_from",
    DropsSummariesOfOthers: "summaries_go_with_the_bodies_they_were_made_from",
    DropsAnEntry: CHAIN,
    LeavesGapsInTheChain: PLACES,
    OverwritesEntries: PLACES,
    ForgetsItsOwnEntries: "the_head_is_the_newest_entry_at_every_moment_of_a_transaction",
    KnowsTheTimeOfMainAlone: "the_newest_time_is_the_highest_of_all_streams",
    ClaimsEntriesOfOthers: "a_transaction_says_which_entry_it_added_last",
    ReadsEntriesBackwards: CHAIN,
    FilesTheHashBeforeForItsOwn: CHAIN,
    NeverPassesOverCheckpoints: "checkpoints_come_newest_first",
    PrunesHashesToo: "pruning_drops_bodies_and_nothing_else",
    ForgetsNewResultsToo: "results_of_calls_that_ended_before_a_time_are_forgotten_and_nothing_else",
    IgnoresTheFence: MOVES,
    IgnoresTheState: MOVES,
    MovesAllCalls: MOVES,
    ForgetsEffectsOfOthers: "an_effect_is_found_in_every_session",
    GivesGrantsOfOtherSessions: "grants_come_in_the_order_given_and_from_one_session",
    ReplacesGrants: "a_grant_is_added_once",
    PagesQuestionsById: PAGES,
    ListsQuestionsOfOthers: "questions_can_be_listed_by_owner",
    ListsSessionsOfOthers: SESSIONS,
    PagesSessionsById: SESSIONS,
    ListsExpiredGrants: ENDS,
    LosesOneOfTwoThatEndAtOnce: ENDS,
    HidesRevokedGrants: ENDS,
    ListsGrantsOfOthers: "grants_that_have_not_ended_are_found_by_session_and_owner",
    KeepsRevokedRuns: "run_grants_are_found_until_they_end_or_are_revoked",
    CountsBytesOfOtherSessions: "what_calls_hold_is_counted_for_their_session_and_states",
    CountsCallsThatWereAnswered: "a_pending_call_whose_question_is_closed_holds_nothing",
    TakesEveryCallForARun: "calls_that_may_be_runs_are_found_by_state",
    ListsEndedSessions: "sessions_are_listed_in_order_the_ended_ones_on_demand",
    ListsOnlyOpenSessions: "every_row_of_every_kind_can_be_listed",
    ListsOnlyAPage: "a_long_list_is_whole_and_in_order",
    PutsRowsBackwards: "a_long_list_is_whole_and_in_order",
    PutsOverWhatIsThere: "a_row_that_is_stored_already_is_not_put_again",
    KeepsErasedSecrets: "an_erased_secret_is_gone_and_the_others_stay",
    CommitsAfterACaughtError: "an_error_that_somebody_catches_ends_the_transaction_all_the_same",
    WritesAfterTheEnd: "a_transaction_that_was_left_writes_nothing",
    KeepsTheClockRunning: "time_stands_still_in_a_transaction",
}
MEMORIES: dict[type[MemoryStore], str] = {
    LeaksWhatFailed: "changes_of_a_transaction_that_fails_are_undone",
    KeepsWhatFailedInABatch: "a_transaction_that_fails_in_a_batch_is_undone_alone",
    KeepsABatchThatFails: "a_batch_that_fails_keeps_nothing",
    ShowsWhatIsNotCommitted: "nobody_sees_what_is_not_committed",
    LetsTwoWriteAtOnce: "a_transaction_that_writes_is_alone_with_its_session",
    NeverTellsOfChanges: "who_missed_a_commit_is_told_at_once",
    NestsTransactions: "a_transaction_inside_another_is_refused",
}
FILES: dict[type[SqliteStore], str] = {
    ReadsOfManyMoments: "reads_are_of_one_moment",
    CommitsEveryStatement: "a_transaction_that_fails_leaves_no_trace",
    NeverLooksAtOthers: OTHERS,
    LosesTheQuickOnes: "everything_is_there_after_closing_and_opening_again",
}

BROKEN: dict[str, tuple[Place, str]] = {
    **{kind.__name__: (in_memory(kind), check) for kind, check in WRITERS.items()},
    **{kind.__name__: (of_kind(kind), check) for kind, check in MEMORIES.items()},
    **{kind.__name__: (in_a_file(kind), check) for kind, check in FILES.items()},
    "forgets_on_closing": (forgets_on_closing, "everything_is_there_after_closing_and_opening_again"),
    "reads_what_it_read_before": (
        reads_what_it_read_before,
        "the_next_transaction_sees_what_was_committed_whoever_did_it",
    ),
}
"""Every broken store, and the check that must catch it."""

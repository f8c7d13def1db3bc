"""Faults in calls, grants and rows of any kind, and the check that must catch each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from sayso.core.grants import GrantKey
from sayso.core.ledger import ENDED, NOT_OVER
from sayso.store.contract import (
    AnyRow,
    CallRow,
    GrantRow,
    RowT,
    SpendRow,
    StoreError,
)
from sayso.store.memory.store import MemoryWriter


class LosesRevocations(MemoryWriter):
    def add_spend(self, row: SpendRow) -> None:
        if row.what != "revoke":
            super().add_spend(row)


class EndsUnderANumberThatMayBeTaken(MemoryWriter):
    def add_last_spend(self, row: SpendRow) -> None:
        self.add_spend(row)


class SpendsANumberTwice(MemoryWriter):
    def add_spend(self, row: SpendRow) -> None:
        self._changes.put(self._tables.spends, row.grant, row.number, row)


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
            for other in list(self.every(CallRow)):
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


class NamesGrantsOfOtherSessions(MemoryWriter):
    def grants_named(self, session: str, grants: Iterable[str]) -> Sequence[GrantRow]:
        del session
        return [row for row in map(self.grant, dict.fromkeys(grants)) if row is not None]


class ReplacesGrants(MemoryWriter):
    def add_grant(self, row: GrantRow) -> None:
        self._changes.put(self._tables.grants, row.session, row.id, row)


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
    def bytes_of_calls(self, session: str) -> int:
        return sum(len(row.body) for row in self.calls(states=NOT_OVER))


class CountsCallsThatWereAnswered(MemoryWriter):
    def bytes_of_calls(self, session: str) -> int:
        return sum(len(row.body) for row in self.calls(states=NOT_OVER) if row.session == session)


class CountsCallsThatAreOver(MemoryWriter):
    def bytes_of_calls(self, session: str) -> int:
        over = sum(len(row.body) for row in self.calls(states=ENDED) if row.session == session)
        return super().bytes_of_calls(session) + over


class FindsOnlyCallsThatAreNotOver(MemoryWriter):
    def calls(
        self, *, states: Iterable[str], runs_only: bool = False, limit: int = 1000
    ) -> Sequence[CallRow]:
        return super().calls(states={*states} - ENDED, runs_only=runs_only, limit=limit)


class KeepsResultsOfDoubtfulCalls(MemoryWriter):
    def drop_results(self, *, before: float) -> int:
        doubtful = self.calls(states=["ambiguous"])
        dropped = super().drop_results(before=before)
        for row in doubtful:
            self.put_call(row)
        return dropped


class TakesEveryCallForARun(MemoryWriter):
    def calls(
        self, *, states: Iterable[str], runs_only: bool = False, limit: int = 1000
    ) -> Sequence[CallRow]:
        return super().calls(states=states, limit=limit)


class KeepsErasedSecrets(MemoryWriter):
    def erase_secret(self, stream: str, seq: int, name: str) -> bool:
        return any(row.name == name for row in self.secrets(stream, seq))


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
    def _failure(self, why: str) -> StoreError:
        return StoreError(why)


class WritesAfterTheEnd(MemoryWriter):
    def leave(self) -> None:
        pass


class KeepsTheClockRunning(MemoryWriter):
    @property
    def now(self) -> float:
        self._shown += 1
        return self._shown

    @now.setter
    def now(self, value: float) -> None:
        self._shown = value


SPENDS = "spends_come_by_grant_and_number"
ENDS = "grants_that_have_not_ended_come_in_pages_the_first_to_end_first"
MOVES = "a_call_moves_only_from_the_states_and_the_fence_given"

CALLS: dict[type[MemoryWriter], str] = {
    LosesRevocations: SPENDS,
    EndsUnderANumberThatMayBeTaken: "a_last_spend_comes_after_all_of_its_grant",
    SpendsANumberTwice: "a_number_of_a_grant_is_spent_once",
    ForgetsNewResultsToo: "results_of_calls_that_ended_before_a_time_are_forgotten_and_nothing_else",
    IgnoresTheFence: MOVES,
    IgnoresTheState: MOVES,
    MovesAllCalls: MOVES,
    ForgetsEffectsOfOthers: "an_effect_is_found_in_every_session",
    GivesGrantsOfOtherSessions: "grants_come_in_the_order_given_and_from_one_session",
    NamesGrantsOfOtherSessions: "grants_are_found_by_their_names_in_their_session",
    ReplacesGrants: "a_grant_is_added_once",
    ListsExpiredGrants: ENDS,
    LosesOneOfTwoThatEndAtOnce: ENDS,
    HidesRevokedGrants: ENDS,
    ListsGrantsOfOthers: "grants_that_have_not_ended_are_found_by_session_and_owner",
    KeepsRevokedRuns: "run_grants_are_found_until_they_end_or_are_revoked",
    CountsBytesOfOtherSessions: "what_the_calls_of_a_session_hold_is_counted_until_they_are_over",
    CountsCallsThatAreOver: "what_the_calls_of_a_session_hold_is_counted_until_they_are_over",
    FindsOnlyCallsThatAreNotOver: "calls_are_listed_by_state_in_their_order",
    KeepsResultsOfDoubtfulCalls: "results_of_calls_that_ended_before_a_time_are_forgotten_and_nothing_else",
    CountsCallsThatWereAnswered: "a_pending_call_whose_question_is_closed_holds_nothing",
    TakesEveryCallForARun: "calls_that_may_be_runs_are_found_by_state",
    ListsOnlyAPage: "a_long_list_is_whole_and_in_order",
    PutsRowsBackwards: "a_long_list_is_whole_and_in_order",
    PutsOverWhatIsThere: "a_row_that_is_stored_already_is_not_put_again",
    KeepsErasedSecrets: "an_erased_secret_is_gone_and_the_others_stay",
    CommitsAfterACaughtError: "an_error_that_somebody_catches_ends_the_transaction_all_the_same",
    WritesAfterTheEnd: "a_transaction_that_was_left_writes_nothing",
    KeepsTheClockRunning: "time_stands_still_in_a_transaction",
}

"""Faults in sessions, questions and deliveries, and the check that must catch each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from sayso.store.contract import (
    DeliveryRow,
    QuestionRow,
    QuestionState,
    RowT,
    SessionRow,
)
from sayso.store.memory.past import GONE
from sayso.store.memory.store import MemoryWriter
from sayso.store.memory.tables import ALL


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
        self._changes.put(self._tables.questions, ALL, row.id, row)
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
    def count_open(self, session: str | None = None) -> int:
        return len(self.questions(session, state=None))


class CountsTheOpenQuestionsOfAll(MemoryWriter):
    def count_open(self, session: str | None = None) -> int:
        del session
        return super().count_open()


class FindsClosedQuestionsLate(MemoryWriter):
    def late_sessions(self, now: float) -> Sequence[str]:
        return sorted({row.session for row in self.questions(state=None) if row.expires_at <= now})


class GivesADeliveryToTwo(MemoryWriter):
    def move_delivery(self, row: DeliveryRow, *, version: int) -> bool:
        self._changes.put(self._tables.deliveries, row.surface, row.subject, row)
        return True


class AddsADeliveryAgain(MemoryWriter):
    def add_delivery(self, row: DeliveryRow) -> bool:
        self._changes.put(self._tables.deliveries, row.surface, row.subject, row)
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
                self._changes.put(self._tables.deliveries, row.surface, row.subject, GONE)
        return super().drop_deliveries(before=before)


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


class ListsOnlyOpenSessions(MemoryWriter):
    def every(self, kind: type[RowT]) -> Iterator[RowT]:
        return (row for row in super().every(kind) if getattr(row, "ended_at", None) is None)


CHANGES = "a_session_that_changes_keeps_whose_it_is_and_when_it_ended"
OPEN_QUESTION = "the_open_question_of_a_digest_is_found_until_it_is_closed"
PAGES = "questions_come_in_pages_in_the_order_they_were_opened"
SESSIONS = "sessions_come_in_pages_of_one_owner_or_of_all"

QUESTIONS: dict[type[MemoryWriter], str] = {
    GivesADeliveryToTwo: "of_two_who_take_a_delivery_one_gets_it",
    AddsADeliveryAgain: "a_surface_has_one_delivery_of_a_subject",
    ShowsAQuestionOnOneSurface: "an_open_question_is_to_be_shown_once_on_each_surface",
    LeavesClosedQuestionsShown: "a_question_that_was_closed_is_to_be_taken_down",
    ForgetsWhatIsDue: "what_is_over_is_forgotten_and_nothing_else",
    EndsASessionThatOnlyChanges: CHANGES,
    MakesUpSessions: CHANGES,
    AcceptsASecondAnswer: "the_first_answer_stands",
    ClosesWithoutSayingHow: "the_first_answer_stands",
    JoinsClosedQuestions: OPEN_QUESTION,
    BeginsEveryPageAtTheTop: PAGES,
    CountsClosedQuestionsAsOpen: "open_questions_are_counted_by_session",
    CountsTheOpenQuestionsOfAll: "open_questions_are_counted_by_session",
    FindsClosedQuestionsLate: "sessions_with_a_late_question_are_found",
    PagesQuestionsById: PAGES,
    ListsQuestionsOfOthers: "questions_can_be_listed_by_owner",
    ListsSessionsOfOthers: SESSIONS,
    PagesSessionsById: SESSIONS,
    ListsEndedSessions: "sessions_are_listed_in_order_the_ended_ones_on_demand",
    ListsOnlyOpenSessions: "every_row_of_every_kind_can_be_listed",
}

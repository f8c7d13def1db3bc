"""What a store promises of questions: one open for each digest, the first answer stands, pages and counts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sayso.store.contract import QuestionRow, Store, StoreError
from tests.contract import rows
from tests.contract.rows import NOON, question, session
from tests.support.places import Open


def check_the_open_question_of_a_digest_is_found_until_it_is_closed(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(question("q1"))
        w.add_question(question("q2", digest="d2"))
        w.add_question(question("q3", session="s2"))
    with store.read() as r:
        assert r.open_question("s1", "d1") == question("q1")
        assert r.open_question("s2", "d2") is None
    with store.write() as w:
        assert w.close_question(rows.CLOSED)
        assert w.open_question("s1", "d1") is None
    with store.write() as w:
        w.add_question(question("q4"))
    with store.read() as r:
        assert r.open_question("s1", "d1") == question("q4")


def check_a_question_is_added_once(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(rows.QUESTION)
        assert w.close_question(rows.CLOSED)
    with pytest.raises(StoreError), store.write() as w:
        w.add_question(rows.QUESTION)
    with store.read() as r:
        assert r.question("q1") == rows.CLOSED


def check_the_first_answer_stands(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(rows.QUESTION)
    with store.write() as w:
        assert w.close_question(rows.CLOSED)
    second = replace(rows.CLOSED, answer="deny", by="bo")
    with store.write() as w:
        assert not w.close_question(second)
        assert not w.close_question(replace(second, state="expired"))
        assert not w.close_question(replace(second, id="unknown"))
    with store.read() as r:
        assert r.question("q1") == rows.CLOSED
        assert r.question("unknown") is None


def check_closing_a_question_as_open_is_refused(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(rows.QUESTION)
    with pytest.raises(StoreError), store.write() as w:
        w.close_question(replace(rows.QUESTION, answer="once"))
    with store.read() as r:
        assert r.question("q1") == rows.QUESTION


def _ask_twelve(store: Store) -> list[QuestionRow]:
    """Twelve questions whose ids and times are in no order, every third one closed."""
    asked = [
        question(f"q{(number * 7) % 12:02}", session="s1" if number % 2 else "s2", opened_at=NOON - number)
        for number in range(12)
    ]
    with store.write() as w:
        for row in asked:
            w.add_question(row)
        for row in asked[::3]:
            assert w.close_question(replace(row, state="expired", closed_at=NOON))
    with store.read() as r:
        return [found for row in asked if (found := r.question(row.id))]


def check_questions_come_in_pages_in_the_order_they_were_opened(make: Open) -> None:
    store = make()
    asked = _ask_twelve(store)
    opened = [row for row in asked if row.state == "open"]
    assert len(opened) == 8
    with store.read() as r:
        first = r.questions(limit=3)
        second = r.questions(after=first[-1].id, limit=3)
        third = r.questions(after=second[-1].id, limit=3)
        assert [*first, *second, *third] == opened
        assert list(r.questions(after=third[-1].id)) == []
        assert list(r.questions(after="unknown")) == []
        assert list(r.questions(after=asked[0].id)) == opened  # a page may begin behind a closed one


def check_questions_can_be_listed_by_session_and_state(make: Open) -> None:
    store = make()
    asked = _ask_twelve(store)
    with store.read() as r:
        assert list(r.questions(state=None)) == asked
        assert list(r.questions(state="expired")) == asked[::3]
        assert list(r.questions("s1", state=None)) == [row for row in asked if row.session == "s1"]
        mine = [row for row in asked if row.session == "s1" and row.state == "open"]
        assert list(r.questions("s1")) == mine
        assert list(r.questions("s1", after=mine[0].id, limit=2)) == mine[1:3]


def check_questions_can_be_listed_by_owner(make: Open) -> None:
    store = make()
    asked = _ask_twelve(store)
    with store.write() as w:
        for name, owner, ended in (("s1", "ana", NOON), ("s2", "bo", None)):
            w.put_session(session(name, owner=owner, ended_at=ended))
    with store.read() as r:
        mine = [row for row in asked if row.session == "s1"]
        assert list(r.questions(owner="ana", state=None)) == mine
        still = [row for row in mine if row.state == "open"]
        assert list(r.questions(owner="ana")) == still
        assert list(r.questions(owner="ana", after=still[0].id, limit=2)) == still[1:3]
        assert list(r.questions("s2", owner="bo", state="expired")) == [
            row for row in asked if row.session == "s2" and row.state == "expired"
        ]
        assert list(r.questions(owner="nobody")) == []


def check_open_questions_are_counted_by_session(make: Open) -> None:
    store = make()
    with store.write() as w:
        for number in range(6):
            w.add_question(question(f"q{number}", opened_at=NOON + number))
        w.add_question(question("other", session="s2", opened_at=NOON + 9))
        assert w.close_question(replace(rows.CLOSED, id="q5", opened_at=NOON + 5))
    with store.read() as r:
        assert r.count_open("s1") == 5
        assert r.count_open("s2") == 1
        assert r.count_open("s3") == 0
        assert r.count_open() == 6


def check_sessions_with_a_late_question_are_found(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(question("late", session="s3", expires_at=NOON))
        w.add_question(question("later", session="s3", expires_at=NOON - 1))
        w.add_question(question("other", session="s2", expires_at=NOON - 1))
        w.add_question(question("early", session="s1", expires_at=NOON + 1))
        w.add_question(question("closed", session="s4", expires_at=NOON))
        assert w.close_question(replace(rows.CLOSED, id="closed", session="s4", expires_at=NOON))
    with store.read() as r:
        assert list(r.late_sessions(NOON)) == ["s2", "s3"]

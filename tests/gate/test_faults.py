"""What goes wrong around the gate, and rows put there by hand, never allow and never keep out a stop."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sayso.core.model import Operation, Verdict
from sayso.core.policy import Settings
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.rows.mark.log import OPENED_AGAIN
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.contract import ReviewRow, SpendRow, StoreError
from sayso.store.sqlite.store import SqliteStore
from tests.support.asking import edit, push
from tests.support.gates import KEY, Clock

DAY = 86_400.0


def test_a_clock_set_back_revives_no_grant_however_often_it_is_tried(
    gate: Gate, session: str, clock: Clock
) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    clock.now += DAY + 1
    assert authorize(gate, push(session)).decision.rule == "risky"
    clock.now -= DAY
    for _ in range(3):
        assert authorize(gate, push(session)).decision.verdict is not Verdict.ALLOW


def test_a_clock_sent_far_ahead_and_back_allows_nothing_timed(gate: Gate, session: str, clock: Clock) -> None:
    clock.now += 73 * 365 * DAY
    record_message(gate, session, "Grant standing consent for: git push")
    clock.now -= 73 * 365 * DAY
    for _ in range(2):
        assert authorize(gate, push(session)).decision.verdict is not Verdict.ALLOW


def test_a_row_in_the_spend_log_put_there_by_hand_does_not_keep_a_stop_out(gate: Gate, session: str) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    question = authorize(gate, edit(session)).question
    assert question is not None
    grants = answer_question(gate, question.id, "always", by="ana").grants
    with gate.store.write() as tx:
        for grant in grants:
            tx.add_spend(SpendRow(grant, 1, session, "use", None, tx.now))
    record_message(gate, session, "stop")
    record_message(gate, session, "go on")
    assert authorize(gate, edit(session)).decision.verdict is Verdict.ASK


def test_a_review_written_by_hand_does_not_count(clock: Clock, tmp_path: Path) -> None:
    gate = open_gate(load_preset("balanced"), SqliteStore(tmp_path / "s.db", clock=clock), key=KEY)
    session = open_session(gate, agent="tester", owner="host")
    read = make_request(make_call("read", {}, target="a.py"), [Operation("files.read")], session=session)
    assert authorize(gate, read).decision.rule == "autonomous"
    clock.now += 31 * DAY
    assert authorize(gate, read).decision.verdict is Verdict.ASK
    with gate.store.write() as tx:
        tx.put_review(ReviewRow("files", tx.now, "operator", b"by hand"))
        tx.put_review(ReviewRow("files.read", tx.now, None, b"by hand"))
    assert authorize(gate, read).decision.verdict is Verdict.ASK
    gate.store.close()


def test_questions_that_expired_do_not_count_as_open(gate: Gate, session: str, clock: Clock) -> None:
    for number in range(Settings().open_questions):
        authorize(gate, edit(session, f"{number}.py"))
    assert authorize(gate, edit(session)).decision.rule == "flooding"
    clock.now += 7_200
    assert authorize(gate, edit(session)).decision.verdict is Verdict.ASK


def test_retrying_a_call_whose_question_expired_says_so(gate: Gate, session: str, clock: Clock) -> None:
    attempt = start_call(gate, edit(session), holder="one")
    clock.now += 7_200
    assert retry_call(gate, attempt.call, holder="one").state == "expired"
    assert retry_call(gate, attempt.call, holder="one").state == "expired"


def test_a_question_changed_by_hand_cannot_be_answered(gate: Gate, session: str) -> None:
    question = authorize(gate, edit(session)).question
    assert question is not None
    with gate.store.write() as tx:
        row = tx.question(question.id)
        assert row is not None
        forged = msgspec.structs.replace(row, id="forged", body=row.body.replace(b"a.py", b"b.py"))
        tx.add_question(forged)
    with pytest.raises(UnknownQuestion):
        answer_question(gate, "forged", "once", by="ana")
    assert answer_question(gate, question.id, "once", by="ana").yours


def open_many(gate: Gate, count: int) -> None:
    for _ in range(count):
        open_session(gate, agent="tester", owner="host")


def test_a_mark_that_cannot_be_written_is_an_error_that_says_what_stands(
    clock: Clock, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    store = SqliteStore(tmp_path / "s.db", clock=clock)
    gate = open_gate(load_preset("chat"), store, key=KEY, marks=marks)
    for mark in marks.iterdir():
        mark.unlink()
        mark.mkdir()
    with pytest.raises(StoreError, match="mark"):
        open_many(gate, OPENED_AGAIN + 1)
    store.close()

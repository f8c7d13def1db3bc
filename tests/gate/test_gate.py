"""The gate's use cases, each in its own transaction, on the embedded stores."""

from __future__ import annotations

import pytest

from sayso.core.durations import DAY
from sayso.core.errors import UnknownAnswer
from sayso.core.model import Request, Verdict
from sayso.core.policy import Decay, Domain, Settings, compile_policy
from sayso.gate.deciding.authorize import Authorization, authorize
from sayso.gate.gate import Gate, UnknownSession
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import EditRefused
from sayso.gate.questions.expiry import expire_questions
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.sessions import close_session, open_session
from tests.support.answers import answer_question, edit_and_allow
from tests.support.asking import edit, push
from tests.support.gates import KEY, Clock


def asked(gate: Gate, request: Request) -> Authorization:
    done = authorize(gate, request)
    assert done.decision.verdict is Verdict.ASK, done.decision.reason
    assert done.question is not None
    return done


def test_an_approval_runs_the_call_once_whoever_asks_next(gate: Gate, session: str) -> None:
    question = asked(gate, edit(session)).question
    assert question is not None
    stands = answer_question(gate, question.id, "once", by="ana")
    assert stands.yours
    assert authorize(gate, edit(session)).decision.rule == "approved_call"
    assert authorize(gate, edit(session)).decision.verdict is Verdict.ASK


def test_the_first_answer_stands_and_the_second_is_told_which(gate: Gate, session: str) -> None:
    question = asked(gate, edit(session)).question
    assert question is not None
    answer_question(gate, question.id, "deny", by="ana", reason="not now")
    second = answer_question(gate, question.id, "once", by="ben")
    assert (second.yours, second.answer, second.by) == (False, "deny", "ana")
    assert authorize(gate, edit(session)).decision.rule == "denied_call"


def test_an_answer_that_was_not_offered_changes_nothing(gate: Gate, session: str) -> None:
    question = asked(gate, push(session)).question
    assert question is not None
    with pytest.raises(UnknownAnswer):
        answer_question(gate, question.id, "always", by="ana")
    assert answer_question(gate, question.id, "once", by="ana").yours


def test_the_same_call_asked_again_joins_the_open_question(gate: Gate, session: str) -> None:
    first, second = asked(gate, edit(session)).question, asked(gate, edit(session)).question
    assert first is not None
    assert second is not None
    assert first.id == second.id


def test_a_question_nobody_answers_expires_and_can_be_asked_anew(
    gate: Gate, session: str, clock: Clock
) -> None:
    question = asked(gate, edit(session)).question
    assert question is not None
    clock.now += 7_200
    assert answer_question(gate, question.id, "once", by="ana").state == "expired"
    again = asked(gate, edit(session)).question
    assert again is not None
    assert again.id != question.id
    clock.now += 7_200
    assert expire_questions(gate) == 1


def test_consent_for_a_task_lasts_over_calls_and_ends_with_a_stop(gate: Gate, session: str) -> None:
    record_task_start(gate, session, "feature X")
    question = asked(gate, edit(session)).question
    assert question is not None
    answer_question(gate, question.id, "task", by="ana")
    authorize(gate, edit(session))
    assert authorize(gate, edit(session, "b.py")).decision.rule == "task_grant"
    record_message(gate, session, "stop")
    assert authorize(gate, edit(session, "b.py")).decision.rule == "stopped"
    record_message(gate, session, "go on with the parser")
    assert authorize(gate, edit(session, "b.py")).decision.verdict is Verdict.ASK


def test_standing_consent_is_counted_and_revoked(gate: Gate, session: str) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    for _ in range(3):
        assert authorize(gate, push(session)).decision.rule == "allowlist"
    heard = record_message(gate, session, "Show active allowlist")
    assert "- git push (used 3 times)" in heard.announced[0]
    record_message(gate, session, "Revoke consent for: git push")
    assert authorize(gate, push(session)).decision.rule == "risky"


def test_a_stop_reaches_the_sessions_that_this_one_started(gate: Gate, session: str) -> None:
    child = open_session(gate, agent="sub", owner="host", parent=session)
    record_message(gate, child, "Grant standing consent for: git push")
    question = asked(gate, edit(child)).question
    assert question is not None
    answer_question(gate, question.id, "always", by="ana")
    record_message(gate, session, "stop")
    assert authorize(gate, push(child)).decision.rule == "stopped"
    record_message(gate, session, "go on")
    assert authorize(gate, edit(child)).decision.verdict is Verdict.ASK
    assert authorize(gate, push(child)).decision.rule == "allowlist"


def test_a_session_that_ended_or_never_was_decides_nothing(gate: Gate, session: str) -> None:
    close_session(gate, session)
    for name in (session, "s_nowhere"):
        with pytest.raises(UnknownSession):
            authorize(gate, edit(name))


def test_a_permission_decays_unless_its_own_domain_was_reviewed(
    gate: Gate, session: str, clock: Clock
) -> None:
    domains = {name: Domain(autonomous=("list",)) for name in ("files", "mail")}
    strict = open_gate(compile_policy(domains=domains, decay=Decay(True, 30)), gate.store, key=KEY)
    lists = {name: edit(session, operation=f"{name}.list") for name in domains}
    assert authorize(strict, lists["files"]).decision.rule == "autonomous"
    clock.now += 30 * DAY
    assert authorize(strict, lists["files"]).decision.verdict is Verdict.ASK
    with gate.store.write() as tx:
        tx.put_review(strict.sealer.review("files", tx.now, "ana"))
    assert authorize(strict, lists["files"]).decision.rule == "autonomous"
    assert authorize(strict, lists["mail"]).decision.verdict is Verdict.ASK


def test_too_many_questions_are_denied_not_asked(gate: Gate, session: str) -> None:
    for number in range(Settings().open_questions):
        asked(gate, edit(session, f"{number}.py"))
    flooded = authorize(gate, edit(session, "one-more.py"))
    assert (flooded.decision.verdict, flooded.decision.rule) == (Verdict.DENY, "flooding")
    assert asked(gate, edit(session, "3.py")).question is not None


def test_an_edited_call_is_approved_once_and_the_one_asked_about_is_not(gate: Gate, session: str) -> None:
    question = asked(gate, edit(session, "a.py")).question
    assert question is not None
    stands = edit_and_allow(gate, question.id, edit(session, "b.py"), by="ana")
    assert (stands.yours, stands.answer) == (True, "edit")
    assert authorize(gate, edit(session, "a.py")).decision.verdict is Verdict.ASK
    assert authorize(gate, edit(session, "b.py")).decision.rule == "approved_call"
    assert authorize(gate, edit(session, "b.py")).decision.verdict is Verdict.ASK
    with gate.store.read() as tx:
        (entry,) = [row for row in tx.entries("main") if row.event == "ANSWERED"]
    assert entry.body is not None
    assert edit(session, "a.py").digest.encode() in entry.body
    assert edit(session, "b.py").digest.encode() in entry.body


def test_an_edit_into_what_the_policy_never_allows_stays_a_no(gate: Gate, session: str) -> None:
    question = asked(gate, edit(session, "a.py")).question
    assert question is not None
    with pytest.raises(EditRefused):
        edit_and_allow(gate, question.id, edit(session, "x", operation="files.modify_secrets"), by="ana")
    other = open_session(gate, agent="other", owner="host")
    with pytest.raises(EditRefused):
        edit_and_allow(gate, question.id, edit(other, "b.py"), by="ana")
    assert answer_question(gate, question.id, "once", by="ana").yours


def test_no_question_goes_on_saying_stop_once_the_stop_is_lifted(gate: Gate, session: str) -> None:
    record_message(gate, session, "stop")
    before = asked(gate, push(session)).question
    assert before is not None
    assert asked(gate, push(session)).question == before
    record_message(gate, session, "go on with the parser")
    done = asked(gate, push(session))
    after = done.question
    assert after is not None
    assert done.opened
    assert after.id != before.id
    assert "stop" not in after.text.lower()
    assert [item.ruling.rule for item in after.items] == ["risky"]
    assert asked(gate, push(session)).question == after
    with gate.store.read() as tx:
        old, new = tx.question(before.id), tx.question(after.id)
        told = [row for row in tx.entries(gate.stream, limit=1_000) if row.event == "CANCELLED"]
    assert old is not None
    assert new is not None
    assert (old.state, new.state) == ("cancelled", "open")
    assert len(told) == 1
    assert not answer_question(gate, before.id, "once", by="ana").yours
    assert authorize(gate, push(session)).decision.verdict is Verdict.ASK
    assert answer_question(gate, after.id, "once", by="ana").yours
    assert authorize(gate, push(session)).decision.rule == "approved_call"


def test_a_question_asked_again_by_another_rule_takes_no_further_place(gate: Gate, session: str) -> None:
    record_message(gate, session, "stop")
    for number in range(Settings().open_questions):
        asked(gate, edit(session, f"{number}.py"))
    assert authorize(gate, edit(session, "more.py")).decision.rule == "flooding"
    record_message(gate, session, "go on with the parser")
    assert asked(gate, edit(session, "0.py")).opened
    assert authorize(gate, edit(session, "more.py")).decision.rule == "flooding"

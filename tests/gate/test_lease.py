"""What the holder of a call may do with it, and what nobody else may: enter it, give it back, park it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from sayso.core.ledger import LEASE, NotNow, State
from sayso.core.model import Operation, Request
from sayso.gate.call_rows import Attempt, KeyReused, TamperedCall
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, TamperedSession
from sayso.gate.ledger.lease import enter_call, keep_alive, park_call, release_call, unpark_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import recover_calls, resolve_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.sessions.messages import (
    record_context_switch,
    record_message,
    record_task_end,
    record_task_start,
)
from sayso.gate.sessions.operator_grants import give_grant, list_grants, revoke_all
from sayso.gate.sessions.sessions import close_session, open_session
from tests.gate.calling import answered, approved, events
from tests.support.asking import edit
from tests.support.gates import Clock


def held(gate: Gate, session: str) -> Attempt:
    """An approved call that was started and not entered."""
    attempt = retry_call(gate, approved(gate, session).call, holder="one", entered=False)
    assert attempt.runs
    return attempt


def state(gate: Gate, call: str) -> str:
    with gate.store.read() as tx:
        row = tx.call(call)
    assert row is not None
    return row.state


def test_a_call_given_back_before_it_was_entered_can_be_run_by_the_next_that_tries(
    gate: Gate, session: str
) -> None:
    first = held(gate, session)
    release_call(gate, first.call, first.fence)
    assert state(gate, first.call) == "allowed"
    tries = [retry_call(gate, first.call, holder=f"worker {n}", entered=False) for n in range(3)]
    assert [one.fence for one in tries] == [2, 0, 0]
    enter_call(gate, first.call, 2)
    end_call(gate, first.call, 2, "succeeded")
    assert events(gate, session)[-5:] == ["DECIDED", "RELEASED", "DECIDED", "ENTERED", "EXECUTED"]


def test_what_was_given_back_also_serves_the_identical_call_under_another_id_and_only_once(
    gate: Gate, session: str
) -> None:
    first = held(gate, session)
    release_call(gate, first.call, first.fence)
    assert start_call(gate, edit(session), holder="two").runs
    assert retry_call(gate, first.call, holder="one").state == "pending"


def test_a_use_of_a_grant_is_given_back_as_often_as_it_is_taken(gate: Gate, session: str) -> None:
    give_grant(gate, session, by="ana", operation="files.edit", uses=1)
    for _ in range(3):
        attempt = start_call(gate, edit(session), holder="one", entered=False)
        assert attempt.runs
        release_call(gate, attempt.call, attempt.fence)
    assert [one.used for one in list_grants(gate, session)] == [0]
    assert start_call(gate, edit(session), holder="one").runs
    assert start_call(gate, edit(session), holder="one").state == "pending"


def test_only_the_fence_of_the_holder_gives_back_and_only_once(gate: Gate, session: str) -> None:
    first = held(gate, session)
    second = retry_call(gate, first.call, holder="two", entered=False)
    for fence in (second.fence, first.fence - 1, first.fence + 1, -1):
        with pytest.raises(NotNow):
            release_call(gate, first.call, fence)
    release_call(gate, first.call, first.fence)
    with pytest.raises(NotNow):
        release_call(gate, first.call, first.fence)
    again = retry_call(gate, first.call, holder="two", entered=False)
    assert again.fence > first.fence
    with pytest.raises(NotNow):
        release_call(gate, first.call, first.fence)
    assert [one.used for one in list_grants(gate, session)] == []


def test_after_entering_nothing_is_given_back(gate: Gate, session: str) -> None:
    first = held(gate, session)
    for _ in range(2):
        enter_call(gate, first.call, first.fence)
    with pytest.raises(NotNow, match="entered"):
        release_call(gate, first.call, first.fence)
    assert events(gate, session).count("ENTERED") == 1
    assert state(gate, first.call) == "running"
    assert start_call(gate, edit(session), holder="two").state == "pending"


def test_a_start_that_does_not_say_otherwise_is_the_entry(gate: Gate, session: str) -> None:
    running = retry_call(gate, approved(gate, session).call, holder="one")
    with pytest.raises(NotNow):
        release_call(gate, running.call, running.fence)


@pytest.mark.parametrize("end", ["succeeded", "failed", "ambiguous"])
def test_a_call_that_ended_gives_nothing_back(gate: Gate, session: str, end: State) -> None:
    first = held(gate, session)
    end_call(gate, first.call, first.fence, end)
    with pytest.raises(NotNow):
        release_call(gate, first.call, first.fence)
    with pytest.raises(NotNow):
        enter_call(gate, first.call, first.fence)
    assert [one.kind for one in list_grants(gate, session)] == (["retry"] if end == "failed" else [])
    assert start_call(gate, edit(session), holder="two").record.rule != "approved_call"


def test_a_call_whose_holder_was_silent_too_long_gives_nothing_back(
    gate: Gate, session: str, clock: Clock
) -> None:
    first = held(gate, session)
    clock.now += LEASE
    recover_calls(gate)
    with pytest.raises(NotNow):
        release_call(gate, first.call, first.fence)
    resolve_call(gate, first.call, "failed", by="ana")
    with pytest.raises(NotNow):
        release_call(gate, first.call, first.fence)


MEANWHILE: dict[str, Callable[[Gate, str], object]] = {
    "stop": lambda gate, session: record_message(gate, session, "stop"),
    "stop, then go on": lambda gate, session: (
        record_message(gate, session, "stop"),
        record_message(gate, session, "fix the parser"),
    ),
    "revoke": lambda gate, session: revoke_all(gate, session, by="ana"),
    "revoke in words": lambda gate, session: record_message(gate, session, "Revoke all consent"),
    "task end": record_task_end,
    "switch": record_context_switch,
    "correction": lambda gate, session: record_message(gate, session, "that's wrong"),
}


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_an_approval_that_died_while_its_call_was_held_stays_dead_when_given_back(
    gate: Gate, session: str, meanwhile: str
) -> None:
    record_task_start(gate, session, "feature")
    first = held(gate, session)
    MEANWHILE[meanwhile](gate, session)
    release_call(gate, first.call, first.fence)
    assert list_grants(gate, session) == []
    assert retry_call(gate, first.call, holder="two").state == "pending"
    assert start_call(gate, edit(session), holder="two").state == "pending"


def test_an_approval_that_expired_while_its_call_was_held_stays_expired(
    gate: Gate, session: str, clock: Clock
) -> None:
    first = held(gate, session)
    for _ in range(32):
        clock.now += LEASE - 1
        keep_alive(gate, first.call, first.fence)
    release_call(gate, first.call, first.fence)
    assert retry_call(gate, first.call, holder="two").state == "pending"


def test_in_a_session_that_ended_nothing_is_given_back(gate: Gate, session: str) -> None:
    first = held(gate, session)
    close_session(gate, session)
    with pytest.raises(Exception, match="no such session"):
        release_call(gate, first.call, first.fence)
    end_call(gate, first.call, first.fence, "failed")


def test_a_call_put_back_by_hand_to_before_it_was_entered_gives_nothing_back(
    gate: Gate, session: str
) -> None:
    """Both its row and that of its session are as they were: the mark knows a newer one."""
    first = held(gate, session)
    with gate.store.read() as tx:
        call, before = tx.call(first.call), tx.session(session)
    assert call is not None
    assert before is not None
    enter_call(gate, first.call, first.fence)
    with gate.store.write() as tx:
        tx.put_call(call)
        tx.put_session(before)
    with pytest.raises(TamperedSession):
        release_call(gate, first.call, first.fence)


def test_other_arguments_written_into_an_approved_call_by_hand_are_not_run(gate: Gate, session: str) -> None:
    attempt = approved(gate, session)
    with gate.store.write() as tx:
        row = tx.call(attempt.call)
        assert row is not None
        tx.put_call(msgspec.structs.replace(row, body=row.body.replace(b"a.py", b"b.py")))
    with pytest.raises(TamperedCall):
        retry_call(gate, attempt.call, holder="one")
    assert start_call(gate, edit(session), holder="one").runs


def test_the_record_of_one_call_put_into_the_row_of_another_is_not_run(gate: Gate, session: str) -> None:
    attempt = approved(gate, session)
    other = start_call(gate, edit(session, "b.py"), holder="one")
    with gate.store.write() as tx:
        row, victim = tx.call(attempt.call), tx.call(other.call)
        assert row is not None
        assert victim is not None
        tx.put_call(msgspec.structs.replace(victim, body=row.body))
    with pytest.raises(TamperedCall):
        retry_call(gate, other.call, holder="one")


def parked(gate: Gate, session: str) -> tuple[Attempt, str]:
    """A running call that waits for the answer to a question about another one."""
    running = retry_call(gate, approved(gate, session).call, holder="one", entered=False)
    question = authorize(gate, edit(session, "inner.py")).question
    assert question is not None
    park_call(gate, running.call, running.fence, question.id)
    return running, question.id


def refused(gate: Gate, call: str, fence: int, question: str) -> bool:
    """Whether nothing that a holder can do is done for this number."""
    for act in (keep_alive, enter_call, release_call):
        with pytest.raises(NotNow):
            act(gate, call, fence)
    with pytest.raises(NotNow):
        park_call(gate, call, fence, question)
    with pytest.raises(NotNow):
        end_call(gate, call, fence, "succeeded")
    return True


def test_a_parked_call_waits_for_ever_and_then_goes_on_under_a_new_number(
    gate: Gate, session: str, clock: Clock
) -> None:
    running, question = parked(gate, session)
    clock.now += 100 * LEASE
    assert recover_calls(gate) == []
    assert retry_call(gate, running.call, holder="two").state == "waiting"
    answer_question(gate, question, "once", by="ana")
    resumed = unpark_call(gate, running.call, holder="two")
    assert (resumed.runs, resumed.state, resumed.fence) == (True, "running", running.fence + 1)
    clock.now += LEASE
    assert recover_calls(gate) == [running.call]


def test_what_the_one_who_parked_a_call_says_counts_no_more_once_it_was_resumed(
    gate: Gate, session: str
) -> None:
    running, question = parked(gate, session)
    old = running.fence
    answer_question(gate, question, "once", by="ana")
    new = unpark_call(gate, running.call, holder="two").fence
    assert refused(gate, running.call, old, question)
    end_call(gate, running.call, new, "succeeded")
    assert events(gate, session)[-4:] == ["PARKED", "ANSWERED", "RESUMED", "EXECUTED"]


def test_a_parked_call_is_nobodys_until_one_of_many_resumes_it(gate: Gate, session: str) -> None:
    running, question = parked(gate, session)
    assert refused(gate, running.call, running.fence, question)
    answer_question(gate, question, "once", by="ana")
    assert unpark_call(gate, running.call, holder="two").runs
    with pytest.raises(NotNow):
        unpark_call(gate, running.call, holder="three")


def test_what_was_parked_was_entered_so_it_is_never_given_back(gate: Gate, session: str) -> None:
    running, question = parked(gate, session)
    answer_question(gate, question, "once", by="ana")
    resumed = unpark_call(gate, running.call, holder="one")
    with pytest.raises(NotNow, match="entered"):
        release_call(gate, running.call, resumed.fence)


def test_a_call_is_parked_only_on_a_question_of_its_own_session(gate: Gate, session: str) -> None:
    running = retry_call(gate, approved(gate, session).call, holder="one")
    other = open_session(gate, agent="tester", owner="host")
    question = authorize(gate, edit(other)).question
    assert question is not None
    for name in (question.id, "nowhere.q1"):
        with pytest.raises(UnknownQuestion):
            park_call(gate, running.call, running.fence, name)
    assert state(gate, running.call) == "running"


@pytest.mark.parametrize("call", ["pending", "ended"])
def test_only_a_parked_call_is_resumed(gate: Gate, session: str, call: str) -> None:
    attempt = approved(gate, session)
    if call == "ended":
        running = retry_call(gate, attempt.call, holder="one")
        end_call(gate, attempt.call, running.fence, "succeeded")
    with pytest.raises(NotNow):
        unpark_call(gate, attempt.call, holder="two")


def test_an_effect_that_another_approved_call_had_meanwhile_is_not_had_again(
    gate: Gate, session: str
) -> None:
    """Both were asked for before either ran, so the key has to be looked at when they run."""

    def pay(number: int) -> Request:
        call = make_call("pay", {"attempt": number})
        return make_request(call, [Operation("bank.transfer")], session=session)

    one, two = (start_call(gate, pay(n), holder="one", effect_key="invoice-7") for n in (1, 2))
    answered(gate, one)
    answered(gate, two)
    first = retry_call(gate, one.call, holder="one", entered=False)
    assert first.runs
    with pytest.raises(KeyReused):
        retry_call(gate, two.call, holder="two")
    release_call(gate, one.call, first.fence)
    assert retry_call(gate, two.call, holder="two").runs
    with pytest.raises(KeyReused):
        retry_call(gate, one.call, holder="one")


def test_a_parked_call_that_nobody_goes_on_with_is_ambiguous_in_the_end(
    gate: Gate, session: str, clock: Clock
) -> None:
    attempt, _ = parked(gate, session)
    clock.now += 2 * 3_600.0  # by now the question has expired
    assert recover_calls(gate) == []
    clock.now += 3_600.0
    assert recover_calls(gate) == [attempt.call]
    resolve_call(gate, attempt.call, "failed", by="ana")
    assert state(gate, attempt.call) == "failed"

"""The ledger: one run for one approval, whoever tries, and never a second one by itself."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.audit.entry import AuditEntry, read_entry
from sayso.core.durations import DAY
from sayso.core.ledger import LEASE, NotNow, State
from sayso.core.model import Operation, Request
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.call_rows import KeyReused
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.figures.stories import StoryFilter, find_stories
from sayso.gate.gate import Gate
from sayso.gate.ledger.lease import keep_alive, park_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import forget_results, recover_calls, resolve_call
from sayso.gate.ledger.replay import replay_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call, start_ungated
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.row_seals import draft_of
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.sessions import open_session
from tests.gate.calling import answered, approved
from tests.support.asking import edit
from tests.support.gates import Clock


def test_a_call_that_was_approved_runs_for_the_first_that_tries(gate: Gate, session: str) -> None:
    attempt = approved(gate, session)
    assert not attempt.runs
    tries = [retry_call(gate, attempt.call, holder=f"worker {n}") for n in range(8)]
    assert [one.runs for one in tries] == [True] + [False] * 7
    end_call(gate, attempt.call, tries[0].fence, "succeeded", b'"done"')
    assert retry_call(gate, attempt.call, holder="late").result == b'"done"'


def test_a_call_still_open_waits_and_a_denied_one_stays_denied(gate: Gate, session: str) -> None:
    attempt = start_call(gate, edit(session), holder="one")
    assert retry_call(gate, attempt.call, holder="one").state == "pending"
    assert attempt.question is not None
    answer_question(gate, attempt.question, "deny", by="ana")
    assert retry_call(gate, attempt.call, holder="one").state == "denied"
    assert retry_call(gate, attempt.call, holder="one").state == "denied"


def test_a_holder_that_dies_leaves_the_call_ambiguous_and_nobody_runs_it_again(
    gate: Gate, session: str, clock: Clock
) -> None:
    attempt = approved(gate, session)
    running = retry_call(gate, attempt.call, holder="dies")
    clock.now += LEASE - 1
    assert recover_calls(gate) == []
    keep_alive(gate, attempt.call, running.fence)
    clock.now += LEASE
    assert recover_calls(gate) == [attempt.call]
    assert retry_call(gate, attempt.call, holder="next").state == "ambiguous"
    with pytest.raises(NotNow):
        keep_alive(gate, attempt.call, running.fence)
    resolve_call(gate, attempt.call, "failed", by="ana")
    with pytest.raises(NotNow):
        resolve_call(gate, attempt.call, "succeeded", by="ben")


def test_the_same_start_may_still_say_how_it_ended_until_somebody_resolved_it(
    gate: Gate, session: str, clock: Clock
) -> None:
    attempt = approved(gate, session)
    running = retry_call(gate, attempt.call, holder="slow")
    clock.now += LEASE
    recover_calls(gate)
    end_call(gate, attempt.call, running.fence, "succeeded")
    assert retry_call(gate, attempt.call, holder="x").state == "succeeded"


def test_a_stale_fence_ends_nothing(gate: Gate, session: str) -> None:
    attempt = approved(gate, session)
    running = retry_call(gate, attempt.call, holder="one")
    with pytest.raises(NotNow):
        end_call(gate, attempt.call, running.fence + 1, "succeeded")
    end_call(gate, attempt.call, running.fence, "succeeded")
    with pytest.raises(NotNow):
        end_call(gate, attempt.call, running.fence, "failed")


def test_a_host_id_seen_twice_is_one_call_and_for_another_call_an_error(gate: Gate, session: str) -> None:
    first = start_call(gate, edit(session), holder="hook", host_id="toolu_1")
    again = start_call(gate, edit(session), holder="other hook", host_id="toolu_1")
    assert (first.call, first.question) == (again.call, again.question)
    with pytest.raises(KeyReused):
        start_call(gate, edit(session, "b.py"), holder="hook", host_id="toolu_1")


def test_an_effect_that_ran_or_may_have_run_is_not_run_again_in_any_session(gate: Gate, session: str) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    other = open_session(gate, agent="tester", owner="host")
    record_message(gate, other, "Grant standing consent for: git push")

    def push(where: str) -> Request:
        call = make_call("shell", {}, command="git push")
        return make_request(call, [Operation("git.push")], session=where)

    assert start_call(gate, push(session), holder="one", effect_key="invoice-7").runs
    with pytest.raises(KeyReused):
        start_call(gate, push(other), holder="two", effect_key="invoice-7")
    assert start_call(gate, push(other), holder="two", effect_key="invoice-8").runs


def test_a_failure_leaves_three_retries_of_the_identical_call(gate: Gate, session: str) -> None:
    record_task_start(gate, session, "feature")
    running = retry_call(gate, approved(gate, session, "task").call, holder="one")
    for _ in range(3):
        end_call(gate, running.call, running.fence, "failed")
        running = start_call(gate, edit(session), holder="one")
        assert (running.runs, running.record.rule) == (True, "task_grant")
    end_call(gate, running.call, running.fence, "failed")
    assert start_call(gate, edit(session), holder="one").state == "pending"
    assert start_call(gate, edit(session, "b.py"), holder="one").state == "pending"


@pytest.mark.parametrize("state", ["allowed", "waiting", "pending", "denied"])
def test_a_call_ends_as_succeeded_failed_or_ambiguous_and_nothing_else(
    gate: Gate, session: str, state: State
) -> None:
    running = retry_call(gate, approved(gate, session).call, holder="one")
    with pytest.raises(NotNow):
        end_call(gate, running.call, running.fence, state)
    end_call(gate, running.call, running.fence, "succeeded")


def test_a_key_stands_for_one_call_of_one_tool_in_one_session(gate: Gate, session: str) -> None:
    first = start_call(gate, edit(session), holder="one", key="k")
    again = start_call(gate, edit(session), holder="two", key="k", host_id="toolu_1")
    assert (first.call, first.question) == (again.call, again.question)
    with pytest.raises(KeyReused):
        start_call(gate, edit(session, "b.py"), holder="one", key="k")
    other_tool = make_request(
        make_call("write", {}, target="a.py"), [Operation("files.edit")], session=session
    )
    assert start_call(gate, other_tool, holder="one", key="k").call != first.call
    other = open_session(gate, agent="tester", owner="host")
    assert start_call(gate, edit(other, "b.py"), holder="one", key="k").call != first.call


def test_a_key_that_stands_for_another_call_is_an_error_whatever_the_host_id_says(
    gate: Gate, session: str
) -> None:
    start_call(gate, edit(session), holder="one", host_id="toolu_1")
    start_call(gate, edit(session, "b.py"), holder="one", key="k")
    with pytest.raises(KeyReused):
        start_call(gate, edit(session), holder="one", host_id="toolu_1", key="k")


def test_an_identical_call_under_a_new_id_or_without_one_is_decided_anew(gate: Gate, session: str) -> None:
    running = retry_call(gate, approved(gate, session).call, holder="one")
    end_call(gate, running.call, running.fence, "succeeded")
    for host_id in ("toolu_2", None):
        again = start_call(gate, edit(session), holder="one", host_id=host_id)
        assert (again.call != running.call, again.state) == (True, "pending")


@pytest.mark.parametrize("end", ["succeeded", "failed", "ambiguous", "waiting"])
def test_an_effect_is_had_again_only_if_it_failed(gate: Gate, session: str, end: State) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    call = make_call("shell", {}, command="git push")
    push = make_request(call, [Operation("git.push")], session=session)
    running = start_call(gate, push, holder="one", effect_key="invoice-7")
    if end == "waiting":
        question = start_call(gate, edit(session), holder="one").question
        assert question is not None
        park_call(gate, running.call, running.fence, question)
    else:
        end_call(gate, running.call, running.fence, end)
    if end == "failed":
        assert start_call(gate, push, holder="two", effect_key="invoice-7").runs
        return
    with pytest.raises(KeyReused):
        start_call(gate, push, holder="two", effect_key="invoice-7")


def test_a_failure_that_only_the_agent_claims_frees_no_effect_and_no_retry(gate: Gate, session: str) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    call = make_call("shell", {}, command="git push")
    push = make_request(call, [Operation("git.push")], session=session)
    running = start_call(gate, push, holder="one", effect_key="invoice-7")
    end_call(gate, running.call, running.fence, "failed", claimed=True)
    with pytest.raises(KeyReused):
        start_call(gate, push, holder="two", effect_key="invoice-7")
    record_task_start(gate, session, "feature")
    edited = retry_call(gate, approved(gate, session, "task").call, holder="one")
    end_call(gate, edited.call, edited.fence, "failed", claimed=True)
    assert start_call(gate, edit(session), holder="one").state == "pending"


@pytest.mark.parametrize(("end", "again"), [("succeeded", "running"), ("ambiguous", "pending")])
def test_a_run_that_nobody_can_tell_of_ends_the_free_retry_of_another(
    gate: Gate, session: str, end: State, again: str
) -> None:
    record_task_start(gate, session, "feature")
    one = retry_call(gate, approved(gate, session, "task").call, holder="one")
    two = start_call(gate, edit(session), holder="two")
    end_call(gate, one.call, one.fence, "failed")
    end_call(gate, two.call, two.fence, end)
    assert start_call(gate, edit(session), holder="three").state == again


def test_a_result_is_told_for_a_day_and_then_forgotten(gate: Gate, session: str, clock: Clock) -> None:
    running = retry_call(gate, approved(gate, session).call, holder="one")
    end_call(gate, running.call, running.fence, "succeeded", b'"done"')
    clock.now += DAY - 1
    assert (retry_call(gate, running.call, holder="late").result, forget_results(gate)) == (b'"done"', 0)
    clock.now += 1
    late = retry_call(gate, running.call, holder="late")
    assert (late.state, late.result) == ("succeeded", None)
    clock.now += 1
    assert (forget_results(gate), forget_results(gate)) == (1, 0)
    with gate.store.read() as tx:
        row = tx.call(running.call)
    assert row is not None
    assert (row.state, row.result) == ("succeeded", None)


@pytest.mark.parametrize(("size", "kept"), [(0, True), (64 * 1024, True), (64 * 1024 + 1, False)])
def test_a_result_of_up_to_64_kib_is_kept(gate: Gate, session: str, size: int, kept: bool) -> None:
    running = retry_call(gate, approved(gate, session).call, holder="one")
    end_call(gate, running.call, running.fence, "succeeded", b"x" * size)
    again = retry_call(gate, running.call, holder="late")
    assert (again.state, again.result) == ("succeeded", b"x" * size if kept else None)


def test_an_approval_that_came_too_late_is_asked_for_again_under_a_question_that_is_told(
    gate: Gate, session: str, clock: Clock
) -> None:
    attempt = approved(gate, session)
    clock.now += 16 * 60
    again = retry_call(gate, attempt.call, holder="one")
    assert (again.state, again.question != attempt.question) == ("pending", True)
    answered(gate, again)
    assert retry_call(gate, attempt.call, holder="one").runs


def refused_by(gate: Gate, session: str) -> list[AuditEntry]:
    with gate.store.read() as tx:
        rows = [row for row in tx.entries(gate.stream, limit=10_000) if row.session == session]
    told = [read_entry(row.body) for row in rows if row.body is not None]
    return [one for one in told if one.details.get("rule") == "effect_key"]


def spend(session: str) -> Request:
    call = make_call("shell", {}, command="git push")
    return make_request(call, [Operation("git.push")], session=session)


@pytest.mark.parametrize("end", ["succeeded", "ambiguous", "running", "waiting"])
def test_no_call_refused_for_its_effect_key_goes_unrecorded(
    gate: Gate, session: str, end: str, clock: Clock
) -> None:
    other = open_session(gate, agent="second", owner="host")
    for one in (session, other):
        record_message(gate, one, "Grant standing consent for: git push")
    first = start_call(gate, spend(session), holder="one", effect_key="invoice-7")
    if end == "waiting":
        question = start_call(gate, edit(session), holder="one").question
        park_call(gate, first.call, first.fence, question or "")
    elif end in ("succeeded", "ambiguous"):
        end_call(gate, first.call, first.fence, "succeeded" if end == "succeeded" else "ambiguous")
    clock.now += 60
    with pytest.raises(KeyReused) as refusal:
        start_call(gate, spend(other), holder="two", effect_key="invoice-7")
    assert first.call in str(refusal.value)
    told = {
        "succeeded": "succeeded at 2027-01-15T08:00:00Z",
        "ambiguous": f"sayso calls resolve {first.call}",
        "running": "under way",
        "waiting": "under way",
    }
    assert told[end] in f"{refusal.value} {refusal.value.hint}"
    (entry,) = refused_by(gate, other)
    assert (entry.event, entry.operations) == ("BLOCKED", ("git.push",))
    assert (entry.details["verdict"], entry.details["risk"]) == ("deny", "high")
    assert entry.details["reason"] == str(refusal.value)
    assert entry.details["grants"] == []
    newest = find_stories(gate, StoryFilter()).stories[0]
    assert (newest.state, newest.said.session, newest.title) == ("denied", other, "git push")


def test_a_refusal_for_an_effect_key_uses_no_approval_and_is_written_by_every_way_in(
    gate: Gate, session: str
) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    parked = approved(gate, session)
    first = start_call(gate, spend(session), holder="one", effect_key="invoice-7")
    end_call(gate, first.call, first.fence, "succeeded")
    with pytest.raises(KeyReused):
        retry_call(gate, parked.call, holder="one", effect_key="invoice-7")
    assert len(refused_by(gate, session)) == 1
    with pytest.raises(KeyReused):
        replay_call(gate, first.call, session, holder="one")
    assert len(refused_by(gate, session)) == 2
    with pytest.raises(KeyReused):
        start_ungated(gate, edit(session), holder="one", effect_key="invoice-7")
    assert len(refused_by(gate, session)) == 3
    assert retry_call(gate, parked.call, holder="one").runs
    assert verify_audit(gate).clean


def test_a_key_or_id_that_stands_for_another_call_is_named_as_what_it_is(gate: Gate, session: str) -> None:
    start_call(gate, edit(session), holder="hook", host_id="toolu_1", key="k")
    with pytest.raises(KeyReused, match="this id stands"):
        start_call(gate, edit(session, "b.py"), holder="hook", host_id="toolu_1")
    with pytest.raises(KeyReused, match="this key stands") as told:
        start_call(gate, edit(session, "b.py"), holder="hook", key="k")
    assert "key" in str(told.value.hint)


def test_a_row_that_nobody_sealed_is_not_believed_though_this_gate_made_it(gate: Gate, session: str) -> None:
    running = start_call(gate, edit(session), holder="one")
    with gate.store.read() as tx:
        row = tx.call(running.call)
    assert row is not None
    kept = gate.sealer.open_call(row)
    assert kept is not None
    draft = msgspec.structs.replace(row, body=draft_of(kept))
    assert gate.sealer.open_call(draft) is None
    assert gate.sealer.open_call(gate.sealer.call(draft)) == kept

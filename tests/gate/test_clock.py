"""A clock that was wrong: nothing timed holds until the operator accepts it, and that revives nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.core.ledger import LEASE
from sayso.core.model import Operation, Verdict
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import CLOCK_SLACK, Gate
from sayso.gate.ledger.lease import keep_alive
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import recover_calls
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.operator_grants import give_grant, list_grants
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.gate.upkeep.clock import read_clock, trust_clock
from sayso.policy import load_preset
from sayso.store.sqlite.store import SqliteStore
from tests.gate.calling import answered, approved
from tests.support.asking import edit
from tests.support.gates import KEY, Clock

DAY = 86_400.0
TO_2099 = 73 * 365 * DAY


def allows(gate: Gate, session: str) -> bool:
    call = make_call("shell", {}, command="git push")
    request = make_request(call, [Operation("git.push")], session=session)
    return authorize(gate, request).decision.verdict is Verdict.ALLOW


def test_a_store_that_was_in_2099_comes_back_to_life_when_the_operator_says_so(
    gate: Gate, session: str, clock: Clock
) -> None:
    clock.now += TO_2099
    record_message(gate, session, "fix the parser")
    clock.now -= TO_2099
    before = read_clock(gate)
    assert (before.now, before.trusted, before.behind) == (clock.now, False, TO_2099)
    record_message(gate, session, "Grant standing consent for: git push")
    assert not allows(gate, session)
    assert trust_clock(gate, by="ana") == before
    assert read_clock(gate).trusted
    record_message(gate, session, "Grant standing consent for: git push")
    assert allows(gate, session)
    attempt = approved(gate, session)
    assert retry_call(gate, attempt.call, holder="one").runs
    assert verify_audit(gate).clean


def test_what_was_granted_in_2099_does_not_live_until_then(gate: Gate, session: str, clock: Clock) -> None:
    clock.now += TO_2099
    record_task_start(gate, session, "feature")
    record_message(gate, session, "Grant standing consent for: git push")
    give_grant(gate, session, by="ana", operation="files.edit")
    clock.now -= TO_2099
    trust_clock(gate, by="ana")
    assert not allows(gate, session)
    assert authorize(gate, edit(session)).decision.verdict is Verdict.ASK
    assert list_grants(gate, session) == []


def test_a_question_asked_in_2099_is_closed(gate: Gate, session: str, clock: Clock) -> None:
    clock.now += TO_2099
    attempt = start_call(gate, edit(session), holder="one")
    clock.now -= TO_2099
    trust_clock(gate, by="ana")
    with gate.store.read() as tx:
        assert tx.questions(session) == []
    assert retry_call(gate, attempt.call, holder="one").state == "cancelled"
    again = start_call(gate, edit(session), holder="one")
    assert (again.state, again.question != attempt.question) == ("pending", True)
    answered(gate, again)
    assert retry_call(gate, again.call, holder="one").runs


def test_a_slash_command_typed_in_2099_is_long_over(gate: Gate, session: str, clock: Clock) -> None:
    clock.now += TO_2099
    record_message(gate, session, "/commit")
    clock.now -= TO_2099
    trust_clock(gate, by="ana")
    commit = make_request(make_call("git_commit", {}), [Operation("git.commit")], session=session)
    assert authorize(gate, commit).decision.rule != "slash_command"


def test_what_had_run_out_does_not_run_again(gate: Gate, session: str, clock: Clock) -> None:
    """Time passed, and then somebody set the clock back and had that accepted."""
    record_message(gate, session, "Grant standing consent for: git push")
    attempt = approved(gate, session)
    clock.now += DAY
    assert not allows(gate, session)
    clock.now -= DAY - 1
    trust_clock(gate, by="ana")
    assert not allows(gate, session)
    assert retry_call(gate, attempt.call, holder="one").state == "pending"


def test_a_lease_taken_in_2099_ends_half_a_minute_after_unless_its_holder_lives(
    gate: Gate, session: str, clock: Clock
) -> None:
    clock.now += TO_2099
    alive = retry_call(gate, approved(gate, session).call, holder="lives")
    other = open_session(gate, agent="tester", owner="host")
    dead = retry_call(gate, approved(gate, other).call, holder="dies")
    close_session(gate, other)
    clock.now -= TO_2099
    trust_clock(gate, by="ana")
    assert recover_calls(gate) == []
    clock.now += LEASE - 1
    keep_alive(gate, alive.call, alive.fence)
    clock.now += 1
    assert recover_calls(gate) == [dead.call]
    end_call(gate, alive.call, alive.fence, "succeeded")


@pytest.mark.parametrize(("behind", "trusted"), [(0.0, True), (CLOCK_SLACK, True), (CLOCK_SLACK + 1, False)])
def test_a_minute_behind_is_nothing_to_say_anything_about(
    gate: Gate, session: str, clock: Clock, behind: float, trusted: bool
) -> None:
    record_message(gate, session, "Grant standing consent for: git push")
    clock.now -= behind
    with gate.store.read() as tx:
        newest = tx.head("main")
    assert read_clock(gate).trusted is trusted
    assert trust_clock(gate, by="ana").trusted is trusted
    with gate.store.read() as tx:
        assert (tx.head("main") == newest) is trusted
    assert allows(gate, session) is trusted


def test_a_clock_accepted_at_one_time_is_not_accepted_at_an_earlier_one(
    gate: Gate, session: str, clock: Clock
) -> None:
    clock.now -= DAY
    trust_clock(gate, by="ana")
    record_message(gate, session, "Grant standing consent for: git push")
    assert allows(gate, session)
    clock.now -= DAY
    assert not allows(gate, session)
    assert not read_clock(gate).trusted


@pytest.fixture
def balanced(clock: Clock, tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "balanced.db", clock=clock)
    yield store
    store.close()


def reads(gate: Gate) -> str:
    session = open_session(gate, agent="tester", owner="host")
    read = make_request(make_call("read", {}, target="a.py"), [Operation("files.read")], session=session)
    return authorize(gate, read).decision.rule


def test_a_review_given_in_2099_counts_as_none(balanced: SqliteStore, clock: Clock) -> None:
    gate = open_gate(load_preset("balanced"), balanced, key=KEY)
    clock.now += TO_2099
    with gate.store.write() as tx:
        tx.put_review(gate.sealer.review("files", tx.now, "ana"))
    assert reads(gate) == "autonomous"
    clock.now -= TO_2099
    trust_clock(gate, by="ana")
    assert reads(gate) == "ask"


def test_a_permission_first_seen_in_2099_is_first_seen_when_the_clock_is_right(
    balanced: SqliteStore, clock: Clock
) -> None:
    clock.now += TO_2099
    gate = open_gate(load_preset("balanced"), balanced, key=KEY)
    clock.now -= TO_2099
    trust_clock(gate, by="ana")
    assert reads(gate) == "autonomous"
    clock.now += 31 * DAY
    assert reads(gate) == "ask"

"""Going on with a run that waited for a person: never without the consent that it was started with."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sayso import ConsentDenied, ConsentRequired, Sayso, Step
from sayso.core.ledger import NotNow
from sayso.core.model import Mode
from sayso.core.policy import with_mode
from sayso.doors.mcp.tools import TOOLS, use_tool
from sayso.doors.python.session import Session
from sayso.gate.ledger.lease import unpark_call
from sayso.gate.open import open_gate
from sayso.gate.sessions.operator_grants import revoke_all
from sayso.policy import load_text
from sayso.store.contract import Store
from tests.support.gates import KEY, Clock, no_settings
from tests.support.people import Person, answer_open, calls, events, questions, states

__all__ = ["no_settings"]

POLICY = """
extends: [gateway]
domains:
  mail: {autonomous: [], requires_approval: [send], blocked: []}
  notes: {autonomous: [], requires_approval: [share], blocked: []}
operations:
  mail.send: {risk: moderate}
  notes.share: {risk: high}
"""
BLOCKED = POLICY.replace("requires_approval: [send], blocked: []", "requires_approval: [], blocked: [send]")
ALWAYS_ASK = POLICY.replace("mail.send: {risk: moderate}", "mail.send: {risk: moderate, always_ask: true}")
RISKIER = POLICY.replace("mail.send: {risk: moderate}", "mail.send: {risk: high}")
UNLISTED = POLICY.replace("requires_approval: [send]", "requires_approval: []")
TRUSTED = POLICY.replace("mail: {", "mail: {trusted_channel_required: [send], ")


class Program:
    """A gated function and a workflow, in each of which a gate nobody declared is reached."""

    def __init__(self, store: Store, policy: str = POLICY, mode: Mode | None = None) -> None:
        self.person = Person()
        opened = open_gate(with_mode(load_text(policy), mode), store, key=KEY)
        self.gate = gate = Sayso(opened, [self.person])
        self.entered: list[str] = []

        @gate.requires_consent("notes.share", risk="high")
        def share() -> str:
            self.entered.append("share")
            return "shared"

        @gate.capability(restartable=True)
        @gate.requires_consent("mail.send", risk="moderate")
        def send() -> str:
            self.entered.append("send")
            return share()

        @gate.capability(restartable=True)
        def gather() -> str:
            self.entered.append("gather")
            return share()

        def step() -> str:
            self.entered.append("digest")
            return share()

        self.send, self.share = send, share
        gate.workflow("digest", [Step("step", step, operations=("mail.send",))], restartable=True)


Retry = Callable[[Sayso, Session, str], str]


def in_python(gate: Sayso, session: Session, call: str) -> str:
    return session.retry(call, wait=0.0).status


def in_async_python(gate: Sayso, session: Session, call: str) -> str:
    return asyncio.run(session.aretry(call, wait=0.0)).status


def over_mcp(gate: Sayso, session: Session, call: str) -> str:
    told = asyncio.run(use_tool(gate, session, TOOLS["retry"], {"operation_id": call, "wait": 0}))
    return str(told["status"])


RETRIES: list[Retry] = [in_python, in_async_python, over_mcp]
NAMES = ["send", "gather", "digest"]


def parked(program: Program, session: Session, name: str, given: str = "once") -> str:
    """A run that was allowed, entered, and now waits at the gate inside it."""
    gate = program.gate
    first = session.run(name, wait=0)
    if name != "gather":
        answer_open(gate, given)
        first = session.retry(first.operation_id or "", wait=0)
    assert (first.status, program.entered) == ("timeout", [name])
    return first.operation_id or ""


def stop(gate: Sayso, session: Session) -> None:
    session.hear("stop")


def stop_and_go_on(gate: Sayso, session: Session) -> None:
    session.hear("stop")
    session.hear("go ahead and tell me more about the weather")


def revoke_by_phrase(gate: Sayso, session: Session) -> None:
    session.hear("Revoke all consent")


def revoke_by_the_operator(gate: Sayso, session: Session) -> None:
    revoke_all(gate.gate, session.id, by="ana")


def switch(gate: Sayso, session: Session) -> None:
    session.switch()


def end(gate: Sayso, session: Session) -> None:
    session.end()


def stop_the_parent(gate: Sayso, session: Session) -> None:
    gate.session_by_id(gate.door.row(session.id).parent or "").hear("stop")


def end_the_parent(gate: Sayso, session: Session) -> None:
    gate.end_session(gate.door.row(session.id).parent or "")


ENDINGS = [stop, stop_and_go_on, revoke_by_phrase, revoke_by_the_operator, switch, end]
ENDINGS += [stop_the_parent, end_the_parent]


@pytest.mark.parametrize("retry", RETRIES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda one: one.__name__)
def test_no_run_goes_on_after_its_consent_has_ended(
    store: Store, ending: Callable[[Sayso, Session], None], name: str, retry: Retry
) -> None:
    program = Program(store)
    session = program.gate.session(parent=program.gate.session().id)
    call = parked(program, session, name)
    answer_open(program.gate, "once")
    ending(program.gate, session)
    assert retry(program.gate, session, call) == "denied"
    assert retry(program.gate, session, call) == "denied"
    assert program.entered == [name]


@pytest.mark.parametrize("name", ["send", "digest"])
def test_no_run_goes_on_after_the_grant_it_was_started_with_was_revoked(store: Store, name: str) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, name)
    with program.gate.gate.store.read() as tx:
        first = tx.grants(session.id, None)[0]
    answer_open(program.gate, "once")
    program.gate.revoke(first.id, by="ana")
    assert in_python(program.gate, session, call) == "denied"
    assert program.entered == [name]


@pytest.mark.parametrize("given", ["task", "temporary", "always"])
@pytest.mark.parametrize("by_phrase", [True, False])
def test_no_run_goes_on_after_the_wider_grant_of_the_same_answer_was_revoked(
    store: Store, given: str, by_phrase: bool
) -> None:
    program = Program(store)
    session = program.gate.session()
    session.hear("send it")
    call = parked(program, session, "send", given)
    (wider,) = program.gate.grants(session.id)
    answer_open(program.gate, "once")
    if by_phrase:
        session.hear(f"Revoke consent for: {wider.value}")
    else:
        program.gate.revoke(wider.id, by="ana")
    assert in_python(program.gate, session, call) == "denied"
    assert program.entered == ["send"]


def say_no(program: Program, session: Session) -> None:
    session.hear("no")


def say_done(program: Program, session: Session) -> None:
    session.hear("done")


def revoke_the_inner_approval(program: Program, session: Session) -> None:
    with program.gate.gate.store.read() as tx:
        newest = tx.grants(session.id, None)[-1]
    program.gate.revoke(newest.id, by="ana")


def revoke_the_inner_operation(program: Program, session: Session) -> None:
    session.hear("Revoke consent for: notes.share")


TAKEN_BACK = [say_no, say_done, revoke_the_inner_approval, revoke_the_inner_operation]


@pytest.mark.parametrize("retry", RETRIES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", ["send", "gather"])
@pytest.mark.parametrize("take_back", TAKEN_BACK, ids=lambda one: one.__name__)
def test_no_run_goes_on_after_the_yes_it_waited_for_was_taken_back(
    store: Store, take_back: Callable[[Program, Session], None], name: str, retry: Retry
) -> None:
    program = Program(store)
    session = program.gate.session()
    session.hear("share it")
    call = parked(program, session, name)
    answer_open(program.gate, "once")
    take_back(program, session)
    assert retry(program.gate, session, call) == "denied"
    assert program.entered == [name]


INNER_BLOCKED = POLICY.replace(
    "requires_approval: [share], blocked: []", "requires_approval: [], blocked: [share]"
)
INNER_ALWAYS_ASKS = POLICY.replace("notes.share: {risk: high}", "notes.share: {risk: high, always_ask: true}")


@pytest.mark.parametrize("policy", [INNER_BLOCKED, INNER_ALWAYS_ASKS], ids=["blocked", "always_ask"])
def test_no_run_goes_on_under_a_policy_that_is_stricter_with_what_it_waited_for(
    store: Store, policy: str
) -> None:
    program = Program(store)
    session = program.gate.session(key="nightly")
    call = parked(program, session, "send")
    answer_open(program.gate, "once")
    program.gate.close()
    again = Program(store, policy)
    assert in_python(again.gate, again.gate.session(key="nightly"), call) == "denied"
    assert again.entered == []


def test_a_run_goes_on_and_asks_again_if_the_yes_it_waited_for_only_ran_out(
    store: Store, clock: Clock
) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send", "always")
    answer_open(program.gate, "once")
    clock.now += 3_600
    assert in_python(program.gate, session, call) == "timeout"
    assert program.entered == ["send", "send"]


def test_no_run_goes_on_after_trust_in_its_workflow_was_withdrawn(store: Store) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "digest")
    answer_open(program.gate, "once")
    assert program.gate.cascade_revoke("digest", session=session, by="ana") == 1
    assert in_python(program.gate, session, call) == "denied"
    assert program.entered == ["digest"]


@pytest.mark.parametrize("retry", RETRIES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_no_run_goes_on_after_what_it_waited_for_was_denied(store: Store, name: str, retry: Retry) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, name)
    answer_open(program.gate, "deny")
    assert retry(program.gate, session, call) == "denied"
    assert retry(program.gate, session, call) == "denied"
    assert program.entered == [name]


@pytest.mark.parametrize("name", NAMES)
def test_no_run_goes_on_while_or_after_nobody_answered_what_it_waits_for(
    store: Store, clock: Clock, name: str
) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, name)
    with pytest.raises(NotNow):
        unpark_call(program.gate.gate, call, holder="another process")
    clock.now += 7_200.0
    assert not unpark_call(program.gate.gate, call, holder="another process").runs
    assert in_python(program.gate, session, call) == "denied"
    assert program.entered == [name]


@pytest.mark.parametrize("retry", RETRIES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", ["send", "digest"])
@pytest.mark.parametrize(
    ("policy", "mode", "status"),
    [
        (BLOCKED, None, "blocked"),
        (TRUSTED, None, "blocked"),
        (ALWAYS_ASK, None, "denied"),
        (RISKIER, None, "denied"),
        (UNLISTED, None, "denied"),
        (POLICY, Mode.PARANOID, "denied"),
    ],
    ids=["blocked", "trusted channel", "always_ask", "riskier", "unlisted", "paranoid"],
)
def test_no_run_goes_on_under_a_policy_that_was_tightened_since(
    store: Store, policy: str, mode: Mode | None, status: str, name: str, retry: Retry
) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, name)
    answer_open(program.gate, "once")
    later = Program(store, policy, mode)
    assert retry(later.gate, later.gate.session_by_id(session.id), call) == status
    assert program.entered == [name]
    assert later.entered == []


@pytest.mark.parametrize("retry", RETRIES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_a_run_whose_consent_lasts_goes_on_once(store: Store, name: str, retry: Retry) -> None:
    program = Program(store)
    session = program.gate.session(parent=program.gate.session().id)
    call = parked(program, session, name)
    answer_open(program.gate, "once")
    assert retry(program.gate, session, call) == "ok"
    assert retry(program.gate, session, call) == "ok"
    assert program.entered == [name, name, "share"]


@pytest.mark.parametrize("policy", [POLICY, POLICY + "  mail.read: {risk: low}\n"])
def test_another_process_under_a_policy_no_stricter_goes_on(store: Store, policy: str) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send")
    answer_open(program.gate, "once")
    later = Program(store, policy)
    assert in_python(later.gate, later.gate.session_by_id(session.id), call) == "ok"


def test_one_yes_enters_the_function_three_times_at_most_whatever_the_note_says(store: Store) -> None:
    program = Program(store)
    gate, session = program.gate, program.gate.session()
    call = parked(program, session, "send")
    for _ in range(2):
        answer_open(gate, "once")
        again = unpark_call(gate.gate, call, holder="another process")
        assert again.runs
        session.call("share_again", {"at": again.fence})  # another gate inside it
        (asked,) = questions(gate, "open")
        gate.door.park_call(call, again.fence, asked.id, b'{"runs":1}')
    answer_open(gate, "once")
    with pytest.raises(NotNow):
        unpark_call(gate.gate, call, holder="another process")


def test_a_run_that_began_what_cannot_be_begun_again_goes_on_only_where_it_waits(store: Store) -> None:
    program = Program(store)
    gate, session = program.gate, program.gate.session()
    call = parked(program, session, "send")
    answer_open(gate, "once")
    again = unpark_call(gate.gate, call, holder="another process")
    session.call("something_else")
    (asked,) = questions(gate, "open")
    gate.door.park_call(call, again.fence, asked.id, b'{"ran":true}')
    answer_open(gate, "once")
    with pytest.raises(NotNow):
        unpark_call(gate.gate, call, holder="a third")


@pytest.mark.parametrize("ending", [revoke_by_the_operator, stop_and_go_on, switch], ids=lambda e: e.__name__)
def test_what_waits_in_place_passes_no_gate_once_its_consent_has_ended(
    store: Store, ending: Callable[[Sayso, Session], None]
) -> None:
    """Even if its code goes on after the error, and although what it waited for was allowed."""
    program = Program(store)
    gate, session, passed = program.gate, program.gate.session(), []

    @gate.requires_consent("mail.read", risk="low")
    def read() -> None:
        passed.append("read")

    @gate.capability()
    @gate.requires_consent("mail.send", risk="moderate")
    def stubborn() -> None:
        for one in (program.share, read, program.share):
            try:
                one()
            except (ConsentDenied, ConsentRequired):
                passed.append("refused")

    program.person.says("once")
    found: list[Any] = []
    runner = threading.Thread(target=lambda: found.append(session.run("stubborn", wait=60)))
    runner.start()
    program.person.waits_to_be_asked()
    program.person.waits_to_be_asked()
    (waiting,) = questions(gate, "open")
    ending(gate, session)
    if questions(gate, "open"):
        gate.answer(waiting.id, "once", by="ana")
    runner.join()
    assert (found[0].status, passed, program.entered) == ("denied", ["refused"] * 3, [])
    assert states(gate)["stubborn"] == "failed"


def test_an_outer_call_whose_consent_was_revoked_while_it_runs_carries_nothing(store: Store) -> None:
    program = Program(store)
    gate, session, passed = program.gate, program.gate.session(), []

    @gate.requires_consent("mail.read", risk="low")
    def read() -> None:
        passed.append("read")

    @gate.requires_consent("mail.send", risk="moderate", wait=60)
    def outer() -> None:
        read()
        revoke_all(gate.gate, session.id, by="ana")
        with pytest.raises(ConsentRequired):
            read()

    program.person.says("once")
    with session.active():
        outer()
    assert passed == ["read"]


def test_a_run_that_does_not_go_on_is_recorded_with_the_reason(store: Store) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session, "send")
    answer_open(program.gate, "once")
    session.hear("stop")
    told = session.retry(call, wait=0)
    assert (told.status, "stopped" in (told.reason or "")) == ("denied", True)
    assert events(program.gate, session.id)[-1] == "BLOCKED"
    assert {row.tool: row.state for row in calls(program.gate)}["send"] == "denied"

"""Consent that is taken back by name ends for calls under way too: nothing around carries it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from sayso import ConsentRequired, Sayso, Step
from sayso.doors.python.session import Session
from sayso.gate.ledger.recovery import recover_calls
from sayso.gate.open import open_gate
from sayso.gate.sessions.revoke import revoke_by_name
from sayso.policy import load_text
from sayso.store.contract import Store
from tests.attack.test_named_revocations import WAYS, Way
from tests.attack.test_parked_calls import RETRIES, Retry
from tests.support.gates import KEY, Clock, no_settings
from tests.support.people import Person, answer_open, events

__all__ = ["no_settings"]

POLICY = """
extends: [gateway]
categories: {outbox: outgoing mail}
domains:
  files: {autonomous: [], requires_approval: [tidy], blocked: []}
  mail: {autonomous: [], requires_approval: [send], blocked: []}
  bank: {autonomous: [], requires_approval: [pay], blocked: []}
operations:
  files.tidy: {risk: moderate}
  mail.send: {risk: moderate, category: outbox}
  bank.pay: {risk: high}
slash_commands: {/mail: {operations: [mail.send]}}
"""
UNLISTED = "extends: [gateway]"
SPELLINGS = ["mail.send", "Mail Send", "mail", "outbox", "outgoing mail", "send_mail", "the send-mail tool"]


class Program:
    """`tidy` sends mail, pays, and sends mail again; only `tidy` is consented to, and paying is asked."""

    def __init__(self, store: Store, policy: str = POLICY, *, restartable: bool = True) -> None:
        self.person = Person()
        self.gate = gate = Sayso(open_gate(load_text(policy), store, key=KEY), [self.person])
        self.did: list[str] = []
        self.meanwhile: Callable[[], None] = lambda: None

        @gate.requires_consent("mail.send", risk="moderate")
        def send_mail() -> None:
            self.did.append("send")

        @gate.requires_consent("bank.pay", risk="high")
        def pay() -> None:
            self.did.append("pay")

        @gate.capability(restartable=restartable)
        @gate.requires_consent("files.tidy", risk="moderate")
        def tidy() -> str:
            send_mail()
            self.meanwhile()
            pay()
            send_mail()
            return "tidied"

        self.send_mail, self.pay = send_mail, pay


def parked(program: Program, session: Session) -> str:
    """`tidy` after its first mail, waiting for the answer to `pay`."""
    first = session.run("tidy", wait=0)
    answer_open(program.gate)
    assert session.retry(first.operation_id or "", wait=0).status == "timeout"
    assert program.did == ["send"]
    return first.operation_id or ""


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("retry", RETRIES, ids=lambda one: one.__name__)
def test_no_call_that_is_entered_again_carries_what_was_taken_back(
    store: Store, retry: Retry, way: Way
) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session)
    way(program.gate, session, "mail.send")
    answer_open(program.gate)
    assert retry(program.gate, session, call) == "timeout"
    assert program.did == ["send"]


@pytest.mark.parametrize("policy", [POLICY, UNLISTED], ids=["listed", "declared in code alone"])
@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_call_carries_what_was_taken_back_however_that_is_spelled(
    store: Store, spelling: str, way: Way, policy: str
) -> None:
    if policy is UNLISTED and spelling.startswith("out"):
        policy = POLICY  # what is not listed has no category
    program = Program(store, policy)
    session = program.gate.session()
    call = parked(program, session)
    way(program.gate, session, spelling)
    answer_open(program.gate)
    assert session.retry(call, wait=0).status == "timeout"
    assert program.did == ["send"]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
def test_no_call_that_waits_in_place_carries_what_was_taken_back(store: Store, way: Way) -> None:
    program = Program(store, restartable=False)
    program.person.says("once")
    session, results = program.gate.session(), []
    running = threading.Thread(target=lambda: results.append(session.run("tidy", wait=2)))
    running.start()
    program.person.waits_to_be_asked()
    program.person.waits_to_be_asked()
    way(program.gate, session, "mail.send")
    answer_open(program.gate)
    running.join()
    assert (results[0].status, program.did) == ("error", ["send", "pay"])
    assert program.person.asked == ["files.tidy", "bank.pay", "mail.send"]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
def test_no_call_that_runs_carries_what_was_taken_back(store: Store, way: Way) -> None:
    program = Program(store)
    session = program.gate.session()
    program.meanwhile = lambda: way(program.gate, session, "mail.send")
    program.person.says("once", "once", "deny")
    assert session.run("tidy", wait=2).status == "denied"
    assert program.did == ["send", "pay"]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
def test_a_call_carries_what_was_not_named_and_what_was_asked_since(store: Store, way: Way) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session)
    way(program.gate, session, "files.read")
    answer_open(program.gate)
    assert session.retry(call, wait=0).status == "ok"
    assert program.did == ["send", "send", "pay", "send"]
    program.meanwhile = lambda: way(program.gate, session, "mail.send")
    program.person.says(*["once"] * 3)
    assert session.run("tidy", wait=2).status == "ok"
    program.meanwhile = lambda: None
    program.person.says(*["once"] * 2)
    assert session.run("tidy", wait=2).status == "ok"  # with a consent that is younger than the revocation


def test_the_user_and_the_audit_are_told_what_is_not_carried(store: Store) -> None:
    program = Program(store)
    session = program.gate.session()
    parked(program, session)
    heard = session.hear("Revoke consent for: mail.send")
    assert 'Calls under way no longer carry "mail.send": what they do of it is asked.' in heard.announced
    assert "mail.send, inside calls under way" in heard.cleared
    (ended,) = revoke_by_name(program.gate.gate, session.id, "mail.send", by="ana")
    assert ended.words == "mail.send, inside calls under way"
    assert events(program.gate).count("REVOKED") == 1


def test_no_call_carries_on_past_more_names_than_are_kept(store: Store) -> None:
    program = Program(store)
    session = program.gate.session()
    call = parked(program, session)
    session.hear("Revoke consent for: mail.send")
    for number in range(40):
        session.hear(f"Revoke consent for: task.{number}")
    answer_open(program.gate)
    assert session.retry(call, wait=0).status == "timeout"
    assert program.did == ["send"]


def test_no_call_carries_on_past_a_revocation_while_it_counted_as_dead(store: Store, clock: Clock) -> None:
    program = Program(store)
    gate, session = program.gate, program.gate.session()

    @gate.requires_consent("files.tidy", risk="moderate")
    def sleep_through() -> None:
        program.send_mail()
        clock.now += 3600
        assert recover_calls(gate.gate)
        session.hear("Revoke consent for: mail.send")
        program.send_mail()

    with session.active():
        with pytest.raises(ConsentRequired):
            sleep_through()
        answer_open(gate)
        with pytest.raises(ConsentRequired):
            sleep_through()
    assert program.did == ["send"]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
def test_no_call_of_a_child_session_carries_what_was_taken_back_above(store: Store, way: Way) -> None:
    program = Program(store)
    above = program.gate.session()
    session = program.gate.session(parent=above.id)
    call = parked(program, session)
    way(program.gate, above, "mail.send")
    answer_open(program.gate)
    assert session.retry(call, wait=0).status == "timeout"
    assert program.did == ["send"]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", ["mail.send", "send_mail", "outbox"])
def test_no_run_carries_what_was_taken_back(store: Store, way: Way, name: str) -> None:
    program = Program(store)
    gate, session = program.gate, program.gate.session()
    program.person.says("once")
    more = [Step("first", program.send_mail, operations=("mail.send",))]
    more += [Step("then", lambda: way(gate, session, name)), Step("last", program.send_mail)]
    flow = gate.workflow("digest", more)
    assert flow.run(session=session, wait=0.2).status in ("error", "timeout", "denied")
    assert program.did == ["send"]


@pytest.mark.parametrize(
    "said", ["Revoke consent for: mail.send", "Revoke consent for: send_mail", "Revoke all consent", "stop"]
)
def test_no_click_carries_what_was_taken_back_since(store: Store, said: str) -> None:
    program = Program(store)
    session = program.gate.session()
    with session.active(), program.gate.user_initiated("mail.digest"):
        program.send_mail()
        session.hear(said)
        session.hear("how is the weather?")
        with pytest.raises(ConsentRequired):
            program.send_mail()
    with session.active(), program.gate.user_initiated("mail.digest"):
        program.send_mail()
    assert program.did == ["send", "send"]


@pytest.mark.parametrize("name", ["mail.send", "outbox", "/mail", "mail"])
def test_no_slash_command_carries_what_the_operator_took_back(store: Store, name: str) -> None:
    program = Program(store)
    gate, session = program.gate.gate, program.gate.session()
    session.hear("/mail")
    with session.active():
        program.send_mail()
        (ended,) = revoke_by_name(gate, session.id, name, by="ana")
        assert ended.words == "/mail, which you ordered in this turn"
        with pytest.raises(ConsentRequired):
            program.send_mail()
    assert program.did == ["send"]


@pytest.mark.parametrize("name", ["everything", "mail.send"])
def test_the_operator_takes_back_in_the_sessions_below_too(store: Store, name: str) -> None:
    program = Program(store)
    above = program.gate.session()
    below = program.gate.session(parent=above.id)
    for session in (above, below):
        with session.active(), pytest.raises(ConsentRequired):
            program.send_mail()
        answer_open(program.gate, "always")
    revoke_by_name(program.gate.gate, above.id, name, by="ana")
    for session in (above, below):
        with session.active(), pytest.raises(ConsentRequired):
            program.send_mail()
    assert program.did == []

"""A question that expires ends the wait for it: whoever waits is told so then, and nothing else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso import ConsentDenied, Sayso
from sayso.core import words
from sayso.doors.python.calls.results import Result
from sayso.gate.open import open_gate
from sayso.policy import load_text
from tests.support.gates import KEY, Clock, embedded
from tests.support.people import Person, questions, sends, states

POLICY = """
settings: {question_lasts: 1h}
domains: {mail: {autonomous: [], requires_approval: [send], blocked: []}}
"""
LATE = "nobody answered in time"


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock, person: Person) -> Iterator[Sayso]:
    with embedded(request.param, tmp_path, clock) as store:
        yield Sayso(open_gate(load_text(POLICY), store, key=KEY), [person])


def expire_once_asked(person: Person, clock: Clock) -> None:
    def play() -> None:
        person.waits_to_be_asked()
        clock.now += 3_600

    threading.Thread(target=play, daemon=True).start()


def check_expired(result: Result, person: Person, gate: Sayso) -> None:
    assert (result.status, result.reason, result.retry_with) == ("error", LATE, None)
    assert person.notices == []
    assert states(gate) == {"send": "expired"}


def test_a_run_ends_when_its_question_expires(gate: Sayso, person: Person, clock: Clock) -> None:
    sent = sends(gate)
    expire_once_asked(person, clock)
    check_expired(gate.run("send", {"to": "ana"}, wait=600), person, gate)
    assert sent == []


def test_an_async_run_ends_when_its_question_expires(gate: Sayso, person: Person, clock: Clock) -> None:
    sends(gate)
    expire_once_asked(person, clock)
    check_expired(asyncio.run(gate.arun("send", {"to": "ana"}, wait=600)), person, gate)


def test_a_retry_that_waits_ends_when_its_question_expires(gate: Sayso, person: Person, clock: Clock) -> None:
    sends(gate)
    late = gate.run("send", {"to": "ana"}, wait=0)
    person.notices.clear()
    expire_once_asked(person, clock)
    check_expired(gate.retry(late.operation_id or "", wait=600), person, gate)


def test_a_decorated_function_that_waits_is_told_that_nobody_answered(
    gate: Sayso, person: Person, clock: Clock
) -> None:
    @gate.requires_consent("mail.send", risk="moderate", wait=600)
    def send(to: str) -> str:
        return to

    expire_once_asked(person, clock)
    with pytest.raises(ConsentDenied) as denied:
        send("ana")
    assert denied.value.rule == "expired"
    assert denied.value.reason == LATE


def test_a_run_whose_inner_question_expires_is_an_error_that_names_it(
    gate: Sayso, person: Person, clock: Clock
) -> None:
    @gate.requires_consent("mail.send", risk="high")
    def send(to: str) -> str:
        return to

    @gate.capability()
    def digest() -> str:
        return send("ana")

    expire_once_asked(person, clock)
    result = gate.run("digest", {}, wait=600)
    assert (result.status, result.reason) == ("error", f"stopped at mail.send: {LATE}")


def test_whoever_waits_for_a_question_gets_it_as_expired(gate: Sayso, clock: Clock) -> None:
    sends(gate)
    gate.run("send", {"to": "ana"}, wait=0)
    (row,) = questions(gate, "open")
    clock.now += 3_600
    assert gate.wait(row.id, 600).state == "expired"


def test_the_notice_says_how_much_time_is_left_and_not_how_much_there_was(
    gate: Sayso, person: Person, clock: Clock
) -> None:
    sends(gate)
    late = gate.run("send", {"to": "ana"}, wait=0)
    clock.now += 3_600 - 90
    gate.retry(late.operation_id or "", wait=0)
    assert person.notices == [words.agent_left("mail.send", 3_600), words.agent_left("mail.send", 90)]
    assert person.notices[1].endswith("A yes within 90 seconds lets it try again.")

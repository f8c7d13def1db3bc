"""The free retry after a failure is a consent like any other: seen, revoked, short-lived, never in doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sayso import Ambiguous, Inbox, Sayso
from sayso.core.errors import SaysoError
from sayso.doors.python.session import Session
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import recover_calls, resolve_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.sessions.operator_grants import (
    clear_allowlist,
    give_grant,
    list_grants,
    revoke_all,
    revoke_grant,
)
from sayso.gate.sessions.revoke import revoke_by_name
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.attack.opening import a_gate, a_service, answer_last
from tests.support.gates import KEY, Clock
from tests.support.rows import each_row
from tests.support.service import Service

POLICY = """
extends: [balanced]
domains:
  bank: {trust_level: low, autonomous: [], requires_approval: [pay], blocked: []}
operations:
  bank.pay: {category: payments}
tools:
  - {tool: pay, operation: bank.pay}
"""
NAMES = ["bank.pay", "bank pay", "pay", "payments", "bank", "Pay", "retry of failed bank.pay"]
MINUTES = 60.0


class Bank:
    """A tool that ends as it is told, one ending a run; at the end of the list it succeeds."""

    def __init__(self, gate: Sayso, session: Session, *endings: BaseException | None) -> None:
        self.gate, self.session, self.runs = gate, session, 0
        self.endings: list[BaseException | None] = list(endings)

        @gate.requires_consent("bank.pay", risk="moderate")
        def pay(x: str) -> str:
            self.runs += 1
            ending = self.endings.pop(0) if self.endings else None
            if ending is not None:
                raise ending
            return x

    def pay(self) -> str:
        return str(self.session.run("pay", {"x": "1"}, wait=0).status)

    def fail_once(self, answer: str = "once") -> str:
        """The first run, approved and failed; the id of its call."""
        asked = self.session.run("pay", {"x": "1"}, wait=0)
        answer_last(self.gate, self.session.id, answer)
        failed = self.gate.retry(asked.operation_id or "", wait=0)
        assert (failed.status, self.runs) == ("error", 1)
        return asked.operation_id or ""


@contextmanager
def a_bank(*endings: BaseException | None, policy: str = POLICY) -> Iterator[tuple[Bank, Clock]]:
    clock = Clock()
    gate = open_gate(load_text(policy), MemoryStore(clock=clock), key=KEY)
    with Sayso(gate, (Inbox(),)) as opened:
        session = opened.session(agent="a")
        session.hear("Pay the bill")
        yield Bank(opened, session, *endings), clock


def listed(bank: Bank) -> list[str]:
    return [one.words for one in list_grants(bank.gate.gate, bank.session.id) if one.kind == "retry"]


# Seen


def test_a_free_retry_is_never_missing_from_the_lists() -> None:
    with a_bank(ValueError("no")) as (bank, _):
        bank.fail_once()
        (one,) = list_grants(bank.gate.gate, bank.session.id)
        assert (one.kind, one.words) == ("retry", "retry of failed bank.pay")
        assert (one.uses, one.used, one.risk, one.given_by) == (1, 0, "moderate", "ana")
        assert one.about is not None
        assert one.left <= 15 * MINUTES
        assert [shown.words for shown in bank.session.consents()] == [one.words]
        told = "\n".join(bank.session.hear("What have I consented to?").announced)
        assert "- retry of failed bank.pay" in told
        assert (bank.pay(), bank.runs, listed(bank)) == ("ok", 2, [])


def test_the_service_never_hides_a_free_retry_or_refuses_to_revoke_it() -> None:
    for name in (*NAMES, "the call"):
        with a_gate(POLICY) as gate, a_service(gate) as service:
            session = service.opened("host")
            call = {"session": session, "tool": "pay", "args": {"x": 1}}
            operation = _failed_over_http(service, "host", call)
            (grant,) = service.told("operator", "GET", f"/v1/grants?session={session}")
            assert grant["kind"] == "retry"
            named = {"name": operation if name == "the call" else name}
            (gone,) = service.told("operator", "POST", f"/v1/sessions/{session}/revoke", named)
            assert gone["id"] == grant["id"]
            assert service.post("host", "/v1/calls", call).json()["status"] == "pending", name


# Taken back


def _name(name: str, call: str) -> str:
    return call if name == "the call" else name


@each_row("name", [*NAMES, "the call"])
@each_row("answer", ["once", "task", "always"])
def test_a_free_retry_that_the_operator_revoked_by_name_never_runs(name: str, answer: str) -> None:
    with a_bank(ValueError("no")) as (bank, _):
        call = bank.fail_once(answer)
        ended = revoke_by_name(bank.gate.gate, bank.session.id, _name(name, call), by="ana")
        assert any("retry of failed bank.pay" in one.words for one in ended)
        if name == "the call" and answer != "once":
            return  # the wider consent is not what was named
        assert (bank.pay(), bank.runs) == ("timeout", 1)


@pytest.mark.parametrize("name", [*NAMES, "the call", "everything"])
def test_a_free_retry_that_the_user_revoked_never_runs_and_the_message_is_true(name: str) -> None:
    with a_bank(ValueError("no")) as (bank, _):
        call = bank.fail_once()
        heard = bank.session.hear(f"Revoke consent for: {_name(name, call)}")
        assert "retry of failed bank.pay" in heard.cleared
        assert not any("othing was revoked" in line for line in heard.announced)
        assert (bank.pay(), bank.runs, listed(bank)) == ("timeout", 1, [])


def test_a_free_retry_below_a_session_never_outlives_what_is_revoked_above() -> None:
    with a_gate(POLICY) as gate:
        above = gate.session(agent="above")
        below = gate.session(agent="below", parent=above.id)
        bank = Bank(gate, below, ValueError("no"))
        bank.fail_once()
        heard = above.hear("Revoke consent for: pay")
        assert any("retry of failed bank.pay" in line for line in heard.cleared)
        assert (bank.pay(), bank.runs) == ("timeout", 1)


@pytest.mark.parametrize(
    "end",
    [
        lambda bank: revoke_all(bank.gate.gate, bank.session.id, by="ana"),
        lambda bank: revoke_grant(
            bank.gate.gate, list_grants(bank.gate.gate, bank.session.id)[-1].id, by="ana"
        ),
        lambda bank: bank.session.hear("Revoke all consent"),
        lambda bank: bank.session.hear("Clear consent state"),
        lambda bank: bank.session.hear("That's wrong"),
        lambda bank: bank.session.hear("please don't pay anything"),
        lambda bank: bank.session.hear("done"),
        lambda bank: bank.session.hear("New task: write a poem"),
        lambda bank: (bank.session.hear("stop"), bank.session.hear("go on")),
        lambda bank: bank.session.end_task(),
        lambda bank: bank.session.begin_task("another"),
    ],
)
def test_no_free_retry_survives_what_ends_consent(end: Callable[[Bank], Any]) -> None:
    with a_bank(ValueError("no")) as (bank, _):
        bank.fail_once()
        end(bank)
        assert (listed(bank), bank.pay(), bank.runs) == ([], "timeout", 1)


@pytest.mark.parametrize("answer", ["always", "temporary"])
def test_no_free_retry_survives_the_grant_it_stems_from(answer: str) -> None:
    with a_bank(ValueError("no"), ValueError("no")) as (bank, _):
        bank.fail_once(answer)
        assert (bank.pay(), bank.runs) == ("error", 2)  # on the grant
        for one in list_grants(bank.gate.gate, bank.session.id):
            if one.kind == "operation":
                revoke_grant(bank.gate.gate, one.id, by="ana")
        assert (bank.pay(), bank.runs) == ("timeout", 2)


def test_no_free_retry_survives_the_allowlist_it_stems_from() -> None:
    shell = POLICY + "  - {tool: term, operation: bank.pay, command: args.command}\n"
    with a_gate(shell) as gate, a_service(gate) as service:
        session = service.opened("host")
        granting = {"text": "Grant standing consent for: pytest -q"}
        service.told("host", "POST", f"/v1/sessions/{session}/messages", granting)
        call = {"session": session, "tool": "term", "args": {"command": "pytest -q"}}
        ran = service.post("host", "/v1/calls", call).json()
        assert ran["rule"] == "allowlist"
        _say_failed(service, "host", ran)
        assert {one.kind for one in list_grants(gate.gate, session)} == {"command", "retry"}
        clear_allowlist(gate.gate, session, by="ana")
        assert list_grants(gate.gate, session) == []
        assert service.post("host", "/v1/calls", call).json()["status"] == "pending"


def _say_failed(service: Service, role: str, running: dict[str, Any]) -> None:
    ended = {"fence": running["fence"], "state": "failed"}
    service.told(role, "POST", f"/v1/calls/{running['operation_id']}/outcome", ended)


def _failed_over_http(service: Service, role: str, call: dict[str, Any]) -> str:
    asked = service.told(role, "POST", "/v1/calls", call)
    service.answer(asked["question"], "once")
    operation = str(asked["operation_id"])
    _say_failed(service, role, service.told(role, "POST", f"/v1/calls/{operation}/retry", {}))
    return operation


def test_a_call_that_fails_after_its_consent_was_revoked_is_never_retried_for_free() -> None:
    ends: list[Callable[[Sayso, str], Any]] = [
        lambda gate, session: gate.revoke("bank.pay", session=session, by="ana"),
        lambda gate, session: revoke_all(gate.gate, session, by="ana"),
    ]
    for end in ends:
        with a_gate(POLICY) as gate, a_service(gate) as service:
            session = service.opened("host")
            call = {"session": session, "tool": "pay", "args": {"x": 1}}
            asked = service.post("host", "/v1/calls", call).json()
            service.answer(asked["question"], "once")
            running = service.post("host", f"/v1/calls/{asked['operation_id']}/retry", {}).json()
            end(gate, session)
            _say_failed(service, "host", running)
            assert list_grants(gate.gate, session) == []
            assert service.post("host", "/v1/calls", call).json()["status"] == "pending"


# Its time


@pytest.mark.parametrize("days", [15 / (24 * 60), 0.5, 1.0, 30.0])
@pytest.mark.parametrize("answer", ["once", "task"])
def test_a_free_retry_never_lives_longer_than_fifteen_minutes(days: float, answer: str) -> None:
    with a_bank(ValueError("no")) as (bank, clock):
        bank.fail_once(answer)
        clock.now += days * 24 * 60 * MINUTES
        assert (listed(bank), bank.pay(), bank.runs) == ([], "timeout", 1)


def test_a_free_retry_never_outlives_the_approval_it_stems_from() -> None:
    with a_bank(ValueError("no"), ValueError("no")) as (bank, clock):
        asked = bank.session.run("pay", {"x": "1"}, wait=0)
        answer_last(bank.gate, bank.session.id, "once")
        clock.now += 14 * MINUTES
        assert bank.gate.retry(asked.operation_id or "", wait=0).status == "error"
        clock.now += 30
        assert (bank.pay(), bank.runs) == ("error", 2)
        clock.now += 30
        assert (bank.pay(), bank.runs) == ("timeout", 2)


def test_a_failing_retry_never_prolongs_the_time_of_the_next_one() -> None:
    with a_bank(*[ValueError("no")] * 4) as (bank, clock):
        bank.fail_once("task")
        clock.now += 14 * MINUTES
        assert (bank.pay(), bank.runs) == ("error", 2)
        clock.now += 2 * MINUTES
        assert (bank.pay(), bank.runs) == ("timeout", 2)


# Never in doubt


@pytest.mark.parametrize("doubt", [TimeoutError("t"), ConnectionError("c"), Ambiguous("?")])
@pytest.mark.parametrize("failures", [1, 2])
def test_a_run_whose_end_nobody_knows_is_never_followed_by_a_free_one(
    doubt: BaseException, failures: int
) -> None:
    with a_bank(*[ValueError("no")] * failures, doubt) as (bank, _):
        bank.fail_once()
        for _ in range(failures):
            assert bank.pay() == "error"
        assert (bank.pay(), bank.runs, listed(bank)) == ("timeout", failures + 1, [])


def test_an_unused_retry_never_survives_a_run_on_another_consent_whose_end_nobody_knows() -> None:
    with a_bank(ValueError("no"), TimeoutError("t")) as (bank, _):
        bank.fail_once()
        give_grant(bank.gate.gate, bank.session.id, by="ana", operation="bank.pay", uses=1)
        assert (bank.pay(), bank.runs) == ("error", 2)
        assert (bank.pay(), bank.runs, listed(bank)) == ("timeout", 2, [])


def test_two_identical_calls_never_run_at_once_on_free_retries() -> None:
    with a_bank(ValueError("no")) as (bank, _):
        call = bank.fail_once()
        gate = bank.gate.gate
        request = bank.gate.door.find_call(call, bank.session.id).record.request
        first = start_call(gate, request, holder="one")
        second = start_call(gate, request, holder="two")
        assert (first.runs, second.runs, second.state) == (True, False, "pending")


@pytest.mark.parametrize("said", ["failed", "late"])
def test_what_was_lost_is_never_retried_for_free_even_once_it_is_known_to_have_failed(said: str) -> None:
    with a_bank(ValueError("no")) as (bank, clock):
        call = bank.fail_once("task")
        gate = bank.gate.gate
        request = bank.gate.door.find_call(call, bank.session.id).record.request
        lost = start_call(gate, request, holder="one")
        assert lost.runs
        clock.now += 5 * MINUTES
        assert recover_calls(gate) == [lost.call]
        assert (listed(bank), bank.pay(), bank.runs) == ([], "timeout", 1)
        if said == "late":
            end_call(gate, lost.call, lost.fence, "failed")
        else:
            resolve_call(gate, lost.call, "failed", by="ana")
        assert (listed(bank), bank.pay(), bank.runs) == ([], "timeout", 1)


# Under a stricter policy


@pytest.mark.parametrize(
    "stricter",
    [
        POLICY.replace("{category: payments}", "{category: payments, always_ask: true}"),
        POLICY.replace("{category: payments}", "{category: payments, risk: high}"),
        POLICY.replace("[pay], blocked: []", "[], blocked: [pay]"),
        POLICY + "mode: paranoid\n",
        POLICY + "settings: {approval_lasts: 1m}\n",
    ],
)
def test_no_free_retry_serves_under_a_stricter_policy(stricter: str) -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    with Sayso(open_gate(load_text(POLICY), store, key=KEY), (Inbox(),)) as gate:
        bank = Bank(gate, gate.session(agent="a"), ValueError("no"))
        bank.fail_once()
        name = bank.session.id
        request = gate.door.find_call(next(one.id for one in _calls(gate)), name).record.request
        strict = open_gate(load_text(stricter), store, key=KEY)
        clock.now += 90
        assert not start_call(strict, request, holder="one").runs


def _calls(gate: Sayso) -> list[Any]:
    with gate.gate.store.read() as tx:
        return list(tx.calls(states=("failed",), limit=5))


def test_no_free_retry_serves_while_the_task_waits_to_be_confirmed() -> None:
    with a_bank(None, None, None, ValueError("no")) as (bank, _):
        asked = bank.session.run("pay", {"x": "1"}, wait=0)
        answer_last(bank.gate, bank.session.id, "task")
        assert bank.gate.retry(asked.operation_id or "", wait=0).status == "ok"
        for turn in range(2, 26):
            bank.session.hear("tell me more about it")
            if turn in (9, 18, 24):
                bank.pay()
        assert (bank.runs, listed(bank)) == (4, ["retry of failed bank.pay"])
        told = bank.session.hear("and more of that")
        assert any("till working" in line for line in told.announced)
        assert (bank.pay(), bank.runs) == ("timeout", 4)


def test_a_high_risk_call_and_one_that_only_the_agent_says_failed_have_no_free_retry() -> None:
    with a_gate(POLICY) as gate, a_service(gate) as service:
        call = {"tool": "pay", "args": {"x": 1}}
        _failed_over_http(service, "agent", call)
        assert list_grants(gate.gate) == []
        assert service.post("agent", "/v1/calls", call).json()["status"] == "pending"
    with a_bank(ValueError("no"), policy=POLICY.replace("payments}", "payments, risk: high}")) as (bank, _):
        bank.fail_once()
        assert (listed(bank), bank.pay(), bank.runs) == ([], "timeout", 1)


def test_a_name_that_means_nothing_still_revokes_nothing() -> None:
    with a_bank(ValueError("no")) as (bank, _):
        bank.fail_once()
        with pytest.raises(SaysoError):
            bank.gate.revoke("mail.send", session=bank.session, by="ana")
        assert (bank.pay(), bank.runs) == ("ok", 2)

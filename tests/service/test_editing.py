"""Edits over HTTP: told what can be edited, decided before they are allowed, never more than was shown."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sayso.core.model import Assurance
from sayso.gate.audit.read import export_audit
from sayso.gate.open import open_gate
from sayso.gate.sessions.messages import record_message
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.service.conftest import KEY
from tests.support.gates import Clock
from tests.support.service import Service

POLICY = """
sayso: 1
domains:
  bank: {trust_level: low, autonomous: [], requires_approval: [pay, pay_much], blocked: [pay_all]}
  git: {trust_level: medium, autonomous: [], requires_approval: [push], blocked: []}
operations:
  bank.pay_much: {risk: high}
tools:
  - {tool: pay, operation: bank.pay_all, when: args.amount > 1000}
  - {tool: pay, operation: bank.pay_much, when: args.amount > 100}
  - {tool: pay, operation: bank.pay}
  - {tool: push, operation: git.push, command: args.line}
"""
PAY = {"tool": "pay", "args": {"amount": 5, "payee": "ACME"}}


@pytest.fixture
def bank(runner: asyncio.Runner, clock: Clock) -> Service:
    gate = open_gate(load_text(POLICY), MemoryStore(clock=clock), key=KEY)
    return Service(gate, runner)


def told(service: Service, question: str) -> dict[str, Any]:
    found: dict[str, Any] = service.told("operator", "GET", f"/v1/questions/{question}")
    return found


def decided(service: Service, question: str, **edited: Any) -> dict[str, Any]:
    path = f"/v1/questions/{question}/edited"
    found: dict[str, Any] = service.told("operator", "POST", path, {"edited": edited})
    return found


def edit(service: Service, question: str, edited: dict[str, Any], **more: Any) -> Any:
    body = {"answer": "edit", "edited": edited, **more}
    return service.post("operator", f"/v1/questions/{question}/answer", body)


def test_an_edit_is_decided_before_it_is_allowed_and_nothing_comes_of_that(bank: Service) -> None:
    question = bank.asked(call=PAY)
    before = list(export_audit(bank.gate))
    found = decided(bank, question, amount=500, payee="ACME")
    assert (found["risk"], found["denied"], found["operations"]) == ("high", False, ["bank.pay_much"])
    assert found["arguments"] == {"amount": 500, "payee": "ACME"}
    assert found["digest"] != told(bank, question)["digest"]
    assert list(export_audit(bank.gate)) == before
    assert told(bank, question)["state"] == "open"


def test_what_the_policy_denies_is_told_as_denied_and_stays_denied(bank: Service) -> None:
    question = bank.asked(call=PAY)
    args = {"amount": 5_000, "payee": "ACME"}
    found = decided(bank, question, **args)
    assert found["denied"]
    seen = {"digest": told(bank, question)["digest"], "edited_digest": found["digest"]}
    assert edit(bank, question, args, **seen).json()["code"] == "edit_refused"
    assert told(bank, question)["state"] == "open"


def test_an_edit_that_raises_the_risk_is_not_allowed_by_somebody_who_was_not_shown_it(bank: Service) -> None:
    question = bank.asked(call=PAY)
    args = {"amount": 500, "payee": "ACME"}
    seen = {"digest": told(bank, question)["digest"]}
    other = decided(bank, question, amount=400, payee="ACME")["digest"]
    for unseen in ({}, seen, {**seen, "edited_digest": other}, {**seen, "edited_digest": seen["digest"]}):
        refused = edit(bank, question, args, **unseen)
        assert (refused.status_code, refused.json()["code"]) == (409, "not_seen")
    shown = decided(bank, question, **args)["digest"]
    assert edit(bank, question, args, **seen, edited_digest=shown).json()["yours"]


def test_an_edit_to_another_call_than_was_shown_is_refused_at_any_risk(bank: Service) -> None:
    question = bank.asked(call=PAY)
    shown = decided(bank, question, amount=6, payee="ACME")["digest"]
    refused = edit(bank, question, {"amount": 7, "payee": "ACME"}, edited_digest=shown)
    assert refused.json()["code"] == "not_seen"
    assert edit(bank, question, {"amount": 6, "payee": "ACME"}, edited_digest=shown).json()["yours"]


def test_both_digests_are_kept(bank: Service) -> None:
    question = bank.asked(call=PAY)
    asked = told(bank, question)["digest"]
    shown = decided(bank, question, amount=6, payee="ACME")["digest"]
    edit(bank, question, {"amount": 6, "payee": "ACME"})
    entries = [json.loads(line) for line in export_audit(bank.gate, "jsonl")]
    (details,) = [json.dumps(one) for one in entries if "ANSWERED" in json.dumps(one)]
    assert asked in details
    assert shown in details


def test_a_digest_of_an_edit_belongs_to_no_other_answer(bank: Service) -> None:
    question = bank.asked(call=PAY)
    body = {"answer": "once", "edited_digest": "0" * 64}
    assert bank.post("operator", f"/v1/questions/{question}/answer", body).status_code == 422


@pytest.mark.parametrize("who", ["agent", "host", "other_agent", None])
def test_nobody_but_an_operator_has_an_edit_decided(bank: Service, who: str | None) -> None:
    question = bank.asked(call=PAY)
    refused = bank.post(who, f"/v1/questions/{question}/edited", {"edited": {"amount": 6, "payee": "x"}})
    assert refused.status_code in (401, 403)


def test_the_service_says_which_arguments_can_be_edited(bank: Service) -> None:
    line = {"tool": "push", "args": {"line": "git push", "timeout": 3}, "command": "git push"}
    question = bank.asked(call=line)
    editing = told(bank, question)["editing"]
    assert editing == {"arguments": ["line", "timeout"], "same_kinds": False, "types": {}}
    assert decided(bank, question, line="git push -n", timeout=3)["command"] == "git push -n"
    own = bank.asked(call={**PAY, "schema": "pay(amount, payee)"})
    assert told(bank, own)["editing"]["same_kinds"]


def test_of_what_cannot_be_edited_the_service_says_so_and_decides_no_edit(bank: Service) -> None:
    session = bank.opened()
    states = bank.asked("host", {**PAY, "session": session, "state": "3 rows"})
    claim = record_message(bank.gate, session, "Grant standing consent for: git push", Assurance.CLAIMED)
    for question in (states, claim.question or ""):
        assert told(bank, question)["editing"] is None
        refused = bank.post("operator", f"/v1/questions/{question}/edited", {"edited": {"amount": 6}})
        assert (refused.status_code, refused.json()["code"]) == (409, "edit_refused")


def test_a_fraction_may_become_a_whole_number_in_the_call_of_a_function(bank: Service) -> None:
    call = {"tool": "pay", "args": {"amount": 2.5, "payee": "ACME"}, "schema": "pay(amount, payee)"}
    question = bank.asked(call=call)
    assert edit(bank, question, {"amount": True, "payee": "ACME"}).json()["code"] == "edit_refused"
    assert edit(bank, question, {"amount": 3, "payee": "ACME"}).json()["yours"]

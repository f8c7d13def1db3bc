"""What a declaration comes to is kept: for this declaration, this policy and this tool, and for no other."""

from __future__ import annotations

import pytest

from sayso.core.errors import MalformedRequest
from sayso.core.model import Declaration, Operation, Risk
from sayso.core.policy import Policy
from sayso.gate.deciding.request import READINGS_KEPT, make_call, read_request
from sayso.policy import load_text
from sayso.reading.call import read_call
from sayso.reading.path_operations import CallFolders

LISTS = "bank: {trust_level: low, autonomous: [], requires_approval: [pay, look], blocked: []}"
PAY = Declaration((Operation("bank.pay", risk=Risk.MODERATE, reason="it is money"),), "code")
LOOK = Declaration((Operation("bank.look"), Operation("bank.pay", weight=Risk.HIGH)), "code")


def policy_with(*tools: str) -> Policy:
    entries = "".join(f"  - {tool}\n" for tool in tools)
    return load_text(f"sayso: 1\ndomains:\n  {LISTS}\n" + (f"tools:\n{entries}" if entries else ""))


def operations(policy: Policy, declared: Declaration, tool: str = "act") -> tuple[Operation, ...]:
    return read_request(make_call(tool, {"amount": 4}), declared, policy).operations


@pytest.mark.parametrize("declared", [PAY, LOOK])
def test_what_is_kept_is_what_the_full_reading_finds(declared: Declaration) -> None:
    policy = policy_with()
    full = read_call("act", {"amount": 4}, policy, CallFolders("", "", "/home/ana"), declared).operations
    assert operations(policy, declared) == full
    assert operations(policy, declared) == full, "and again, once it is kept"


def test_another_policy_reads_the_same_declaration_anew() -> None:
    unknown, known = policy_with(), policy_with("{tool: act, operation: bank.look}")
    for _ in range(2):
        assert [one.name for one in operations(unknown, PAY)] == ["bank.pay"]
        assert [one.name for one in operations(known, PAY)] == ["bank.look", "bank.pay"]


def test_another_tool_with_the_same_declaration_is_read_by_its_own_entry() -> None:
    policy = policy_with("{tool: peek, operation: bank.look}")
    for _ in range(2):
        assert [one.name for one in operations(policy, PAY)] == ["bank.pay"]
        assert [one.name for one in operations(policy, PAY, "peek")] == ["bank.look", "bank.pay"]


def test_a_name_that_is_almost_a_listed_one_is_refused_each_time() -> None:
    policy = policy_with("{tool: peek, operation: bank.look}")
    for _ in range(2):
        assert operations(policy, PAY)
        with pytest.raises(MalformedRequest):
            operations(policy, PAY, "Peek")


def test_of_many_declarations_none_is_taken_for_another() -> None:
    policy = policy_with()
    for number in range(READINGS_KEPT * 2 + 1):
        name = f"bank.number{number}"
        assert [one.name for one in operations(policy, Declaration((Operation(name),), "code"))] == [name]

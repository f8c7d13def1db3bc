"""Ambiguous calls: their tools may say what became of them, and nothing but a clear word counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sayso.core.ledger import LEASE
from sayso.core.model import Request
from sayso.gate.gate import Gate
from sayso.gate.ledger.recovery import reconcile_calls, recover_calls, resolve_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.sessions.sessions import open_session
from tests.gate.calling import approved
from tests.support.gates import Clock


@pytest.fixture
def ambiguous(gate: Gate, session: str, clock: Clock) -> str:
    """A call whose holder died."""
    attempt = approved(gate, session)
    assert retry_call(gate, attempt.call, holder="dies").runs
    clock.now += LEASE
    assert recover_calls(gate) == [attempt.call]
    return attempt.call


def state(gate: Gate, call: str) -> str:
    return retry_call(gate, call, holder="next").state


@pytest.mark.parametrize("said", ["succeeded", "failed"])
def test_a_tool_that_can_tell_resolves_its_call(gate: Gate, session: str, ambiguous: str, said: str) -> None:
    asked: list[Request] = []

    def tell(request: Request) -> str:
        asked.append(request)
        return said

    assert reconcile_calls(gate, {"edit": tell}) == {ambiguous: said}
    assert [request.call.target for request in asked] == ["a.py"]
    assert state(gate, ambiguous) == said
    with gate.store.read() as tx:
        (entry,) = [row for row in tx.entries("main") if row.event == "RESOLVED"]
    details = msgspec.json.decode(entry.body or b"")["details"]
    assert (details["by"], details["state"]) == ("reconcile:edit", said)
    assert reconcile_calls(gate, {"edit": tell}) == {}
    assert len(asked) == 1


class AlwaysEqual:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("succeeded")


class Pretender(str):
    """Says of itself that it equals whatever it is compared with."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def broken(request: Request) -> str:
    raise RuntimeError("the bank does not answer")


NO_ANSWERS: dict[str, Callable[[Request], Any]] = {
    "none": lambda request: None,
    "yes": lambda request: True,
    "another state": lambda request: "running",
    "in other letters": lambda request: "Succeeded",
    "bytes": lambda request: b"succeeded",
    "equal to everything": lambda request: AlwaysEqual(),
    "text equal to everything": lambda request: Pretender("x"),
    "a list": lambda request: ["succeeded"],
    "an error": broken,
}


@pytest.mark.parametrize("said", NO_ANSWERS)
def test_whatever_is_no_clear_word_leaves_the_call_ambiguous(gate: Gate, ambiguous: str, said: str) -> None:
    assert reconcile_calls(gate, {"edit": NO_ANSWERS[said]}) == {}
    assert state(gate, ambiguous) == "ambiguous"


def test_one_that_fails_does_not_keep_the_others_from_telling(gate: Gate, ambiguous: str) -> None:
    asked: list[Request] = []

    def tell_of_the_second(request: Request) -> str:
        asked.append(request)
        return "failed" if len(asked) > 1 else broken(request)

    other = open_session(gate, agent="tester", owner="host")
    attempt = approved(gate, other)
    running = retry_call(gate, attempt.call, holder="dies")
    with gate.store.write() as tx:
        row = tx.call(attempt.call)
        assert row is not None
        tx.move_call(
            msgspec.structs.replace(row, lease_until=tx.now), states=("running",), fence=running.fence
        )
    recover_calls(gate)
    assert reconcile_calls(gate, {"edit": tell_of_the_second}) == {attempt.call: "failed"}


def test_a_tool_is_asked_only_about_its_own_calls_and_only_about_ambiguous_ones(
    gate: Gate, session: str, ambiguous: str
) -> None:
    assert reconcile_calls(gate, {"pay": lambda request: "succeeded"}) == {}
    approved(gate, session)
    resolve_call(gate, ambiguous, "failed", by="ana")
    assert reconcile_calls(gate, {"edit": lambda request: "succeeded"}) == {}
    assert state(gate, ambiguous) == "failed"


def test_what_the_operator_said_while_the_tool_was_asked_stands(gate: Gate, ambiguous: str) -> None:
    def slow(request: Request) -> str:
        resolve_call(gate, ambiguous, "failed", by="ana")
        return "succeeded"

    assert reconcile_calls(gate, {"edit": slow}) == {}
    assert state(gate, ambiguous) == "failed"


def test_of_a_call_changed_by_hand_no_tool_is_asked(gate: Gate, ambiguous: str) -> None:
    with gate.store.write() as tx:
        row = tx.call(ambiguous)
        assert row is not None
        tx.put_call(msgspec.structs.replace(row, body=row.body.replace(b"a.py", b"b.py")))
    assert reconcile_calls(gate, {"edit": lambda request: "succeeded"}) == {}
    with gate.store.read() as tx:
        after = tx.call(ambiguous)
    assert after is not None
    assert after.state == "ambiguous"
    resolve_call(gate, ambiguous, "failed", by="ana")
    with gate.store.read() as tx:
        assert "TAMPERED" in [entry.event for entry in tx.entries("main")]

"""Granting is a person's alone: nothing on the agent's side of the gate answers, grants or revives."""

from __future__ import annotations

import pytest

from sayso import Sayso
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired, ConsentTimeout, Result
from sayso.doors.python.host_call import Called
from sayso.doors.python.session import Session
from tests.support.people import Person, questions, sends

GRANTING = ("grant", "answer", "approve", "allow", "revoke", "resolve")


@pytest.mark.parametrize("kind", [Session, Called, Result, ConsentRequired, ConsentDenied, ConsentTimeout])
def test_nothing_an_agents_call_returns_or_raises_can_grant(kind: type) -> None:
    methods = [name for name in dir(kind) if callable(getattr(kind, name)) and not name.startswith("_")]
    assert [name for name in methods if any(word in name for word in GRANTING)] == []


def test_an_answer_or_a_grant_is_no_capability(gate: Sayso) -> None:
    sends(gate)
    result = gate.run("send", {"to": "ana"}, wait=0)
    (question,) = questions(gate, "open")
    for name in ("answer", "grant", "consent.grant_consent", "revoke", "retry"):
        assert gate.run(name, {"question": question.id, "answer": "once"}).status == "error"
    assert gate.retry(result.operation_id or "", wait=0).status == "timeout"


def test_a_grant_that_landed_is_seen_in_the_list_of_its_session(gate: Sayso, person: Person) -> None:
    sent = sends(gate)
    one, other = gate.session(), gate.session()
    person.says("always")
    assert one.run("send", {"to": "ana"}).ok
    (landed,) = [grant for grant in gate.list_consents(one) if grant.kind == "operation"]
    assert (landed.value, gate.list_consents(other)) == ("mail.send", [])
    assert one.run("send", {"to": "bob"}).ok
    assert gate.revoke(landed.id, by="ana") is None  # type: ignore[func-returns-value]
    assert gate.list_consents(one) == []
    assert one.run("send", {"to": "eve"}, wait=0).status == "timeout"
    assert sent == ["ana", "bob"]

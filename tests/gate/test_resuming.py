"""A stopped session goes on when the operator says so, and with nothing of what the stop cleared."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from sayso.core.model import Assurance
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate, TamperedSession, UnknownSession
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant, list_grants
from sayso.gate.sessions.sessions import close_session
from sayso.gate.sessions.stop import Resumed, ResumedAll, resume_all, resume_session, stop_all
from tests.gate.calling import approved, events
from tests.gate.test_stopping import opened, stopped
from tests.support.asking import edit


def rule_of(gate: Gate, session: str) -> str:
    return authorize(gate, edit(session)).decision.rule


def test_a_session_that_goes_on_is_decided_by_the_policy_again_and_its_grants_stay_gone(gate: Gate) -> None:
    session = opened(gate)
    give_grant(gate, session, by="ana", operation="files.edit")
    record_message(gate, session, "stop")
    assert rule_of(gate, session) == "stopped"
    assert resume_session(gate, session, by="ana") == Resumed(session)
    assert rule_of(gate, session) == "ask"
    assert list_grants(gate) == []


def test_an_approval_from_before_the_stop_stays_dead_when_the_session_goes_on(gate: Gate) -> None:
    session = opened(gate)
    approved(gate, session)
    record_message(gate, session, "stop")
    resume_session(gate, session, by="ana")
    assert rule_of(gate, session) == "ask"


def test_the_operator_lifts_a_stop_however_well_assured_and_it_is_recorded_and_signed(gate: Gate) -> None:
    session = opened(gate)
    record_message(gate, session, "stop", Assurance.ASSURED)
    resume_session(gate, session, by="ana")
    assert not stopped(gate, session)
    assert events(gate, session)[-1] == "GOES_ON"
    with gate.store.read() as tx:
        (last,) = [row for row in tx.entries(gate.stream, limit=1_000) if row.event == "GOES_ON"]
    assert json.loads(last.body or b"")["details"] == {"by": "ana"}
    verified = verify_audit(gate)
    assert verified.clean
    assert verified.reports[0].held_through == verified.reports[0].entries


def test_a_session_that_was_not_stopped_is_left_as_it_is(gate: Gate) -> None:
    session = opened(gate)
    before = events(gate, session)
    assert resume_session(gate, session, by="ana") == Resumed(session, already=True)
    assert events(gate, session) == before


def test_a_session_below_a_stopped_one_does_not_go_on_before_that_one(gate: Gate) -> None:
    parent = opened(gate)
    child = opened(gate, parent=parent)
    grandchild = opened(gate, parent=child)
    record_message(gate, parent, "stop")
    record_message(gate, grandchild, "stop")
    assert resume_session(gate, grandchild, by="ana") == Resumed(grandchild, held_by=parent)
    assert rule_of(gate, grandchild) == "stopped"
    resume_session(gate, parent, by="ana")
    assert rule_of(gate, grandchild) == "ask"


def test_a_stop_said_again_after_it_went_on_holds(gate: Gate) -> None:
    session = opened(gate)
    record_message(gate, session, "stop")
    resume_session(gate, session, by="ana")
    approved(gate, session)
    record_message(gate, session, "stop")
    assert rule_of(gate, session) == "stopped"


def test_all_that_was_stopped_goes_on_at_once_and_nothing_else_is_touched(gate: Gate) -> None:
    first, second = opened(gate), opened(gate)
    stop_all(gate, by="ana")
    working = opened(gate)
    give_grant(gate, working, by="ana", operation="files.edit")
    assert resume_all(gate, by="ana") == ResumedAll(2, 0, 0)
    assert not stopped(gate, first)
    assert not stopped(gate, second)
    assert len(list_grants(gate, working)) == 1
    assert resume_all(gate, by="ana") == ResumedAll(0, 0, 0)


def test_an_ended_or_unknown_session_does_not_go_on(gate: Gate) -> None:
    session = opened(gate)
    record_message(gate, session, "stop")
    close_session(gate, session)
    for name in (session, "s_none"):
        with pytest.raises(UnknownSession):
            resume_session(gate, name, by="ana")


def test_a_session_changed_by_hand_does_not_go_on(gate: Gate) -> None:
    session, other = opened(gate), opened(gate)
    stop_all(gate, by="ana")
    with gate.store.write() as tx:
        row = tx.session(session)
        assert row is not None
        tx.put_session(replace(row, agent="somebody else"))
    with pytest.raises(TamperedSession):
        resume_session(gate, session, by="ana")
    assert resume_all(gate, by="ana") == ResumedAll(1, 1, 0)
    assert not stopped(gate, other)

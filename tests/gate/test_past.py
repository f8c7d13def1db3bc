"""A decision of the past is told from what was recorded, and from nothing that came later."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.audit.entry import AuditError
from sayso.core.model import Operation, Verdict
from sayso.gate.audit.read import UnknownEntry
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.figures.recorded_decision import PastDecision, load_past_decision
from sayso.gate.figures.stories import StoryFilter, find_stories
from sayso.gate.gate import Gate
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.sessions.operator_grants import give_grant
from tests.gate.calling import answered
from tests.support.asking import edit


def last(gate: Gate, event: str) -> int:
    with gate.store.read() as tx:
        return max(row.seq for row in tx.entries("main") if row.event == event)


def past(gate: Gate, event: str) -> PastDecision:
    return load_past_decision(gate, last(gate, event))


def test_what_was_asked_is_told_with_each_operation_and_its_rule(gate: Gate, session: str) -> None:
    call = make_call("release", {"to": "main"})
    request = make_request(call, [Operation("files.edit"), Operation("git.push")], session=session)
    attempt = start_call(gate, request, holder="one")
    found = past(gate, "ASKED")
    assert [(one.operation, one.ruling.verdict) for one in found.items] == [
        ("files.edit", Verdict.ASK),
        ("git.push", Verdict.ASK),
    ]
    assert found.request == request
    assert found.call is not None
    assert (found.call.id, found.call.state) == (attempt.call, "pending")
    assert found.question is not None
    assert (found.question.id, found.grants) == (attempt.question, ())


def test_the_entry_of_a_decision_names_its_call(gate: Gate, session: str) -> None:
    attempt = start_call(gate, edit(session), holder="one")
    assert past(gate, "ASKED").said.details["call"] == attempt.call
    authorize(gate, edit(session, "b.py"))
    assert "call" not in past(gate, "ASKED").said.details


def test_after_an_answer_the_question_still_tells_how_it_was_asked(gate: Gate, session: str) -> None:
    attempt = start_call(gate, edit(session), holder="one")
    answered(gate, attempt)
    assert retry_call(gate, attempt.call, holder="one").runs
    asked, ran = past(gate, "ASKED"), past(gate, "DECIDED")
    assert [one.ruling.verdict for one in asked.items] == [Verdict.ASK]
    assert [one.ruling.rule for one in ran.items] == ["approved_call"]
    assert [one.words for one in ran.grants] == ["approval of files.edit"]
    assert asked.said.details["rule"] != ran.said.details["rule"]


def test_a_later_decision_of_the_same_call_is_not_passed_off_as_this_one(gate: Gate, session: str) -> None:
    attempt = start_call(gate, edit(session), holder="one")
    answered(gate, attempt)
    retry_call(gate, attempt.call, holder="one")
    found = past(gate, "ASKED")
    assert {one.ruling.rule for one in found.items} == {found.said.details["rule"]}


def test_a_grant_that_was_used_is_told_in_words(gate: Gate, session: str) -> None:
    given = give_grant(gate, session, operation="files.edit", by="ana")
    start_call(gate, edit(session), holder="one")
    found = past(gate, "DECIDED")
    assert [one.id for one in found.grants] == [given.id]
    assert "files.edit" in (found.grants[0].words or "")


def test_without_a_call_in_the_ledger_only_the_entry_speaks(gate: Gate, session: str) -> None:
    give_grant(gate, session, operation="files.edit", by="ana")
    authorize(gate, edit(session))
    found = past(gate, "DECIDED")
    assert (found.items, found.request, found.call) == ((), None, None)
    assert found.said.details["rule"] == "operation_grant"


def test_a_ledger_row_written_by_hand_tells_nothing(gate: Gate, session: str) -> None:
    give_grant(gate, session, operation="files.edit", by="ana")
    attempt = start_call(gate, edit(session), holder="one")
    with gate.store.write() as tx:
        row = tx.call(attempt.call)
        assert row is not None
        tx.put_call(
            msgspec.structs.replace(row, body=row.body.replace(b"operation_grant", b"operation_grand"))
        )
    found = past(gate, "DECIDED")
    assert (found.items, found.request) == ((), None)


def test_what_is_no_decision_or_is_not_there_is_refused(gate: Gate, session: str) -> None:
    start_call(gate, edit(session), holder="one")
    for seq in (0, last(gate, "SESSION_OPENED"), 10_000):
        with pytest.raises(UnknownEntry):
            load_past_decision(gate, seq)
    with pytest.raises(UnknownEntry):
        load_past_decision(gate, 1, stream="gone")
    with gate.store.write() as tx:
        tx.prune_entries("main", before=10_000)
    with pytest.raises(AuditError):
        past(gate, "ASKED")


def test_a_column_that_calls_another_entry_a_decision_makes_neither_a_decision_nor_a_story(
    gate: Gate, session: str
) -> None:
    with gate.store.write() as tx:
        opened = next(row for row in tx.entries("main") if row.event == "SESSION_OPENED")
        newest = tx.head("main")
        assert newest is not None
        tx.add_entry(msgspec.structs.replace(opened, seq=newest.seq + 1, event="DECIDED"))
    assert find_stories(gate, StoryFilter()).stories == ()
    with pytest.raises(UnknownEntry, match="not a decision"):
        past(gate, "DECIDED")

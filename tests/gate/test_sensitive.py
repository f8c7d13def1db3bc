"""What would have run stands beside the entries of calls that were stopped: shown, checked, erased."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.audit.commitments import RevealState
from sayso.core.audit.entry import AuditBody, read_body
from sayso.core.errors import NotCanonical
from sayso.core.model import Call, Operation, Request
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.audit.prune import erase_value, prune_audit
from sayso.gate.audit.read import load_entry_with_values
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.sessions.messages import record_task_start
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import SecretRow
from tests.support.answers import answer_question, edit_and_allow

PUSH = {"tool": "shell", "command": "git push", "arguments": {"token": "hunter2"}, "folder": "/src"}


def push(session: str, command: str = "git push") -> Request:
    call = make_call("shell", {"token": "hunter2"}, command=command, folder="/src")
    return make_request(call, [Operation("git.push")], session=session)


def body(gate: Gate, seq: int) -> AuditBody:
    with gate.store.read() as tx:
        (row,) = tx.entries("main", after=seq - 1, limit=1)
    assert row.body is not None
    return read_body(row.body)


def kept(gate: Gate, seq: int) -> list[SecretRow]:
    with gate.store.read() as tx:
        return list(tx.secrets("main", seq))


def newest(gate: Gate, event: str) -> int:
    with gate.store.read() as tx:
        return max(row.seq for row in tx.entries("main", limit=1_000) if row.event == event)


def shown(gate: Gate, seq: int) -> tuple[RevealState, Any]:
    value = load_entry_with_values(gate, seq).values["call"]
    return value.state, value.value


def findings(gate: Gate) -> list[tuple[int, str]]:
    return [(one.seq, one.kind.value) for report in verify_audit(gate).reports for one in report.findings]


def test_a_question_is_recorded_with_its_id_its_task_and_exactly_what_was_asked(
    gate: Gate, session: str
) -> None:
    record_task_start(gate, session, "release")
    done = authorize(gate, push(session))
    assert done.question is not None
    said = body(gate, done.entry)
    assert (said.event, said.details["question"], said.details["task"]) == (
        "ASKED",
        done.question.id,
        done.question.task,
    )
    assert shown(gate, done.entry) == (RevealState.KEPT, PUSH)
    assert not verify_audit(gate).found


def test_the_entry_itself_holds_none_of_it(gate: Gate, session: str) -> None:
    done = authorize(gate, push(session))
    with gate.store.read() as tx:
        written = b"".join(row.body or b"" for row in tx.entries("main", limit=100))
    assert b"hunter2" not in written
    assert b"git push" not in written
    assert body(gate, done.entry).commitments.keys() == {"call"}


def test_a_blocked_call_is_recorded_with_what_would_have_run(gate: Gate, session: str) -> None:
    answer = authorize(gate, push(session)).question
    assert answer is not None
    answer_question(gate, answer.id, "deny", by="ana")
    done = authorize(gate, push(session))
    assert body(gate, done.entry).event == "BLOCKED"
    assert shown(gate, done.entry) == (RevealState.KEPT, PUSH)


def test_an_edit_is_recorded_with_the_call_it_became(gate: Gate, session: str) -> None:
    question = authorize(gate, push(session)).question
    assert question is not None
    edit_and_allow(gate, question.id, push(session, "git push --dry-run"), by="ana")
    assert shown(gate, newest(gate, "ANSWERED")) == (
        RevealState.KEPT,
        PUSH | {"command": "git push --dry-run"},
    )


def test_a_plain_answer_and_an_allow_commit_to_nothing(gate: Gate, session: str) -> None:
    question = authorize(gate, push(session)).question
    assert question is not None
    answer_question(gate, question.id, "once", by="ana")
    done = authorize(gate, push(session))
    assert body(gate, done.entry).event == "DECIDED"
    for seq in (done.entry, newest(gate, "ANSWERED")):
        assert (body(gate, seq).commitments, kept(gate, seq)) == ({}, [])


def test_the_same_call_asked_twice_cannot_be_told_from_two_others(gate: Gate, session: str) -> None:
    first, second = (body(gate, authorize(gate, push(session)).entry) for _ in range(2))
    assert first.commitments != second.commitments


def test_it_can_be_forgotten_salt_and_all_and_the_trail_still_verifies(gate: Gate, session: str) -> None:
    seq = authorize(gate, push(session)).entry
    sign_audit(gate)
    erase_value(gate, seq, "call", by="ana")
    assert shown(gate, seq) == (RevealState.ERASED, None)
    assert kept(gate, seq) == []
    assert not verify_audit(gate).found


def test_pruning_forgets_it_too(gate: Gate, session: str) -> None:
    seq = authorize(gate, push(session)).entry
    open_session(gate, agent="later", owner="host")
    prune_audit(gate, seq + 1)
    assert kept(gate, seq) == []
    assert not verify_audit(gate).found


@pytest.mark.parametrize(
    "change",
    [
        {"value": b'{"arguments":{},"command":"git status","folder":"/src","tool":"shell"}'},
        {"salt": b"\0" * 32},
        {"salt": b""},
        {"value": b"not json"},
    ],
)
def test_a_value_that_was_changed_by_hand_is_found_and_never_shown(
    gate: Gate, session: str, change: dict[str, bytes]
) -> None:
    seq = authorize(gate, push(session)).entry
    (secret,) = kept(gate, seq)
    with gate.store.write() as tx:
        tx.erase_secret("main", seq, "call")
        tx.add_secret(msgspec.structs.replace(secret, **change))
    assert findings(gate) == [(seq, "edited")]
    assert shown(gate, seq) == (RevealState.FORGED, None)


def test_values_of_two_entries_exchanged_are_found(gate: Gate, session: str) -> None:
    seqs = [authorize(gate, push(session, command)).entry for command in ("git push", "git push -n")]
    (first,), (second,) = (kept(gate, seq) for seq in seqs)
    with gate.store.write() as tx:
        for own, other in ((first, second), (second, first)):
            tx.erase_secret("main", own.seq, "call")
            tx.add_secret(msgspec.structs.replace(other, seq=own.seq))
    assert findings(gate) == [(seqs[0], "edited"), (seqs[1], "edited")]


def test_a_value_taken_away_or_put_back_by_hand_is_found(gate: Gate, session: str) -> None:
    seq = authorize(gate, push(session)).entry
    (secret,) = kept(gate, seq)
    with gate.store.write() as tx:
        tx.erase_secret("main", seq, "call")
    assert findings(gate) == [(seq, "deleted")]
    with gate.store.write() as tx:
        tx.add_secret(secret)
    erase_value(gate, seq, "call")
    with gate.store.write() as tx:
        tx.add_secret(secret)
    assert findings(gate) == [(seq, "inserted")]


def test_a_call_that_cannot_be_written_down_is_not_asked(gate: Gate, session: str) -> None:
    sound = push(session)
    broken = msgspec.structs.replace(sound, call=Call("shell", b"{not json", command="git push"))
    with pytest.raises(NotCanonical):
        authorize(gate, broken)
    with gate.store.read() as tx:
        assert list(tx.questions(session)) == []
        assert "ASKED" not in [row.event for row in tx.entries("main", limit=100)]

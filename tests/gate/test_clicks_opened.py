"""What a person's click let run, and what a yes in the conversation was about, can be shown to an auditor."""

from __future__ import annotations

from sayso.core.audit.entry import read_body
from sayso.core.audit.opened_receipt import check_opened
from sayso.core.session import Scope
from sayso.gate.audit.opened_receipts import commits, discloses, prove_entry_opened
from sayso.gate.audit.prune import erase_value
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.sessions.messages import ask_in_conversation, record_message
from tests.gate.test_opened_receipts import TRUSTED, approved, numbers
from tests.gate.test_stats import command
from tests.gate.test_stopping import opened
from tests.support.asking import edit


def test_an_auditor_sees_what_a_click_at_high_risk_let_run(gate: Gate) -> None:
    session = opened(gate)
    wanted = command(session)
    done = authorize(gate, wanted, Scope(user_initiated="git.push"))
    assert done.decision.rule == "user_initiated"
    (proven,) = check_opened(prove_entry_opened(gate, done.entry), TRUSTED)
    assert proven.body.event == "USER_INITIATED_COVERED"
    assert proven.body.details["digest"] == wanted.digest
    assert proven.values["call"].value["command"] == wanted.call.command
    assert verify_audit(gate).clean


def test_a_yes_in_the_conversation_names_its_operation_and_its_call(gate: Gate) -> None:
    session = opened(gate)
    wanted = edit(session)
    question = authorize(gate, wanted).question
    assert question is not None
    ask_in_conversation(gate, question.id)
    record_message(gate, session, "yes")
    with gate.store.read() as tx:
        row = next(one for one in tx.entries("main", limit=1_000) if one.event == "ANSWERED")
    body = read_body(row.body or b"")
    assert body.operations == tuple(item.operation for item in question.items)
    assert body.details["digest"] == wanted.digest


def test_a_receipt_that_discloses_nothing_is_told_from_one_whose_call_was_erased(gate: Gate) -> None:
    session = opened(gate)
    seq = approved(gate, session)
    erase_value(gate, numbers(gate, "ASKED")[-1], "call", by="ana")
    erased = prove_entry_opened(gate, seq)
    assert (discloses(erased), commits(erased)) == (False, True)
    never = prove_entry_opened(gate, numbers(gate, "SESSION_OPENED")[0])
    assert (discloses(never), commits(never)) == (False, False)

"""An opened receipt shows an outside auditor what was approved, and nothing that was not."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.audit.checkpoint import BadCheckpoint
from sayso.core.audit.commitments import RevealState
from sayso.core.audit.opened_receipt import OpenedPart, OpenedReceipt, OpenedValue, ProvenEntry, check_opened
from sayso.gate.audit.checkpoints import prove_entry
from sayso.gate.audit.opened_receipts import prove_entry_opened
from sayso.gate.audit.prune import erase_value
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call
from sayso.gate.gate import Gate
from sayso.gate.rows.keys import make_key, make_verifier, public_key_of
from sayso.gate.sessions.messages import ask_in_conversation, record_message
from tests.gate.test_stopping import opened
from tests.support.answers import answer_question, edit_and_allow
from tests.support.asking import edit
from tests.support.gates import KEY

TRUSTED = (make_verifier(KEY.name, public_key_of(KEY)),)


def numbers(gate: Gate, event: str) -> list[int]:
    with gate.store.read() as tx:
        return [row.seq for row in tx.entries("main", limit=1_000) if row.event == event]


def approved(gate: Gate, session: str, target: str = "a.py") -> int:
    question = authorize(gate, edit(session, target)).question
    assert question is not None
    answer_question(gate, question.id, "once", by="ana")
    return numbers(gate, "ANSWERED")[-1]


def arguments(proven: ProvenEntry) -> object:
    return proven.values["call"].value["arguments"]


def test_an_auditor_sees_the_call_that_an_answer_approved(gate: Gate) -> None:
    session = opened(gate)
    approved(gate, session, "other.py")
    seq = approved(gate, session)
    answer, question = check_opened(prove_entry_opened(gate, seq), TRUSTED)
    assert (answer.body.event, question.body.event) == ("ANSWERED", "ASKED")
    assert answer.body.details["digest"] == question.body.details["digest"]
    assert arguments(question) == {"path": "a.py"}
    assert (answer.receipt.index + 1, answer.signed.origin) == (seq, question.signed.origin)


def test_a_plain_receipt_discloses_nothing(gate: Gate) -> None:
    seq = approved(gate, opened(gate), "secret-plan.py")
    question = numbers(gate, "ASKED")[-1]
    for proof in (prove_entry(gate, seq), prove_entry(gate, question)):
        assert b"secret-plan" not in proof


def test_the_run_of_an_approved_call_is_opened_by_the_question_that_led_to_it(gate: Gate) -> None:
    session = opened(gate)
    approved(gate, session)
    done = authorize(gate, edit(session))
    assert done.decision.rule == "approved_call"
    _, question = check_opened(prove_entry_opened(gate, done.entry), TRUSTED)
    assert arguments(question) == {"path": "a.py"}


def test_an_edited_call_is_opened_as_it_was_allowed(gate: Gate) -> None:
    session = opened(gate)
    question = authorize(gate, edit(session)).question
    assert question is not None
    edit_and_allow(gate, question.id, edit(session, "b.py"), by="ana")
    (answer,) = check_opened(prove_entry_opened(gate, numbers(gate, "ANSWERED")[-1]), TRUSTED)
    assert arguments(answer) == {"path": "b.py"}


def test_a_yes_in_the_conversation_is_opened_by_its_question(gate: Gate) -> None:
    session = opened(gate)
    question = authorize(gate, edit(session)).question
    assert question is not None
    ask_in_conversation(gate, question.id)
    record_message(gate, session, "yes")
    _, asked = check_opened(prove_entry_opened(gate, numbers(gate, "ANSWERED")[-1]), TRUSTED)
    assert arguments(asked) == {"path": "a.py"}


def test_what_was_erased_is_not_disclosed_and_said_so(gate: Gate) -> None:
    seq = approved(gate, opened(gate))
    erase_value(gate, numbers(gate, "ASKED")[-1], "call", by="ana")
    _, asked = check_opened(prove_entry_opened(gate, seq), TRUSTED)
    assert asked.values["call"].state is RevealState.ERASED


def parts_of(proof: bytes) -> list[OpenedPart]:
    return list(msgspec.json.decode(proof, type=OpenedReceipt).parts)


def bundle(parts: list[OpenedPart]) -> bytes:
    return msgspec.json.encode(OpenedReceipt("sayso/opened-receipt/1", tuple(parts)))


def test_a_value_that_was_not_committed_to_is_refused(gate: Gate) -> None:
    answer, asked = parts_of(prove_entry_opened(gate, approved(gate, opened(gate))))
    value = asked.values["call"]
    forged = make_call("edit", {"path": "harmless.txt"})
    lies = [
        {"call": OpenedValue(forged.arguments, value.salt)},
        {"call": OpenedValue(value.value.replace(b"a.py", b"b.py"), value.salt)},
        {"call": OpenedValue(value.value, bytes(32))},
        {"call": OpenedValue(value.value, b"")},
        {"call": value, "more": value},
        {"other": value},
    ]
    for values in lies:
        with pytest.raises(BadCheckpoint):
            check_opened(bundle([answer, OpenedPart(asked.receipt, values)]), TRUSTED)


def test_an_answer_is_not_opened_by_the_question_of_another_call(gate: Gate) -> None:
    session = opened(gate)
    first = parts_of(prove_entry_opened(gate, approved(gate, session)))
    second = parts_of(prove_entry_opened(gate, approved(gate, session, "b.py")))
    elsewhere = parts_of(prove_entry_opened(gate, approved(gate, opened(gate))))
    for other in (second, elsewhere):
        with pytest.raises(BadCheckpoint, match="same call"):
            check_opened(bundle([first[0], other[1]]), TRUSTED)


def test_what_nobody_trusted_signed_opens_nothing(gate: Gate) -> None:
    proof = prove_entry_opened(gate, approved(gate, opened(gate)))
    stranger = make_key("test")
    with pytest.raises(BadCheckpoint):
        check_opened(proof, (make_verifier("test", public_key_of(stranger)),))


@pytest.mark.parametrize(
    "text",
    [b"{}", b"{", b'{"form": "x", "parts": []}', b'{"form":"sayso/opened-receipt/1","parts":[]}', b"[1]"],
)
def test_what_is_no_opened_receipt_is_refused(text: bytes) -> None:
    with pytest.raises(BadCheckpoint):
        check_opened(text, TRUSTED)

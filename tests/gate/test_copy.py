"""A store that moves: all but the grants arrives, the trail goes on, and one place only is written to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from sayso import Sayso
from sayso.core.audit.checkpoint import open_checkpoint
from sayso.core.audit.entry import MAIN, AuditError
from sayso.core.audit.receipt import check_receipt
from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Verdict
from sayso.gate.audit.checkpoints import prove_entry, sign_audit
from sayso.gate.audit.read import load_newest_entries
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import TamperedSession
from sayso.gate.ledger.lease import keep_alive
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import recover_calls, resolve_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import audit_gate, open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.keys import make_key
from sayso.gate.rows.moves import StoreMoved, load_move_seal
from sayso.gate.sessions.handoff import ask_to_save_handoff, check_handoff_saved, list_loaded_commands
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import UnknownGrant, list_grants, revoke_all, revoke_grant
from sayso.gate.sessions.sessions import close_session
from sayso.gate.upkeep.copy import TargetNotEmpty, copy_store
from sayso.policy import load_preset
from sayso.store.contract import MetaRow, ReviewRow, StoreError
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.gate.copies import (
    HERE,
    LEASE,
    THERE,
    TRUSTED,
    Pair,
    consented,
    count,
    entries,
    session_on,
    verdict,
)
from tests.support.asking import asked, edit, push
from tests.support.gates import KEY, Clock, list_session_rows

# --- what arrives ---


def test_the_trail_arrives_whole_goes_on_and_keeps_its_old_proofs(pair: Pair) -> None:
    old = pair.old()
    session = consented(old)
    for number in range(600):
        record_message(old, session, f"number {number}")
    early, proof = sign_audit(old).encode(), prove_entry(old, 300)
    copied = pair.copy()
    before, after = entries(pair.source), entries(pair.target)
    assert after[: len(before)] == before
    assert [row.event for row in after[len(before) - 1 :]] == ["SEALED", "EPOCH"]
    assert copied.heads[MAIN] == before[-1]
    assert copied.rows["entry"] == len(before)
    new = pair.new()
    record_message(new, session, "and on")
    assert open_checkpoint(sign_audit(new).encode(), TRUSTED).size > len(before)
    verified = verify_audit(new, [early])
    assert verified.clean, verified.reports
    for one in (proof, prove_entry(new, 300)):
        check_receipt(one, TRUSTED, open_checkpoint(early, TRUSTED).origin)
    assert verify_audit(audit_gate(pair.source, KEY, pair.marks), [early]).clean


def test_every_stream_goes_on_in_the_copy(pair: Pair) -> None:
    old = replace(pair.old(), stream="worker-1")
    session = session_on(old)
    pair.copy()
    with pytest.raises(StoreMoved):
        close_session(old, session)
    with pytest.raises(StoreMoved):
        session_on(replace(old, stream="worker-2"))
    with pair.source.read() as tx:
        before = [*tx.every(MetaRow)]
    with pytest.raises(StoreMoved):
        sign_audit(old)
    with pair.source.read() as tx:
        assert [*tx.every(MetaRow)] == before  # no tree was grown either
    close_session(replace(pair.new(), stream="worker-1"), session)
    sign_audit(pair.new())
    verified = verify_audit(pair.new())
    assert verified.clean, verified.reports
    assert [report.stream for report in verified.reports] == [MAIN, "worker-1"]


def test_no_grant_moves_along_and_nothing_looks_tampered_with(pair: Pair) -> None:
    old = pair.old()
    session = consented(old)
    held = [one.id for one in list_grants(old)]
    assert len(held) == 2
    copied = pair.copy()
    new = pair.new()
    assert copied.epoch > 1
    assert (copied.findings, list_grants(new)) == ((), [])
    assert [verdict(new, request(session)) for request in (edit, push)] == [Verdict.ASK] * 2
    with pytest.raises(UnknownGrant, match="new epoch"):
        revoke_grant(new, held[0], by="ana")
    assert revoke_all(new, session, by="ana") == []
    assert "TAMPERED" not in [row.event for row in entries(pair.target)]


def test_what_a_message_or_a_failure_let_run_unasked_is_over_too(pair: Pair) -> None:
    old = pair.old()
    failed, ordered, slashed = consented(old), session_on(old), session_on(old)
    running = start_call(old, edit(failed), holder="one")
    end_call(old, running.call, running.fence, "failed")  # the identical call may be tried again
    record_message(old, ordered, "Run `git status`")
    record_message(old, slashed, "/commit")
    status = make_call("shell", {}, command="git status")
    unasked = {
        "task_grant": edit(failed),
        "safe": make_request(status, [Operation("git.status")], session=ordered),
        "slash_command": make_request(make_call("shell", {}), [Operation("git.commit")], session=slashed),
    }
    for rule, request in unasked.items():
        assert authorize(old, request).decision.rule == rule
    pair.copy()
    for request in unasked.values():
        assert verdict(pair.new(), request) is Verdict.ASK


def test_a_stop_and_a_denial_stay_in_force(pair: Pair) -> None:
    old = pair.old()
    stopped, denied = session_on(old), session_on(old)
    record_message(old, stopped, "stop")
    answer_question(old, asked(old, edit(denied)), "deny", by="ana")
    pair.copy()
    new = pair.new()
    assert authorize(new, edit(stopped)).decision.rule == "stopped"
    assert authorize(new, edit(denied)).decision.rule == "denied_call"


def test_an_open_question_is_answered_in_the_copy(pair: Pair) -> None:
    old = pair.old()
    session = session_on(old)
    attempt = start_call(old, edit(session), holder="one")
    assert attempt.question is not None
    pair.copy()
    new = pair.new()
    assert answer_question(new, attempt.question, "once", by="ana").yours
    assert retry_call(new, attempt.call, holder="two").runs


def test_an_approval_that_was_not_used_is_asked_for_again(pair: Pair) -> None:
    old = pair.old()
    attempt = start_call(old, edit(session_on(old)), holder="one")
    assert attempt.question is not None
    answer_question(old, attempt.question, "once", by="ana")
    pair.copy()
    assert not retry_call(pair.new(), attempt.call, holder="one").runs


def test_the_ledger_loses_no_call_that_runs_or_may_have_run(pair: Pair, clock: Clock) -> None:
    old = pair.old()
    session = consented(old)
    died = start_call(old, push(session), holder="dies", effect_key="invoice-7")
    clock.now += LEASE
    assert recover_calls(old) == [died.call]
    running = start_call(old, edit(session), holder="lives")
    pair.copy()
    with pytest.raises(StoreMoved):
        keep_alive(old, running.call, running.fence)
    new = pair.new()
    assert retry_call(new, died.call, holder="next").state == "ambiguous"
    with pytest.raises(SaysoError, match="nobody knows"):
        start_call(new, push(session), holder="next", effect_key="invoice-7")
    resolve_call(new, died.call, "failed", by="ana")
    end_call(new, running.call, running.fence, "succeeded")


def test_reviews_hold_and_a_saved_hand_off_does_not(pair: Pair) -> None:
    old = pair.old()
    with pair.source.write() as tx:
        tx.put_review(old.sealer.review("email", tx.now, "ana"))
    session = consented(old)
    ask_to_save_handoff(old, session)
    record_message(old, session, "yes")
    check_handoff_saved(old, session)
    pair.copy()
    new = pair.new()
    with pair.target.read() as tx:
        assert "email" in new.sealer.reviews(tx.reviews())
    assert list_loaded_commands(new, session_on(new)) == ()


def test_sessions_that_ended_stay_ended(pair: Pair) -> None:
    old = pair.old()
    ended, open_one = session_on(old), session_on(old)
    close_session(old, ended)
    pair.copy()
    new = pair.new()
    assert [row.id for row in list_session_rows(new)] == [open_one]
    with pytest.raises(SaysoError, match="no such session"):
        authorize(new, edit(ended))


# --- the two places ---


def test_the_source_refuses_every_write_says_where_it_went_and_can_be_read(pair: Pair) -> None:
    old = pair.old()
    session = consented(old)
    question = asked(old, edit(session_on(old)))
    pair.copy()
    rows = count(pair.source)
    acts: list[Callable[[], object]] = [
        lambda: session_on(old),
        lambda: authorize(old, edit(session)),
        lambda: answer_question(old, question, "once", by="ana"),
        lambda: record_message(old, session, "go ahead"),
        lambda: sign_audit(old),
        lambda: close_session(old, session),
        pair.old,
        pair.copy,
        pair.unseal,
    ]
    for act in acts:
        with pytest.raises(StoreMoved, match=THERE):
            act()
    assert count(pair.source) == rows
    assert load_newest_entries(old, 1)[0].event == "SEALED"
    assert session in [row.id for row in list_session_rows(old)]
    assert verify_audit(audit_gate(pair.source, KEY, pair.marks)).clean


def test_an_embedded_gate_that_was_open_meanwhile_can_still_be_closed(pair: Pair) -> None:
    with Sayso(pair.old()) as gate:
        gate.open_session("tester")
        pair.copy()


def test_each_place_has_its_own_mark_and_a_source_with_its_end_cut_off_shows(pair: Pair) -> None:
    session = consented(pair.old())
    pair.copy()
    assert len(list(pair.marks.glob("*.mark"))) == 2
    assert pair.new().sealer.epoch == pair.new().sealer.epoch != 1  # it holds its mark: no other epoch begins
    assert verdict(pair.new(), edit(session)) is Verdict.ASK


@pytest.mark.parametrize("fact", ["name", "mark"])
def test_a_mark_is_never_kept_outside_its_folder(pair: Pair, fact: str) -> None:
    pair.old()
    with pair.source.write() as tx:
        tx.set_meta(fact, "../elsewhere")
    with pytest.raises(StoreError, match="changed outside Sayso"):
        pair.old()


def test_a_copy_can_be_copied_on(pair: Pair, clock: Clock) -> None:
    session = consented(pair.old())
    epoch = pair.copy().epoch
    third = MemoryStore(clock=clock)
    copy_store(pair.target, third, KEY, came_from=THERE, to="a third place", marks=pair.marks)
    with pytest.raises(StoreMoved, match="a third place"):
        pair.new()
    gate = open_gate(load_preset("chat"), third, key=KEY, marks=pair.marks)
    assert gate.sealer.epoch > epoch
    assert verdict(gate, edit(session)) is Verdict.ASK
    assert verify_audit(gate).clean


# --- what is refused, and what is told ---


def test_a_target_that_is_not_empty_is_refused_and_the_source_goes_on(pair: Pair) -> None:
    old = pair.old()
    open_gate(load_preset("chat"), pair.target, key=KEY)
    rows = count(pair.target)
    with pytest.raises(TargetNotEmpty):
        pair.copy()
    session_on(old)
    assert count(pair.target) == rows


def test_a_store_is_not_copied_onto_itself(pair: Pair) -> None:
    old = pair.old()
    with pytest.raises(TargetNotEmpty):
        copy_store(pair.source, pair.source, KEY, came_from=HERE, to=HERE)
    session_on(old)


def test_an_empty_source_is_refused(pair: Pair) -> None:
    with pytest.raises(StoreError, match="ever written"):
        pair.copy()


def test_a_broken_trail_is_told_before_anything_is_sealed(pair: Pair) -> None:
    old = pair.old()
    session_on(old)
    sign_audit(old)
    session_on(old)
    with pair.source.write() as tx:
        head = tx.head(MAIN)
        assert head is not None
        tx.put_rows([replace(head, seq=head.seq + 1)])
    with pytest.raises(AuditError):
        pair.copy()
    with pair.source.read() as tx:
        assert load_move_seal(tx) is None
    assert count(pair.target) == 0


def test_another_key_than_the_one_that_signed_is_refused(pair: Pair) -> None:
    sign_audit(pair.old())
    with pytest.raises(AuditError):
        copy_store(pair.source, pair.target, make_key("other"), came_from=HERE, to=THERE)
    with pair.source.read() as tx:
        assert load_move_seal(tx) is None


def test_a_store_whose_mark_is_lost_is_not_taken_for_the_newest(pair: Pair) -> None:
    session_on(pair.old())
    for mark in pair.marks.glob("*.mark"):
        mark.unlink()
    with pytest.raises(StoreError, match="no mark"):
        pair.copy()
    pair.old()
    assert pair.copy().epoch > 2


def test_rows_changed_by_hand_are_told_and_believed_no_more_than_before(pair: Pair) -> None:
    old = pair.old()
    good, bad = consented(old), consented(old)
    question = asked(old, edit(session_on(old)))
    with pair.source.write() as tx:
        row = tx.session(bad)
        assert row is not None
        tx.put_session(replace(row, workspace="elsewhere"))
        grant = tx.grants(good)[0]
        tx.put_rows([replace(grant, id="forged")])
        tx.put_review(ReviewRow("email", tx.now, "ana", b"forged"))
    copied = pair.copy()
    assert {finding.partition(" was ")[0] for finding in copied.findings} == {
        f"session {bad}",
        "grant forged",
        "the review of email",
    }
    new = pair.new()
    with pytest.raises(TamperedSession):
        authorize(new, edit(bad))
    told = [row for row in entries(pair.target) if row.event == "TAMPERED"]
    assert len(told) == 2  # one of the copy, one of the call just now
    assert b"grant forged" in (told[0].body or b"")
    assert list_grants(new) == []
    assert answer_question(new, question, "once", by="ana").yours


def test_a_copy_in_a_file_leaves_the_file_readable_by_others(tmp_path: Path, clock: Clock) -> None:
    """While rows are read the source is not locked: who asks it is told where it goes, at once."""
    source = SqliteStore(tmp_path / "old.db", clock=clock, busy=0.1)
    pair = Pair(source, MemoryStore(clock=clock), tmp_path / "marks")
    old = pair.old()
    seen: list[str] = []

    def asking(doing: str, done: int) -> None:
        if doing == "Copying":
            with sqlite3.connect(tmp_path / "old.db") as connection:
                seen.extend(
                    row[0] for row in connection.execute("SELECT value FROM meta WHERE name='sealed'")
                )
            connection.close()

    pair.copy(asking)
    assert THERE in seen[0]
    with pytest.raises(StoreMoved):
        session_on(old)
    source.close()

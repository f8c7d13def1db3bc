"""The audit trail in use: signed, proven, read, joined, pruned and erased, on every embedded store."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import msgspec
import pytest
from pymerkle import InmemoryTree  # type: ignore[import-untyped]

from sayso.core.audit.anchors import FindingKind
from sayso.core.audit.bulk import read_raw_body
from sayso.core.audit.checkpoint import open_checkpoint, sign_checkpoint
from sayso.core.audit.commitments import RevealState
from sayso.core.audit.entry import (
    MAIN,
    AuditEntry,
    AuditError,
    ChainHead,
    genesis,
    leaf_content,
)
from sayso.core.audit.receipt import check_receipt, parse_receipt
from sayso.core.audit.verify import verify_rows
from sayso.gate.audit.checkpoints import prove_entry, sign_audit
from sayso.gate.audit.prune import erase_value, prune_audit
from sayso.gate.audit.read import UnknownEntry, export_audit, load_entry_with_values, load_newest_entries
from sayso.gate.audit.verifying.check_checkpoints import CHECKPOINT_PAGE
from sayso.gate.audit.verifying.stream_walk import StreamWalk
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import make_key, make_signer, make_verifier, public_key_of
from sayso.store.contract import EntryRow, SecretRow
from tests.support.audit_trails import append_entry, commit_values, parse_json_line
from tests.support.forging import forged_event
from tests.support.gates import KEY, Clock

TRUSTED = (make_verifier(KEY.name, public_key_of(KEY)),)


def happen(gate: Gate, times: int, stream: str = MAIN) -> None:
    with gate.store.write() as tx:
        for number in range(times):
            record(tx, forged_event("DECIDED", number=number), session="s_1", stream=stream)


def commit_to(gate: Gate, **values: object) -> int:
    """An entry whose sensitive values lie beside it."""
    with gate.store.write() as tx:
        last = tx.head(MAIN)
        head = genesis() if last is None else ChainHead(last.seq, last.hash)
        commitments, kept = commit_values(values, lambda: os.urandom(32))
        entry = AuditEntry(head.seq + 1, tx.now, "DECIDED", commitments=commitments)
        body, after = append_entry(head, entry)
        tx.add_entry(EntryRow(MAIN, after.seq, tx.now, "DECIDED", "", body, head.hash, after.hash))
        for one in kept:
            tx.add_secret(SecretRow(MAIN, after.seq, one.name, one.salt, one.value))
    return after.seq


def events(gate: Gate) -> list[str]:
    return [row.event for row in load_newest_entries(gate, 100_000)]


def kinds(gate: Gate, *outside: bytes) -> set[FindingKind]:
    return {finding.kind for report in verify_audit(gate, outside).reports for finding in report.findings}


def test_a_checkpoint_signs_every_entry_written_so_far(gate: Gate) -> None:
    happen(gate, 700)
    signed = open_checkpoint(sign_audit(gate).encode(), TRUSTED)
    leaves = InmemoryTree(algorithm="sha256")
    with gate.store.read() as tx:
        rows = tx.entries(MAIN, limit=10_000)
    for row in rows:
        leaves.append_entry(leaf_content(row.prev, row.body or b""))
    assert (signed.size, signed.root) == (len(rows), leaves.get_root())


def test_without_news_the_last_checkpoint_is_given_again(gate: Gate) -> None:
    first = sign_audit(gate)
    assert sign_audit(gate) == first
    happen(gate, 1)
    assert sign_audit(gate) != first
    with gate.store.read() as tx:
        assert len(tx.checkpoints(limit=10)) == 2


def test_a_tree_grown_in_many_pages_is_the_tree_of_one_go(gate: Gate) -> None:
    happen(gate, 4_500)
    sign_audit(gate)
    happen(gate, 300)
    sign_audit(gate)
    verified = verify_audit(gate)
    assert verified.clean, verified.reports
    assert verified.reports[0].held_through == verified.reports[0].entries == 4_801


def test_an_old_checkpoint_kept_outside_still_holds_later(gate: Gate) -> None:
    happen(gate, 10)
    old = sign_audit(gate).encode()
    happen(gate, 600)
    sign_audit(gate)
    verified = verify_audit(gate, [old])
    assert verified.clean
    assert verified.reports[0].marks == 4  # two stored, one outside, the sealed end


def test_a_checkpoint_that_another_key_signed_proves_nothing(gate: Gate) -> None:
    happen(gate, 10)
    signed = sign_audit(gate)
    false = sign_checkpoint(open_checkpoint(signed.encode(), TRUSTED), [make_signer(make_key(KEY.name))])
    assert kinds(gate, signed.encode()) == set()
    assert kinds(gate, false) == {FindingKind.SIGNATURE}


def test_what_is_broken_is_not_signed(gate: Gate) -> None:
    sign_audit(gate)
    with gate.store.write() as tx:
        last = tx.head(MAIN)
        assert last is not None
        tx.add_entry(EntryRow(MAIN, last.seq + 1, 1.0, "DECIDED", "", b"{}", last.hash, b"x" * 32))
    with pytest.raises(AuditError, match="not signed"):
        sign_audit(gate)
    assert FindingKind.EDITED in kinds(gate)


def test_the_tree_is_not_grown_from_an_end_put_there_by_hand(gate: Gate) -> None:
    happen(gate, 300)
    sign_audit(gate)
    with gate.store.write() as tx:
        tx.set_meta("tree/main", "00" * 32 + ' {"size":1,"peaks":["AAAA"],"head":"AAAA","joined":{}}')
    assert FindingKind.SIGNATURE in kinds(gate)
    happen(gate, 1)
    sign_audit(gate)
    assert "TAMPERED" in events(gate)
    assert verify_audit(gate).clean


def test_a_lost_end_of_the_tree_is_found_and_grown_anew(gate: Gate) -> None:
    happen(gate, 600)
    with gate.store.read() as tx:
        assert tx.meta("tree/main") is None
    sign_audit(gate)
    with gate.store.write() as tx:
        tx.set_meta("tree/main", "")
    assert not verify_audit(gate).clean
    happen(gate, 1)
    sign_audit(gate)
    assert verify_audit(gate).clean


@pytest.mark.parametrize("seq", [1, 2, 255, 256, 257, 700, 701])
def test_a_receipt_proves_its_entry_offline(gate: Gate, seq: int) -> None:
    happen(gate, 700)
    proof = prove_entry(gate, seq)
    signed = parse_receipt(proof).checkpoint
    receipt, under = check_receipt(proof, TRUSTED, open_checkpoint(signed, TRUSTED).origin)
    body = load_entry_with_values(gate, seq).row.body
    assert body is not None
    assert receipt.content.endswith(body)
    assert (receipt.index, under.size) == (seq - 1, 701)


def test_proving_an_entry_that_a_checkpoint_covers_signs_nothing_new(gate: Gate) -> None:
    sign_audit(gate)
    happen(gate, 5)
    prove_entry(gate, 1)
    with gate.store.read() as tx:
        assert len(tx.checkpoints(limit=10)) == 1


@pytest.mark.parametrize("seq", [-1, 0, 2, 2**80])
def test_what_is_not_there_is_neither_proven_nor_shown(gate: Gate, seq: int) -> None:
    for use in (prove_entry, load_entry_with_values):
        with pytest.raises(UnknownEntry):
            use(gate, seq)


def test_streams_are_joined_in_main_and_verified_with_it(gate: Gate) -> None:
    happen(gate, 300, "worker-1")
    happen(gate, 2, "worker-2")
    sign_audit(gate)
    assert events(gate).count("JOINED") == 1
    sign_audit(gate)
    assert events(gate).count("JOINED") == 1
    happen(gate, 1, "worker-2")
    sign_audit(gate)
    assert events(gate).count("JOINED") == 2
    verified = verify_audit(gate)
    assert verified.clean, verified.reports
    assert [(one.stream, one.held_through) for one in verified.reports] == [
        (MAIN, 3),
        ("worker-1", 300),
        ("worker-2", 3),
    ]


def test_a_gate_on_a_stream_of_its_own_signs_main_too(gate: Gate) -> None:
    worker = msgspec.structs.replace(gate, stream="worker-1")
    happen(worker, 3, "worker-1")
    assert open_checkpoint(sign_audit(worker).encode(), TRUSTED).size == 2
    assert verify_audit(gate).clean


def test_tail_gives_the_newest_oldest_first(gate: Gate) -> None:
    happen(gate, 9)
    assert [row.seq for row in load_newest_entries(gate, 3)] == [8, 9, 10]
    assert [row.seq for row in load_newest_entries(gate, 100)] == list(range(1, 11))
    assert load_newest_entries(gate, 3, stream="nobody") == []


def test_an_export_verifies_on_its_own(gate: Gate) -> None:
    happen(gate, 1_500)
    rows = [parse_json_line(line.encode())[1] for line in export_audit(gate, "jsonl")]
    assert verify_rows(rows).clean
    assert verify_rows(rows).entries == 1_501


def test_an_export_in_text_has_a_line_for_each_entry_of_each_stream(gate: Gate) -> None:
    happen(gate, 1)
    happen(gate, 1, "aside")
    lines = list(export_audit(gate, "text"))
    assert [line.split(" | ")[1] for line in lines] == ["POLICY", "DECIDED", "DECIDED"]
    assert lines[1] == "2027-01-15T08:00:00Z | DECIDED | - | session=s_1 number=0"
    assert list(export_audit(gate, "text", stream="aside")) == lines[2:]


def test_pruning_drops_bodies_and_the_trail_still_verifies(gate: Gate) -> None:
    happen(gate, 600)
    pruned = prune_audit(gate, 500, by="ana")
    assert (pruned.through, pruned.bodies) == ({MAIN: 499}, 499)
    assert load_entry_with_values(gate, 499).body is None
    assert load_entry_with_values(gate, 500).body is not None
    told = load_entry_with_values(gate, 602).body
    assert told is not None
    assert (told.event, told.details) == ("PRUNED", {"through": 499, "by": "ana"})
    verified = verify_audit(gate)
    assert verified.clean, verified.reports
    assert verified.reports[0].held_through == 602
    assert len(list(export_audit(gate, "text"))) == len(list(export_audit(gate, "jsonl"))) == 602
    with pytest.raises(AuditError, match="pruned"):
        prove_entry(gate, 3)
    prove_entry(gate, 550)


def test_pruning_by_time_reaches_every_stream_up_to_that_time(gate: Gate, clock: Clock) -> None:
    happen(gate, 3)
    happen(gate, 4, "worker-1")
    clock.now += 100
    happen(gate, 3)
    pruned = prune_audit(gate, datetime.fromtimestamp(clock.now, UTC))
    assert (pruned.through, pruned.bodies) == ({MAIN: 4, "worker-1": 4}, 8)
    assert verify_audit(gate).clean


def test_pruning_again_has_nothing_to_drop_and_writes_nothing(gate: Gate) -> None:
    happen(gate, 20)
    prune_audit(gate, 10)
    before = len(events(gate))
    assert prune_audit(gate, 10).bodies == 0
    assert prune_audit(gate, 1).through == {}
    assert len(events(gate)) == before


def test_a_number_beyond_the_newest_entry_prunes_nothing(gate: Gate) -> None:
    happen(gate, 5)
    for wrong in (7, 20_261_101, 0, -1):
        with pytest.raises(UnknownEntry):
            prune_audit(gate, wrong)
    assert all(row.body is not None for row in load_newest_entries(gate, 100))


def test_a_joined_stream_stays_anchored_when_main_is_pruned(gate: Gate) -> None:
    happen(gate, 4, "worker-1")
    sign_audit(gate)
    happen(gate, 3)
    prune_audit(gate, 5)
    reports = verify_audit(gate).reports
    assert [(one.stream, one.held_through, one.clean) for one in reports][1] == ("worker-1", 4, True)
    assert "JOINED" in [row.event for row in load_newest_entries(gate, 3) if row.body is not None]


def test_pruning_takes_the_values_beside_the_entries_with_it(gate: Gate) -> None:
    seq = commit_to(gate, command="rm secret")
    happen(gate, 2)
    prune_audit(gate, seq + 1)
    with gate.store.read() as tx:
        assert tx.secrets(MAIN, seq) == []
    assert verify_audit(gate).clean


def test_an_erased_value_is_gone_and_the_trail_still_verifies(gate: Gate) -> None:
    seq = commit_to(gate, command="curl -u me:pass", note="x")
    assert load_entry_with_values(gate, seq).values["command"].value == "curl -u me:pass"
    assert verify_audit(gate).clean
    erase_value(gate, seq, "command", by="ana")
    shown = load_entry_with_values(gate, seq).values
    assert (shown["command"].state, shown["note"].state) == (RevealState.ERASED, RevealState.KEPT)
    assert "ERASED" in events(gate)
    assert verify_audit(gate).clean


def test_only_what_is_kept_can_be_erased(gate: Gate) -> None:
    seq = commit_to(gate, command="x")
    erase_value(gate, seq, "command")
    count = len(events(gate))
    for wrong in ((seq, "command"), (seq, "other"), (1, "command"), (99, "command")):
        with pytest.raises(UnknownEntry):
            erase_value(gate, *wrong)
    assert len(events(gate)) == count


def test_a_value_taken_away_without_an_entry_is_found(gate: Gate) -> None:
    seq = commit_to(gate, command="x")
    with gate.store.write() as tx:
        tx.erase_secret(MAIN, seq, "command")
    assert kinds(gate) == {FindingKind.DELETED}


def test_a_value_that_was_exchanged_is_found_and_not_shown(gate: Gate) -> None:
    seq = commit_to(gate, command="x")
    with gate.store.write() as tx:
        tx.erase_secret(MAIN, seq, "command")
        tx.add_secret(SecretRow(MAIN, seq, "command", b"s" * 32, b'"y"'))
    assert kinds(gate) == {FindingKind.EDITED}
    assert load_entry_with_values(gate, seq).values["command"].state is RevealState.FORGED


def test_an_erased_value_that_is_back_is_found(gate: Gate) -> None:
    seq = commit_to(gate, command="x")
    with gate.store.read() as tx:
        (kept,) = tx.secrets(MAIN, seq)
    erase_value(gate, seq, "command")
    with gate.store.write() as tx:
        tx.add_secret(kept)
    assert kinds(gate) == {FindingKind.INSERTED}


@pytest.mark.each_store
@pytest.mark.parametrize("place", [(MAIN, 0, "note"), (MAIN, 1, "command"), ("elsewhere", 0, "command")])
def test_a_value_that_no_entry_speaks_of_is_found(gate: Gate, place: tuple[str, int, str]) -> None:
    stream, further, name = place
    seq = commit_to(gate, command="x")
    happen(gate, 2)
    with gate.store.write() as tx:
        tx.add_secret(SecretRow(stream, seq + further, name, b"s" * 32, b'"y"'))
    assert kinds(gate) == {FindingKind.INSERTED}


def test_a_value_put_back_beside_a_pruned_entry_is_found(gate: Gate) -> None:
    seq = commit_to(gate, command="rm secret")
    with gate.store.read() as tx:
        (kept,) = tx.secrets(MAIN, seq)
    happen(gate, 2)
    prune_audit(gate, seq + 1)
    with gate.store.write() as tx:
        tx.add_secret(kept)
    assert kinds(gate) == {FindingKind.INSERTED}


def test_bodies_dropped_without_an_entry_are_found(gate: Gate) -> None:
    happen(gate, 10)
    with gate.store.write() as tx:
        tx.prune_entries(MAIN, before=5)
    assert kinds(gate) == {FindingKind.BODY_MISSING}


def test_verifying_tells_how_far_it_is(gate: Gate) -> None:
    happen(gate, 2_500)
    told: list[tuple[str, int]] = []
    verify_audit(gate, progress=lambda stream, entries: told.append((stream, entries)))
    assert told == [(MAIN, 1_000), (MAIN, 2_000), (MAIN, 2_501)]


def test_verifying_names_each_part_before_it_begins(gate: Gate) -> None:
    happen(gate, 1_500)
    told: list[object] = []
    verify_audit(gate, begin=told.append, progress=lambda stream, entries: told.append(entries))
    rows, trail, figures = (
        "Verifying calls, grants and sessions",
        "Verifying the trail",
        "Verifying the figures",
    )
    assert told == [rows, trail, 1_000, 1_501, figures]


def test_entries_written_while_verifying_are_no_fault(gate: Gate) -> None:
    happen(gate, 2_500)
    sign_audit(gate)

    def meanwhile(stream: str, entries: int) -> None:
        if entries == 1_000:
            happen(gate, 600)
            prune_audit(gate, 2_000)

    verified = verify_audit(gate, progress=meanwhile)
    assert verified.clean, verified.reports
    assert verified.reports[0].pruned_through == 1_999


def test_values_that_are_pruned_or_erased_while_verifying_are_no_fault(gate: Gate) -> None:
    pruned, erased = commit_to(gate, note="x"), commit_to(gate, note="y")
    walk = StreamWalk(gate, MAIN)
    runs = walk.runs()
    read = next(runs)
    prune_audit(gate, erased)
    erase_value(gate, erased, "note")
    assert pruned < erased
    for run in (read, *runs):
        walk.check_run(run, [None if row[1] is None else read_raw_body(row[1]) for row in run])
    assert walk.findings + walk.end() == []


def test_however_many_checkpoints_are_stored_all_are_verified(gate: Gate) -> None:
    sign_audit(gate)
    with gate.store.write() as tx:
        (good,) = tx.checkpoints()
        tx.add_checkpoint(msgspec.structs.replace(good, note=good.note.replace("sayso/", "other/")))
        for _ in range(CHECKPOINT_PAGE):
            tx.add_checkpoint(good)
    verified = verify_audit(gate)
    assert verified.checkpoints == CHECKPOINT_PAGE + 2
    assert [finding.kind for finding in verified.reports[0].findings] == [FindingKind.SIGNATURE]


def test_without_a_key_nothing_is_signed_or_verified(gate: Gate) -> None:
    blind = msgspec.structs.replace(gate, key=None)
    for use in (sign_audit, verify_audit):
        with pytest.raises(AuditError, match="key"):
            use(blind)

"""Forged audit trails: rows, bodies, checkpoints and streams made by somebody who can write to the store."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.audit.anchors import (
    Anchor,
    AuditFinding,
    FindingKind,
    anchors_from_checkpoints,
    anchors_from_joins,
)
from sayso.core.audit.bulk import read_sound_run
from sayso.core.audit.checkpoint import Checkpoint, sign_checkpoint
from sayso.core.audit.entry import MAIN, ChainRow, chain_hash, genesis
from sayso.core.audit.merkle import Frontier, extend_tree
from sayso.core.audit.verify import MOST_FINDINGS, VerifyReport, verify_rows
from sayso.gate.rows.keys import make_key, make_signer
from tests.support.audit_trails import KEY, ORIGIN, TRUSTED, Trail, append_entry, entry, judged, rows, trail

WHOLE = trail(600, 100)


def kinds(report: VerifyReport) -> set[FindingKind]:
    return {finding.kind for finding in report.findings}


def changed(at: int, row: Any) -> list[ChainRow]:
    """The trail with the row at this number replaced."""
    return [*WHOLE.rows[: at - 1], row, *WHOLE.rows[at:]]


def only(report: VerifyReport) -> tuple[FindingKind, int]:
    assert report.found == 1, report.findings
    return report.findings[0].kind, report.findings[0].seq


def test_an_edited_body_is_named_by_its_entry() -> None:
    seq, body, prev, digest = WHOLE.rows[41]
    assert body is not None
    edited = (seq, body.replace(b"allow", b"deny!"), prev, digest)
    assert only(verify_rows(changed(42, edited))) == (FindingKind.EDITED, 42)


def test_an_edited_body_with_its_hash_made_anew_breaks_the_next_link() -> None:
    seq, body, prev, _ = WHOLE.rows[41]
    assert body is not None
    forged = body.replace(b"allow", b"deny!")
    assert only(verify_rows(changed(42, (seq, forged, prev, chain_hash(prev, forged))))) == (
        FindingKind.LINK,
        43,
    )


def test_missing_entries_are_named_by_their_numbers() -> None:
    report = verify_rows([*WHOLE.rows[:9], *WHOLE.rows[12:]])
    assert only(report) == (FindingKind.DELETED, 10)
    assert report.findings[0].text == "entries 10 to 12 are missing"


def test_a_trail_whose_beginning_is_gone_is_found() -> None:
    assert only(verify_rows(WHOLE.rows[5:])) == (FindingKind.DELETED, 1)


def test_a_second_entry_of_the_same_number_is_an_insertion() -> None:
    assert only(verify_rows([*WHOLE.rows[:9], WHOLE.rows[8], *WHOLE.rows[9:]])) == (FindingKind.INSERTED, 9)


def test_a_second_entry_of_the_same_number_is_no_leaf_of_the_tree() -> None:
    twice = (*WHOLE.rows[:99], WHOLE.rows[98], *WHOLE.rows[99:])
    assert only(judged(msgspec.structs.replace(WHOLE, rows=twice))) == (FindingKind.INSERTED, 99)


def test_entries_that_changed_places_are_told_by_the_numbers_in_their_bodies() -> None:
    one, two = WHOLE.rows[9], WHOLE.rows[10]
    found = verify_rows([*WHOLE.rows[:9], (10, *two[1:]), (11, *one[1:]), *WHOLE.rows[11:]])
    assert {(f.kind, f.seq) for f in found.findings} >= {
        (FindingKind.REORDERED, 10),
        (FindingKind.REORDERED, 11),
    }


def test_a_chain_made_anew_after_a_deletion_still_tells_by_the_numbers_in_the_bodies() -> None:
    forged, head = list[ChainRow](), genesis().hash
    for seq, (_, body, _, _) in enumerate([*WHOLE.rows[:9], *WHOLE.rows[10:]], 1):
        assert body is not None
        forged.append((seq, body, head, chain_hash(head, body)))
        head = forged[-1][3]
    assert kinds(verify_rows(forged)) == {FindingKind.REORDERED}


@pytest.mark.parametrize(
    "row",
    [
        (None, b"{}", bytes(32), bytes(32)),
        ("42", b"{}", bytes(32), bytes(32)),
        (42, "{}", bytes(32), bytes(32)),
        (42, b"{}", None, bytes(32)),
        (42, b"{}", bytes(32), None),
        (42, b"{}", b"short", bytes(32)),
        (42, None, WHOLE.rows[41][2], b""),
        (42, b"{}", WHOLE.rows[41][2], chain_hash(WHOLE.rows[41][2], b"{}")),
        (-1, None, bytes(32), bytes(32)),
        (True, b"", bytes(32), bytes(32)),
        (10**30, b"", bytes(32), bytes(32)),
    ],
)
def test_garbage_in_the_place_of_a_row_is_a_finding_and_never_an_error(row: Any) -> None:
    assert not verify_rows(changed(42, row), nodes=WHOLE.nodes).clean


def rechained(*bodies: bytes) -> list[ChainRow]:
    """These bodies with every hash made to fit, as somebody can who has the store and nothing was signed."""
    forged, head = list[ChainRow](), genesis().hash
    for seq, body in enumerate(bodies, 1):
        forged.append((seq, body, head, chain_hash(head, body)))
        head = forged[-1][3]
    return forged


BODIES = [body for _, body, _, _ in rows(3) if body is not None]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b',"seq":2', b', "seq":2'),
        (b',"seq":2', b',"seq":1,"seq":2'),
        (b',"seq":2', b',"seq":2.0'),
        (b',"session"', b',"sequel":0,"session"'),
        (b'"agent":"agent",', b""),
        (b'{"agent"', b' {"agent"'),
        (b'{"agent"', b'\n{"agent"'),
        (b'"agent":"agent"', b'"agent":"\\u0061gent"'),
        (b'"agent":"agent"', b'"agent":"\xff"'),
        (b'"agent":"agent"', b'"agent":"\xed\xa0\x80"'),
        (b'"commitments":{}', b'"commitments":[]'),
        (b'"commitments":{}', b'"commitments":' + b"[" * 200_000),
        (b'"details":{', b'"details":{"deep":' + b"[" * 200_000 + b"]" * 200_000 + b","),
        (b'"stream":"main"', b'"stream":"worker"'),
        (b'"main"}', b'"main"}{}'),
        (b'"main"}', b'"main"'),
    ],
)
def test_a_body_that_is_not_spelled_as_an_entry_is_found_though_its_hash_fits(old: bytes, new: bytes) -> None:
    assert verify_rows(rechained(*BODIES)).clean
    assert old in BODIES[1]
    report = verify_rows(rechained(BODIES[0], BODIES[1].replace(old, new), BODIES[2]))
    assert [finding.seq for finding in report.findings] == [2]


def test_rows_in_which_all_is_right_are_told_at_once_and_no_others() -> None:
    start = genesis().hash
    found = read_sound_run(WHOLE.rows, MAIN, 0, start)
    assert found is not None
    assert found[0] == [row[3] for row in WHOLE.rows]
    assert [one.session for one in found[1][:3]] == ["s-1", "s-2", "s-3"]
    assert read_sound_run(WHOLE.rows[9:], MAIN, 9, WHOLE.rows[8][3]) is not None
    for last, head in ((1, start), (0, bytes(32)), (-1, start)):
        assert read_sound_run(WHOLE.rows, MAIN, last, head) is None
    assert read_sound_run(WHOLE.rows, "worker-1", 0, start) is None
    seq, body, prev, digest = WHOLE.rows[41]
    for row in ((seq, None, prev, digest), (seq, body, digest, prev), (7, body, prev, digest)):
        assert read_sound_run(changed(42, row), MAIN, 0, start) is None


def test_two_entries_in_one_body_do_not_make_up_for_an_empty_one() -> None:
    one, two, three = BODIES
    for forged in ((one + b"\n" + two, b"", three), (one, two + b"\n" + three, b"\n"), (one, b"", two)):
        assert not verify_rows(rechained(*forged)).clean


def test_an_entry_of_one_stream_cannot_stand_in_another() -> None:
    assert verify_rows(rows(20, "worker-1"), stream="worker-1").clean
    assert not verify_rows(rows(20, "worker-1"), stream="worker-2").clean


def test_a_body_dropped_without_an_entry_that_says_so_is_found() -> None:
    seq, _, prev, digest = WHOLE.rows[41]
    assert only(verify_rows(changed(42, (seq, None, prev, digest)))) == (FindingKind.BODY_MISSING, 42)


def pruned(dropped: int, through: object, event: str = "PRUNED") -> list[ChainRow]:
    """Twenty entries, then one that tells of pruning; so many bodies are really gone."""
    stored = list(rows(20))
    head = msgspec.structs.replace(genesis(), seq=20, hash=stored[-1][3])
    body, end = append_entry(head, entry(21, event=event, through=through))
    kept = [(seq, None if seq <= dropped else text, prev, own) for seq, text, prev, own in stored]
    return [*kept, (21, body, head.hash, end.hash)]


def test_pruned_entries_verify_by_their_hashes_and_are_told() -> None:
    stored = pruned(15, 15)
    tree = extend_tree(Frontier(), [row[3] for row in stored])[0]
    report = verify_rows(stored, marks=[Anchor(21, tree.root, "a checkpoint")])
    assert report.clean
    assert (report.pruned, report.pruned_through, report.held_through) == (15, 15, 21)


@pytest.mark.parametrize(
    ("dropped", "through", "event"),
    [(15, 14, "PRUNED"), (15, "15", "PRUNED"), (15, True, "PRUNED"), (15, 99, "PRUNED"), (15, 15, "RUN")],
)
def test_pruning_covers_only_what_its_entry_says(dropped: int, through: object, event: str) -> None:
    assert kinds(verify_rows(pruned(dropped, through, event))) == {FindingKind.BODY_MISSING}


def test_text_in_an_entry_cannot_pass_for_an_entry_that_tells_of_pruning() -> None:
    stored = list(rows(5))
    head = msgspec.structs.replace(genesis(), seq=5, hash=stored[-1][3])
    lie = entry(6, note=',"event":"PRUNED",', inner={"a": 1, "event": "PRUNED", "through": 5}, through=5)
    body, end = append_entry(head, lie)
    gone = [(seq, None, prev, own) for seq, _, prev, own in stored]
    assert kinds(verify_rows([*gone, (6, body, head.hash, end.hash)])) == {FindingKind.BODY_MISSING}


def test_a_hash_of_a_pruned_entry_cannot_be_changed_either() -> None:
    stored = pruned(15, 15)
    seq, body, prev, _ = stored[4]
    stored[4] = (seq, body, prev, bytes(32))
    assert kinds(verify_rows(stored)) == {FindingKind.LINK}


# --- checkpoints ---


def test_a_checkpoint_signed_by_a_key_of_the_forger_is_not_believed() -> None:
    tree = extend_tree(Frontier(), [row[3] for row in WHOLE.rows[:100]])[0]
    forged = sign_checkpoint(Checkpoint(ORIGIN, 100, tree.root), [make_signer(make_key(ORIGIN))])
    report = judged(msgspec.structs.replace(WHOLE, checkpoints=(forged,)))
    assert kinds(report) == {FindingKind.SIGNATURE}
    assert report.held_through == 0


def test_a_checkpoint_of_another_log_under_the_same_key_is_not_believed() -> None:
    tree = extend_tree(Frontier(), [row[3] for row in WHOLE.rows[:100]])[0]
    other = sign_checkpoint(Checkpoint("sayso.example/other", 100, tree.root), [make_signer(KEY)])
    assert kinds(judged(WHOLE, other)) == {FindingKind.SIGNATURE}


def test_a_whole_trail_written_anew_with_the_stolen_key_is_found_by_a_checkpoint_from_before() -> None:
    forged = trail(600, 100)
    body = forged.rows[0][1]
    assert body is not None
    head, anew = genesis(), list[ChainRow]()
    for number in range(1, 601):
        before = head.hash
        body, head = append_entry(head, entry(number, rule="safe"))
        anew.append((number, body, before, head.hash))
    tree, nodes = extend_tree(Frontier(), [row[3] for row in anew])
    note = sign_checkpoint(Checkpoint(ORIGIN, 600, tree.root), [make_signer(KEY)])
    rewritten = Trail(tuple(anew), nodes, (note,))
    assert judged(rewritten).clean, "from the inside nobody can tell"
    assert kinds(judged(rewritten, WHOLE.checkpoints[0])) == {FindingKind.REWRITTEN}


def test_cutting_off_rows_and_stored_checkpoints_is_told_by_the_kept_hashes() -> None:
    cut = Trail(WHOLE.rows[:200], WHOLE.nodes, WHOLE.checkpoints[:2])
    assert kinds(judged(cut)) == {FindingKind.TRUNCATED}


def test_a_kept_hash_that_is_another_is_told_with_the_entries_under_it() -> None:
    height, place, _ = WHOLE.nodes[1]
    spoiled = msgspec.structs.replace(WHOLE, nodes=(WHOLE.nodes[0], (height, place, bytes(32))))
    report = judged(spoiled)
    assert only(report) == (FindingKind.TREE, 512)
    assert report.findings[0].text == "the kept hash over entries 257 to 512 is another"


def test_after_a_kept_hash_that_is_missing_the_others_are_not_held_against_the_wrong_entries() -> None:
    whole = trail(1_100, 100)
    report = judged(msgspec.structs.replace(whole, nodes=whole.nodes[1:]))
    assert [(finding.kind, finding.seq) for finding in report.findings] == [
        (FindingKind.TREE, 256),
        (FindingKind.TREE, 0),
    ]


def test_a_report_says_how_far_a_trusted_checkpoint_still_holds() -> None:
    seq, body, prev, _ = WHOLE.rows[249]
    assert body is not None
    forged = changed(250, (seq, body, prev, bytes(32)))
    report = judged(msgspec.structs.replace(WHOLE, rows=tuple(forged)))
    assert report.held_through == 200
    assert {FindingKind.EDITED, FindingKind.LINK, FindingKind.REWRITTEN, FindingKind.TREE} == kinds(report)


def test_checkpoints_stored_out_of_order_are_found() -> None:
    turned = msgspec.structs.replace(WHOLE, checkpoints=tuple(reversed(WHOLE.checkpoints)))
    assert FindingKind.REORDERED in kinds(judged(turned))


def test_a_flood_of_faults_is_counted_and_not_held() -> None:
    report = verify_rows([(seq, b"{}", prev, own) for seq, _, prev, own in WHOLE.rows])
    assert (len(report.findings), report.found) == (MOST_FINDINGS, 600)


def test_marks_come_in_order_however_they_were_kept() -> None:
    outside = [WHOLE.checkpoints[4], WHOLE.checkpoints[0], b"garbage"]
    marks = list(anchors_from_checkpoints(WHOLE.checkpoints[1:4], outside, TRUSTED, ORIGIN))
    assert isinstance(marks[0], AuditFinding)
    assert [mark.size for mark in marks if isinstance(mark, Anchor)] == [100, 200, 300, 400, 500]


# --- streams ---


def joining(**streams: Any) -> list[ChainRow]:
    body, head = append_entry(genesis(), entry(1, event="JOINED", streams=streams))
    return [(1, body, genesis().hash, head.hash)]


def test_a_stream_is_held_against_what_main_says_of_it() -> None:
    worker = list(rows(30, "worker-1"))
    tree = extend_tree(Frontier(), [row[3] for row in worker[:20]])[0]
    main = joining(**{"worker-1": {"size": 20, "root": tree.root.hex()}})
    assert verify_rows(main).clean
    marks = [mark for stream, mark in anchors_from_joins(main) if stream == "worker-1"]
    assert verify_rows(worker, stream="worker-1", marks=marks).held_through == 20
    cut = verify_rows(worker[:19], stream="worker-1", marks=marks)
    assert only(cut) == (FindingKind.TRUNCATED, 20)
    _, body, prev, _ = worker[5]
    assert body is not None
    other = [*worker[:5], (6, body, prev, bytes(32)), *worker[6:]]
    assert FindingKind.REWRITTEN in kinds(verify_rows(other, stream="worker-1", marks=marks))


@pytest.mark.parametrize(
    "said", [{"size": "x", "root": ""}, {"size": 1}, "text", None, {"size": 1, "root": "zz"}]
)
def test_a_joining_entry_that_says_nothing_clear_makes_no_mark(said: object) -> None:
    assert list(anchors_from_joins(joining(worker=said))) == []


def test_a_negative_size_is_a_finding() -> None:
    marks = [mark for _, mark in anchors_from_joins(joining(worker={"size": -5, "root": "00" * 32}))]
    assert not verify_rows(rows(3), marks=marks).clean

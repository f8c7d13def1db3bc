"""Any change to a stored audit trail is found, and a trail nobody changed is never suspected."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import msgspec
import pytest

from sayso.core.audit.anchors import Anchor, FindingKind
from sayso.core.audit.entry import ChainRow, chain_hash
from sayso.core.audit.merkle import Frontier, TreeNode, extend_tree
from sayso.core.audit.verify import verify_rows, verify_runs
from tests.support.audit_trails import Trail, flipped, judged, rows, trail

EVERYTHING = bool(os.environ.get("SAYSO_ALL"))
SEEDS = range(200 if EVERYTHING else 30)
ENTRIES = 1_000_000 if EVERYTHING else 20_000
COUNT, EVERY = 1_150, 50
WHOLE = trail(COUNT, EVERY)

Change = Callable[[Trail, Random], Trail]


def with_rows(found: Trail, changed: list[ChainRow]) -> Trail:
    return msgspec.structs.replace(found, rows=tuple(changed))


def edit_body(found: Trail, rng: Random) -> Trail:
    changed = list(found.rows)
    at = rng.randrange(len(changed))
    seq, body, prev, digest = changed[at]
    assert body is not None
    changed[at] = (seq, flipped(body, rng), prev, digest)
    return with_rows(found, changed)


def edit_hash(found: Trail, rng: Random) -> Trail:
    changed = list(found.rows)
    at = rng.randrange(len(changed))
    seq, body, prev, digest = changed[at]
    before = rng.random() < 0.5
    changed[at] = (
        seq,
        body,
        flipped(prev, rng) if before else prev,
        digest if before else flipped(digest, rng),
    )
    return with_rows(found, changed)


def edit_number(found: Trail, rng: Random) -> Trail:
    changed = list(found.rows)
    at = rng.randrange(len(changed))
    seq, body, prev, digest = changed[at]
    changed[at] = (seq + rng.choice((-1, 1, 7, -seq)), body, prev, digest)
    return with_rows(found, changed)


def insert(found: Trail, rng: Random) -> Trail:
    """A copy of some row put in anywhere, the later ones numbered on or not."""
    changed = list(found.rows)
    at = rng.randrange(len(changed) + 1)
    _, body, prev, digest = changed[rng.randrange(len(changed))]
    rest = changed[at:]
    if rng.random() < 0.5:
        rest = [(seq + 1, *others) for seq, *others in rest]  # type: ignore[misc]
    return with_rows(found, [*changed[:at], (at + 1, body, prev, digest), *rest])


def delete(found: Trail, rng: Random) -> Trail:
    """A run of rows taken out before the end, the later ones numbered back or not."""
    changed = list(found.rows)
    at = rng.randrange(len(changed) - 1)
    count = rng.randint(1, min(5, len(changed) - 1 - at))
    rest = changed[at + count :]
    if rng.random() < 0.5:
        rest = [(seq - count, *others) for seq, *others in rest]  # type: ignore[misc]
    return with_rows(found, changed[:at] + rest)


def swap(found: Trail, rng: Random) -> Trail:
    """Two rows change places, with their numbers or without."""
    changed = list(found.rows)
    one, two = rng.sample(range(len(changed)), 2)
    first, second = changed[one], changed[two]
    if rng.random() < 0.5:
        first, second = (second[0], *first[1:]), (first[0], *second[1:])
    changed[one], changed[two] = second, first
    return with_rows(found, changed)


def drop_body(found: Trail, rng: Random) -> Trail:
    changed = list(found.rows)
    at = rng.randrange(len(changed))
    seq, _, prev, digest = changed[at]
    changed[at] = (seq, None, prev, digest)
    return with_rows(found, changed)


def truncate(found: Trail, rng: Random) -> Trail:
    return with_rows(found, list(found.rows[: rng.randrange(COUNT)]))


def rewrite_tail(found: Trail, rng: Random) -> Trail:
    """One entry says something else, and all from there on are chained anew, as if it had always been so."""
    at = rng.randrange(COUNT)
    prev = found.rows[at][2]
    anew: list[ChainRow] = []
    for seq, body, _, _ in found.rows[at:]:
        assert body is not None
        said = body if anew else body.replace(b'"verdict":"allow"', b'"verdict":"deny"')
        anew.append((seq, said, prev, chain_hash(prev, said)))
        prev = anew[-1][3]
    return with_rows(found, [*found.rows[:at], *anew])


def spoil_node(found: Trail, rng: Random) -> Trail:
    nodes = list(found.nodes)
    at = rng.randrange(len(nodes))
    height, place, hashed = nodes[at]
    nodes[at] = (height, place, flipped(hashed, rng))
    return msgspec.structs.replace(found, nodes=tuple(nodes))


def lose_node(found: Trail, rng: Random) -> Trail:
    nodes = list(found.nodes)
    del nodes[rng.randrange(len(nodes))]
    return msgspec.structs.replace(found, nodes=tuple(nodes))


def spoil_checkpoint(found: Trail, rng: Random) -> Trail:
    notes = list(found.checkpoints)
    at = rng.randrange(len(notes))
    notes[at] = flipped(notes[at], rng)
    return msgspec.structs.replace(found, checkpoints=tuple(notes))


CHANGES: tuple[Change, ...] = (
    edit_body, edit_hash, edit_number, insert, delete, swap, drop_body,
    spoil_node, lose_node, spoil_checkpoint,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_every_corruption_is_found_without_any_help_from_outside(change: Change) -> None:
    for seed in SEEDS:
        assert not judged(change(WHOLE, Random(seed))).clean, (
            f"{change.__name__} with seed {seed} was not found"
        )


@pytest.mark.parametrize("change", [edit_body, edit_hash, insert, delete, swap, drop_body])
def test_the_chain_alone_finds_them_where_neither_tree_nor_checkpoint_is_kept(change: Change) -> None:
    for seed in SEEDS:
        changed = change(WHOLE, Random(seed))
        tail_only = changed.rows == WHOLE.rows[: len(changed.rows)]
        assert tail_only or not verify_rows(changed.rows).clean, f"{change.__name__} with seed {seed}"


@pytest.mark.parametrize("change", [truncate, rewrite_tail])
def test_an_old_checkpoint_kept_outside_finds_what_was_cut_off_or_rewritten(change: Change) -> None:
    """Even where whoever did it threw away the stored checkpoints and kept hashes that would tell."""
    for seed in SEEDS:
        changed = change(WHOLE, Random(seed))
        bare = Trail(changed.rows, (), ())
        first = next((at for at, row in enumerate(WHOLE.rows) if changed.rows[at : at + 1] != (row,)), COUNT)
        outside = [note for size, note in enumerate(WHOLE.checkpoints, 1) if size * EVERY > first]
        if not outside:
            continue
        assert verify_rows(bare.rows).clean, (
            "the chain alone cannot tell, which is why checkpoints are kept outside"
        )
        kinds = {finding.kind for finding in judged(bare, outside[-1]).findings}
        assert kinds & {FindingKind.TRUNCATED, FindingKind.REWRITTEN}, f"{change.__name__} with seed {seed}"


@pytest.mark.parametrize("change", [truncate, rewrite_tail])
def test_stored_checkpoints_find_it_too_as_long_as_they_are_there(change: Change) -> None:
    for seed in SEEDS:
        changed = change(WHOLE, Random(seed))
        beyond = changed.rows[: COUNT - COUNT % EVERY] == WHOLE.rows[: COUNT - COUNT % EVERY]
        assert beyond or not judged(changed).clean


@pytest.mark.parametrize("change", [*CHANGES, truncate, rewrite_tail], ids=lambda change: change.__name__)
def test_looking_at_many_rows_at_once_finds_what_looking_at_each_finds(change: Change) -> None:
    for seed in SEEDS:
        changed = change(WHOLE, Random(seed)).rows
        one_by_one = verify_runs([row] for row in changed)
        assert verify_rows(changed) == one_by_one
        assert verify_runs([changed[:700], changed[700:]] if len(changed) > 700 else [changed]) == one_by_one


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 255, 256, 257, 512, 1_150])
def test_a_whole_trail_is_clean_at_every_size(count: int) -> None:
    whole = trail(count, EVERY)
    report = judged(whole, *whole.checkpoints[:1])
    assert report.findings == ()
    assert (report.entries, report.held_through) == (count, count - count % EVERY)
    assert report.root == extend_tree(Frontier(), [row[3] for row in whole.rows])[0].root


def test_no_false_alarm_on_a_long_trail_that_is_never_held_in_memory() -> None:
    tree, nodes, marks = Frontier(), list[TreeNode](), list[Anchor]()
    batch: list[bytes] = []
    for row in rows(ENTRIES):
        batch.append(row[3])
        if len(batch) == 1_000:
            tree, closed = extend_tree(tree, batch)
            nodes += closed
            marks.append(Anchor(tree.size, tree.root, "a checkpoint"))
            batch.clear()
    report = verify_rows(rows(ENTRIES), marks=marks, nodes=nodes)
    assert report.findings == ()
    assert (report.entries, report.marks, report.held_through) == (ENTRIES, ENTRIES // 1_000, ENTRIES)

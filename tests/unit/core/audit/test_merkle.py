"""The tree is RFC 6962's: known roots, and proofs that an independent implementation accepts, both ways."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pymerkle  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymerkle.core import _consistency_path_layout  # type: ignore[import-untyped]

from sayso.core.audit.merkle import (
    EMPTY,
    TILE,
    BrokenTree,
    Frontier,
    Hashes,
    TreeNode,
    consistent,
    extend_tree,
    frontier_at,
    includes,
    leaf_hash,
    node_hash,
    prove_consistency,
    prove_inclusion,
    root_at,
    subtree_root,
)
from tests.support.rows import each_row

# The leaves that certificate transparency tests its trees with, and their roots at every size.
CONTENTS = [bytes.fromhex(text) for text in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"
)]  # fmt: skip
ROOT_OF_8 = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
SIZES = [*range(1, 35), 255, 256, 257, 511, 513, 700]
MOST = 700


def contents(count: int) -> list[bytes]:
    return [b"leaf %d" % number for number in range(count)]


LEAVES = [leaf_hash(content) for content in contents(MOST)]


def kept_hashes(leaves: Sequence[bytes]) -> Hashes:
    """The leaves and what extending kept, as a store would hand them out."""
    kept = {(height, place): hashed for height, place, hashed in extend_tree(Frontier(), leaves)[1]}
    kept |= {(0, place): leaf for place, leaf in enumerate(leaves)}
    return lambda height, first, count: [kept[height, at] for at in range(first, first + count)]


HASHES = kept_hashes(LEAVES)


def oracle(count: int) -> Any:
    tree = pymerkle.InmemoryTree(algorithm="sha256")
    for content in contents(count):
        tree.append_entry(content)
    return tree


ORACLE = oracle(MOST)


def test_the_roots_of_the_known_leaves_are_the_known_roots() -> None:
    assert extend_tree(Frontier(), map(leaf_hash, CONTENTS))[0].root.hex() == ROOT_OF_8
    assert Frontier().root == EMPTY == hashlib.sha256(b"").digest()
    assert extend_tree(Frontier(), [leaf_hash(b"")])[0].root == hashlib.sha256(b"\x00").digest()


@each_row("size", SIZES)
def test_a_root_is_the_one_an_independent_implementation_comes_to(size: int) -> None:
    assert extend_tree(Frontier(), LEAVES[:size])[0].root == root_at(size, HASHES) == ORACLE.get_root(size)


@given(st.lists(st.integers(0, 300), max_size=6))
def test_a_tree_grown_in_pieces_is_the_tree_grown_at_once(pieces: list[int]) -> None:
    tree, kept, at = Frontier(), list[TreeNode](), 0
    for piece in pieces:
        tree, closed = extend_tree(tree, LEAVES[at : at + piece])
        kept += closed
        at = min(MOST, at + piece)
    assert (tree, tuple(kept)) == extend_tree(Frontier(), LEAVES[:at])
    assert frontier_at(at, HASHES) == tree


def test_only_one_hash_in_256_is_kept() -> None:
    _, kept = extend_tree(Frontier(), [bytes(32)] * 65_536)
    assert len(kept) == 257
    assert {height % TILE for height, _, _ in kept} == {0}
    assert kept[-1][:2] == (16, 0)


@each_row("size", SIZES)
def test_our_proofs_of_inclusion_are_accepted_by_pymerkle_and_its_by_us(size: int) -> None:
    root = ORACLE.get_root(size)
    for index in {0, 1, size // 3, size // 2, size - 2, size - 1} & set(range(size)):
        path = prove_inclusion(index, size, HASHES)
        theirs = ORACLE.prove_inclusion(index + 1, size)
        ours = pymerkle.InclusionProof("sha256", True, size, index + 1, theirs.rule, [LEAVES[index], *path])
        pymerkle.verify_inclusion(LEAVES[index], root, ours, index=index + 1, size=size)
        assert includes(root, size, index, LEAVES[index], theirs.path[1:])
        assert includes(root, size, index, LEAVES[index], path)


def ranges(old: int, start: int, end: int, whole: bool = True) -> list[tuple[int, int]]:
    """The leaves under each hash of a proof of growth, as RFC 6962 defines them, word for word."""
    if old == end:
        return [] if whole else [(start, end)]
    middle = start + (1 << (end - start - 1).bit_length() - 1)
    if old <= middle:
        return [*ranges(old, start, middle, whole), (middle, end)]
    return [*ranges(old, middle, end, False), (start, middle)]


@each_row("new", SIZES)
def test_our_proofs_of_growth_are_accepted_by_pymerkle_and_its_by_us(new: int) -> None:
    for old in {1, 2, 3, new // 3, new // 2, new - 1, new} & set(range(1, new + 1)):
        roots = ORACLE.get_root(old), ORACLE.get_root(new)
        ours = dict(zip(ranges(old, 0, new), prove_consistency(old, new, HASHES), strict=True))
        theirs = ORACLE.prove_consistency(old, new)
        _, _, places = _consistency_path_layout(old, new)
        # pymerkle takes the part after the old tree further to pieces than the RFC: those it has itself.
        path = [ours.get(place, hashed) for place, hashed in zip(places, theirs.path, strict=True)]
        proof = pymerkle.ConsistencyProof("sha256", True, new, old, theirs.rule, theirs.subset, path)
        pymerkle.verify_consistency(*roots, proof, prior_size=old, later_size=new)
        known = dict(zip(places, theirs.path, strict=True))
        joined = [joined_from(known, *place) for place in ranges(old, 0, new)]
        assert consistent(roots[0], old, roots[1], new, joined)
        assert joined == list(ours.values())


def joined_from(known: dict[tuple[int, int], bytes], start: int, end: int) -> bytes:
    """The hash over these leaves from the hashes over parts of them, put together by pymerkle."""
    if (start, end) in known:
        return known[start, end]
    middle = start + (1 << (end - start - 1).bit_length() - 1)
    hashed: bytes = ORACLE.hash_pair(joined_from(known, start, middle), joined_from(known, middle, end))
    return hashed


@given(st.data())
def test_a_proof_with_anything_changed_proves_nothing(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, MOST))
    index = data.draw(st.integers(0, size - 1))
    root, leaf, path = root_at(size, HASHES), LEAVES[index], list(prove_inclusion(index, size, HASHES))
    other = data.draw(st.integers(0, MOST - 1).filter(lambda at: at != index))
    at = data.draw(st.integers(0, len(path) - 1))
    changed = [*path[:at], LEAVES[other], *path[at + 1 :]]
    assert not includes(root, size, index, LEAVES[other], path)
    assert not includes(root, size, other, leaf, path)
    assert not includes(root, size, index, leaf, path[:at] + path[at + 1 :])
    assert not includes(root, size, index, leaf, [*path, path[at]])
    assert changed == path or not includes(root, size, index, leaf, changed)
    assert not includes(leaf, size, index, leaf, path)


@given(st.data())
def test_a_proof_of_growth_with_anything_changed_proves_nothing(data: st.DataObject) -> None:
    new = data.draw(st.integers(2, MOST))
    old = data.draw(st.integers(1, new - 1))
    before, after = root_at(old, HASHES), root_at(new, HASHES)
    path = list(prove_consistency(old, new, HASHES))
    at = data.draw(st.integers(0, len(path) - 1))
    assert not consistent(after, old, after, new, path)
    assert not consistent(before, old, before, new, path)
    assert not consistent(before, old, after, new, path[:at] + path[at + 1 :])
    assert not consistent(before, old, after, new, [*path[:at], bytes(32), *path[at + 1 :]])
    assert not consistent(before, old, after, new, [*path, bytes(32)])
    assert not consistent(before, new, after, old, path)


@pytest.mark.parametrize("size", [0, -1])
def test_an_empty_tree_holds_and_grows_from_nothing_that_could_be_proven(size: int) -> None:
    assert not includes(EMPTY, size, 0, LEAVES[0], [])
    assert not consistent(EMPTY, size, ORACLE.get_root(3), 3, [])
    with pytest.raises(BrokenTree):
        prove_inclusion(0, size, HASHES)
    with pytest.raises(BrokenTree):
        prove_consistency(size, 3, HASHES)


def test_a_path_that_leads_beyond_the_root_proves_nothing() -> None:
    leaf, beside = leaf_hash(b"a"), leaf_hash(b"b")
    assert includes(node_hash(beside, leaf), 2, 1, leaf, (beside,))
    assert not includes(node_hash(beside, leaf), 1, 0, leaf, (beside,))


def test_a_proof_of_growth_without_steps_proves_nothing() -> None:
    assert not consistent(bytes(32), 3, bytes(32), 5, ())


def test_a_frontier_that_does_not_fit_its_size_is_refused() -> None:
    for size, peaks in ((3, (LEAVES[0],)), (-1, (LEAVES[0],)), (0, (LEAVES[0],))):
        with pytest.raises(BrokenTree):
            Frontier(size, peaks)


def test_a_store_that_hands_out_too_few_hashes_gives_no_root() -> None:
    with pytest.raises(BrokenTree, match="are wanted"):
        root_at(4, lambda height, first, count: LEAVES[first : first + count - 1])


def test_a_subtree_of_one_is_its_leaf() -> None:
    assert subtree_root([LEAVES[0]]) == LEAVES[0]

"""The tree is RFC 6962's: known roots, and proofs that an independent implementation accepts, both ways."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pymerkle  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.audit.merkle import (
    EMPTY,
    TILE,
    BrokenTree,
    Frontier,
    Hashes,
    TreeNode,
    extend_tree,
    frontier_at,
    includes,
    leaf_hash,
    node_hash,
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


@pytest.mark.parametrize("size", [0, -1])
def test_an_empty_tree_includes_nothing_that_could_be_proven(size: int) -> None:
    assert not includes(EMPTY, size, 0, LEAVES[0], [])
    with pytest.raises(BrokenTree):
        prove_inclusion(0, size, HASHES)


def test_a_path_that_leads_beyond_the_root_proves_nothing() -> None:
    leaf, beside = leaf_hash(b"a"), leaf_hash(b"b")
    assert includes(node_hash(beside, leaf), 2, 1, leaf, (beside,))
    assert not includes(node_hash(beside, leaf), 1, 0, leaf, (beside,))


def test_a_frontier_that_does_not_fit_its_size_is_refused() -> None:
    for size, peaks in ((3, (LEAVES[0],)), (-1, (LEAVES[0],)), (0, (LEAVES[0],))):
        with pytest.raises(BrokenTree):
            Frontier(size, peaks)


def test_a_store_that_hands_out_too_few_hashes_gives_no_root() -> None:
    with pytest.raises(BrokenTree, match="are wanted"):
        root_at(4, lambda height, first, count: LEAVES[first : first + count - 1])


def test_a_subtree_of_one_is_its_leaf() -> None:
    assert subtree_root([LEAVES[0]]) == LEAVES[0]

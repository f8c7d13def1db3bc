"""RFC 6962 hash trees: roots, and proofs that a leaf is in one.

A tree is never held whole. To grow it, its `Frontier` is enough: the roots of its largest complete subtrees,
at most one for each bit of its size. To prove from it, one hash in 256 is kept beside the leaf hashes (the
complete subtrees whose height is a multiple of 8); what lies between is made again from at most 256 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

import msgspec

from sayso.core.errors import SaysoError

TILE = 8
WIDTH = 1 << TILE
EMPTY = sha256(b"").digest()
_node = sha256(b"\x01")

TreeNode = tuple[int, int, bytes]
"""A complete subtree that is kept: its height (8, 16, …), its place from the left, its hash."""

Hashes = Callable[[int, int, int], Sequence[bytes]]
"""(height, first, count): that many hashes side by side; height 0 are leaves, higher ones were kept."""


class BrokenTree(SaysoError):
    """What is kept of a tree does not make that tree, or something was asked of it that it cannot hold."""

    code = "broken_tree"


class Frontier(msgspec.Struct, frozen=True):
    """A tree of `size` leaves, as much of it as growing needs: its complete subtrees, largest first."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if self.size < 0 or self.size.bit_count() != len(self.peaks):
            raise BrokenTree(
                f"a tree of {self.size} leaves does not have {len(self.peaks)} complete subtrees"
            )

    @property
    def root(self) -> bytes:
        return root_of_peaks(self.peaks)


def leaf_hash(content: bytes) -> bytes:
    return sha256(b"\x00" + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def root_of_peaks(peaks: Sequence[bytes]) -> bytes:
    """The root over complete subtrees side by side, largest first."""
    if not peaks:
        return EMPTY
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node_hash(peak, root)
    return root


def extend_tree(tree: Frontier, leaves: Iterable[bytes]) -> tuple[Frontier, tuple[TreeNode, ...]]:
    """The tree with these leaf hashes added, and the complete subtrees to keep, in the order they closed."""
    size, peaks = tree.size, list(tree.peaks)
    kept: list[TreeNode] = []
    for leaf in leaves:
        height, hashed = 0, leaf
        while size >> height & 1:
            hashed = node_hash(peaks.pop(), hashed)
            height += 1
            if height % TILE == 0:
                kept.append((height, size >> height, hashed))
        peaks.append(hashed)
        size += 1
    return Frontier(size, tuple(peaks)), tuple(kept)


def subtree_root(leaves: Sequence[bytes]) -> bytes:
    """The root of a complete subtree over these hashes; their number is a power of two."""
    level = leaves
    while len(level) > 1:
        pairs, above = iter(level), list[bytes]()
        for left, right in zip(pairs, pairs, strict=True):
            made = _node.copy()  # quicker than to put three pieces together
            made.update(left)
            made.update(right)
            above.append(made.digest())
        level = above
    return level[0]


def frontier_at(size: int, hashes: Hashes) -> Frontier:
    """The tree of the first `size` leaves, read from what is kept."""
    return Frontier(size, tuple(_peaks(0, size, hashes)))


def root_at(size: int, hashes: Hashes) -> bytes:
    return frontier_at(size, hashes).root


def prove_inclusion(index: int, size: int, hashes: Hashes) -> tuple[bytes, ...]:
    """The audit path of the leaf at `index`, counted from 0, in the tree of `size` leaves."""
    if not 0 <= index < size:
        raise BrokenTree(f"leaf {index} is not in a tree of {size}")
    path: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(_range_root(middle, end, hashes))
            end = middle
        else:
            path.append(_range_root(start, middle, hashes))
            start = middle
    return tuple(reversed(path))


def includes(root: bytes, size: int, index: int, leaf: bytes, path: Sequence[bytes]) -> bool:
    """Return whether the path leads from the leaf at `index` to the root of a tree of `size` leaves."""
    if not 0 <= index < size:
        return False
    at, last, hashed = index, size - 1, leaf
    for beside in path:
        if last == 0:
            return False
        if at & 1 or at == last:
            hashed = node_hash(beside, hashed)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            hashed = node_hash(hashed, beside)
        at, last = at >> 1, last >> 1
    return last == 0 and hashed == root


def _split(width: int) -> int:
    """Return the number of leaves under the left branch: the largest power of two below the size."""
    return 1 << (width - 1).bit_length() - 1


def _range_root(start: int, end: int, hashes: Hashes) -> bytes:
    return root_of_peaks(list(_peaks(start, end, hashes)))


def _peaks(start: int, end: int, hashes: Hashes) -> Iterable[bytes]:
    """The complete subtrees of a range that begins where a subtree of its width may begin."""
    while start < end:
        height = (end - start).bit_length() - 1
        yield _complete(height, start >> height, hashes)
        start += 1 << height


def _complete(height: int, index: int, hashes: Hashes) -> bytes:
    above = height % TILE
    found = hashes(height - above, index << above, 1 << above)
    if len(found) != 1 << above:
        raise BrokenTree(f"{1 << above} hashes of height {height - above} are wanted, {len(found)} are kept")
    return subtree_root(found)

"""Codex's own program is the judge of how its patches are read."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from sayso.reading.patches.lines import PatchReading
from sayso.reading.patches.read import read_patch
from tests.support.codex_patches import Applied, apply_all, make_patch

PARTS = 8
PATCHES = (10_000 if os.environ.get("SAYSO_ALL") else 1_000) // PARTS


def _paths(reading: PatchReading, work: Path, *changes: str) -> set[str]:
    return {os.path.normpath(work / one.path) for one in reading.files if one.change in changes}


def _real(paths: set[str]) -> set[str]:
    return {os.path.join(os.path.realpath(os.path.dirname(one)), os.path.basename(one)) for one in paths}  # noqa: PTH118, PTH119, PTH120


def find_fault(reading: PatchReading, applied: Applied, work: Path) -> str | None:
    """Return the way in which a reading of a patch and what Codex made of it disagree."""
    written, deleted = _paths(reading, work, "write", "edit"), _paths(reading, work, "delete")
    if not reading.unread and not applied.written <= _real(written):
        return f"writes {applied.written - _real(written)}"
    if not reading.unread and not applied.deleted <= _real(deleted):
        return f"deletes {applied.deleted - _real(deleted)}"
    if (
        applied.code == 0
        and reading.complete
        and not _real(written | deleted) <= _touched(applied, reading, work)
    ):
        return "names a file that is not touched"
    return None


def _touched(applied: Applied, reading: PatchReading, work: Path) -> set[str]:
    """Return the files that are not as they were, and those that are named twice."""
    several = [os.path.normpath(work / one.path) for one in reading.files]
    twice = {one for one in several if several.count(one) > 1}
    return {*applied.written, *applied.deleted, *_real(twice)}


@pytest.mark.parametrize("part", range(PARTS))
def test_codex_changes_no_file_that_was_not_read_in_the_patch(tmp_path: Path, part: int) -> None:
    chance = random.Random(f"patches {part}")
    patches = [make_patch(chance) for _ in range(PATCHES)]
    understood = damaged = 0
    for number, (patch, applied) in enumerate(zip(patches, apply_all(tmp_path, patches), strict=True)):
        reading = read_patch(patch)
        fault = find_fault(reading, applied, tmp_path / str(number) / "work")
        assert fault is None, (patch, fault, reading, applied)
        understood += reading.complete and applied.code == 0
        damaged += not reading.complete and applied.code != 0
    assert min(understood, damaged) > PATCHES // 8, "most of them say nothing"


def test_a_reading_that_misses_a_file_is_found_at_fault(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: n.txt\n+x\n*** End Patch"
    [applied] = apply_all(tmp_path, [patch])
    reading, work = read_patch(patch), tmp_path / "0" / "work"
    assert find_fault(reading, applied, work) is None
    for missed in reading.files:
        rest = PatchReading(tuple(one for one in reading.files if one != missed))
        assert find_fault(rest, applied, work) is not None

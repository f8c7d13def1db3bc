"""The mark beside the key is only ever raised, whoever raises it, and is there again if it was taken away."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.gate.marks import OPENED_AGAIN, Mark
from sayso.store.base import EntryRow


def entry(seq: int) -> EntryRow:
    return EntryRow("main", seq, 1.0, "DECIDED", "", b"{}", bytes(32), seq.to_bytes(32, "big"))


def raised_to(path: Path) -> int:
    with path.open(encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        number, _, digest = file.read().partition(" ")
    assert bytes.fromhex(digest) == int(number).to_bytes(32, "big")
    return int(number)


def raise_all(mark: Mark, numbers: Iterable[int]) -> None:
    for number in numbers:
        mark.reach(entry(number))


def raise_and_look(mark: Mark, path: Path, numbers: Iterable[int]) -> None:
    """To have raised the mark is to find it there or higher, whatever others do meanwhile."""
    for number in numbers:
        mark.reach(entry(number))
        assert raised_to(path) >= number


def in_threads(works: list[Callable[[], None]]) -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(works)) as threads:
            for done in [threads.submit(work) for work in works]:
                done.result()
    finally:
        sys.setswitchinterval(usual)


def in_forks(works: list[Callable[[], None]]) -> None:
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(works)


def test_the_mark_never_goes_back(tmp_path: Path) -> None:
    mark = Mark(tmp_path / "a.mark")
    raise_all(mark, (3, 7, 5, 1))
    assert raised_to(tmp_path / "a.mark") == 7


@pytest.mark.parametrize("at_once", [in_threads, in_forks])
def test_of_many_that_raise_the_mark_at_once_the_highest_stays(
    at_once: Callable[[list[Callable[[], None]]], None], tmp_path: Path
) -> None:
    mark, path = Mark(tmp_path / "a.mark"), tmp_path / "a.mark"
    raise_all(mark, [1])  # so that all who are forked have it from here
    numbers = [range(start, 4_001, 4) for start in range(1, 5)]
    at_once([partial(raise_and_look, mark, path, own) for own in numbers])
    assert raised_to(path) == 4_000


def test_a_mark_taken_away_while_it_is_in_use_is_soon_made_again(tmp_path: Path) -> None:
    mark, path = Mark(tmp_path / "a.mark"), tmp_path / "a.mark"
    raise_all(mark, [1])
    path.unlink()
    raise_all(mark, range(2, OPENED_AGAIN + 3))
    assert raised_to(path) == OPENED_AGAIN + 2


def test_a_damaged_mark_is_an_error_and_is_not_written_over(tmp_path: Path) -> None:
    mark, path = Mark(tmp_path / "a.mark"), tmp_path / "a.mark"
    raise_all(mark, [1])
    path.write_text("nonsense", "ascii")
    with pytest.raises(SaysoError, match="damaged"):
        raise_all(mark, [2])
    assert path.read_text("ascii") == "nonsense"

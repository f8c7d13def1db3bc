"""The mark beside the key is only ever raised, whoever raises it, and is there again if it was taken away."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.gate.marks import Mark
from sayso.store.base import EntryRow


def entry(seq: int) -> EntryRow:
    return EntryRow("main", seq, 1.0, "DECIDED", "", b"{}", bytes(32), seq.to_bytes(32, "big"))


def raised_to(path: Path) -> int:
    number, _, digest = path.read_text("ascii").partition(" ")
    assert bytes.fromhex(digest) == int(number).to_bytes(32, "big")
    return int(number)


def raise_all(mark: Mark, numbers: Iterable[int]) -> None:
    for number in numbers:
        mark.reach(entry(number))


def in_threads(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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
    mark = Mark(tmp_path / "a.mark")
    raise_all(mark, [1])  # so that all have it from here
    numbers = [range(start, 2_001, 4) for start in range(1, 5)]
    at_once([lambda own=own: raise_all(mark, own) for own in numbers])  # type: ignore[misc]
    assert raised_to(tmp_path / "a.mark") == 2_000


def test_a_mark_taken_away_while_it_is_in_use_is_made_again(tmp_path: Path) -> None:
    mark, path = Mark(tmp_path / "a.mark"), tmp_path / "a.mark"
    raise_all(mark, [1])
    path.unlink()
    raise_all(mark, [2])
    assert raised_to(path) == 2
    path.replace(tmp_path / "old")
    (tmp_path / "old").unlink()
    raise_all(mark, [3])
    assert raised_to(path) == 3


def test_a_damaged_mark_is_an_error_and_is_not_written_over(tmp_path: Path) -> None:
    mark, path = Mark(tmp_path / "a.mark"), tmp_path / "a.mark"
    raise_all(mark, [1])
    path.write_text("nonsense", "ascii")
    with pytest.raises(SaysoError, match="damaged"):
        raise_all(mark, [2])
    assert path.read_text("ascii") == "nonsense"

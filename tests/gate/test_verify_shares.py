"""How spans are shared out among those who verify them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from sayso.gate.audit.verifying.workers import _Share

SPANS = 3_000


@pytest.fixture
def _often_in_turns() -> Iterator[None]:
    """Threads run in turns that are as short as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_often_in_turns")
@pytest.mark.parametrize("ahead", [1, 3])
def test_nobody_stops_while_there_are_spans_that_nobody_has_taken(ahead: int) -> None:
    """Who waits for the next one may find that another was quicker: then they wait for the one after it."""
    share = _Share(SPANS, ahead)
    left: list[int] = []

    def verify() -> None:
        while (number := share.take_or_wait()) is not None:
            share.put(number, None)
        left.append(SPANS - share._taken)  # noqa: SLF001

    threads = [threading.Thread(target=verify) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(SPANS):
        while not share.is_there(number):
            mine = share.take()
            if mine is None:
                share.wait(number)
            else:
                share.put(mine, None)
        share.pop(number)
    share.close()
    for thread in threads:
        thread.join()
    assert left == [0] * len(threads)

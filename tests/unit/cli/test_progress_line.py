"""The line on the terminal that shows how far something is: it moves for as long as anything is done."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from sayso.cli.views.audit import ProgressLine, show_progress
from tests.support.terminals import ANSI, plain_surroundings

Shown = Callable[[Callable[[ProgressLine], object], int | None], str]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown_last(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What was on the line last, before it was removed."""

    def show(work: Callable[[ProgressLine], object], of: int | None) -> str:
        plain_surroundings(monkeypatch)
        screen = _Terminal()
        with monkeypatch.context() as here:
            here.setattr(sys, "stderr", screen)
            with show_progress("Working", of) as told:
                work(told)
        lines = ANSI.sub("\n", screen.getvalue().replace("\x1b[2K", "\r")).replace("\n", "").split("\r")
        return [line.strip() for line in lines if line.strip()][-1]

    return show


def test_a_part_that_begins_when_all_is_counted_moves_as_well(shown_last: Shown) -> None:
    def work(told: ProgressLine) -> None:
        told(5)
        told(0, "Verifying the figures")

    shown = shown_last(work, 5)
    assert shown.rstrip("━ ") == "⠋ Verifying the figures", "with a sign that it is not done"


def test_what_is_done_is_counted_though_there_is_more_than_was_thought(shown_last: Shown) -> None:
    def work(told: ProgressLine) -> None:
        told(0, "Verifying the trail")
        told(6_000)

    shown = shown_last(work, 5_000)
    assert shown.startswith("Verifying the trail ━")
    assert shown.endswith(" 6,000 of 6,000 entries")


def test_what_nobody_has_counted_before_has_no_bar(shown_last: Shown) -> None:
    assert shown_last(lambda told: told(2_000), None) == "⠋ Working 2,000 entries"

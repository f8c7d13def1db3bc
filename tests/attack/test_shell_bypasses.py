"""No trick that hides a harmful command makes a command line low risk."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.model import Risk
from tests.support.rows import each_row
from tests.support.shell_lines import HARMFUL, Reader, tricks


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("home") / "work"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    return Reader(Path(folder).resolve(), Path(folder).resolve().parent)


@each_row("command", HARMFUL)
def test_a_harmful_command_is_high_by_itself(reader: Reader, command: str) -> None:
    assert reader.risk(command) is Risk.HIGH


@each_row("command", HARMFUL)
def test_no_trick_makes_a_harmful_command_low(reader: Reader, command: str) -> None:
    hidden = list(tricks(command))
    low = [line for line in hidden if reader.risk(line) is Risk.LOW]
    assert low == []
    assert len(hidden) > 300


def test_the_catalogue_holds_several_thousand_cases() -> None:
    assert sum(len(list(tricks(command))) for command in HARMFUL) > 7_000


def test_the_tricks_around_a_harmless_command_are_not_all_refused(reader: Reader) -> None:
    """Otherwise the tests above would pass on a reading that calls nothing low."""
    low = [line for line in tricks("ls src") if reader.risk(line) is Risk.LOW]
    assert len(low) > 100

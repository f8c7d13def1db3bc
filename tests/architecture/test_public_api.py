"""What others build on changes only on purpose: the kept copy is the interface as it is."""

from __future__ import annotations

import re

import pytest

from tests.architecture.public_api import FOLDER, WRITTEN


@pytest.mark.slow
@pytest.mark.parametrize("file", WRITTEN)
def test_the_public_interface_is_the_one_that_was_reviewed(file: str) -> None:
    kept = (FOLDER / file).read_text(encoding="utf-8")
    assert WRITTEN[file]() == kept, "read the difference, then run python -m tests.architecture.public_api"


def small_names(commands: str) -> list[str]:
    """The arguments of commands whose names are not in capitals; a choice of words is written as it is."""
    usages = [line for line in commands.splitlines() if line.startswith("Usage: ")]
    return [name for usage in usages for name in re.findall(r"[{[]([a-z_]+)[}\]]", usage)]


def test_arguments_of_commands_are_named_in_capitals() -> None:
    assert small_names((FOLDER / "commands.txt").read_text(encoding="utf-8")) == []
    assert small_names("Usage: sayso token new [OPTIONS] {role} {NAME} [why] {good|bad}") == ["role", "why"]


def test_the_kept_copy_holds_something() -> None:
    names, commands, interface, schema = ((FOLDER / file).read_text(encoding="utf-8") for file in WRITTEN)
    assert "Sayso.open(" in names
    assert "$ sayso policy test --help" in commands
    assert '"/v1/calls"' in interface
    assert '"trusted_channel_required"' in schema

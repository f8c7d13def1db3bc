"""Threat: `..` behind a link leads elsewhere than the text says, and a copy that is a link writes its source.

The system goes up from where a link leads; a shell's own `cd` goes back to where the link stands.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.model import Risk
from sayso.policy import load_preset
from sayso.reading.beside import folders_of_line
from sayso.reading.path_operations import CallFolders
from sayso.reading.shell.read import ShellReading, read_line
from tests.attack.test_other_repositories import RUNS, make_repository
from tests.attack.workplaces import work

__all__ = ["work"]

POLICY = load_preset("coding")
OWN = "~/.config/sayso"


@pytest.fixture
def place(work: Path) -> CallFolders:
    """A project with a link to a folder of Sayso, one to a folder elsewhere, and one inside."""
    home = work.parent / "home"
    for name, target in (("own", home / ".config/sayso/deep"), ("out", home / "other/deep")):
        target.mkdir(parents=True)
        (work / name).symlink_to(target)
    (home / ".config/sayso/policy.yaml").write_text("mode: paranoid")
    make_repository(work / ".git")
    make_repository(work / "evil" / ".git", RUNS)
    (work / "good" / "deep").mkdir(parents=True)
    (work / "evil" / "link").symlink_to("../good/deep")
    return CallFolders(str(work), str(work), str(home))


def is_barred(read: ShellReading) -> bool:
    return any(one.operation.startswith("self_modification.") for one in read.findings)


@pytest.mark.parametrize(
    "line",
    [
        "env -C own/.. rm policy.yaml",
        "env --chdir=own/.. tee policy.yaml",
        "nice env -C own/.. cp /dev/null policy.yaml",
        "xargs -I{} env -C own/.. rm {} <<< policy.yaml",
        f"cp -l {OWN}/policy.yaml y && echo hi > y",
        f"cp -sv {OWN}/policy.yaml y",
        f"cp --symbolic {OWN}/policy.yaml y",
        f"cp -t good -l {OWN}/policy.yaml",
        f"cp -al {OWN} y && echo hi > y/policy.yaml",
    ],
)
def test_the_guard_is_not_reached_behind_a_link(place: CallFolders, line: str) -> None:
    assert is_barred(read_line(line, place, POLICY))


@pytest.mark.parametrize(
    "line", ["env -C out/.. touch y", "env -C out -C .. touch y", "cp -s /etc/hosts y && echo hi > y"]
)
def test_nothing_outside_is_reached_behind_a_link(place: CallFolders, line: str) -> None:
    assert read_line(line, place, POLICY).risk is Risk.HIGH


@pytest.mark.parametrize(
    "line",
    [
        "cd evil/link/.. && git status",
        "cd evil/link && cd .. && git status",
        "cd evil/link; (cd ..; git status)",
        "cd evil && cd link && pushd .. && git status",
    ],
)
def test_no_repository_is_reached_by_a_shell_that_goes_back_along_a_link(
    place: CallFolders, line: str
) -> None:
    assert read_line(line, place, POLICY).risk is Risk.HIGH


def test_a_folder_that_a_call_names_is_read_where_the_system_goes_too(place: CallFolders) -> None:
    entry = next(one for one in POLICY.tools if one.command_from)
    where = folders_of_line({"command": "rm policy.yaml", "cwd": "own/.."}, entry, place)
    assert any(is_barred(read_line("rm policy.yaml", one, POLICY)) for one in where)


@pytest.mark.parametrize(
    ("line", "risk"),
    [
        ("cd good/.. && git status", Risk.LOW),
        ("cd good && cd .. && git status", Risk.LOW),
        ("cd evil/link && git status", Risk.LOW),
        ("env -C good/.. cat notes.txt", Risk.LOW),
        ("cp -l notes.txt y", Risk.MODERATE),
        ("cp -t good notes.txt", Risk.MODERATE),
    ],
)
def test_what_stays_where_it_seems_is_asked_about_as_before(
    place: CallFolders, line: str, risk: Risk
) -> None:
    assert read_line(line, place, POLICY).risk is risk

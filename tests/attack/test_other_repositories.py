"""Threat: git goes by another repository, or another line of its configuration, than the one that was read.

With git itself, `git status` in most of these places runs the program that a configuration names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sayso.core.model import Risk
from sayso.policy import load_preset
from sayso.reading.path_operations import CallFolders
from sayso.reading.shell.read import read_line

POLICY = load_preset("coding")
PLAIN = "[core]\n\tbare = false\n"
RUNS = "[core]\n\tfsmonitor = ./program\n"
NO_ENDS_OF_LINES = ["\f", "\v", "\x1c", "\x1d", "\x1e", "\r", "\x85", "\u2028", "\u2029"]


def make_repository(at: Path, configuration: str = PLAIN, *, head: str = "ref: refs/heads/main\n") -> Path:
    for name in ("objects", "refs"):
        (at / name).mkdir(parents=True)
    (at / "HEAD").write_text(head)
    (at / "config").write_text(configuration)
    return at


def risk_of_status(folder: Path, line: str = "git status") -> Risk:
    return read_line(line, CallFolders(str(folder), str(folder), str(folder / "home")), POLICY).risk


def below_no_repository(work: Path) -> Path:
    make_repository(work / ".git", RUNS)
    (work / "sub" / ".git" / "objects").mkdir(parents=True)
    (work / "sub" / ".git" / "HEAD").write_text("nothing of git")
    return work / "sub"


def below_no_bare_repository(work: Path) -> Path:
    make_repository(work / ".git", RUNS)
    return make_repository(work / "sub", head="nothing of git")


def below_one_without_rights(work: Path) -> Path:
    make_repository(work / ".git", RUNS)
    make_repository(work / "sub" / ".git")
    (work / "sub" / ".git" / "refs").chmod(0o600)
    return work / "sub"


def with_a_branch_to_come(work: Path) -> Path:
    head = make_repository(work / ".git", RUNS) / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    return work


def with_all_elsewhere(work: Path) -> Path:
    make_repository(work / "elsewhere", RUNS)
    (work / "bare").mkdir()
    (work / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    (work / "bare" / "commondir").write_text("../elsewhere\n")
    return work / "bare"


def with_spaces(before: str, after: str) -> Callable[[Path], Path]:
    def make(work: Path) -> Path:
        make_repository(work / f"{before}real{after}", RUNS)
        make_repository(work / "real")
        (work / ".git").write_text(f"gitdir: {before}real{after}")
        return work

    return make


def with_a_space_behind_what_is_shared(work: Path) -> Path:
    make_repository(work / "shared ", RUNS)
    make_repository(work / "shared")
    (make_repository(work / ".git") / "commondir").write_text("../shared ")
    return work


def through_a_link(work: Path) -> Path:
    (work / "a" / "b").mkdir(parents=True)
    (work / "link").symlink_to("a/b")
    make_repository(work / "a" / "real", RUNS)
    make_repository(work / "real")
    (work / ".git").write_text("gitdir: link/../real\n")
    return work


def through_a_link_to_what_is_shared(work: Path) -> Path:
    (work / "a" / "b").mkdir(parents=True)
    repository = make_repository(work / ".git")
    (repository / "link").symlink_to("../a/b")
    make_repository(work / "a" / "shared", RUNS)
    make_repository(repository / "shared")
    (repository / "commondir").write_text("link/../shared\n")
    return work


def through_a_link_to_hooks(work: Path) -> Path:
    (work / "a" / "b").mkdir(parents=True)
    (work / "a" / "hooks").mkdir()
    (work / "link").symlink_to("a/b")
    hook = work / "a" / "hooks" / "post-index-change"
    hook.touch(mode=0o755)
    make_repository(work / ".git", "[core]\n\thooksPath = link/../hooks\n")
    return work


def in_a_folder_by_its_link(work: Path) -> Path:
    make_repository(work / ".git")
    make_repository(work / "a" / ".git", RUNS)
    (work / "a" / "b").mkdir()
    (work / "link").symlink_to("a/b")
    return work / "link"


PLACES = {
    "below what is no repository": below_no_repository,
    "below what is no bare repository": below_no_bare_repository,
    "below one without rights": below_one_without_rights,
    "with a branch to come": with_a_branch_to_come,
    "with all elsewhere": with_all_elsewhere,
    "with a space before": with_spaces(" ", ""),
    "with a space behind": with_spaces("", " "),
    "with a space behind what is shared": with_a_space_behind_what_is_shared,
    "through a link": through_a_link,
    "through a link to what is shared": through_a_link_to_what_is_shared,
    "through a link to hooks": through_a_link_to_hooks,
    "in a folder by its link": in_a_folder_by_its_link,
}


@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)
def test_no_repository_that_git_goes_by_is_passed_over(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    assert risk_of_status(make(tmp_path)) is Risk.HIGH


@pytest.mark.parametrize("character", NO_ENDS_OF_LINES, ids=ascii)
def test_no_key_hides_behind_a_section_in_a_comment(tmp_path: Path, character: str) -> None:
    hidden = f"[core]\n# so it is {character}[user]\n\tfsmonitor = ./program\n"
    make_repository(tmp_path / ".git").joinpath("config").write_bytes(hidden.encode())
    assert risk_of_status(tmp_path) is Risk.HIGH


def test_no_repository_that_is_the_folder_itself_is_passed_over(tmp_path: Path) -> None:
    make_repository(tmp_path / ".git")
    make_repository(tmp_path / "part", RUNS)
    make_repository(tmp_path / "part" / ".git")
    assert risk_of_status(tmp_path / "part") is Risk.LOW
    assert risk_of_status(tmp_path / "part", "git --bare diff HEAD~ HEAD") is Risk.HIGH
    assert risk_of_status(tmp_path, "git --bare -C part log") is Risk.HIGH


def test_reading_in_a_plain_repository_stays_free(tmp_path: Path) -> None:
    make_repository(tmp_path / ".git")
    make_repository(tmp_path / "sub" / ".git", head="0" * 40)
    (tmp_path / "linked").mkdir()
    make_repository(tmp_path / "real")
    (tmp_path / "linked" / ".git").write_text("gitdir: ../real\n")
    for name in (".", "sub", "linked"):
        assert risk_of_status(tmp_path / name) is Risk.LOW

"""git commands that only read are low if the repository's configuration runs nothing, and only then."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sayso.core.model import Risk
from tests.support.shell_lines import Reader

RUNS_PROGRAMS = (
    "[core]\n\tfsmonitor = ./evil",
    "[core]\n\tpager = ./evil",
    "[core]\n\thooksPath = ~/evil",
    '[core]\n\thooksPath = "ev\\\\il"',
    "[core]\n\tsshCommand = ./evil",
    "[diff]\n\texternal = ./evil",
    '[diff "x"]\n\ttextconv = ./evil',
    '[diff "x"]\n\tcommand = ./evil',
    '[filter "x"]\n\tclean = ./evil',
    '[filter "x"]\n\tprocess = ./evil',
    "[pager]\n\tstatus = ./evil",
    "[include]\n\tpath = ../evil",
    '[includeIf "gitdir:/"]\n\tpath = ../evil',
    "[gpg]\n\tprogram = ./evil",
    "[CORE] FSMONITOR = ./evil",
    "[core] fsmonitor = ./ev\\\nil",
    "[unheard]\n\tof = x",
    '[remote "origin"]\n\turl = ext::./evil',
    '[url "ext::./evil"]\n\tinsteadOf = one',
    '[submodule "x"]\n\turl = evil::x',
    "no section = x",
)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    folder = tmp_path.resolve() / "work"
    (folder / "sub").mkdir(parents=True)
    for place in (folder, folder / "sub"):
        subprocess.run(["git", "init", "-q", str(place)], check=True)  # noqa: S607 - the git of this machine
    return Reader(folder, tmp_path.resolve())


def test_a_fresh_repository_is_read_freely(reader: Reader) -> None:
    for line in ("git status", "git diff", "git log -3", "cd sub && git status && ls", "git -C sub status"):
        assert reader.risk(line) is Risk.LOW, line


def test_a_folder_of_hooks_counts_only_for_the_hook_that_reading_runs(reader: Reader) -> None:
    """husky and its kind keep hooks in the working tree; git runs one of them when it only reads."""
    sub = Path(reader.where.folder) / "sub"
    with (sub / ".git/config").open("a") as file:
        file.write("\n[core]\n\thooksPath = .husky/_\n")
    hooks = sub / ".husky/_"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\n")
    (hooks / "pre-commit").chmod(0o755)
    assert reader.risk("cd sub && git status && git diff") is Risk.LOW
    assert reader.risk("cd sub && git commit -m x") is Risk.MODERATE
    (hooks / "post-index-change").write_text("#!/bin/sh\n")
    (hooks / "post-index-change").chmod(0o755)
    assert reader.risk("cd sub && git status") is Risk.HIGH
    assert reader.risk("git -C sub diff") is Risk.HIGH


@pytest.mark.parametrize("config", RUNS_PROGRAMS)
def test_a_repository_whose_configuration_runs_a_program_is_not(reader: Reader, config: str) -> None:
    with (Path(reader.where.folder) / "sub/.git/config").open("a") as file:
        file.write(f"\n{config}\n")
    for line in ("cd sub && git status && ls", "git -C sub diff", "cd sub; git log", "(cd sub && git show)"):
        assert reader.risk(line) is Risk.HIGH, line
    assert reader.risk("git status") is Risk.LOW
    assert reader.risk("cd sub && ls") is Risk.LOW


@pytest.mark.parametrize(
    "config", [*RUNS_PROGRAMS, "[credential]\n\thelper = !./evil", '[merge "x"]\n\tdriver = ./evil']
)
def test_what_fetches_or_joins_histories_goes_by_the_configuration_too(reader: Reader, config: str) -> None:
    lines = ("git fetch", "git remote update", "git merge topic", "git cherry-pick topic", "git rebase main")
    for line in lines:
        assert reader.risk(f"cd sub && {line}") is Risk.MODERATE, line
    with (Path(reader.where.folder) / "sub/.git/config").open("a") as file:
        file.write(f"\n{config}\n")
    for line in lines:
        assert reader.risk(f"cd sub && {line}") is Risk.HIGH, line


def test_a_hook_that_runs_when_a_reference_moves_counts_for_a_fetch(reader: Reader) -> None:
    hook = Path(reader.where.folder) / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    assert reader.risk("git fetch") is Risk.MODERATE
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    assert reader.risk("git fetch") is Risk.HIGH


def test_a_change_of_the_configuration_counts_at_once(reader: Reader) -> None:
    assert reader.risk("git status") is Risk.LOW
    with (Path(reader.where.folder) / ".git/config").open("a") as file:
        file.write("[core]\n\tfsmonitor = x\n")
    assert reader.risk("git status") is Risk.HIGH


def test_a_folder_that_is_a_bare_repository_counts(reader: Reader) -> None:
    bare = Path(reader.where.folder) / "sub/inner"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text("[core]\n\tfsmonitor = ./evil\n")
    assert reader.risk("cd sub/inner && git status") is Risk.HIGH


def test_a_file_that_names_another_repository_is_followed(reader: Reader) -> None:
    other = Path(reader.where.folder) / "other"
    (other / "store").mkdir(parents=True)
    (other / "store/config").write_text("[diff]\n\texternal = ./evil\n")
    (other / ".git").write_text("gitdir: store\n")
    assert reader.risk("git -C other status") is Risk.HIGH


def test_a_submodule_counts_as_well(reader: Reader) -> None:
    folder = Path(reader.where.folder)
    (folder / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = x\n')
    assert reader.risk("git status") is Risk.LOW
    with (folder / "sub/.git/config").open("a") as file:
        file.write("[core]\n\tfsmonitor = ./evil\n")
    assert reader.risk("git status") is Risk.HIGH


def test_a_hook_that_reading_runs_counts(reader: Reader) -> None:
    hook = Path(reader.where.folder) / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert reader.risk("git status") is Risk.LOW
    hook.chmod(0o755)
    assert reader.risk("git status") is Risk.HIGH

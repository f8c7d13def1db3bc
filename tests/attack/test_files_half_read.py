"""Threat: what a command goes by lies in a file, and the danger stands where a reading does not look.

Behind the end of what is read, behind a backslash, in a line of a patch that names no side, or in a pipe.
"""

from __future__ import annotations

import ast
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from sayso.core.model import Risk
from sayso.policy import load_preset
from sayso.reading.path_operations import CallFolders
from sayso.reading.shell.read import ShellReading, read_line
from tests.attack.workplaces import work

__all__ = ["work"]

POLICY = load_preset("coding")
READING = Path(__file__).parents[2] / "src" / "sayso" / "reading"
HIDDEN_KEYS = [
    "# a comment \\\n\tfsmonitor = ./evil\n",
    "; a comment \\\r\n\tfsmonitor = ./evil\n",
    "bare = false # so it is \\\n\tfsmonitor = ./evil\n",
    'bare = "false" ; so it is \\\n\tfsmonitor = ./evil\n',
    "logallrefupdates = a\\\\\n\tfsmonitor = ./evil\n",
]
PATCHES_OF_THE_GUARD = {
    "binary": "diff --git a/.claude/settings.json b/.claude/settings.json\nGIT binary patch\nliteral 2\n",
    "deletion": "diff --git a/.claude/settings.json b/.claude/settings.json\ndeleted file mode 100644\n",
    "rename": "rename from .claude/settings.json\nrename to x\n",
    "index": "Index: .claude/settings.json\n1c\nhi\n.\n",
    "quoted": '--- a/x\n+++ "b/\\056claude/settings.json"\n@@ -1 +1 @@\n-x\n+y\n',
}
LINES_ON_PIPES = {
    "tar xf pipe": "pipe",
    "unzip pipe": "pipe",
    "patch -i pipe": "pipe",
    "xargs -a pipe cat": "pipe",
    "git status": ".git/config",
    "git diff": ".git/index",
    "cd sub && git log": "sub/.git",
    "git log $(git describe --tags)": ".git/packed-refs",
    "mypy src": "mypy.ini",
    "yarn anything": "package.json",
    "git config --list": "../home/.gitconfig",
}


PRINT_REFS = [
    "git log $(git tag)",
    'git diff "$(git describe --tags)"',
    "git log $(git branch --show-current)",
    "git diff $(git rev-parse --abbrev-ref HEAD)",
    "git tag | xargs git log",
    "for t in $(git tag); do git log $t; done",
]


def read(line: str, work: Path) -> ShellReading:
    return read_line(line, CallFolders(str(work), str(work), str(work.parent / "home")), POLICY)


@pytest.mark.parametrize("text", HIDDEN_KEYS)
def test_no_key_hides_behind_a_backslash_from_who_reads_the_configuration(work: Path, text: str) -> None:
    make_repository(work)
    (work / ".git" / "config").write_text("[core]\n\tbare = false\n")
    assert read("git status", work).risk is Risk.LOW
    (work / ".git" / "config").write_text(f"[core]\n\t{text}")
    assert read("git status", work).risk is Risk.HIGH


def test_no_code_hides_behind_what_is_read_of_the_settings_of_a_linter(work: Path) -> None:
    (work / "mypy.ini").write_text("[mypy]\n")
    assert read("mypy src", work).risk is Risk.LOW
    (work / "mypy.ini").write_text(f"[mypy]\n{'#' * 200_000}\nplugins = ./x.py\n")
    assert read("mypy src", work).risk is Risk.MODERATE


@pytest.mark.parametrize("line", ["git apply x.patch", "patch -p1 -i x.patch", "patch x.txt x.patch"])
@pytest.mark.parametrize("text", PATCHES_OF_THE_GUARD.values(), ids=PATCHES_OF_THE_GUARD.keys())
def test_no_patch_changes_the_guard_by_a_line_that_names_no_side(work: Path, line: str, text: str) -> None:
    (work / "x.patch").write_text(text)
    assert any(one.barred for one in read(line, work).findings)


@pytest.mark.parametrize("line", ["git apply x.patch", "patch -i x.patch", "patch -p1 -i x.patch"])
def test_a_patch_that_names_no_file_may_change_any(work: Path, line: str) -> None:
    (work / "x.patch").write_text("1c\nhi\n.\n")
    assert read(line, work).risk is Risk.HIGH


@pytest.mark.parametrize(("line", "name"), LINES_ON_PIPES.items())
def test_a_pipe_in_the_place_of_a_file_holds_no_reading_up(work: Path, line: str, name: str) -> None:
    make_repository(work)
    (work / "sub").mkdir()
    (work / name).unlink(missing_ok=True)
    os.mkfifo(work / name)
    with giving_up():
        assert read(line, work).risk is not Risk.LOW


@pytest.mark.parametrize("line", PRINT_REFS)
@pytest.mark.parametrize("ref", ["tags", "heads", "packed"])
def test_no_branch_or_tag_of_somebody_else_passes_for_an_option(work: Path, line: str, ref: str) -> None:
    make_repository(work)
    assert read(line, work).risk is Risk.LOW
    name, hash_ = "--output=notes.txt", "0" * 40
    if ref == "packed":
        (work / ".git" / "packed-refs").write_text(f"{hash_} refs/heads/{name}\n")
    else:
        (work / ".git" / "refs" / ref / name).write_text(f"{hash_}\n")
    assert read(line, work).risk is Risk.HIGH


@pytest.mark.parametrize(
    "line",
    [
        "find $(git show --name-only HEAD)",
        "cat $(git log --name-only -1)",
        "git log --name-only | xargs find .",
        "find $(git diff --name-only --line-prefix=-delete)",
        "find $(git show --name-only --format=%s HEAD)",
    ],
)
def test_no_message_of_a_commit_passes_for_names_of_files(work: Path, line: str) -> None:
    make_repository(work)
    assert read("cat $(git diff --name-only HEAD)", work).risk is Risk.LOW
    assert read("cat $(git show --name-only --format= HEAD)", work).risk is Risk.LOW
    assert read(line, work).risk is Risk.HIGH


def test_one_function_opens_the_files_that_a_reading_looks_into() -> None:
    found = {
        file.relative_to(READING).as_posix()
        for file in READING.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open"
    }
    assert found == {"paths/file_content.py"}


def make_repository(work: Path) -> None:
    for name in ("objects", "refs/tags", "refs/heads"):
        (work / ".git" / name).mkdir(parents=True, exist_ok=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


class HeldUp(BaseException):
    """The reading waits for somebody who never comes."""


@contextmanager
def giving_up() -> Iterator[None]:
    """Raise HeldUp in what waits for ever."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise HeldUp

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)

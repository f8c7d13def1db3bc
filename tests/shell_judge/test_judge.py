"""The judge itself: what is planted is found and made small, and nothing gets over the fence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shell_judge.court import Commands, Court
from tests.shell_judge.fence import KINDS, NoFenceError, build_tools
from tests.shell_judge.generate import make_line
from tests.shell_judge.proofs import name_commands, prove_recorders
from tests.shell_judge.runs import read_progress, run_seeds
from tests.shell_judge.shrink import shrink

pytestmark = pytest.mark.slow

FAULTS = {
    "ls; echo start\n\\\nevil push": ("\n\\\nevil", "echo start evil push"),
    'ls && echo "$\\\n(rm -rf src)"': ("$\\\n(rm", "echo '$(rm -rf src)'"),
    "cat <<E\n$\\\n(evil)\nE\nls": ("$\\\n(evil)", "cat"),
    "awk '{ print $1 \\\n> \"planted\" }' a.txt": ('> "p', "awk ''"),
    "X=evil; false && X=echo; $X push; ls": ("X=evil", "false", "echo push"),
    "x=cat; { false && x=echo; }; $x ~/.ssh/id_rsa": ("x=cat", "false", "echo"),
    "ls; [ x > planted ]; ls": ("> p",),
    "ls; [ a || evil ]": ("|| e",),
    "cat <<E\nE;echo '\nE\nevil #'; ls": ("#'", "cat", "echo"),
    "ls; find sub '-d'\\elete": ("-d", "find sub -d elete"),
}
"""Faults that the reading had: lines, a part of them that makes the harm, and the commands that it saw."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def court(folder: Path) -> Iterator[Court]:
    made = Court(folder / "shared", folder)
    yield made
    made.close()


def test_every_recorder_finds_what_is_planted_in_every_shell(court: Court) -> None:
    prove_recorders(court)


@pytest.mark.parametrize("line", FAULTS)
def test_a_fault_of_the_reading_is_found_and_made_small(line: str, folder: Path) -> None:
    part, *named = FAULTS[line]

    def read(asked: str) -> Commands | None:
        return name_commands("ls", *named) if asked == "ls" or part in asked else None

    court = Court(folder / "shared", folder, read, ["bash"])
    report = court.judge([(0, "ls"), (1, line), (2, "ls")])
    court.close()
    assert [one.seed for one in report.failures] == [1], f"{report}"
    assert part in report.failures[0].small
    assert len(report.failures[0].small) < len(line)


def test_a_line_that_does_what_it_says_passes(court: Court) -> None:
    lines = (
        "ls -l | sort",
        "git status",
        "find sub -exec args {} +",
        "echo a b | xargs args",
        "cat <<E\nx\nE",
    )
    report = court.judge(list(enumerate(lines)))
    assert (report.low, report.failures) == (len(lines), [])


def test_only_the_scratch_folder_can_be_written_and_seen(court: Court, folder: Path) -> None:
    beside = folder / "beside"
    beside.write_text("as it was")
    line = (
        f"echo x > {beside}; rm -rf {beside}; cat {beside} > seen; touch /usr/planted; ls /root /home > seen"
    )
    for kind in KINDS:
        court.run_unjudged(kind, line)
        assert (court.scratch.home / "work/seen").read_bytes() == b""
    assert beside.read_text() == "as it was"


def test_a_line_that_hangs_is_ended_and_the_next_one_runs(folder: Path) -> None:
    court = Court(folder / "shared", folder, lambda _: name_commands("tail -f a.txt"), ["dash"])
    report = court.judge([(0, "tail -f a.txt"), (1, "evil")])
    court.close()
    assert report.hung == [("dash", "tail -f a.txt")]
    assert report.failures[-1].harm == "program evil was started: ('/judge/tools/bin/evil',)"


def test_without_a_fence_nothing_is_judged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(NoFenceError, match="the shell judge needs bwrap"):
        build_tools(folder)


def test_a_seed_makes_the_same_line_in_every_process() -> None:
    script = "from tests.shell_judge.generate import make_line; print(ascii([*map(make_line, range(200))]))"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.strip() == ascii([*map(make_line, range(200))])


def test_a_run_goes_on_where_it_was_stopped(folder: Path) -> None:
    progress = folder / "progress"
    first = list(run_seeds(0, 40, 1, progress))
    with progress.open("ab") as file:
        file.write(b'{"first": 40, "cou')
    assert list(read_progress(progress).values()) == first
    assert list(run_seeds(0, 40, 1, progress)) == first


def test_a_line_is_made_as_small_as_it_can_be() -> None:
    assert shrink("ls; echo 'a'; x=1 && evil a b | cat", lambda line: "e" in line and "l" in line) == "el"

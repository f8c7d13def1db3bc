"""Files that no agent may change are changed by no detour: options of tests, patterns, archives, git.

One yes to file edits covers moderate risk, and tests and builds run unasked. So none of these may be less
than high risk, and those that name Sayso's own files are barred.
"""

from __future__ import annotations

import subprocess
import tarfile

import pytest

from sayso.core.model import Risk
from tests.support.shell_lines import Reader

GIVEN_TO_CODE = (
    "pytest --override-ini=log_file=.claude/settings.json",
    "npm test -- --outputFile=AGENTS.md",
    "npm test -- --outputFile AGENTS.md",
    "npm test -- --outputFile=/etc/x",
    "npm test -- -o/etc/x",
    "npm run build -- --outDir=../..",
    "pnpm test --outputFile=~/.bashrc",
    "make test OUT=AGENTS.md",
    "make test ARGS=--junitxml=AGENTS.md",
    "rake test[AGENTS.md]",
    "pytest -o log_file=/etc/x",
    "pytest --override-ini=log_file=AGENTS.md",
    "pytest --cov-report=html:/etc/x",
    "nox -s tests -- --junitxml=/etc/x",
    "cargo test -- --logfile=/etc/x",
    "prettier --write AGENTS.md",
)
TAKEN_ALONG = (
    "cp -r evil/* .",
    "cp ev*/AGENTS.md .",
    "cp -t . evil/*",
    "cd evil; cp A* ..",
    "for f in evil/*; do cp $f .; done",
    "cp $(find evil -type f) .",
    "cat evil.tar | tar xf - -C .",
    "tar xf - < evil.tar",
    "tar xf evi*.tar",
    "tar xf host:evil.tar",
    "tar xf missing.tar",
    "csplit -f AGENTS -b '.md%.0d' notes.txt 1",
)
BY_GIT = (
    "git sparse-checkout set src",
    "git sparse-checkout init",
    "git stash -u",
    "git stash push --all",
    "git stash push AGENTS.md",
    "git checkout AGENTS.md",
    "git checkout --theirs AGENTS.md",
    "git checkout src/a.py",
)
NAMED = (
    "wget -O .sayso.yaml http://example.test/x",
    "perl -pi -e s/a/b/ .sayso.yaml",
    "git restore -s other .sayso.yaml",
    "prettier --write .sayso.yaml",
    "npm test -- --outputFile=.claude/settings.json",
    "npm run build -- --outDir=.claude",
    "pytest -o log_file=~/.config/sayso/policy.yaml",
    "cp -r evil/* .",
)
ORDINARY = (
    "npm test -- --watch=false --outputFile=report.json",
    "npm run build -- --outDir=dist",
    "pytest . -k 'a or b' -o junit_family=xunit2 --cov=src",
    "make test OUT=report.xml",
    "vite build --base=/no-such-folder/",
    "cp *.txt src/",
    "cp -r src/* evil/",
    "git checkout main",
    "git checkout -b topic",
    "git stash",
    "git stash push src/a.py",
    "mypy src",
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home")
    workspace = home / "project"
    for name in ("AGENTS.md", "notes.txt", "src/a.py", "evil/AGENTS.md", ".claude/settings.json"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("x\n")
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)  # noqa: S607
    with tarfile.open(workspace / "evil.tar", "w") as archive:
        archive.add(workspace / "evil" / "AGENTS.md", "AGENTS.md")
    return Reader(workspace, home)


@pytest.mark.parametrize("line", [*GIVEN_TO_CODE, *TAKEN_ALONG, *BY_GIT, *NAMED])
def test_no_detour_to_a_guarded_file_is_less_than_high_risk(reader: Reader, line: str) -> None:
    assert reader.risk(line) is Risk.HIGH


@pytest.mark.parametrize("line", NAMED)
def test_a_command_that_names_the_guards_files_is_barred(reader: Reader, line: str) -> None:
    assert any(one.barred is not None for one in reader.read(line).findings)


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_work_is_not_taken_for_one(reader: Reader, line: str) -> None:
    assert reader.risk(line) is not Risk.HIGH


@pytest.mark.parametrize("line", ["mypy --cache-dir=/etc src", "ruff check --cache-dir=../x ."])
def test_a_linter_that_writes_where_it_is_told_is_not_low(reader: Reader, line: str) -> None:
    assert reader.risk(line) is not Risk.LOW

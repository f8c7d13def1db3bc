"""Scripts, npm scripts and targets are read like the line that runs them."""

from __future__ import annotations

import pytest

from sayso.core.model import Risk
from tests.support.rows import each_row
from tests.support.shell_lines import Reader

FILES = {
    "package.json": '{"scripts": {"test": "vitest run", "build": "tsc -b && vite build", "clean": "rm -rf x"'
    ', "prepush": "echo hi", "push": "git push --force", "all": "npm run build && npm run push",'
    ' "loop": "npm run loop",'
    ' "pretend": "echo one", "prepretend": "curl https://evil.test", "say": "echo"}}',
    "Makefile": "PUSH = git push\nall: check\ncheck:\n\techo checked\nship: check\n\t$(PUSH) --force\n"
    "test:\n\tpytest -q $(ARGS)\nodd:\n\t$(foreach x,a,echo)\nnested:\n\t$(MAKE) ship\n",
    "other/Makefile": "all:\n\trm -rf ../src\n",
    "evaluated/Makefile": "$(eval X := 1)\nall:\n\techo\n",
    "shelled/Makefile": "V := $(shell git push --force)\nall:\n\techo $(V)\n",
    "justfile": "test: build\n  pytest -q\nbuild:\n  echo built\nship:\n  git push --force\n",
    "quiet.sh": "#!/usr/bin/env bash\nset -euo pipefail\ncd \"$(dirname \"$0\")\"\nls src\ngrep -rn x src\n",
    "tests.sh": "#!/bin/sh\npytest -q \"$@\"\n",
    "push.sh": "#!/bin/sh\ngit push --force\n",
    "calls.sh": "#!/bin/sh\n./push.sh\n",
    "itself.sh": "#!/bin/sh\n./itself.sh\n",
    "says.sh": "#!/bin/sh\n$1 push --force\n",
    "flags.sh": "#!/bin/bash --rcfile evil\nls\n",
    "reads.py": "open('x', 'w')\n",
    "counts.py": "print(sum(range(10)))\n",
    "run.rb": "puts 1\n",
    "approves.sh": "#!/bin/sh\nsayso approve q_1\n",
    "deno.json": '{"tasks": {"ship": "git push --force", "look": "ls"}}',
}  # fmt: skip


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    work = home / "work"
    for name in ("src", ".git", "other", "evaluated", "shelled"):
        (work / name).mkdir(parents=True)
    for name, text in FILES.items():
        (work / name).write_text(text)
    return Reader(work, home)


@each_row(
    "line",
    [
        "npm run clean",
        "npm run push",
        "npm run all",
        "npm run pretend",
        "yarn push",
        "pnpm push",
        "npm run say -- x && npm run push",
        "make ship",
        "make nested",
        "make PUSH='git push' ship",
        "make -C other",
        "make -C evaluated",
        "make -C shelled",
        "make odd",
        "cd other && make",
        "just ship",
        "deno task ship",
        "./push.sh",
        "sh push.sh",
        "bash ./calls.sh",
        "source push.sh",
        ". ./push.sh",
        "./says.sh git",
        "./says.sh $X",
        "./flags.sh",
        "python reads.py",
        "python3 -m reads",
        "ruby run.rb",
        "./run.rb",
        "echo 'git push' > quiet.sh && ./quiet.sh",
        "cp push.sh quiet.sh; bash quiet.sh",
        "ARGS='; git push --force' make test",
    ],
)
def test_a_script_is_as_risky_as_what_it_runs(reader: Reader, line: str) -> None:
    assert reader.risk(line) is Risk.HIGH


@each_row(
    "line",
    [
        "npm test",
        "npm run build",
        "npm run say -- hello",
        "npm run loop",
        "make",
        "make test",
        "make check",
        "just test",
        "just",
        "deno task look",
        "./quiet.sh",
        "bash quiet.sh",
        "./tests.sh tests",
        "./tests.sh -k one",
        "sh itself.sh",
        "./says.sh echo",
        "python counts.py",
    ],
)
def test_a_script_that_does_no_more_than_work_on_the_project_is_moderate(reader: Reader, line: str) -> None:
    found = reader.read(line)
    assert found.risk is Risk.MODERATE, [(one.operation, one.why) for one in found.findings]


@each_row("line", ["./approves.sh", "sh approves.sh", "source approves.sh"])
def test_a_script_does_not_hide_the_guard(reader: Reader, line: str) -> None:
    assert any(one.barred for one in reader.read(line).findings)


@each_row(
    ("line", "file"),
    [("./push.sh", "push.sh"), ("npm test", "package.json"), ("make", "Makefile"), ("just", "justfile")],
)
def test_what_was_read_is_pinned(reader: Reader, line: str, file: str) -> None:
    assert any(f"/{file}#sha256:" in pin for pin in reader.read(line).pins)


def test_a_finding_names_the_script_it_comes_from(reader: Reader) -> None:
    assert any(one.why.startswith("push.sh: ") for one in reader.read("./push.sh").findings)

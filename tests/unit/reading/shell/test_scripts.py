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
    "m1/Makefile": "V = $(strip $(shell git push --force))\nok:\n\techo\n",
    "m2/Makefile": "ifeq ($(shell git push --force),x)\nendif\nok:\n\techo\n",
    "m3/Makefile": "ok: note\n# note \\\nclean:\n\tgit push --force\n",
    "m4/Makefile": "ok:\n\techo\nMakefile: FORCE\n\tgit push --force\n",
    "m5/Makefile": "ok: g\n\tsh g.sh\ng:\n\techo git push > g.sh\n",
    "m6/Makefile": "ok: odd\n.DEFAULT:\n\tgit push --force\n",
    "m7/Makefile": ".SECONDEXPANSION:\nok: $$(shell git push --force)\n\techo\n",
    "m8/Makefile": "MAKE = git push \\#\nok:\n\t$(MAKE)\n",
    "m9/Makefile": "X = all: ; git push\n$(X) :\nok:\n\techo\n",
    "m10/Makefile": "export LD_PRELOAD=/tmp/x.so\nok:\n\techo\n",
    "m11/Makefile": "C ?= echo\nok:\n\t$(C)\n",
    "s1/package.json": '{"scripts": {"test": "echo"}}',
    "s1/.npmrc": "script-shell=./e.sh\n",
    "s2/package.json": '{"scripts": {"stop": "git push --force", "build": "git push -f", "lint": "sudo ls"}}',
    "s3/package.json": "{}",
    "s3/server.js": "require('fs')",
    "s4/composer.json": '{"scripts": {"test": "git push --force", "check": ["echo", "@test"]}}',
    "hidden.sh": "#!/bin/bash ./evil.sh\nls\n",
    "near.sh": "#!./sh\nls\n",
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
    (work / ".git").mkdir(parents=True)
    (work / "src").mkdir()
    for name, text in FILES.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    (work / ".gitignore").write_text("dist/\nnode_modules\ndata\nlinked\n")
    (work / "linked").symlink_to(home)
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
        *(f"make -C m{number} ok" for number in range(1, 11)),
        "C='git push' make -C m11 ok",
        "make -f other/Makefile -f Makefile",
        "cp other/Makefile Makefile && make",
        "echo x > GNUmakefile && make",
        "cd s1 && npm test",
        "cd s2 && npm restart",
        "cd s2 && yarn build",
        "cd s2 && pnpm lint",
        "pnpm -C s2 build",
        "cd s3 && npm start",
        "npm version patch",
        "cd s4 && composer test",
        "cd s4 && composer check",
        "./hidden.sh",
        "./near.sh",
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


@each_row(
    ("line", "risk"),
    [
        ("rm -rf dist", Risk.MODERATE),
        ("rm -rf dist node_modules", Risk.MODERATE),
        ("cd other && rm -rf dist", Risk.MODERATE),
        ("rm -rf src", Risk.HIGH),
        ("rm -rf dist src", Risk.HIGH),
        ("rm -rf data", Risk.HIGH),
        ("rm -rf out", Risk.HIGH),
        ("rm -rf dist/..", Risk.HIGH),
        ("rm -rf $X/dist", Risk.HIGH),
        ("rm -rf *", Risk.HIGH),
        ("rm -rf ../dist", Risk.HIGH),
        ("rm -rf linked/dist", Risk.HIGH),
    ],
)
def test_build_output_that_git_ignores_can_be_made_again(reader: Reader, line: str, risk: Risk) -> None:
    assert reader.risk(line) is risk

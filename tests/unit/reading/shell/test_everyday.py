"""An ordinary day of developers' agents: the table is `everyday.yaml`."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sayso.core.model import Risk
from tests.support.rows import each_row
from tests.support.shell_lines import Reader, make_repository

TABLE: dict[str, list[str]] = YAML(typ="safe").load((Path(__file__).parent / "everyday.yaml").read_text())
RISKS = {"low": Risk.LOW, "moderate": Risk.MODERATE, "high": Risk.HIGH}
FOLDERS = (
    "src",
    "tests",
    "docs",
    "web/node_modules/.bin",
    "node_modules/.bin",
    ".venv/bin",
    "build",
    "cmd/app",
)
FILES = {
    "notes.txt": "notes\n",
    "docs/index.md": "# docs\n",
    "src/a.py": "x = 1\n",
    "tests/test_a.py": "def test_one(): pass\n",
    "src/index.js": "1\n",
    "run.sh": "echo hi\n",
    "gradlew": "#!/bin/sh\n",
    "Makefile": "test:\n",
    ".env.example": "KEY=\n",
    "package.json": '{"name": "x", "scripts": {"dev": "vite", "test:unit": "jest", "deploy": "x"}}',
    "web/node_modules/.bin/tsc": "#!/usr/bin/env node\n",
    "node_modules/.bin/eslint": "#!/usr/bin/env node\n",
    "node_modules/.bin/jest": "#!/usr/bin/env node\n",
    "node_modules/.bin/vite": "#!/usr/bin/env node\n",
    "node_modules/.bin/own-tool": "#!/usr/bin/env node\n",
    ".venv/pyvenv.cfg": "home = /usr/bin\n",
    ".venv/bin/activate": "PATH=x\n",
    ".venv/bin/pytest": "#!/usr/bin/env python\n",
    ".venv/bin/pip": "#!/usr/bin/env python\n",
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    folder = home / "work"
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
    make_repository(folder)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / ".venv/bin/python").symlink_to("/usr/bin/python3")
    return Reader(folder, home)


@each_row(("risk", "line"), [(risk, line) for risk in RISKS for line in TABLE[risk]])
def test_an_everyday_line_has_its_risk(reader: Reader, risk: str, line: str) -> None:
    found = reader.read(line)
    assert found.risk is RISKS[risk], [(one.operation, one.risk.word, one.why) for one in found.findings]
    assert not any(one.barred for one in found.findings)


def test_a_program_of_the_project_that_is_no_tool_of_its_kind_is_pinned(reader: Reader) -> None:
    pins = reader.read("npx own-tool").pins
    assert len([pin for pin in pins if "/node_modules/.bin/own-tool#sha256:" in pin]) == 1


def test_a_link_to_an_interpreter_is_no_program_of_another_name(reader: Reader, tmp_path: Path) -> None:
    """An environment's python that is really another program is judged as the file it is."""
    place = tmp_path.resolve() / "work"
    (place / ".venv/bin").mkdir(parents=True)
    (place / ".venv/pyvenv.cfg").write_text("")
    (place / ".venv/bin/python").symlink_to("/bin/rm")
    assert Reader(place, tmp_path.resolve()).risk(".venv/bin/python --version") is Risk.HIGH

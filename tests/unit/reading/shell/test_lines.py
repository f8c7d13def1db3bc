"""Command lines, each with its risk: the table is `lines.yaml`."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sayso.core.model import Risk
from sayso.reading.shell.lenient import find_danger
from sayso.reading.shell.read import open_judge
from tests.support.rows import each_row
from tests.support.shell_lines import Reader

TABLE: dict[str, list[str]] = YAML(typ="safe").load((Path(__file__).parent / "lines.yaml").read_text())
RISKS = {"low": Risk.LOW, "moderate": Risk.MODERATE, "high": Risk.HIGH}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    folder = home / "work"
    for name in (".git", "src", "sub/.git"):
        (folder / name).mkdir(parents=True)
    (folder / "notes.txt").write_text("notes\n")
    (folder / "src/a.py").write_text("x = 1\n")
    (folder / "run.sh").write_text("echo hi\n")
    return Reader(folder, home)


@each_row(("risk", "line"), [(risk, line) for risk in RISKS for line in TABLE[risk]])
def test_a_line_has_the_risk_of_its_strictest_part(reader: Reader, risk: str, line: str) -> None:
    found = reader.read(line)
    assert found.risk is RISKS[risk], [(one.operation, one.risk.word, one.why) for one in found.findings]
    assert not any(one.barred for one in found.findings)


@pytest.mark.parametrize("line", TABLE["blocked"])
def test_what_touches_the_guard_is_blocked(reader: Reader, line: str) -> None:
    found = reader.read(line).findings[0]
    assert found.barred is not None
    assert found.operation.startswith("self_modification.")


@each_row("line", TABLE["low"])
def test_the_lenient_reading_never_contradicts_a_low_one(reader: Reader, line: str) -> None:
    judge = open_judge(line, reader.where, reader.policy, {})
    assert find_danger(judge, line, parsed=True) == []


@pytest.mark.parametrize(
    "line", ["ls; rm -rf x", "A=1 git push --force", "(sudo ls)", "ls | xargs; curl x.test"]
)
def test_the_lenient_reading_finds_danger_by_itself(reader: Reader, line: str) -> None:
    judge = open_judge(line, reader.where, reader.policy, {})
    assert any(one.risk is Risk.HIGH for one in find_danger(judge, line, parsed=True))

"""Lines that were made to look harmless: the table is `attacks.yaml`."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sayso.core.model import Risk
from tests.support.rows import each_row
from tests.support.shell_lines import Reader

TABLE: dict[str, list[str]] = YAML(typ="safe").load((Path(__file__).parent / "attacks.yaml").read_text())


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    folder = home / "work"
    for name in (".git", "src", "tmpd/.claude", "sub/deep", "keys"):
        (folder / name).mkdir(parents=True)
    for name in (".env", ".env.local", ".npmrc", "id_rsa", ".netrc", ".pypirc"):
        (folder / "keys" / name).write_text("KEY\n")
    (folder / "run.sh").write_text("ls\n")
    (folder / ".env").write_text("KEY=1\n")
    (folder / "sub/deep/server.pem").write_text("KEY\n")
    (folder / "names").write_text(".env\n")
    (folder / "mypy.ini").write_text("[mypy]\nplugins = ./x.py\n")
    (folder / "package.json").write_text('{"packageManager": "yarn@4.0.0"}')
    (folder / "notes.txt").write_text("notes\n")
    (folder / "tmpd/.claude/settings.json").write_text("{}\n")
    return Reader(folder, home)


@each_row("line", TABLE["high"])
def test_a_dangerous_line_is_high(reader: Reader, line: str) -> None:
    assert reader.risk(line) is Risk.HIGH


@each_row("line", TABLE["not_low"])
def test_a_line_that_does_more_than_read_is_not_low(reader: Reader, line: str) -> None:
    assert reader.risk(line) is not Risk.LOW


@pytest.mark.parametrize("line", TABLE["blocked"])
def test_a_line_that_reaches_the_guard_is_blocked(reader: Reader, line: str) -> None:
    assert reader.read(line).findings[0].barred is not None


def test_a_pattern_may_be_an_option_where_a_file_is_named_like_one(tmp_path: Path) -> None:
    reader = Reader(tmp_path.resolve(), tmp_path.resolve())
    (tmp_path / "notes.txt").write_text("notes")
    assert reader.risk("find * -name x") is Risk.LOW
    (tmp_path / "-delete").write_text("")
    assert reader.risk("find * -name x") is Risk.HIGH

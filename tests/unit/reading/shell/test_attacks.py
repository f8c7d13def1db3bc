"""Lines that were made to look harmless: the table is `attacks.yaml`."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sayso.core.model import Risk
from tests.support.rows import each_row
from tests.support.shell_lines import Reader, make_repository

TABLE: dict[str, list[str]] = YAML(typ="safe").load((Path(__file__).parent / "attacks.yaml").read_text())


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    folder = home / "work"
    make_repository(folder)
    for name in ("src", "tmpd/.claude", "sub/deep", "keys"):
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


def test_settings_of_containers_are_shown_as_the_environment_is(reader: Reader) -> None:
    for line in ("docker inspect web", "docker compose config", "podman inspect web", "kubectl config view"):
        assert [one.operation for one in reader.read(line).findings] == ["shell.environment"], line


def test_a_package_manager_that_the_project_brings_is_its_code(reader: Reader) -> None:
    for line in ("yarn info react", "yarn audit"):
        assert "scripts.run" in {one.operation for one in reader.read(line).findings}, line


FORMATTERS = (
    "prettier --write {}",
    "markdownlint -f {}",
    "codespell -w {}",
    "typos -w {}",
    "eslint --fix {}",
    "biome format --write {}",
    "dprint fmt {}",
    "deno fmt {}",
)


@each_row("line", [*FORMATTERS, "ruff format {}", "black {}"])
def test_a_formatter_of_a_folder_changes_the_instructions_in_it(tmp_path: Path, line: str) -> None:
    work = tmp_path.resolve() / line.split(maxsplit=1)[0] / "work"
    for name in (".claude", "src/sub", "docs"):
        (work / name).mkdir(parents=True)
    reader = Reader(work, work.parent)
    assert reader.risk(line.format(".")) is Risk.MODERATE
    assert reader.risk(line.format(".claude")) is Risk.HIGH
    assert reader.risk(line.format(".claude/")) is Risk.HIGH
    (work / "src/sub/AGENTS.md").write_text("")
    found = reader.read(line.format("."))
    told = any("AGENTS.md lies there" in (one.why or "") for one in found.findings)
    assert told is (found.risk is Risk.HIGH) is (line in FORMATTERS)
    assert not any(one.barred for one in found.findings)
    assert reader.risk(line.format("docs")) is Risk.MODERATE
    if line in FORMATTERS:
        for place in ("", "src", '"src/**/*.md"', "./src/"):
            assert reader.risk(line.format(place)) is Risk.HIGH, place
        assert reader.risk(line.format('"src/**/*.ts"')) is Risk.MODERATE


def test_a_pattern_may_be_an_option_where_a_file_is_named_like_one(tmp_path: Path) -> None:
    reader = Reader(tmp_path.resolve(), tmp_path.resolve())
    (tmp_path / "notes.txt").write_text("notes")
    assert reader.risk("find * -name x") is Risk.LOW
    (tmp_path / "-delete").write_text("")
    assert reader.risk("find * -name x") is Risk.HIGH


def test_a_name_that_the_shell_splits_may_be_a_test_that_runs_commands(tmp_path: Path) -> None:
    reader = Reader(tmp_path.resolve(), tmp_path.resolve())
    (tmp_path / "notes.txt").write_text("notes")
    assert reader.risk("for f in *; do [ -f $f ]; done") is Risk.LOW
    (tmp_path / "-v a[$(id)]").write_text("")
    assert reader.risk("for f in *; do [ -f $f ]; done") is Risk.HIGH
    assert reader.risk('for f in *; do [ -f "$f" ]; done') is Risk.LOW


def test_a_module_of_the_library_is_itself_where_nothing_takes_its_place(tmp_path: Path) -> None:
    reader = Reader(tmp_path.resolve(), tmp_path.resolve())
    (tmp_path / "cmd").mkdir()
    assert reader.risk("python3 -m json.tool notes.json") is Risk.LOW
    (tmp_path / "argparse.py").write_text("")
    assert reader.risk("python3 -m json.tool notes.json") is Risk.MODERATE
    (tmp_path / "argparse.py").unlink()
    (tmp_path / "cmd/__init__.py").write_text("")
    assert reader.risk("python3 -m json.tool notes.json") is Risk.MODERATE


def test_the_top_of_a_repository_is_known_where_there_is_one_only(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "work"
    (work / "sub").mkdir(parents=True)
    reader = Reader(work, tmp_path.resolve())
    line = 'ls "$(git rev-parse --show-toplevel)/sub"'
    assert reader.risk(line) is not Risk.LOW
    (work / ".git").mkdir()
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert reader.risk(line) is Risk.LOW
    (tmp_path / ".git").mkdir()
    assert reader.risk(line) is not Risk.LOW

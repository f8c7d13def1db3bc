"""What a project's own files say counts: environments that are up to date, tags, names with blanks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sayso.core.model import Risk
from tests.support.shell_lines import Reader


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    for name in ("src", ".git/refs/tags", ".git/objects", ".venv/lib/python3.12/site-packages"):
        (folder / name).mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / "notes.txt").write_text("x\n")
    return folder


def operations(work: Path, line: str) -> set[str]:
    return {one.operation for one in Reader(work, work.parent).read(line).findings}


def risk(work: Path, line: str) -> Risk:
    return Reader(work, work.parent).risk(line)


def set_times(work: Path, source: int, lock: int, packages: int) -> None:
    for name, when in (
        ("pyproject.toml", source),
        ("uv.lock", lock),
        (".venv/lib/python3.12/site-packages", packages),
    ):
        if "." in name.rpartition("/")[2]:
            (work / name).write_text("")
        os.utime(work / name, (when, when))


def test_uv_run_is_free_of_installs_only_where_the_environment_is_up_to_date(work: Path) -> None:
    assert "packages.install" in operations(work, "uv run pytest")
    set_times(work, 100, 200, 300)
    assert operations(work, "uv run pytest") == {"build.run", "tests.run"}
    set_times(work, 250, 200, 300)
    assert "packages.install" in operations(work, "uv run pytest")
    set_times(work, 100, 400, 300)
    assert "packages.install" in operations(work, "uv run pytest")
    set_times(work, 100, 200, 300)
    assert "packages.install" in operations(work, "echo x >> pyproject.toml && uv run pytest")
    assert risk(work, "uv run --with evil pytest") is Risk.HIGH
    assert risk(work, "uv run rm -rf src") is Risk.HIGH


def test_a_tag_that_begins_with_a_dash_may_be_an_option(work: Path) -> None:
    line = "git log $(git describe --tags --abbrev=0).."
    assert risk(work, line) is Risk.LOW
    (work / ".git/packed-refs").write_text("0000 refs/tags/v1\n0000 refs/tags/--output=x\n")
    assert risk(work, line) is Risk.HIGH
    (work / ".git/packed-refs").write_text("0000 refs/tags/v1\n")
    assert risk(work, line) is Risk.LOW
    (work / ".git/refs/tags/--output=x").write_text("0000\n")
    assert risk(work, line) is Risk.HIGH


@pytest.mark.parametrize(
    "line",
    [
        "for f in *; do find $f -name x; done",
        "for f in *; do cat $f; done",
        "ls | xargs sort",
        "find . -name '*.py' | xargs sort",
        "git ls-files | xargs sort",
        "sort $(ls)",
    ],
)
@pytest.mark.parametrize("name", ["x -delete", "src/y -o z.py", "a id_rsa", "'-o' x"])
def test_a_name_that_is_split_may_be_an_option_or_a_secret(work: Path, line: str, name: str) -> None:
    assert risk(work, line) is Risk.LOW
    (work / "my notes - copy.txt").write_text("")
    assert risk(work, line) is Risk.LOW
    (work / name).write_text("")
    assert risk(work, line) is Risk.HIGH
    assert risk(work, line.replace("$f", '"$f"')) is (Risk.LOW if "$f" in line else Risk.HIGH)


def test_what_a_script_activates_is_the_projects_environment(work: Path) -> None:
    (work / ".venv/bin").mkdir()
    (work / ".venv/pyvenv.cfg").write_text("")
    (work / ".venv/bin/activate").write_text("PATH=x")
    assert operations(work, "source .venv/bin/activate && pytest") == {"build.run", "tests.run"}
    assert Reader(work, work.parent).read(". .venv/bin/activate").pins
    (work / "activate").write_text("PATH=x")
    assert risk(work, "source ./activate && pytest") is Risk.HIGH


@pytest.mark.parametrize("beside", ["plain.txt", "été.txt"])
@pytest.mark.parametrize("name", [".yarnrc", ".cargo/config.toml", "setup.cfg", ".config/ansible-lint.yml"])
def test_a_file_that_names_code_is_found_whatever_lies_beside_it(work: Path, name: str, beside: str) -> None:
    """Names that are not plain letters may be other spellings, so each file is then looked for by itself."""
    (work / beside).write_text("x\n")
    assert "scripts.run" not in operations(work, "mypy src")
    (work / name).parent.mkdir(exist_ok=True)
    (work / name).write_text("plugins = ./x.py\n")
    assert "scripts.run" in operations(work, "mypy src")


def test_a_line_lists_a_folder_once_and_the_next_line_again(work: Path) -> None:
    line = "ls | xargs wc -l"
    assert risk(work, line) is Risk.LOW
    (work / "x -delete").write_text("x\n")
    assert risk(work, line) is not Risk.LOW

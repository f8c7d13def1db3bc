"""A shell tool's call becomes the operations of its command line, with the part that made each so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sayso.core.model import Declaration, Piece, Risk
from sayso.gate.deciding.request import make_call, read_request
from sayso.policy.load import load_preset
from sayso.reading.resolve import operations_for
from tests.support.shell_lines import Reader

SHELL_TOOLS = (
    "Bash",
    "bash",
    "run_bash",
    "shell",
    "execute_command",
    "run_shell_command",
    "terminal",
    "run_in_terminal",
)


def read(
    line: str, folder: Path, tool: str = "Bash", preset: str = "coding"
) -> dict[str, tuple[Risk | None, tuple[Piece, ...]]]:
    found = operations_for(
        tool,
        {"command": line},
        load_preset(preset),
        folder=str(folder),
        workspace=str(folder),
        home=str(folder.parent),
    )
    return {one.name: (one.reading, one.because) for one in found}


@pytest.mark.parametrize("preset", ["chat", "balanced", "trusting", "coding"])
@pytest.mark.parametrize("tool", SHELL_TOOLS)
def test_every_usual_shell_tool_is_read(tmp_path: Path, tool: str, preset: str) -> None:
    assert read("git push --force", tmp_path.resolve(), tool, preset)["git.push_force"][0] is Risk.HIGH
    assert read("pytest", tmp_path.resolve(), tool, preset) == {
        "tests.run": (Risk.MODERATE, (Piece(None, "pytest"),))
    }


@pytest.mark.parametrize(
    "line",
    ["eslint --fix src", "prettier --write .", "ruff check --fix", "black .", "cargo fmt", "gofmt -w ."],
)
def test_a_formatter_edits_and_is_no_check(line: str, tmp_path: Path) -> None:
    assert set(read(line, tmp_path.resolve())) == {"files.edit"}


def test_each_operation_names_the_words_that_made_it(tmp_path: Path) -> None:
    found = read("ls && git add -A && git commit -m 'x y'", tmp_path.resolve())
    assert found == {
        "git.add": (Risk.MODERATE, (Piece(None, "git add -A"),)),
        "git.commit": (Risk.MODERATE, (Piece(None, "git commit -m 'x y'"),)),
        "files.list": (Risk.LOW, ()),
    }


def test_words_inside_a_script_are_found_where_they_stand(tmp_path: Path) -> None:
    found = read("bash -c 'ls; git push'", tmp_path.resolve())
    assert found["git.push"] == (Risk.HIGH, (Piece(None, "git push"),))


def test_the_strictest_operation_comes_first(tmp_path: Path) -> None:
    assert next(iter(read("ls; touch x; git push", tmp_path.resolve()))) == "git.push"


def test_an_edit_through_the_shell_is_an_edit_of_the_workspace(tmp_path: Path) -> None:
    assert set(read("sed -i s/a/b/ notes.txt", tmp_path.resolve())) == {"files.edit"}
    assert set(read("echo x > notes.txt", tmp_path.resolve())) == {"files.write"}
    outside = read("echo x > ../notes.txt", tmp_path.resolve())
    assert outside["files.write_outside_workspace"][0] is Risk.HIGH


def test_a_row_of_words_is_a_command_line(tmp_path: Path) -> None:
    where = {"folder": str(tmp_path.resolve()), "workspace": str(tmp_path.resolve()), "home": "/root"}
    found = operations_for("shell", {"command": ["bash", "-lc", "git push"]}, load_preset("coding"), **where)
    assert [one.name for one in found] == ["git.push"]


@pytest.mark.parametrize(
    "args", [{}, {"command": 7}, {"command": None}, {"command": ["ls", 3]}, {"command": ""}]
)
def test_a_command_that_is_no_text_cannot_be_told(tmp_path: Path, args: dict[str, object]) -> None:
    found = operations_for(
        "Bash", args, load_preset("coding"), folder=str(tmp_path), workspace=str(tmp_path), home="/root"
    )
    assert [(one.name, one.reading) for one in found] == [("shell.run", Risk.HIGH)]


def test_the_content_of_a_file_that_runs_is_pinned(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    script = folder / "deploy.sh"
    script.write_text("echo one\n")

    def places() -> tuple[str, ...]:
        call = make_call("Bash", {"command": "./deploy.sh"}, folder=str(folder), workspace=str(folder))
        return read_request(call, Declaration(), load_preset("coding")).call.places

    before = places()
    assert len(before) == 1
    assert before[0].startswith(f"{script}#sha256:")
    script.write_text("echo two\n")
    assert places() != before


def test_a_link_to_a_secret_is_one(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/id_rsa").write_text("key")
    (folder / "notes.txt").symlink_to(tmp_path / ".ssh/id_rsa")
    reader = Reader(folder, tmp_path.resolve())
    assert reader.risk("cat notes.txt") is Risk.HIGH
    assert reader.risk("cat other.txt") is Risk.LOW


def count_kept_for_ever() -> dict[str, int]:
    """Return how much each cache of Sayso holds that never forgets."""
    ours = [module for name, module in sys.modules.items() if name.startswith("sayso.")]
    caches = [one for module in ours for one in vars(module).values() if hasattr(one, "cache_info")]
    endless = [one for one in caches if one.cache_info().maxsize is None]
    return {f"{one.__module__}.{one.__qualname__}": one.cache_info().currsize for one in endless}


def test_nothing_that_an_agent_makes_up_is_kept_for_ever(tmp_path: Path) -> None:
    made_up = "made{0} --o{0} x{0}; git made{0}; npm run s{0}; env V{0}=1 p{0}; ssh h{0} c{0}; cat d{0}/f{0}"
    read(made_up.format(0), tmp_path)
    before = count_kept_for_ever()
    for number in range(1, 20):
        read(made_up.format(number), tmp_path)
    assert before
    assert count_kept_for_ever() == before

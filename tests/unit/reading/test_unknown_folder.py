"""A relative path of an agent without a folder is neither inside nor outside: it asks as unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.model import Declaration, Risk
from sayso.core.words import UNKNOWN_FOLDER
from sayso.gate.deciding.request import make_call, read_request
from sayso.policy import load_preset
from sayso.reading.resolve import operations_for

TOOLS = {"Edit": "file_path", "Write": "file_path", "Read": "file_path"}


@pytest.mark.parametrize("tool", list(TOOLS))
@pytest.mark.parametrize("path", ["src/a.py", "a.py", "./a.py", "../a.py", "deep/er/a.py"])
def test_a_relative_path_without_a_folder_is_not_called_outside_the_workspace(tool: str, path: str) -> None:
    policy = load_preset("coding")
    for one in operations_for(tool, {TOOLS[tool]: path}, policy, folder="", workspace="", home="/home/ana"):
        assert "outside" not in one.name
        assert one.reading is Risk.HIGH
        assert one.found == UNKNOWN_FOLDER


@pytest.mark.parametrize("path", ["/etc/passwd", "~/x", "/srv/x"])
def test_a_path_that_is_known_to_be_outside_still_is(path: str) -> None:
    policy = load_preset("coding")
    (one,) = operations_for("Edit", {"file_path": path}, policy, folder="", workspace="", home="/home/ana")
    assert one.name == "files.write_outside_workspace"


def test_a_secret_is_a_secret_in_whatever_folder() -> None:
    policy = load_preset("coding")
    (one,) = operations_for("Edit", {"file_path": ".env"}, policy, folder="", workspace="", home="/home/ana")
    assert one.name == "files.modify_secrets"


def test_with_a_folder_a_relative_path_is_inside_or_outside_it() -> None:
    policy = load_preset("coding")
    where = {"folder": "/srv/app", "workspace": "/srv/app", "home": "/home/ana"}
    (inside,) = operations_for("Edit", {"file_path": "a.py"}, policy, **where)
    (outside,) = operations_for("Edit", {"file_path": "../b/a.py"}, policy, **where)
    assert (inside.found, outside.name) == (None, "files.write_outside_workspace")


@pytest.mark.parametrize(
    ("tool", "args", "asks"),
    [
        ("Bash", {"command": "git status"}, True),
        ("Bash", {"command": "cat a.txt"}, True),
        ("Read", {"file_path": "a.txt"}, True),
        ("Bash", {"command": "pwd"}, False),
    ],
)
def test_in_a_folder_that_was_deleted_a_call_is_read_and_its_paths_ask(
    tool: str, args: dict[str, str], asks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    request = read_request(
        make_call(tool, args), Declaration((), "host"), load_preset("coding"), agent="a", session="s"
    )
    assert any(one.reading is Risk.HIGH for one in request.operations) is asks

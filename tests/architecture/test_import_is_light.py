"""`import sayso` loads nothing heavy, and neither does deciding."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sayso

HEAVY = {
    "asyncio",
    "cel",
    "click",
    "opentelemetry",
    "phonenumbers",
    "platformdirs",
    "rich",
    "ruamel",
    "sqlite3",
    "typer",
}


def loaded_by(code: str) -> set[str]:
    """The modules a fresh Python has loaded after running this code."""
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_sayso_loads_nothing_but_itself() -> None:
    loaded = loaded_by("import sayso")
    assert HEAVY & loaded == set()
    assert loaded - loaded_by("") == {"sayso", "__future__"}


def test_deciding_loads_core_and_nothing_heavy() -> None:
    loaded = loaded_by("import sayso; sayso.decide")
    assert HEAVY & loaded == set()
    assert {name.split(".")[1] for name in loaded if name.startswith("sayso.")} == {"core"}


def test_the_gate_does_not_load_opentelemetry_by_itself() -> None:
    loaded = loaded_by("import sayso; sayso.Sayso; import sayso.gate.telemetry")
    assert "sayso.gate.telemetry" in loaded
    assert "opentelemetry" not in loaded


NOT_FOR_A_CHECK = HEAVY - {"platformdirs"} | {
    "difflib",
    "email",
    "http",
    "logging",
    "sayso.core.conversation",
    "sayso.doors",
    "sayso.gate.gate",
    "sayso.service",
    "sayso.store",
    "sayso.surfaces",
    "ssl",
    "zoneinfo",
}
OF_A_STORE = {"logging", "sayso.gate.gate", "sayso.store", "sqlite3"}


def loaded_by_command(*words: str) -> set[str]:
    """The modules that the command line has loaded when this command ends."""
    run = f"sys.argv = ['sayso', *{words!r}]\nfrom sayso.__main__ import main\n"
    return loaded_by(f"{run}try: main()\nexcept SystemExit: print()")


def test_a_check_loads_what_deciding_needs_and_no_more() -> None:
    loaded = loaded_by_command("check", "git", "commit", "--preset", "balanced")
    assert NOT_FOR_A_CHECK & loaded == set()
    assert len([name for name in loaded if name.startswith("sayso")]) < 110


def test_a_check_of_a_command_line_loads_no_door_and_no_store() -> None:
    bash = ("--tool", "Bash", "--args", '{"command": "git status"}', "--preset", "coding")
    assert NOT_FOR_A_CHECK & loaded_by_command("check", *bash) == set()


def test_a_check_on_a_store_loads_nothing_that_speaks_to_people(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    assert "sqlite3" in loaded_by_command("store", "init", "--store", store)
    loaded = loaded_by_command("check", "git", "commit", "--store", store)
    assert NOT_FOR_A_CHECK & loaded == OF_A_STORE


def test_what_is_heavy_would_be_noticed() -> None:
    assert HEAVY & loaded_by("import sqlite3, rich") == {"sqlite3", "rich"}


@pytest.mark.parametrize("name", sayso.__all__)
def test_every_public_name_can_be_had_and_is_listed(name: str) -> None:
    known_inside_as = {"ApprovalMode": "Mode"}.get(name, name)
    assert getattr(sayso, name).__name__ == known_inside_as
    assert name in dir(sayso)


def test_type_checkers_and_programs_are_told_of_the_same_names() -> None:
    text = Path(sayso.__file__).read_text(encoding="utf-8")
    (shown,) = [node for node in ast.parse(text).body if isinstance(node, ast.If)]
    homes = {
        name.asname or name.name: node.module
        for node in shown.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for name in node.names
    }
    assert homes == sayso._HOMES  # noqa: SLF001  the table that programs are served from
    assert sorted(homes) == sorted(sayso.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="allow_everything"):
        getattr(sayso, "allow_everything")  # noqa: B009  mypy would refuse the plain spelling

"""The help of `sayso` and its commands, made without loading them: what typer prints with all of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from sayso.cli.command_line import make_command_line
from sayso.cli.front import COMMANDS, find_command, format_front_page
from tests.support.rows import each_row

HEAVY = {"typer", "click", "rich", "ruamel", "msgspec", "cryptography"}


def print_help(only: str | None, *arguments: str) -> str:
    ran = CliRunner().invoke(make_command_line(only), [*arguments, "--help"], prog_name="sayso")
    assert ran.exit_code == 0
    return ran.output


@pytest.mark.parametrize("columns", [64, 72, 80, 90, 100, 101, 200])
def test_the_front_page_is_the_help_of_all_commands(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    make_command_line()(["--help"], prog_name="sayso", standalone_mode=False)
    assert format_front_page("sayso", columns) == capsys.readouterr().out


def test_a_narrow_front_page_says_the_same_and_cuts_no_word_in_two() -> None:
    narrow = format_front_page("sayso", 20)
    assert narrow.split() == format_front_page("sayso", 100).split()
    assert max(map(len, narrow.splitlines())) <= 50


@each_row("name", [one.name for one in COMMANDS])
def test_a_command_alone_is_the_same_as_among_all(name: str) -> None:
    assert print_help(name, name) == print_help(None, name)


def test_every_command_has_its_place() -> None:
    commands = getattr(get_command(make_command_line()), "commands", {})
    assert sorted(commands) == sorted(one.name for one in COMMANDS)


def test_only_a_command_that_comes_first_is_loaded_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_command(["check", "email", "send"]) == "check"
    assert find_command(["--approval", "check", "inbox"]) is None
    assert find_command(["chek"]) is None
    assert find_command([]) is None
    monkeypatch.setenv("_SAYSO_COMPLETE", "complete_bash")
    assert find_command(["check"]) is None


@pytest.mark.parametrize("words", ["diff", "diff graph", "show", "lint"])
def test_completion_offers_presets_where_a_policy_is_named(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"sayso policy {words} ba"
    for name, value in {
        "_SAYSO_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }.items():
        monkeypatch.setenv(name, value)
    ran = CliRunner().invoke(make_command_line(), [], prog_name="sayso")
    assert ran.output.split() == ["balanced"]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['sayso', '--help']\n"
        "from sayso.__main__ import main; main()\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("Usage: ")
    assert ran.stdout.endswith("[]\n")


def test_help_that_nobody_reads_ends_without_a_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "sayso", "--help"]
    ran = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (ran.returncode, ran.stderr) == (1, "")


def test_a_check_loads_no_yaml_and_nothing_that_signs() -> None:
    code = (
        "import sys; sys.argv = ['sayso', 'check', 'git', 'commit', '--preset', 'coding']\n"
        "from sayso.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: print(sorted({'ruamel', 'cryptography', 'rich'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "FORCED -- ask the operator first\n[]\n"

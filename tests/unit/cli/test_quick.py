"""Commands that are started without typer read the same, and end the same, as with it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from typer.main import get_command

from sayso.cli import checking, main
from sayso.cli.checking import CheckArguments
from sayso.cli.command_line import make_command_line
from sayso.cli.quick import QUICK, find_quick_run, read_plainly
from sayso.cli.views.wrapping import print_line
from tests.support.rows import each_row

PLAIN = [
    [],
    ["git", "commit"],
    ["git", "commit", "0.9"],
    ["git", "commit", "0.9", "--json"],
    ["--json", "git", "--preset", "coding", "commit"],
    ["--tool", "Bash", "--args", '{"command": "git status"}'],
    ["--tool=Bash", '--args={"a": "b=c"}', "0.5"],
    ["--tool", "", "--args="],
    ["", "", ""],
    ["git", "commit", "--policy", "here/policy.yaml"],
    ["git", "commit", "--policy", ""],
    ["git", "commit", "--store", "a.db", "--session", "s_4f", "--approval", "paranoid"],
    ["git", "com mit\n", "é\u202e"],
]
LEFT_TO_TYPER = [
    ["--help"],
    ["-h"],
    ["git", "commit", "--help"],
    ["git", "commit", "0.9", "more"],
    ["git", "commit", "-1"],
    ["git", "-"],
    ["git", "--", "commit"],
    ["git", "commit", "--json=yes"],
    ["git", "commit", "--json", "--json"],
    ["git", "commit", "--preset", "a", "--preset", "b"],
    ["git", "commit", "--preset"],
    ["git", "commit", "--preset", "--json"],
    ["git", "commit", "--preset=-x"],
    ["git", "commit", "--pre", "balanced"],
    ["git", "commit", "--no-json"],
    ["git", "commit", "--unknown"],
    ["--tool", "-x"],
]


def command_of_typer(name: str) -> Any:
    commands: dict[str, Any] = getattr(get_command(make_command_line(name)), "commands", {})
    return commands[name]


def read_by_typer(name: str, words: Sequence[str]) -> dict[str, Any]:
    context = command_of_typer(name).make_context(name, list(words))
    return {key: value for key, value in context.params.items() if value not in (None, False)}


@each_row("name", QUICK)
def test_the_table_names_every_parameter_of_the_command(name: str) -> None:
    quick, params = QUICK[name], command_of_typer(name).params
    options = [one for one in params if one.param_type_name == "option" and one.name != "help"]
    assert quick.arguments == tuple(one.name for one in params if one.param_type_name == "argument")
    assert quick.options == {word: one.name for one in options if not one.is_flag for word in one.opts}
    assert quick.flags == {word: one.name for one in options if one.is_flag for word in one.opts}
    assert quick.variables == {one.envvar: one.name for one in options if one.envvar}
    assert all(one.nargs == 1 and not one.multiple for one in options)
    assert all(not one.secondary_opts and one.default in (None, False) for one in options)
    named = {*quick.arguments, *quick.options.values(), *quick.flags.values()}
    assert named == set(CheckArguments._fields)
    assert callable(getattr(checking, quick.function))


@each_row("name", QUICK)
@each_row("words", PLAIN, ids=repr)
def test_plain_words_are_read_as_typer_reads_them(
    name: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SAYSO_STORE", raising=False)
    assert read_plainly(QUICK[name], words) == read_by_typer(name, words)


@each_row("words", LEFT_TO_TYPER, ids=repr)
def test_all_other_words_are_left_to_typer(words: list[str]) -> None:
    assert find_quick_run(["check", *words]) is None
    assert find_quick_run(["explain", *words]) is None


def test_only_a_quick_command_that_comes_first_is_run_without_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_quick_run(["check", "git", "commit"]) is not None
    assert find_quick_run(["inbox"]) is None
    assert find_quick_run(["--approval", "paranoid", "check", "git", "commit"]) is None
    assert find_quick_run([]) is None
    monkeypatch.setenv("_SAYSO_COMPLETE", "complete_bash")
    assert find_quick_run(["check", "git", "commit"]) is None


@pytest.mark.parametrize("place", ["", "elsewhere.db"])
@pytest.mark.parametrize("words", [["git", "commit"], ["git", "commit", "--store", "a.db"]])
def test_the_variable_stands_in_for_the_option(
    place: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_STORE", place)
    assert read_plainly(QUICK["check"], words) == read_by_typer("check", words)


RUNS = [
    ["check", "git", "commit", "--preset", "balanced"],
    ["check", "git", "commit", "--preset", "balanced", "--json"],
    ["check", "self_modification", "modify_policy", "--preset", "balanced"],
    ["check", "self_modification", "modify_policy", "--preset", "balanced", "--json"],
    ["check", "--tool", "Bash", "--args", '{"command": "git status"}', "--preset", "coding"],
    ["explain", "git", "commit", "--preset", "balanced"],
    ["explain", "git", "commit", "--preset", "balanced", "--json"],
    ["check", "git"],
    ["check", "git", "commit", "x", "--preset", "balanced"],
    ["check", "git", "commit", "--preset", "nosuch"],
    ["check", "git", "commit", "--policy", "nosuch.yaml"],
    ["check", "git", "commit", "--preset", "balanced", "--session", "s_4f"],
    ["check", "git", "\x1b[31mcommit", "--preset", "balanced"],
    ["check", "git", "commit", "--preset", "balanced", "--approval", "never"],
    ["check", "git", "commit", "--approval", "never"],
]


@each_row("words", RUNS, ids=repr)
def test_a_command_ends_the_same_with_typer_and_without(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sayso", *words])
    assert find_quick_run(words) is not None
    with pytest.raises(SystemExit) as without:
        main.run_command()
    printed = capsys.readouterr()
    with monkeypatch.context() as for_this_row:
        for_this_row.setattr(main, "find_quick_run", lambda _: None)
        with pytest.raises(SystemExit) as with_typer:
            main.run_command()
    assert (without.value.code, printed) == (with_typer.value.code, capsys.readouterr())


WITH_TYPER = "import sayso.cli.main as main; main.find_quick_run = lambda _: None"
BROKEN = [("stdout",), ("stderr",), ("stdout", "stderr")]


@pytest.mark.parametrize("broken", BROKEN, ids="+".join)
@pytest.mark.parametrize("words", [RUNS[0], RUNS[3], RUNS[5], RUNS[9]], ids=repr)
def test_a_pipe_that_nobody_reads_ends_both_with_the_same_code(
    words: list[str], broken: tuple[str, ...]
) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    for first in ("", WITH_TYPER):
        code = f"{first}\nfrom sayso.__main__ import main; main()"
        out, err = (write if name in broken else subprocess.PIPE for name in ("stdout", "stderr"))
        command = [sys.executable, "-c", code, *words]
        ran = subprocess.run(command, check=False, text=True, env=environment, stdout=out, stderr=err)
        ended.append((ran.returncode, ran.stdout, ran.stderr))
    os.close(write)
    assert ended[0] == ended[1]
    assert ended[0][0] in (1, 2)


def test_a_wrong_mode_is_refused_before_a_policy_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sayso", "check", "git", "commit", "--approval", "never"])
    with pytest.raises(SystemExit) as end:
        main.run_command()
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("sayso: approval: 'never' is not an approval mode\n")


def test_ctrl_c_ends_both_with_the_same_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **more: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "open_decider", interrupt)
    monkeypatch.setattr(sys, "argv", ["sayso", "check", "git", "commit", "--preset", "balanced"])
    ended = []
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            main.run_command()
        ended.append((end.value.code, capsys.readouterr()))
        monkeypatch.setattr(main, "find_quick_run", lambda _: None)
    assert ended == [(130, ("", ""))] * 2


def test_a_mode_of_an_earlier_command_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for before in ([], ["--approval", "trusting"], []):
        monkeypatch.setattr(
            sys, "argv", ["sayso", *before, "check", "email", "send", "0.99", "--preset", "chat"]
        )
        with pytest.raises(SystemExit):
            main.run_command()
        said.append(capsys.readouterr().out)
    assert said[0] == said[2]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_line_is_printed_as_typer_prints_it(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    print_line("n\x1b[31mé")
    print_line("né")
    assert written.getvalue().decode() == "né\nné\n"


def test_memory_is_collected_again_once_a_command_of_typer_runs() -> None:
    code = (
        "import gc, sys; sys.argv = ['sayso', '--version']\n"
        "from sayso.__main__ import main\n"
        "try: main()\n"
        "finally: print(gc.isenabled())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("\nTrue\n")

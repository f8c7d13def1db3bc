"""The examples and the code in the documentation, as a newcomer runs them: at a terminal and without one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.e2e.newcomer import at_terminal, without_terminal, working_folder
from tests.support.pages import MARK, agrees, blocks_of, shown_on
from tests.support.repository import ROOT

EXAMPLES = ("chat_agent.py", "task_tool.py", "workflow.py")
NOBODY = "nobody can be asked: there is no surface that could show the question"


def path_of(example: str) -> str:
    return str(ROOT / "examples" / example)


def text_of(example: str) -> str:
    return Path(path_of(example)).read_text(encoding="utf-8")


def test_every_example_is_tried_here() -> None:
    assert tuple(sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_file())) == EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_under_60_lines_and_says_how_to_try_it(example: str) -> None:
    assert len(text_of(example).splitlines()) < 60
    assert f"Try it: python examples/{example}" in (ast.get_docstring(ast.parse(text_of(example))) or "")


@pytest.mark.parametrize("example", EXAMPLES)
def test_at_a_terminal_it_is_as_the_documentation_shows(example: str, tmp_path: Path) -> None:
    (shown,) = [block for block in blocks_of("docs/python.md") if block.example == example]
    screen = at_terminal(tmp_path, path_of(example), typed=shown.typed)
    assert agrees(screen, shown.text), screen


def test_without_a_terminal_the_task_is_not_created_as_the_documentation_shows(tmp_path: Path) -> None:
    ran = without_terminal(tmp_path, path_of("task_tool.py"))
    assert ran.returncode == 0
    assert ran.stderr == ""
    assert ran.stdout.endswith(f"denied, {NOBODY}\ntasks on the list: 0\n")
    assert ran.stdout in [block.text for block in blocks_of("docs/python.md")]


def test_without_a_terminal_the_workflow_is_not_started_and_says_so(tmp_path: Path) -> None:
    ran = without_terminal(tmp_path, path_of("workflow.py"))
    assert (ran.returncode, ran.stdout) == (0, f"denied: {NOBODY}\n")
    assert ran.stderr == ""


def test_without_a_terminal_nobody_agrees_in_the_chat_and_nothing_is_done(tmp_path: Path) -> None:
    ran = without_terminal(tmp_path, path_of("chat_agent.py"))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("there is no terminal, so nobody can agree") == 6
    assert "need consent:" in ran.stdout
    assert "is done" not in ran.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_trying_an_example_leaves_nothing_behind(example: str, tmp_path: Path) -> None:
    assert without_terminal(tmp_path, path_of(example)).returncode == 0
    assert list(tmp_path.rglob("*")) == [working_folder(tmp_path)]


@pytest.mark.parametrize("typed", ["", "deny", "no, not now"])
def test_at_a_terminal_a_no_leaves_the_list_empty(typed: str, tmp_path: Path) -> None:
    screen = at_terminal(tmp_path, path_of("task_tool.py"), typed=[typed])
    assert "through the gate: denied, denied by " in screen
    assert "tasks on the list: 0" in screen


def test_a_no_to_the_step_with_its_own_consent_keeps_the_report_from_being_sent(tmp_path: Path) -> None:
    screen = at_terminal(tmp_path, path_of("workflow.py"), typed=["always", "deny"])
    assert "denied: stopped at report.send: denied by " in screen
    assert "had run before: notes.read, report.write" in screen


def test_in_the_chat_nothing_is_done_unless_the_user_agrees(tmp_path: Path) -> None:
    said = ["Fix the header parser", "hm, wait", "no", "never mind", "Revoke all consent", "no"]
    screen = at_terminal(tmp_path, path_of("chat_agent.py"), typed=said)
    assert "Stopped, clearing consent state" in screen
    assert "is done" not in screen


def test_a_chat_host_adds_five_numbered_lines() -> None:
    remarks = [line.partition("  # ")[2] for line in text_of("chat_agent.py").splitlines()]
    assert [remark[0] for remark in remarks if remark[1:2] == ":"] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_code_of_a_page_prints_what_the_page_shows(page: str, tmp_path: Path) -> None:
    shown = shown_on(page)
    assert shown, "a page without code"
    typed = [line for block, _ in shown for line in block.typed]
    _, *printed = at_terminal(tmp_path, "-m", "tests.support.pages", page, typed=typed).split(MARK)
    for (block, expected), real in zip(shown, printed, strict=True):
        assert expected is None or agrees(real, expected), f"{block.text}\nprinted:\n{real}"

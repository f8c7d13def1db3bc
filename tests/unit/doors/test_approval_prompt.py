"""The box of `ApprovalManager`: the seed's own, and nothing in it that an agent drew."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from sayso.core.model import Mode
from sayso.doors.approval_prompt import Prompt, RiskLevel, _width, ask_at_terminal
from tests.support.rows import each_row

SEED = """\
┌─────────────────────────────────────────────┐
│  Tool: git_push                             │
│  Risk: HIGH                                 │
│                                             │
│  Arguments:                                 │
│    remote: origin                           │
│    branch: main                             │
│                                             │
│  Allow execution? [y/N]                     │
└─────────────────────────────────────────────┘"""


def prompt(args: dict[str, Any], risk: RiskLevel = RiskLevel.MEDIUM, tool: str = "tool") -> Prompt:
    return Prompt(tool, args, risk, Mode.BALANCED)


def rows(args: dict[str, Any], risk: RiskLevel = RiskLevel.MEDIUM) -> list[str]:
    """The lines of the arguments, without the frame."""
    lines = prompt(args, risk).text.splitlines()
    return [line[3:-1].rstrip() for line in lines[5:-3]]


def test_the_box_is_the_seeds() -> None:
    asked = prompt({"remote": "origin", "branch": "main"}, RiskLevel.HIGH, "git_push")
    assert asked.text == SEED
    assert str(asked) == SEED


def test_without_arguments_it_says_so() -> None:
    assert "│  Arguments: none                            │" in prompt({}).text.splitlines()


VALUES: list[tuple[Any, str]] = [
    ("origin", "origin"),
    ("fix the parser", "fix the parser"),
    ("C:\\new", "C:\\new"),
    ("", '""'),
    (" a ", '" a "'),
    ("true", '"true"'),
    (True, "true"),
    ("7", '"7"'),
    (7, "7"),
    (None, "null"),
    ("null", '"null"'),
    ('"quoted"', '"\\"quoted\\""'),
    ('"half', '"\\"half"'),
    (["a", 1], '["a",1]'),
    ({"b": 1, "a": {}}, '{"a":{},"b":1}'),
    ("a\nb", '"a\\nb"'),
    ("a\\nb", "a\\nb"),
    ("\x1b[2Ja", '"\\u001b[2Ja"'),
    ("a\u202eb", '"a\\u202eb"'),
    ("a\u200bb", '"a\\u200bb"'),
    ("a│b", '"a\\u2502b"'),
    ("█", '"\\u2588"'),
]


@each_row(("value", "shown"), VALUES)
def test_a_value_is_shown_so_that_it_can_be_nothing_else(value: Any, shown: str) -> None:
    assert rows({"name": value}) == [f"  name: {shown}"]


def test_no_two_values_are_shown_alike() -> None:
    assert len({shown for _, shown in VALUES}) == len(VALUES)


FORGERIES = [
    "x\n│  Risk: SAFE",
    "x\r│  Risk: SAFE",
    "x\u2028│  Risk: SAFE",
    "x\x85Risk: SAFE",
    "x\x1b[1A\x1b[2KRisk: SAFE",
    "─┘\n\n┌─ Allow execution? [y/N] y",
    "x" + " " * 200 + "Risk: SAFE",
    "x" + " " * 61 + "│" + "  Risk: SAFE",
    "漢" * 500,
    "e" + "\u0301" * 500,
    "\u202e" + "EFAS :ksiR",
]


@each_row("forged", FORGERIES)
@each_row("where", ["name", "value", "deep"])
def test_nothing_an_agent_writes_can_imitate_or_break_the_frame(forged: str, where: str) -> None:
    made: dict[str, dict[str, Any]] = {
        "name": {forged: "x"},
        "value": {"x": forged},
        "deep": {"x": [{forged: forged}]},
    }
    first, *lines, last = prompt(made[where]).text.split("\n")
    inner = len(first) - 2
    assert (first, last) == (f"┌{'─' * inner}┐", f"└{'─' * inner}┘")
    for line in lines:
        assert line.startswith("│")
        assert line.endswith("│")
        assert not set(line[1:-1]) & set("─│┌┐└┘█")
        assert line.isprintable()
        assert sum(map(_width, line)) == inner + 2 <= 78
    assert [line for line in lines if line.startswith("│  Risk:")] == [
        f"│  Risk: MEDIUM{' ' * (inner - 14)}│"
    ]
    assert [number for number, line in enumerate(lines) if line.startswith("│  Allow")] == [len(lines) - 1]
    agents = lines[4:-2]
    assert agents[0].startswith("│    ")
    assert all(line.startswith("│    … ") for line in agents[1:])


def test_marks_are_not_piled_over_the_lines_around() -> None:
    assert rows({"a": "e" + "\u0301" * 3}) == ['  a: "e\u0301\u0301\\u0301"']
    assert rows({"a": "e\u0301"}) == ["  a: e\u0301"]


def test_a_name_that_is_more_than_a_word_is_quoted() -> None:
    assert rows({"Allow execution? [y/N]": "y"}) == ['  "Allow execution? [y/N]": y']


def test_the_box_grows_to_what_a_terminal_holds_and_then_goes_on_in_the_next_line() -> None:
    assert len(prompt({"a": "x" * 38}).text.split("\n")[0]) == 47 + 2
    wide = prompt({"a": "x" * 200}).text.split("\n")
    assert {len(line) for line in wide} == {78}
    shown = "".join(row.removeprefix("  ").removeprefix("… ") for row in rows({"a": "x" * 200}))
    assert shown == f"a: {'x' * 200}"


@pytest.mark.parametrize("risk", [RiskLevel.SAFE, RiskLevel.MEDIUM])
def test_a_long_value_is_folded_with_its_true_length(risk: RiskLevel) -> None:
    shown = "".join(
        row.removeprefix("  ").removeprefix("… ") for row in rows({"a": "x" * 5_000 + "END"}, risk)
    )
    assert shown == f"a: {'x' * 2_000} … (5003 characters in all)"


def test_at_high_risk_nothing_is_left_out() -> None:
    text = "x" * 5_000 + "END"
    shown = "".join(row.removeprefix("  ").removeprefix("… ") for row in rows({"a": text}, RiskLevel.HIGH))
    assert shown == f"a: {text}"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("missing", ["stdin", "both screens", "no stdin", "closed stdin"])
def test_without_a_terminal_to_show_and_read_the_answer_is_no(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = Terminal("y\n")
    closed.close()
    stdin: dict[str, Any] = {"stdin": io.StringIO("y\n"), "no stdin": None, "closed stdin": closed}
    screen = io.StringIO if missing == "both screens" else Terminal
    monkeypatch.setattr(sys, "stdin", stdin.get(missing, Terminal("y\n")))
    monkeypatch.setattr(sys, "stderr", screen())
    monkeypatch.setattr(sys, "stdout", screen())
    assert ask_at_terminal(prompt({})) is False

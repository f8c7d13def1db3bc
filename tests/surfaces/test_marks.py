"""Parts that made a call what is asked are marked where they stand; a change is lines that go and come."""

from __future__ import annotations

from typing import Any

from sayso.core.model import Piece, Risk
from sayso.gate.deciding.request import make_call
from sayso.gate.questions.surface import AskedQuestion
from sayso.surfaces.terminal.card import all_fact_lines, render_card
from sayso.surfaces.terminal.layout import Screen, wrap_marked
from tests.support.questions import NOW, asked_about

SCREEN = Screen(79, ascii=False)


def mark(text: str, *parts: str, width: int = 40) -> list[tuple[str, str]]:
    return list(wrap_marked(text, parts, width, SCREEN))


def test_carets_stand_under_the_part() -> None:
    assert mark("ls && rm -rf x", "rm -rf x") == [("ls && rm -rf x", "      ^^^^^^^^")]
    assert mark("ls", "rm") == [("ls", "")]
    assert mark("rm; xrmy", "rm") == [("rm; xrmy", "^^")]
    assert mark("xrmy", "rm") == [("xrmy", " ^^")]
    assert mark("rm a; rm a", "rm a") == [("rm a; rm a", "^^^^  ^^^^")]


def test_carets_follow_a_part_over_lines_and_wide_or_spelled_characters() -> None:
    assert mark("aaa bbb ccc", "bbb ccc", width=8) == [("aaa bbb ", "    ^^^^"), ("ccc", "^^^")]
    assert mark("漢 x", "x") == [("漢 x", "   ^")]
    assert mark("\x1b x", "x") == [("\\x1b x", "     ^")]
    assert mark("a\\n\nb", "b") == [("a\\n", ""), ("b", "^")]


def lines_of(asked: AskedQuestion) -> list[str]:
    return all_fact_lines(asked, SCREEN, NOW)


def test_the_part_of_a_command_is_marked_beside_a_label_of_ours() -> None:
    line = "ls && git push -f"
    call = make_call("shell", {"command": line}, command=line)
    told = lines_of(asked_about(call, because=(Piece(None, "git push -f"),)))
    at = told.index(f"Command    {line}")
    assert told[at + 1] == " marked          ^^^^^^^^^^^"
    assert not any("^" in one for one in lines_of(asked_about(call, because=(Piece(None, line),))))


def test_an_agent_that_draws_carets_draws_none_of_ours() -> None:
    line = "ls\n marked    ^^^^"
    told = lines_of(asked_about(make_call("shell", {"command": line}, command=line)))
    assert not any(one.startswith(" marked") for one in told)


def test_the_part_of_an_argument_is_marked() -> None:
    call = make_call("send", {"a": "me, you@there.example", "b": "you@there.example"})
    told = lines_of(asked_about(call, because=(Piece("a", "you@there.example"),)))
    at = told.index('Arguments  a: "me, you@there.example"')
    assert told[at + 1] == " marked            " + "^" * 17
    assert sum(one.startswith(" marked") for one in told) == 1


def edit(before: str, after: str, risk: Risk = Risk.MODERATE) -> AskedQuestion:
    args: dict[str, Any] = {"file_path": "a.py", "old_string": before, "new_string": after}
    return asked_about(make_call("Edit", args), risk=risk)


def test_a_change_is_shown_as_lines_that_go_and_come() -> None:
    told = lines_of(edit("a\nb\n", "a\n\x1b[2Jc"))
    at = told.index("Change     old_string becomes new_string:")
    assert [one.removeprefix(" " * 11) for one in told[at + 1 : at + 5]] == [
        "  a",
        "- b",
        "+ \\x1b[2Jc",
        "\\ no line end here",
    ]
    assert not any(one.startswith(("old_string:", "new_string:")) for one in told)


def test_a_long_line_of_a_change_cannot_pass_for_two() -> None:
    told = lines_of(edit("a", "x" * 61 + " - y"))
    assert " " * 13 + "- y" in told
    assert " " * 11 + "- y" not in told


def test_a_change_of_many_lines_is_folded_and_says_so() -> None:
    many = edit("".join(f"{n}\n" for n in range(50)), "x\n")
    assert render_card(many, SCREEN, NOW, whole=False, waiting=0).folded
    assert not render_card(many, SCREEN, NOW, whole=True, waiting=0).folded
    assert not render_card(edit("a\n", "b\n"), SCREEN, NOW, whole=False, waiting=0).folded

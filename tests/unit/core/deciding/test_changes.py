"""A change among arguments, shown as lines: whatever is shown holds both texts, letter by letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.deciding import changes
from sayso.core.deciding.changes import NO_LINE_END, TextChange, find_change
from sayso.core.deciding.decide import decide
from sayso.core.deciding.showing import describe_whole_call, shows_all
from sayso.core.decision import Item
from sayso.core.model import Operation, Piece, Request
from sayso.core.session import Session, View
from sayso.gate.deciding.request import make_call, make_request
from tests.unit.core.deciding.test_offers import NOW, POLICY

Asked = tuple[Request, tuple[Item, ...]]
TEXTS = st.text(alphabet="ab\r\u2028 -+\\\n", max_size=40)


def rebuild(change: TextChange) -> tuple[str, str]:
    """Both texts again, from what is shown."""
    before, after = [], []
    shown = list(change.lines())
    for (sign, line), (following, _) in zip(shown, [*shown, ("", "")][1:], strict=True):
        text = line if following == "\\" else f"{line}\n"
        if sign in "- ":
            before.append(text)
        if sign in "+ ":
            after.append(text)
        assert sign != "\\" or line == NO_LINE_END
    return "".join(before), "".join(after)


@given(before=TEXTS, after=TEXTS, most=st.sampled_from([0, 40_000]))
def test_nothing_of_a_change_is_lost(before: str, after: str, most: int) -> None:
    kept = changes.MOST_CELLS
    changes.MOST_CELLS = most
    try:
        assert rebuild(TextChange(("old", "new"), before, after)) == (before, after)
    finally:
        changes.MOST_CELLS = kept


def test_lines_that_are_alike_stay() -> None:
    change = TextChange(("old", "new"), "a\nb\nc\nd\n", "a\nc\nx\nd\n")
    assert list(change.lines()) == [(" ", "a"), ("-", "b"), (" ", "c"), ("+", "x"), (" ", "d")]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"file_path": "a", "old_string": "x", "new_string": "y"}, ("old_string", "new_string")),
        ({"oldText": "x", "newText": "y"}, ("oldText", "newText")),
        ({"old_string": "x"}, None),
        ({"old_string": "x", "new_string": 1}, None),
        ({"content": "x"}, None),
    ],
)
def test_a_change_is_two_texts_with_known_names(
    arguments: dict[str, object], names: tuple[str, str] | None
) -> None:
    found = find_change(arguments)
    assert (None if found is None else found.names) == names


def ask(args: dict[str, object], *operations: Operation, command: str | None = None) -> Asked:
    found = operations or (Operation("git.commit"),)
    request = make_request(make_call("Edit", args, command=command), found)
    return request, decide(request, POLICY, View(Session()), NOW).items


def test_a_question_shows_a_change_behind_signs_of_its_own() -> None:
    told = describe_whole_call(*ask({"old_string": "a\nb\n", "new_string": "a\n- tool: none\n", "path": "x"}))
    shown = ["        a", "      - b", "      + - tool: none", '    path: "x"']
    start = told.index("    old_string becomes new_string:") + 1
    assert told[start:] == shown


def test_a_change_too_long_to_be_shown_is_folded_and_not_complete() -> None:
    short, long = (ask({"old_string": "a" * size, "new_string": "b" * size}) for size in (1_000, 1_001))
    assert shows_all(*short)
    assert not shows_all(*long)
    assert "      + " + "b" * 1_001 in describe_whole_call(*long, fold=None)


def test_a_question_names_what_was_found_and_in_which_part() -> None:
    line = "ls && git push -f"
    found = Operation("git.push", found="overwrites remote\nhistory", because=(Piece(None, "git push -f"),))
    told = describe_whole_call(*ask({"command": line}, found, command=line))
    assert "  because it overwrites remote\\nhistory: git push -f" in told
    whole = Operation("git.push", found="overwrites history", because=(Piece(None, line),))
    assert "  because it overwrites history" in describe_whole_call(
        *ask({"command": line}, whole, command=line)
    )
    named = Operation("git.push", because=(Piece("to", "x\n  tool: y"),))
    assert "  because of to: x\\n  tool: y" in describe_whole_call(*ask({"to": "x\n  tool: y"}, named))
    other = Operation("git.commit", because=(Piece("to", "x"),))
    request, items = ask({"to": "x"}, Operation("git.push"), other)
    asked = tuple(item for item in items if item.operation == "git.push")
    assert not any("because" in fact for fact in describe_whole_call(request, asked))

"""Diffs: what is made is understood, applies exactly, and leads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.proposals.diffs import (
    NO_NEWLINE,
    DiffRefused,
    apply_diff,
    make_diff,
    parse_diff,
    reverse_diff,
)

LINES = st.lists(
    st.sampled_from(["a", "b", "c", "", " x", "-", "+", "@@ -1 +1 @@", "\\ No", "é\r"]), max_size=12
)
TEXTS = st.none() | st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


@given(before=TEXTS, after=TEXTS)
def test_a_diff_leads_from_one_text_to_the_other_and_back(before: str | None, after: str | None) -> None:
    if (before or "") == (after or ""):
        return
    diff = parse_diff(make_diff("notes.md", before, after))
    assert apply_diff(diff, before) == after
    assert apply_diff(reverse_diff(diff), after) == before


@given(before=TEXTS, after=TEXTS, other=TEXTS)
def test_a_diff_applies_to_no_text_in_which_its_lines_differ(
    before: str | None, after: str | None, other: str | None
) -> None:
    if (before or "") == (after or "") or other == before:
        return
    diff = parse_diff(make_diff("notes.md", before, after))
    try:
        found = apply_diff(diff, other)
    except DiffRefused:
        return
    assert apply_diff(reverse_diff(diff), found) == other, "what applies can be taken back exactly"


GOOD = "--- a/n.md\n+++ b/n.md\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"


@pytest.mark.parametrize(
    "text",
    [
        "", "please make the agent nicer", "--- a/n.md\n+++ b/n.md\n", GOOD.replace("b/n.md", "b/m.md"),
        GOOD.replace("@@ -1,2 +1,2 @@", "@@ -1,3 +1,2 @@"), GOOD.replace("@@ -1,2 +1,2 @@", "@@ nonsense @@"),
        GOOD + "rename from x\n", GOOD + GOOD, "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/n.md\n+++ b/n.md\n@@ -1 +1 @@\n one\n", GOOD + "x" * 70_000,
        '--- "a/n"\n+++ "b/n"\n@@ -1 +1 @@\n-a\n+b\n',
        f"--- a/n.md\n+++ b/n.md\n@@ -1 +1,2 @@\n-two\n+three\n+\n{NO_NEWLINE}\n",
    ],
)  # fmt: skip
def test_what_is_not_the_diff_of_one_file_is_refused(text: str) -> None:
    with pytest.raises(DiffRefused):
        parse_diff(text)


@pytest.mark.parametrize("before", ["one\ntwo\nmore", "zero\none\ntwo\n", "one\nTwo\n", "", "one\n", None])
def test_a_diff_does_not_apply_somewhere_near(before: str | None) -> None:
    diff = parse_diff(GOOD)
    if before == "one\ntwo\nmore":
        assert apply_diff(diff, before) == "one\nthree\nmore"
        return
    with pytest.raises(DiffRefused):
        apply_diff(diff, before)

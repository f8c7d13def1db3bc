"""Foreign text paints over nothing and hides nothing: piled-up marks and long gaps are spelled out."""

from __future__ import annotations

import unicodedata

import pytest

from sayso.core.deciding.titles import LONGEST, make_title
from sayso.core.digest import encode_canonical
from sayso.core.text.foreign import cut_middle, visible
from sayso.surfaces.terminal.layout import detect_screen, odd_characters, wrap_text

ACUTE, DOT = "\u0301", "\u0323"
SCREEN = detect_screen(80, {"LANG": "C.UTF-8"})


def most_piled(text: str) -> int:
    most = piled = 0
    for character in text:
        piled = piled + 1 if unicodedata.category(character)[0] == "M" else 0
        most = max(most, piled)
    return most


@pytest.mark.parametrize("text", [f"e{ACUTE}", f"e{ACUTE}{DOT}x", "हिन्दी", "ที่นี่", "שָׁלוֹם"])
def test_letters_keep_the_marks_that_languages_need(text: str) -> None:
    assert visible(text) == text


def test_a_third_mark_on_a_letter_is_spelled_out() -> None:
    assert visible(f"e{ACUTE}{ACUTE}{ACUTE}{DOT}!") == f"e{ACUTE}{ACUTE}\\u0301\\u0323!"


@pytest.mark.parametrize("before", ["", " ", "\n", "\u200b", "\ufe0f"])
def test_a_mark_without_a_letter_is_spelled_out(before: str) -> None:
    assert visible(f"{before}{ACUTE}x").endswith("\\u0301x")


def test_marks_of_several_kinds_pile_up_together() -> None:
    assert most_piled(visible("…" + "\u0300\u20dd\u0903\u1ab0" * 30)) == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls" + " " * 1_500 + "; rm", "ls⟨1,500 spaces⟩; rm"),
        ("a" + "\n" * 900 + "b", "a⟨900 line ends⟩b"),
        ("a" + "\n \t" * 5 + "b", "a⟨5 line ends, 5 spaces, 5 tabs⟩b"),
        ("a" + "\t" * 3 + "b", "a⟨3 tabs⟩b"),
        ("a\n\n\nb", "a\\n\\n\\nb"),
        ("a        b", "a        b"),
        ("{\n" + " " * 40 + "x", "{\\n" + " " * 40 + "x"),
        ("{\n" + " " * 41 + "x", "{\\n⟨41 spaces⟩x"),
    ],
)
def test_a_gap_that_pushes_text_out_of_sight_is_told_by_its_size(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("fold", [3, 8, 160, 2_000, None])
def test_a_gap_is_never_told_smaller_because_the_text_is_cut_there(fold: int | None) -> None:
    assert visible("ls" + " " * 5_000 + "; rm", fold).startswith("ls⟨5,000 spaces⟩")
    assert visible("ls" + " " * 5_000 + "; rm", fold).endswith("; rm") == (fold != 3)
    assert visible("ls" + "\n\t" * 900 + "; rm", fold).startswith("ls⟨900 line ends, 900 tabs⟩")
    assert visible("ls" + " " * 5_000, fold) == "ls⟨5,000 spaces⟩"


def test_a_text_without_a_gap_is_cut_where_it_is_to_be_cut() -> None:
    assert visible("abcd" * 10, 6) == "abcdab … (40 characters in all)"
    assert visible("abc   def", 3) == "abc … (9 characters in all)"
    assert visible("", 3) == ""


@pytest.mark.parametrize("at", range(12))
def test_no_cut_leaves_a_part_of_the_number_that_tells_a_gap(at: int) -> None:
    gap = "⟨1,500 spaces⟩"
    for cut in (cut_middle(f"ab{gap}{'x' * 90}", 2 + at, 9), cut_middle(f"{'x' * 90}{gap}ab", 9, 2 + at)):
        assert ("1" in cut) == (gap in cut)
        assert "…" in cut


def test_a_terminal_shows_no_piled_marks_and_counts_them() -> None:
    text = "…" + ACUTE * 60
    assert most_piled("".join(wrap_text(text, 70, SCREEN))) == 2
    assert odd_characters(text, SCREEN) == 58


def test_a_title_is_cut_between_letters_never_between_a_letter_and_its_mark() -> None:
    assert cut_middle(f"abc{ACUTE}defg{ACUTE}h", 3, 2) == "ab…h"
    text = f"e{ACUTE}" * 200
    for extra in range(4):
        title = make_title("note", encode_canonical({"path": "x" * extra + text}))
        command = make_title("sh", encode_canonical({}), command="x" * extra + text)
        assert f"…{ACUTE}" not in title
        assert f"…{ACUTE}" not in command
        assert len(command) <= LONGEST + 12


def test_vowels_and_ends_of_korean_syllables_do_not_pile_up_either() -> None:
    syllable = "\u1112\u1161\u11ab"
    assert visible(syllable) == syllable, "as people write it, letter by letter"
    shown = visible("\u1112" + "\u1161" * 40)
    assert shown.count("\u1161") == 2
    assert "\\u1161" in shown
    assert visible("rm\u1161") == "rm\u1161"
    assert visible("\u1161\u1161rm").startswith("\\u1161\\u1161")
    assert visible("a\U0001d159b") == "a\\U0001d159b"

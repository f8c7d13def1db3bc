"""Details of reading a message: what only one of its readings shows, and what is not complained about."""

from __future__ import annotations

import re

import pytest

from sayso.core.conversation.message import read_message
from sayso.core.text.phrases import pattern
from sayso.core.text.unmask import BLANK, fold_text, hidden, visible_readings


def test_what_only_the_reading_with_gaps_shows_names_the_kind_of_the_message() -> None:
    message = read_message("please clear\u200ballowlist", ())
    assert message.clear_allowlist
    assert message.kind == "clear"


def test_a_list_that_holds_nothing_but_a_stop_is_a_stop_and_no_empty_list() -> None:
    message = read_message("Grant standing consent for: stop", ())
    assert (message.stop, message.grants, message.problem) == (True, (), None)
    assert read_message("Grant standing consent for:", ()).problem == (
        "There is no command in the list: nothing was granted."
    )


def test_without_its_colon_a_list_may_be_speech_so_that_its_first_word_can_stop() -> None:
    assert read_message("revoke consent for stop words", ()).stop
    assert not read_message("revoke consent for: stop words", ()).stop


def test_of_several_problems_of_a_list_the_first_is_told() -> None:
    message = read_message('Grant standing consent for: git push,, "git', ())
    assert message.grants == ()
    assert message.problem == "A quote is not closed: nothing was granted."


@pytest.mark.parametrize("char", ["\u200b", "\U000e0fff", "\ue000", "\ud800"])
def test_a_character_that_shows_nothing_or_nobody_knows_what_is_hidden_and_lets_nothing_loosen(
    char: str,
) -> None:
    assert hidden(char)
    assert read_message("yes", ()).assent == "high"
    assert read_message(f"yes{char}", ()).assent is None


def test_an_apostrophe_after_an_s_opens_no_quotation_that_hides_a_stop() -> None:
    assert read_message("'tis time to stop the users' jobs", ()).stop
    assert not read_message("the label 'stop it all' is too long", ()).stop


def test_a_sign_is_read_as_the_four_characters_it_stands_for_and_not_as_more() -> None:
    assert visible_readings("\u2487") == ("(20)",)
    assert visible_readings("\u3316") == (BLANK,)


@pytest.mark.parametrize(
    "verb", ["worry", "forget", "hesitate", "know", "mind", "care", "understand", "see", "remember"]
)
def test_a_dont_that_forbids_nothing_is_no_refusal(verb: str) -> None:
    assert not read_message(f"don't {verb} about the tests", ()).refusal
    assert read_message("don't run the tests", ()).refusal


def test_a_letter_of_another_script_is_read_as_the_one_it_looks_like() -> None:
    assert fold_text("аʙсԁеɡһіјкӏмոорԛгѕтսѵԝхуᴢ") == "abcdeghijklmnopqrstuvwxyz"
    assert read_message("ԝait", ()).stop


def test_of_two_phrases_that_begin_alike_the_longer_one_is_found() -> None:
    for phrases in (("no", "no way"), ("no way", "no")):
        found = re.match(pattern(phrases), "no way")
        assert found is not None
        assert found[0] == "no way"
    found = re.match(pattern(("zz", "zzzz", "zz zz zz")), "zz-zz zz")
    assert found is not None
    assert found[0] == "zz-zz zz"

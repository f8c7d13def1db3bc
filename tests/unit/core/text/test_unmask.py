"""What is read of letters and signs that look like others."""

from __future__ import annotations

from sayso.core.conversation.message import read_message
from sayso.core.text.unmask import BLANK, fold_text, visible_readings


def test_a_sign_is_read_as_the_four_characters_it_stands_for_and_not_as_more() -> None:
    assert visible_readings("\u2487") == ("(20)",)
    assert visible_readings("\u3316") == (BLANK,)


def test_a_letter_of_another_script_is_read_as_the_one_it_looks_like() -> None:
    assert fold_text("аʙсԁеɡһіјкӏмոорԛгѕтսѵԝхуᴢ") == "abcdeghijklmnopqrstuvwxyz"
    assert read_message("ԝait", ()).stop

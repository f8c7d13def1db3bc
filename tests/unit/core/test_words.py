"""Words for people: foreign text is spelled out, and a question says nothing that is untrue."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.core.words import FOLD_AT, asker_line, format_question, visible
from sayso.gate.sessions.play import Player
from sayso.policy import load_preset
from tests.support.rows import each_row


@pytest.mark.parametrize(
    "text", ["git push origin main", "Zoë, 東京, Ελλάδα, हिन्दी", "{}[]<>|\\", "e\u0301", "🦊"]
)
def test_what_can_be_seen_stays(text: str) -> None:
    assert visible(text) == text


@each_row(
    "character",
    [
        *("\n", "\r", "\t", "\x00", "\x1b", "\x7f", "\x9b", "\u00a0", "\u00ad", "\u2028", "\u3000"),
        *("\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\ud800"),
        *(
            "\u034f",
            "\u115f",
            "\u1160",
            "\u17b4",
            "\u180b",
            "\u2800",
            "\u3164",
            "\ufe0f",
            "\uffa0",
            "\U000e0100",
        ),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(character: str) -> None:
    shown = visible(f"a{character}b")
    assert shown.isascii()
    assert shown.isprintable()
    assert shown.startswith("a\\")


PUSH = {"call": {"operations": ["git.push"], "command": "git push", "risk": "high"}}


EVERY_TIME = "requires consent every time"


def asked(preset: str, step: dict[str, Any]) -> dict[str, Any]:
    return Player(load_preset(preset), start=1e9, workspace="/w").step(step)


@pytest.mark.parametrize("preset", ["gateway", "trusting"])
def test_a_question_with_wider_answers_never_says_that_consent_is_required_every_time(preset: str) -> None:
    told = asked(preset, PUSH)
    assert {"temporary", "always", "remember"} & set(told["offers"])
    assert EVERY_TIME not in str(told["question"])
    assert "every time" not in str(told["reason"])
    assert str(told["question"]).startswith("Risky operation, need consent:")


@pytest.mark.parametrize("preset", ["chat", "balanced", "coding"])
def test_a_question_without_wider_answers_says_that_consent_is_required_every_time(preset: str) -> None:
    told = asked(preset, PUSH)
    assert EVERY_TIME in str(told["question"])
    assert "high risk asks every time" in str(told["reason"])


@pytest.mark.parametrize("text", ['"' * 3_000, "\n" * 3_000, "\\" * 2_500, "é" * 2_001, "a" * 2_001])
def test_the_length_of_a_folded_value_never_counts_its_escapes_or_quotes(text: str) -> None:
    told = asked("chat", {"call": {"operations": ["files.edit"], "tool": "edit", "args": {"content": text}}})
    assert f"({len(text)} characters in all)" in str(told["question"])


@pytest.mark.parametrize("text", ['"' * FOLD_AT, "\n" * FOLD_AT, "a" * FOLD_AT])
def test_a_value_that_is_not_long_is_never_folded_for_its_escapes(text: str) -> None:
    told = asked("chat", {"call": {"operations": ["files.edit"], "tool": "edit", "args": {"content": text}}})
    assert "characters in all" not in str(told["question"])


def test_a_question_about_a_risky_call_ends_with_what_it_will_do() -> None:
    does = ["overwrites or deletes remote history", "its pattern may name a secret"]
    told = "This will overwrite or delete remote history. Its pattern may name a secret. Proceed?"
    assert format_question("risky", "", "", [], [], does).endswith(told)


def test_a_session_is_named_only_where_there_is_one() -> None:
    assert asker_line("bot", "s_1", 60.0, "d" * 64).startswith("Asked by bot in session s_1; open for")
    assert asker_line("bot", "", 60.0, "d" * 64).startswith("Asked by bot; open for")

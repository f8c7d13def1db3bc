"""Foreign text as data: what acts, hides or shows nothing is spelled out."""

from __future__ import annotations

import pytest

from sayso.core.words import visible


@pytest.mark.parametrize(
    "text", ["git push origin main", "Zoë, 東京, Ελλάδα, हिन्दी", "{}[]<>|\\", "e\u0301", "🦊"]
)
def test_what_can_be_seen_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
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

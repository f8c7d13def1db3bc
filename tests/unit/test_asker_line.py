"""The line of a question that says who asks."""

from __future__ import annotations

from sayso.core.words import asker_line


def test_a_session_is_named_only_where_there_is_one() -> None:
    assert asker_line("bot", "s_1", 60.0, "d" * 64).startswith("Asked by bot in session s_1; open for")
    assert asker_line("bot", "", 60.0, "d" * 64).startswith("Asked by bot; open for")

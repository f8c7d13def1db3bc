"""A no that comes after the yes never leaves what the yes gave, and never ends more than it says."""

from __future__ import annotations

from tests.support.rows import each_row
from tests.support.wordings import ADD, EDIT_A, EDIT_B, PLAN, PUSH, messages, play, said, verdict

NO = messages("messages", "refusal", "unsaid")
GRANT = "Grant standing consent for: git push"


@each_row("text", NO)
def test_a_no_after_the_yes_never_leaves_an_unused_approval_a_task_consent_or_a_plan(text: str) -> None:
    *_, heard, call = play("please publish", PUSH, "yes", text, PUSH)
    assert call["verdict"] == "ask"
    assert "approval of git.push" in heard["cleared"]
    assert said(heard)
    assert verdict("X", ADD, "yes", text, ADD) == "ask"
    assert verdict("X", ADD, "yes", ADD, {"outcome": "ok"}, text, ADD) == "ask"
    assert verdict("X", PLAN, "yes", EDIT_A, {"outcome": "ok"}, text, EDIT_B) == "ask"


def test_a_no_never_takes_back_an_earlier_task_consent_than_that_of_the_last_yes() -> None:
    steps = ("X", EDIT_A, "yes", EDIT_A, {"outcome": "ok"}, ADD, "yes", "no")
    assert verdict(*steps, ADD) == "ask"
    assert verdict(*steps, EDIT_B) == "allow"


def test_a_no_to_a_question_or_plan_never_takes_back_what_another_yes_gave() -> None:
    assert verdict("X", ADD, "yes", EDIT_A, "no", ADD) == "allow"
    assert verdict("X", ADD, "yes", PLAN, "no", ADD) == "allow"


def test_a_no_never_leaves_an_approval_because_an_old_plan_waits() -> None:
    assert verdict("X", PLAN, PUSH, "yes", "hm", "no", PUSH) == "ask"


def test_a_no_never_leaves_a_standing_consent_of_the_message_before_that_nothing_used() -> None:
    assert verdict(GRANT, "no", PUSH) == "ask"
    assert verdict(GRANT, PUSH, "no", PUSH) == "allow"
    assert verdict(GRANT, "hm", "no", PUSH) == "allow"


def test_a_no_never_leaves_a_free_retry() -> None:
    steps = ("X", ADD, "yes", ADD, {"outcome": "error"})
    assert verdict(*steps, ADD) == "allow"
    assert verdict(*steps, "no", ADD) == "ask"


def test_a_no_with_nothing_to_take_back_announces_nothing() -> None:
    assert play("X", "no")[-1]["announced"] == []

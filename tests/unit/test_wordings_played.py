"""Wordings played in whole conversations: none of them may get a call through that the user did not mean."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.gate.play import Player
from sayso.policy import load_preset

PUSH = {"call": {"operations": ["git.push"], "command": "git push"}}
ADD = {"call": {"operations": ["git.add"], "command": "git add -A"}}
PLAN = {"plan": "I will edit src/a.py to fix the parser and src/b.py to use it. Only these two files."}


def edit(path: str) -> dict[str, Any]:
    return {
        "call": {"operations": ["files.edit"], "tool": "edit_file", "target": path, "args": {"path": path}}
    }


def played(*steps: str | dict[str, Any]) -> list[dict[str, Any]]:
    """What each step of a conversation led to; a string is a message of the user."""
    player = Player(load_preset("chat"), start=1e9, workspace="/w")
    return [player.step({"hear": step} if isinstance(step, str) else step) for step in steps]


def said(told: dict[str, Any]) -> str:
    return "\n".join(told["announced"])


@pytest.mark.parametrize(
    "text",
    """ok, git push|ok 1|sure, git push|fine, the last one|ok all|1 ok|git push: fine|that works, git push
    okay: git push|git push, sure|Ok, number 1|OK git.push|sure, everything""".replace("\n    ", "|").split(
        "|"
    ),
)
def test_a_hesitant_yes_never_answers_high_risk_unasked_even_if_it_names_it(text: str) -> None:
    *_, heard, call = played("Implement X", PUSH, text, PUSH)
    assert heard["answered"] is None
    assert "Just to confirm" in said(heard)
    assert call["verdict"] == "ask"


def test_a_hesitant_yes_that_names_a_question_counts_once_it_was_asked_back() -> None:
    *_, heard, call = played("Implement X", PUSH, "ok, git push", "ok, git push", PUSH)
    assert heard["answered"]["answer"] == "once"
    assert call["verdict"] == "allow"


@pytest.mark.parametrize("text", ["yes, git push", "approve 1", "git push: yes", "allow git push"])
def test_a_clear_yes_that_names_a_question_is_not_asked_back(text: str) -> None:
    assert played("Implement X", PUSH, text, PUSH)[-1]["verdict"] == "allow"


@pytest.mark.parametrize(
    "text",
    """the plan looks good|go ahead with the plan|your approach looks good|go ahead with these changes
    yes as planned|yes, great plan|yes, proceed as proposed|looks good, go ahead with your proposal
    proceed with that plan|do it as discussed|The changes look good, go ahead""".replace("\n    ", "|").split(
        "|"
    ),
)
def test_a_yes_that_names_the_plan_never_answers_an_open_question(text: str) -> None:
    *_, heard, call = played("Implement X", PLAN, PUSH, text, PUSH)
    assert heard["answered"] is None
    assert call["verdict"] == "ask"


def test_after_a_yes_that_named_the_plan_the_open_question_is_shown_again_and_a_plain_yes_answers_it() -> (
    None
):
    *_, heard, _, call = played("Implement X", PLAN, PUSH, "go ahead with the plan", "yes", PUSH)
    assert "git push" in said(heard)
    assert call["verdict"] == "allow"

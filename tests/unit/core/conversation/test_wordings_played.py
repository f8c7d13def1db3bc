"""Wordings played in whole conversations: none of them may get a call through that the user did not mean."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.gate.sessions.play import Player
from sayso.policy import load_preset
from tests.support.rows import each_row

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


@each_row(
    "text",
    """just src/a.py|a.py only|just 1|drop b.py|remove b.py|all except 2|1 yes, 2 no|❌ b.py
    could you skip b.py?|yes, remove b.py|yes, but not [b.py]|yes [not b.py]
    yes, but not b.py\u200b|yes, but not b\u200b.py
    yes, but not src/*.py|delete b.py|only a.py|everything but b.py|please leave b.py
    yes, start with a.py, b.py later|yes but b.py's mine|would you mind leaving b.py out?|b.py can stay
    hmm, b.py no|tests only|b.py please not""".replace("\n    ", "|").split("|"),
)
@each_row("then", [["yes"], ["yes", "yes"], ["ok", "yes"]])
def test_what_narrows_a_plan_is_never_overheard_by_the_yes_after_it(text: str, then: list[str]) -> None:
    """Either it is taken out, or the whole rendering is shown again before a yes counts."""
    *heard, call = played("X", PLAN, text, *then, edit("src/b.py"))
    shown_whole = ["  - src/b.py" in said(told) for told in heard[2:-1]]
    assert call["verdict"] == "ask" or any(shown_whole)


@pytest.mark.parametrize(
    "text",
    ["just src/a.py", "a.py only", "drop b.py", "remove b.py", "❌ b.py", "could you skip b.py?", "just 1"],
)
def test_a_narrowing_right_after_a_plan_is_rendered_again(text: str) -> None:
    *_, heard, _, call = played("X", PLAN, text, "yes", edit("src/b.py"))
    assert "Proceed with this adjusted version?" in said(heard)
    assert "- src/b.py" not in said(heard)
    assert call["verdict"] == "ask"


def test_a_late_yes_is_never_asked_back_without_the_plan_being_shown_again() -> None:
    *_, heard, _, call = played("X", PLAN, "hm", "yes", "yes", edit("src/b.py"))
    assert "- src/b.py" in said(heard)
    assert "Just to confirm, you want me to proceed with the plan?" in said(heard)
    assert call["verdict"] == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "Revoke consent for: git push (high, used 0 times)",
        "Revoke consent for:  git  push",
        "REVOKE CONSENT FOR: GIT PUSH",
        "Revoke consent for: npm test; git push",
        "Revoke consent for:\n- npm test (high, used 0 times)\n- git push (high, used 0 times)",
        "Revoke consent for:\ngit push\nnpm test",
        "Revoke consent for: 🚀 git push 🚀",
        "remove git push from the allowlist",
        "please take `git push` off the allowlist",
        "don't `git push`",
        "no git push",
        "let's not push",
        "pls don't push",
    ],
)
def test_what_takes_a_command_off_the_allowlist_never_leaves_it_there(text: str) -> None:
    *_, call = played("Grant standing consent for: git push, npm test", text, PUSH)
    assert call["verdict"] == "ask"


@pytest.mark.parametrize("text", ["git add", "git add -A", "git commit", "git", "Git Commit"])
def test_a_command_that_task_consent_covers_never_runs_after_its_consent_was_revoked(text: str) -> None:
    *_, heard, call = played("X", ADD, "yes", ADD, f"Revoke consent for: {text}", ADD)
    assert "Nothing was revoked" not in said(heard)
    assert call["verdict"] == "ask"


@pytest.mark.parametrize(
    "text",
    """without pushing|skip the push|but not to main|if tests pass|ask me first|just kidding
    what does this do?|--dry-run|to staging|when CI is green|only a draft|not now|tomorrow|after lunch
    no|how does that work|maybe later""".replace("\n    ", "|").split("|"),
)
def test_a_slash_command_of_high_risk_with_a_limit_or_question_never_counts(text: str) -> None:
    *_, call = played("X", f"/pr {text}", PUSH)
    assert call["verdict"] == "ask"


@pytest.mark.parametrize("text", ["/pr", "/pr Add a retry to the client", '/pr "Fix crash if empty"'])
def test_a_slash_command_of_high_risk_with_a_title_counts(text: str) -> None:
    assert played("X", text, PUSH)[-1]["verdict"] == "allow"


def test_a_slash_command_of_moderate_risk_takes_any_words_for_its_text() -> None:
    assert played("X", "/commit fix the wait loop if it hangs", ADD)[-1]["verdict"] == "allow"


def test_what_was_consented_to_never_leaves_out_an_accepted_plan() -> None:
    *_, heard = played("X", PLAN, "yes", "What have I consented to?")
    assert said(heard).startswith("Session Allowlist:")
    assert "- plan: files.edit on src/a.py, src/b.py (granted turn 2)" in said(heard)


def test_what_was_consented_to_never_leaves_out_an_approval_that_was_not_used_yet() -> None:
    *_, heard = played("X", PUSH, "yes", "What have I consented to?")
    assert "- approval of git.push (granted turn 2)" in said(heard)


@pytest.mark.parametrize("text", ["git add and npm test", "git add -A & npm test", "git commit; npm test"])
def test_what_is_named_behind_an_and_never_keeps_its_consent(text: str) -> None:
    npm_test = {"call": {"operations": ["tests.run"], "command": "npm test"}}
    granted = "Grant standing consent for: npm test"
    assert played("X", ADD, "yes", granted, f"Revoke consent for: {text}", npm_test)[-1]["verdict"] == "ask"

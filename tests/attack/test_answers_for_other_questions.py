"""A yes or no never answers another question than the one it was said to, however the list has changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rows import each_row
from tests.support.wordings import ADD, EDIT_A, EDIT_B, PUSH, Step, play, said

FORCE = {"call": {"operations": ["git.push_force"], "command": "git push --force"}}
TESTS = {"call": {"operations": ["tests.run"], "command": "npm test"}}
COMMIT = {"call": {"operations": ["git.commit"], "command": "git commit"}}
DENY_LAST = {"answer": "deny"}
LATER = {"advance": 7190}
EXPIRE = {"advance": 20}

PLACES = ("2", "the second", "the last one", "both", "all", "yes to 2", "yes, the last one", "1 and 2", "1-2")


def verdicts(told: list[dict[str, Any]], calls: int) -> list[str]:
    return [each["verdict"] for each in told[-calls:]]


@pytest.mark.parametrize("text", [*PLACES, "everything", "yes", "all except 1", "the push", "push", "yes!"])
def test_a_place_in_the_list_never_means_a_question_that_was_opened_after_it(text: str) -> None:
    told = play("X", EDIT_A, TESTS, "yes", DENY_LAST, FORCE, text, EDIT_A, FORCE)
    assert told[6]["answered"] is None
    assert verdicts(told, 2) == ["ask", "ask"]


@pytest.mark.parametrize("text", ["1", "the first", "yes to 1", "the first one", "former"])
def test_a_place_whose_question_is_still_open_is_answered_however_the_others_went(text: str) -> None:
    told = play("X", EDIT_A, TESTS, "yes", DENY_LAST, FORCE, text, EDIT_A, FORCE)
    assert verdicts(told, 2) == ["allow", "ask"]


@pytest.mark.parametrize("text", ["1", "the first one", "all", "the first two", "all except 3"])
def test_an_expired_question_never_hands_its_place_in_the_list_to_another(text: str) -> None:
    told = play("X", EDIT_A, LATER, "and", EDIT_A, TESTS, FORCE, "yes", EXPIRE, text, TESTS, FORCE)
    assert told[9]["answered"] is None
    assert "Nothing was answered" in said(told[9])
    assert verdicts(told, 2) == ["ask", "ask"]


def test_the_places_of_a_list_stay_when_one_of_it_expires() -> None:
    told = play("X", EDIT_A, LATER, "and", EDIT_A, TESTS, FORCE, "yes", EXPIRE, "2", TESTS, FORCE)
    assert verdicts(told, 2) == ["allow", "ask"]


def test_a_stale_choice_is_answered_with_a_fresh_list_that_can_be_chosen_from() -> None:
    told = play("X", EDIT_A, TESTS, "yes", DENY_LAST, COMMIT, "2", "2", COMMIT, EDIT_A)
    assert "2. " in said(told[6])
    assert "git commit" in said(told[6])
    assert verdicts(told, 2) == ["allow", "ask"]


@pytest.mark.parametrize("text", ["2", "the last one", "no to 2", "not the second", "deny 2"])
def test_a_no_to_a_place_never_denies_a_question_that_was_not_in_the_list(text: str) -> None:
    told = play("X", EDIT_A, TESTS, "no", DENY_LAST, FORCE, text, EDIT_A, FORCE)
    assert verdicts(told, 2) == ["ask", "ask"]


@pytest.mark.parametrize("text", ["none", "neither", "no to both", "deny both"])
def test_a_no_to_all_of_a_list_denies_what_of_it_is_open(text: str) -> None:
    told = play("X", EDIT_A, TESTS, "no", DENY_LAST, text, EDIT_A)
    assert verdicts(told, 1) == ["deny"]


def test_a_name_never_means_a_question_that_fits_it_only_because_another_has_gone() -> None:
    told = play("X", COMMIT, ADD, "yes", DENY_LAST, "git", COMMIT)
    assert told[5]["answered"] is None
    assert verdicts(told, 1) == ["ask"]


@pytest.mark.parametrize(
    "text", ["yes to 2", "allow the second", "yes to the last one", "yes to both", "1 yes, 2 no"]
)
def test_a_place_said_without_a_list_never_moves_on_to_another_question(text: str) -> None:
    told = play("X", EDIT_A, TESTS, DENY_LAST, FORCE, text, EDIT_A, FORCE)
    assert told[5]["answered"] is None
    assert verdicts(told, 2) == ["ask", "ask"]


@each_row("hesitant", ["ok", "sure", "ok 1"])
@each_row("text", ["yes", "ok", "yes!", "go ahead", "just this once", "yes, once", "do it"])
def test_a_yes_asked_back_for_a_question_that_closed_never_answers_the_next_one(
    hesitant: str, text: str
) -> None:
    told = play("X", EDIT_A, hesitant, DENY_LAST, FORCE, text, FORCE)
    assert told[5]["answered"] is None
    assert "no longer open" in said(told[5])
    assert verdicts(told, 1) == ["ask"]


def test_after_a_closed_question_the_next_yes_answers_the_one_that_was_shown_again() -> None:
    told = play("X", EDIT_A, "ok", DENY_LAST, FORCE, "yes", "yes", FORCE)
    assert verdicts(told, 1) == ["allow"]


@pytest.mark.parametrize("agreed", ["yes to all", "all", "both"])
def test_a_yes_to_all_asked_back_one_by_one_never_answers_one_that_was_not_there(agreed: str) -> None:
    first: list[Step] = ["X", TESTS, PUSH, "yes", agreed]
    told = play(*first, DENY_LAST, FORCE, "yes", FORCE)
    assert told[-2]["answered"] is None
    assert verdicts(told, 1) == ["ask"]


LIMITED = """yes, but only a.py|yes, only a.py|yes, just a.py|yes, only for a.py|yes to a.py|yes for a.py
yes, a.py
yes, a.py only|yes, but just the first|yes, but only the edit|yes, but only files.edit|yes, but only edit_file
go ahead with a.py|go ahead with a.py only|go ahead, but a.py only|yes, number 1 only|yes, but only 1
approve a.py
a.py yes|a.py: yes|allow src/a.py|yes, only this file|yes, but only this one|yes, nothing but a.py
yes, and nothing else|yes, this file only|yes, that one only|only a.py|just a.py|only 1|yes, just 1
yes, only number 1|yes to the first only|yes to 1 alone|ok, only a.py|sure, just a.py|fine, a.py only"""


@each_row("text", LIMITED.replace("\n", "|").split("|"))
def test_a_yes_with_a_limit_never_covers_more_than_the_call_it_was_said_to(text: str) -> None:
    assert play("X", EDIT_A, text, EDIT_A, EDIT_B)[-1]["verdict"] == "ask"
    assert play("X", EDIT_A, text, "yes", EDIT_A, EDIT_B)[2]["answered"] in (None, {"answer": "once"})


@pytest.mark.parametrize(
    "text", ["ok, only a.py", "sure, just a.py", "fine, a.py only", "ok, a.py", "ok, just 1"]
)
def test_a_limit_never_gets_lost_when_a_hesitant_yes_is_asked_back(text: str) -> None:
    told = play("X", EDIT_A, text, "yes", EDIT_A, EDIT_B)
    assert told[3]["answered"] == {"answer": "once"}
    assert verdicts(told, 2) == ["allow", "ask"]


@pytest.mark.parametrize(
    "text", ["only a.py", "just the first", "1 only", "only 1", "just a.py please", "a.py"]
)
def test_a_limit_said_to_which_one_never_covers_more_than_that_one(text: str) -> None:
    told = play("X", EDIT_A, COMMIT, "yes", text, EDIT_A, EDIT_B, COMMIT)
    assert verdicts(told, 3) == ["allow", "ask", "ask"]


def test_a_yes_for_once_never_becomes_one_for_the_task_because_it_had_to_say_which() -> None:
    told = play("X", EDIT_A, COMMIT, "yes, just this once", "1", EDIT_A, EDIT_B)
    assert verdicts(told, 2) == ["allow", "ask"]


def test_a_yes_to_what_was_asked_back_is_asked_again_once_another_question_has_joined_it() -> None:
    told = play("X", PUSH, "ok", EDIT_B, "yes", PUSH, EDIT_B)
    assert told[4]["answered"] is None
    assert "Which one do you mean?" in said(told[4])
    assert verdicts(told, 2) == ["ask", "ask"]


@pytest.mark.parametrize("text", ["-force", "!force", "-2", "2 👎 1", "yes -2"])
def test_a_sign_before_a_name_never_answers_and_is_asked_again(text: str) -> None:
    told = play("X", PUSH, FORCE, "yes", text, PUSH, FORCE)
    assert told[4]["answered"] is None
    assert verdicts(told, 2) == ["ask", "ask"]


@pytest.mark.parametrize("text", ["```\n2\n```", "> 2", "“2”"])
def test_a_quoted_or_fenced_choice_never_answers(text: str) -> None:
    told = play("X", EDIT_A, PUSH, "yes", text, PUSH)
    assert verdicts(told, 1) == ["ask"]


def test_a_dot_that_belongs_to_a_command_tells_it_from_another() -> None:
    dot = {"call": {"operations": ["git.add"], "command": "git add ."}}
    assert verdicts(play("X", ADD, "yes, run `git add .`", ADD), 1) == ["ask"]
    assert verdicts(play("X", dot, PUSH, "yes", "`git add .`", dot), 1) == ["allow"]

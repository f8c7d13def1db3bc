"""A limit said while consent is in force never goes unheard, and ordinary work is never taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rows import each_row
from tests.support.wordings import EDIT_A, EDIT_B, PUSH, play, said, verdict

GRANT = "Grant standing consent for: git push"
EXCLUDING = """exclude src/b.py|skip src/b.py|ignore src/b.py|leave out src/b.py|leave src/b.py out
actually, not b.py
only a.py|only a.py from now on|just src/a.py from now on|without b.py please|keep b.py
b.py remains unchanged
make no further changes|nothing else should change|b.py is read-only from now on|src/b.py stays as it is
omit b.py|everything but b.py|not b.py|except b.py|nothing but a.py|no other files|that's enough edits
restrict yourself to a.py|stick to `src/a.py`|I'll do b.py|leave b.py to me|b.py is mine
I'll handle src/b.py
edit everything except b.py|Fix the parser, but leave src/b.py to me|and please skip `src/b.py`|nothing else
Please ignore "src/b.py" for now|b.py must stay the same|edit a.py and skip b.py|SKIP B.PY
no more changes please|no more
edit nothing else|enough edits|ask me first|ask me every time|from now on ask"""
KEEPING = """I'll commit|I will commit|I'll commit myself|commit is mine|leave the commit to me
skip the commit
exclude commits|I do the commits|committing is my job|let me commit|the commits are mine|omit the commit
I'm committing|leave committing to me|without the commit|I'd rather commit it myself
commit nothing|forbid commits|you may no longer commit"""
WORK = """Skip the intro in README and write the usage|Ignore the warnings|Now edit src/b.py
keep it up|Keep going
Only one more thing: rename foo|just fix the parser|Leave a comment in src/b.py|I'll review it later
Exclude the vendor folder from the linter config|Skip ahead to the parser|Add a flag to skip the cache
Ignore case in the search|only log errors|keep the old name as an alias
Now update b.py so that it keeps the order
Write only the header first|let me know when it is ready|add an option to exclude files|Just edit b.py too
the parser should ignore comments|fix the bug in b.py, not in the tests|edit b.py without changing the API
Make the changes in b.py|nothing else comes to mind|should I skip b.py?"""


def commit(message: str) -> dict[str, Any]:
    return {"call": {"operations": ["git.commit"], "command": f"git commit -m {message}"}}


def each(listed: str) -> list[str]:
    return listed.replace("\n", "|").split("|")


@each_row("text", each(EXCLUDING))
def test_what_is_excluded_after_a_task_consent_never_runs_unasked(text: str) -> None:
    *_, heard, call = play("X", EDIT_A, "yes", EDIT_A, text, EDIT_B)
    assert call["verdict"] == "ask"
    assert "Prohibition heard" in said(heard)
    assert heard["cleared"]


@pytest.mark.parametrize("text", each(KEEPING))
def test_what_the_user_keeps_for_themselves_never_runs_unasked(text: str) -> None:
    assert verdict("X", commit("1"), "yes", commit("1"), text, commit("2")) == "ask"


@pytest.mark.parametrize("text", ["I'll push", "skip the push", "leave the push to me", "pushing is my job"])
def test_an_act_the_user_keeps_never_stays_on_the_allowlist(text: str) -> None:
    assert verdict(GRANT, "X", text, PUSH) == "ask"


@pytest.mark.parametrize("text", ["exclude src/b.py", "I'll edit src/b.py", "src/b.py stays unchanged"])
def test_a_limit_never_goes_unheard_because_another_question_is_open(text: str) -> None:
    assert verdict("X", EDIT_A, "yes", EDIT_A, PUSH, text, EDIT_B) == "ask"


@each_row("text", each(WORK))
def test_ordinary_work_never_costs_the_task_its_consent(text: str) -> None:
    assert verdict("X", EDIT_A, "yes", EDIT_A, text, EDIT_B) == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "/commit don't push",
        "/pr do not push yet",
        "/commit, never push",
        "/commit please don't push",
        "/pr no pushing",
    ],
)
def test_a_prohibition_after_a_slash_command_never_leaves_what_it_forbids(text: str) -> None:
    told = play(GRANT, "X", EDIT_A, "yes", EDIT_A, text, PUSH, EDIT_B)
    assert told[-3]["cleared"]
    assert [call["verdict"] for call in told[-2:]] == ["ask", "ask"]


@pytest.mark.parametrize(
    "text", ["/commit do not edit b.py", "/commit leave b.py alone", "/commit don't touch src/b.py"]
)
def test_a_file_forbidden_after_a_slash_command_is_never_edited_unasked(text: str) -> None:
    assert verdict("X", EDIT_A, "yes", EDIT_A, text, EDIT_B) == "ask"


@pytest.mark.parametrize("text", ["yes I guess", "yes, I guess so", "yeah I suppose", "yes I suppose so"])
def test_a_half_hearted_yes_is_never_taken_for_a_clear_one(text: str) -> None:
    *_, heard, call = play("X", EDIT_A, text, EDIT_A)
    assert (heard["kind"], heard["answered"], call["verdict"]) == ("medium", None, "ask")


@pytest.mark.parametrize("thanks", [" please", " 👍", ", please", " thanks!", " please 🙏", " pls"])
def test_politeness_after_a_standing_grant_is_never_part_of_its_command(thanks: str) -> None:
    assert verdict(f"{GRANT}{thanks}", PUSH) == "allow"
    assert verdict(f"Grant standing consent for: `git push`{thanks}", PUSH) == "allow"


@pytest.mark.parametrize("words", ["as opposed to", "rather than", "instead of", "in lieu of"])
def test_what_a_plan_sets_itself_against_is_never_a_target(words: str) -> None:
    plan = {"plan": f"I will edit src/a.py to fix the parser {words} src/b.py. Only this one file changes."}
    assert verdict("X", plan, "yes", EDIT_B) == "ask"


def test_a_question_joined_during_the_check_of_a_long_task_never_hides_that_a_yes_confirms_it() -> None:
    turns = [step for number in range(22) for step in (f"remark {number}", EDIT_A)]
    before = ["X", EDIT_A, "yes", EDIT_A, *turns, "one", commit("1"), "two", commit("1")]
    *_, asked, _, edited = play(*before, "yes", EDIT_B)
    assert "A yes also confirms" in asked["question"]
    assert edited["verdict"] == "allow"

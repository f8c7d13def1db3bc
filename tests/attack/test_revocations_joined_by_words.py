"""What a revocation names is revoked, however its names are joined, and its words are true."""

from __future__ import annotations

import pytest

from tests.support.wordings import PUSH, play, said

TESTS = {"call": {"operations": ["tests.run"], "command": "npm test"}}
BUILD = {"call": {"operations": ["tests.run"], "command": "npm run build"}}
GRANT = "Grant standing consent for: git push, npm test, npm run build"


@pytest.mark.parametrize(
    "named",
    """git push as well as npm test|git push + npm test|git push plus npm test|`git push` and `npm test`
git push & npm test
git push along with npm test|git push; npm test
`git push` + `npm test`|git push or npm test
git push together with npm test|npm test and also git push
`npm test` as well as `git push`, please""".replace("\n", "|").split("|"),
)
def test_a_revoked_command_never_stays_because_of_the_word_before_it(named: str) -> None:
    *_, heard, push, test, build = play(GRANT, f"Revoke consent for: {named}", PUSH, TESTS, BUILD)
    assert [push["verdict"], test["verdict"], build["verdict"]] == ["ask", "ask", "allow"]
    assert "backticks" not in said(heard)
    assert "Nothing was revoked" not in said(heard)


@pytest.mark.parametrize(
    "named",
    ["npm test and everything else", "npm test and all the rest", "git push plus all others", "everything"],
)
def test_everything_else_never_stays_beside_what_was_named(named: str) -> None:
    *_, push, test, build = play(GRANT, f"Revoke consent for: {named}", PUSH, TESTS, BUILD)
    assert [push["verdict"], test["verdict"], build["verdict"]] == ["ask", "ask", "ask"]


def test_that_nothing_was_revoked_is_never_said_of_what_was() -> None:
    *_, heard, push = play(GRANT, "Revoke consent for: git push and terraform apply", PUSH)
    assert push["verdict"] == "ask"
    assert 'Nothing was revoked for "terraform apply"' in said(heard)


@pytest.mark.parametrize(
    "order",
    [
        "revoke both git push and npm test",
        "take git push and npm test off the list",
        "remove git push and npm test",
        "withdraw both git push and npm test, please",
        "revoke all of git push and npm test",
        "delete git push or npm test from my list",
    ],
)
def test_several_commands_that_the_user_takes_off_by_an_order_never_stay(order: str) -> None:
    *_, heard, push, test, build = play(GRANT, order, PUSH, TESTS, BUILD)
    assert [push["verdict"], test["verdict"], build["verdict"]] == ["ask", "ask", "allow"]
    assert "Nothing was revoked" not in said(heard)


@pytest.mark.parametrize(
    "order",
    [
        "take away all permissions",
        "remove all my permissions",
        "take back all the approvals",
        "revoke what I granted",
        "revoke everything I allowed",
        "withdraw whatever I approved",
    ],
)
def test_what_was_granted_never_stays_after_all_of_it_was_taken_back(order: str) -> None:
    *_, push, test, build = play(GRANT, order, PUSH, TESTS, BUILD)
    assert [push["verdict"], test["verdict"], build["verdict"]] == ["ask", "ask", "ask"]


@pytest.mark.parametrize(
    "work",
    [
        "remove the git push step from the script",
        "drop npm test from package.json",
        "remove all permissions checks from auth.py",
        "delete every approval test",
    ],
)
def test_work_on_what_is_called_like_a_command_takes_nothing_back(work: str) -> None:
    *_, push, test = play(GRANT, work, PUSH, TESTS)
    assert [push["verdict"], test["verdict"]] == ["allow", "allow"]

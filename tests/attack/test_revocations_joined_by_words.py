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

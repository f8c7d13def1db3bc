"""What a message lists or asks for: grants, revocations, clearing and queries."""

from __future__ import annotations

import pytest

from sayso.core.conversation.message import Message, read_message
from tests.support.rows import each_row

SLASHES = ("/commit", "/pr", "/branch", "/status", "/diff")


def hear(text: str) -> Message:
    return read_message(text, SLASHES)


# --- standing consent ---------------------------------------------------------------------------------------


@each_row(
    ("listed", "commands"),
    [
        ("git push", ("git push",)),
        ("  git push  ", ("git push",)),
        ("git push, npm test", ("git push", "npm test")),
        ("git push, npm test, and git pull", ("git push", "npm test", "git pull")),
        ('git commit -m "a, b", git push', ('git commit -m "a, b"', "git push")),
        ("git commit -m 'a, b', git push", ("git commit -m 'a, b'", "git push")),
        (r'echo "a \" , b", ls', (r'echo "a \" , b"', "ls")),
        (r"echo a\,b, ls", (r"echo a\,b", "ls")),
        ("`git push`", ("git push",)),
        ("`echo a, b`, ``ls``", ("echo a, b", "ls")),
        ("docker stop web", ("docker stop web",)),
        ("`kubectl wait pod`, npm run cancel-all", ("kubectl wait pod", "npm run cancel-all")),
        ("git add .", ("git add .",)),
        ("cd ..", ("cd ..",)),
        ("git push.", ("git push",)),
        ("git push!", ("git push",)),
        ("git push, please", ("git push",)),
        ("git push, thank you!", ("git push",)),
        ("git push. Thanks.", ("git push",)),
        ("git push please", ("git push",)),
        ("`git push please`", ("git push please",)),
        ("git push, git push", ("git push",)),
        (".cursor/scripts/pr-create.sh", (".cursor/scripts/pr-create.sh",)),
        ('git commit -m "größer"', ('git commit -m "größer"',)),
        ("done", ("done",)),
        ("no", ("no",)),
    ],
)
def test_a_grant_lists_its_commands_verbatim(listed: str, commands: tuple[str, ...]) -> None:
    for text in (f"Grant standing consent for: {listed}", f"please GRANT standing consent for:{listed}\n"):
        assert hear(text) == Message(text=text, kind="grant", grants=commands)


@pytest.mark.parametrize(
    ("listed", "word"),
    [
        ('git commit -m "a', "quote"),
        ("git commit -m don't", "quote"),
        ("`git push", "quote"),
        ("git commit -m “a”", "typographic"),
        ("git push,, git pull", "empty"),
        ("git push,", "empty"),
        ("", "no command"),
        ("`git push` and `git pull`", "backticks"),
        ("git push. And fix the parser", "other text"),
    ],
)
def test_a_list_that_cannot_be_read_for_certain_grants_nothing_and_says_why(listed: str, word: str) -> None:
    message = hear(f"Grant standing consent for: {listed}")
    assert (message.kind, message.grants) == ("grant", ())
    assert message.problem is not None
    assert word in message.problem


def test_a_grant_without_its_colon_is_refused_with_the_right_form() -> None:
    message = hear("Grant standing consent for git push")
    assert message.grants == ()
    assert message.problem is not None
    assert "Grant standing consent for: <command>" in message.problem


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Revoke consent for: git push", ("git push",)),
        ("revoke consent for git push", ("git push",)),
        ("Please revoke standing consent for: git push, npm test. Thanks!", ("git push", "npm test")),
        ("Too risky.\nRevoke consent for: `git push`\nGo on otherwise", ("git push",)),
        ('Revoke consent for: git commit -m "a, b", ls', ('git commit -m "a, b"', "ls")),
        ("Revoke consent for: docker stop web", ("docker stop web",)),
        ("Revoke consent for: git push?", ("git push",)),
        ("Revoke consent for: `git push` and `git pull`", ("git push", "git pull")),
        ("Revoke consent for: a. Revoke consent for: b", ("a", "b")),
    ],
)
def test_a_revoke_is_found_anywhere_in_the_users_own_words(text: str, commands: tuple[str, ...]) -> None:
    message = hear(text)
    assert message.revokes == commands
    assert (message.kind, message.stop, message.problem) == ("revoke", False, None)


@pytest.mark.parametrize(
    ("listed", "commands"),
    [
        ('git push, echo "a', ("git push", 'echo "a')),
        ("`git push", ("git push",)),
        ("git push,", ("git push",)),
    ],
)
def test_a_revoke_that_cannot_be_read_for_certain_revokes_what_can_be_read_and_says_so(
    listed: str, commands: tuple[str, ...]
) -> None:
    message = hear(f"Revoke consent for: {listed}")
    assert message.revokes == commands
    assert message.problem is not None


def test_a_revoke_without_a_command_says_so() -> None:
    message = hear("Revoke consent for:")
    assert (message.kind, message.revokes) == ("revoke", ())
    assert message.problem is not None


@pytest.mark.parametrize(
    "text",
    [
        "Revoke consent for: x, and wait",
        "Revoke consent for: x and wait",
        "Revoke consent for: x. Please wait.",
    ],
)
def test_a_stop_after_the_list_of_a_revoke_is_a_stop_and_the_revoke_stands(text: str) -> None:
    message = hear(text)
    assert (message.kind, message.stop, message.revokes) == ("stop", True, ("x",))


@pytest.mark.parametrize(
    "text", ["Revoke all consent", "please revoke all my consents!", "Revoke consent for: everything"]
)
def test_revoke_all_is_read(text: str) -> None:
    assert hear(text) == Message(text=text, kind="revoke", revoke_all=True)


def test_clearing_the_allowlist_and_the_state_are_two_things() -> None:
    assert hear("Clear session allowlist").clear_allowlist
    assert not hear("Clear session allowlist").clear_state
    assert hear("Clear consent state").clear_state
    assert not hear("Clear consent state").clear_allowlist
    assert hear("Clear session allowlist").kind == hear("Clear consent state").kind == "clear"


def test_a_quoted_revoke_revokes_nothing() -> None:
    message = hear('What does "Revoke consent for: git push" do, and `Revoke all consent`?')
    assert (message.revokes, message.revoke_all) == ((), False)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Show active allowlist", "allowlist"),
        ("show me the allowlist please!", "allowlist"),
        ("show me how the allowlist works", None),
        ("List session consent", "allowlist"),
        ("What has standing consent?", "allowlist"),
        ("What have I consented to?", "consents"),
        ("what have i consented to", "consents"),
    ],
)
def test_the_queries_are_read(text: str, query: str | None) -> None:
    message = hear(text)
    assert message.query == query
    assert query is None or message == Message(text=text, kind="query", query=query)


def test_a_list_that_holds_nothing_but_a_stop_is_a_stop_and_no_empty_list() -> None:
    message = read_message("Grant standing consent for: stop", ())
    assert (message.stop, message.grants, message.problem) == (True, (), None)
    assert read_message("Grant standing consent for:", ()).problem == (
        "There is no command in the list: nothing was granted."
    )


def test_without_its_colon_a_list_may_be_speech_so_that_its_first_word_can_stop() -> None:
    assert read_message("revoke consent for stop words", ()).stop
    assert not read_message("revoke consent for: stop words", ()).stop


def test_of_several_problems_of_a_list_the_first_is_told() -> None:
    message = read_message('Grant standing consent for: git push,, "git', ())
    assert message.grants == ()
    assert message.problem == "A quote is not closed: nothing was granted."

"""Wordings that no grammar foresaw: what tightens is never missed, and what is plain is never misread."""

from __future__ import annotations

import pytest

from sayso.core.conversation.message import Message, read_message
from sayso.core.text.acts import contains_forbidden
from tests.support.rows import each_row

SLASHES = ("/commit", "/pr")


def hear(text: str) -> Message:
    return read_message(text, SLASHES)


def loosens(message: Message) -> bool:
    return bool(message.grants or message.slash or message.assent or message.imperatives)


@each_row(
    "text",
    [
        "do not continue",
        "don't proceed",
        "don't go ahead",
        "I don't want b.py touched",
        "I don't consent to edits",
        "no further edits",
        "do NOT, under any circumstances, edit b.py",
        "b.py must not be modified",
        "let's not edit b.py",
        "we should not edit b.py",
        "we shouldn't edit b.py",
        "you'd better not edit b.py",
        "you'd better not",
        "editing b.py isn't allowed",
        "edits aren't permitted",
        "pls don't edit b.py",
        "@agent do not edit b.py",
        "do\nnot edit b.py",
        "ask me before you edit b.py",
        "I'll edit b.py myself",
        "let's not push",
        "we shouldn't push",
        "don't `git push`",
        "no git push",
        "I don't want pushes",
        "pls don't push",
        "b.py should never be changed",
        "b.py may not be deleted",
        "no pushing",
        "no more pushes",
        "plz do not push",
        "hey @bot don't push",
        "I don't want any pushes",
        "lets not push",
        "we won't push",
        "you are not to push",
        "nobody pushes",
        "no edits to b.py",
        "I do not consent to pushing",
        "I do not allow edits",
        "I'll push it myself",
        "I will do the push myself",
        "check with me before pushing",
        "never push",
        "pushing isn't permitted",
        "git push isn't allowed",
        "git push is not allowed",
        "please no pushes",
        "don't run git push",
        "dont push",
        "do not ever push",
        "can we not push?",
        "let us not push",
    ],
)
def test_a_prohibition_never_leaves_consent_alive_however_it_is_put(text: str) -> None:
    message = hear(text)
    assert message.forbids
    assert not loosens(message)
    assert "push" not in text or contains_forbidden("git push", message.forbidden)
    assert "b.py" not in text or contains_forbidden("edit src/b.py", message.forbidden)


@pytest.mark.parametrize(
    "text",
    [
        "don't forget to push",
        "don't worry about b.py",
        "I don't know",
        "don't hesitate to ask",
        "let's not worry",
        "I'll be back",
        "we should edit b.py",
        "I don't mind",
        "why don't we edit b.py",
        "I'll take a look",
        "b.py was modified",
        "ask me anything",
        "do it",
        "why isn't b.py edited?",
        "I don't see why not",
    ],
)
def test_what_forbids_nothing_takes_no_consent_back(text: str) -> None:
    assert not hear(text).forbids


@each_row(
    "said",
    [
        "main off limits",
        "production excepted",
        "staging branch preferred",
        "feature branches",
        "main branch protected",
        "dry run please",
        "make sure tests pass",
        "go easy",
        "no force",
        "force pushes excluded",
        "with care",
        "max 3 times",
        "Fridays excluded",
        "valid one hour",
        "supervised",
        "nothing fancy",
        "ask first",
        "find out first",
        "origin",
        "hotfixes",
    ],
)
@each_row("first", ["git push", "`git push`", "npm test, git push"])
def test_a_limit_in_words_the_grammar_does_not_know_never_leaves_a_grant(first: str, said: str) -> None:
    message = hear(f"Grant standing consent for: {first}, {said}")
    assert message.grants == ()
    assert message.problem is not None
    assert "backticks" in message.problem


@pytest.mark.parametrize(
    ("listed", "granted"),
    [
        ("git push, npm test", ("git push", "npm test")),
        ("git push, .cursor/scripts/pr-create.sh", ("git push", ".cursor/scripts/pr-create.sh")),
        ("git push, make", ("git push", "make")),
        ("git push, make test", ("git push", "make test")),
        ("git push, make -j4 all docs", ("git push", "make -j4 all docs")),
        ("git push, go test ./...", ("git push", "go test ./...")),
        ("git push, `deployer main off limits`", ("git push", "deployer main off limits")),
        ("mytool sync", ("mytool sync",)),
        ("git push, python3.12 -m build", ("git push", "python3.12 -m build")),
        ("git push, CI=1 npm test", ("git push", "CI=1 npm test")),
        ("git push and npm test", ()),
    ],
)
def test_commands_in_a_list_are_granted_as_they_stand(listed: str, granted: tuple[str, ...]) -> None:
    assert hear(f"Grant standing consent for: {listed}").grants == granted


@each_row(
    "text",
    [
        "revoke all existing consent",
        "revoke all previous consent",
        "revoke all prior consents",
        "revoke all current consent",
        "Revoke all active consent",
        "revoke all remaining consent",
        "revoke any and all consent",
        "revoke every consent",
        "_revoke all consent_",
        "clear all consent",
        "remove all consent",
        "consent revoked",
        "I no longer consent",
        "revoke",
        "revoke it",
        "revoke that",
        "Revoke!",
        "please revoke",
        "REVOKE ALL  CONSENT",
        "🚫 revoke all consent",
        "delete all consents",
        "all consent is revoked",
        "revoke them",
        "revoke this",
        "drop all consents",
        "revoke all the consent I gave",
        "I revoke all my consents now",
        "My consent is withdrawn",
        "permission revoked",
        "**Revoke all consent**",
        "revoke all outstanding approvals",
        "reset all consent",
        "revoke all of it",
        "forget all consent",
        "revoke consent please",
        "Revoke all consents!!",
        "revoke my previous consent",
        "I withdraw consent",
        "I take back my consent",
    ],
)
def test_a_revocation_of_everything_is_never_overheard(text: str) -> None:
    message = hear(text)
    assert message.revoke_all
    assert not loosens(message)


@pytest.mark.parametrize("text", ["done 👍", "done ✅", "**done**", "_Done_", "done!", "✅ done"])
def test_signs_around_an_acknowledgement_never_hide_it(text: str) -> None:
    assert hear(text).done


@pytest.mark.parametrize("text", ["thats wrong", "Wrong!", "wrong", "no, wrong", "this is wrong"])
def test_a_short_correction_is_never_overheard(text: str) -> None:
    assert hear(text).correction


@pytest.mark.parametrize("text", ["pls pause", "lets pause", "hmm hang on", "plz halt", "um, hang on"])
def test_a_stop_after_small_words_is_never_overheard(text: str) -> None:
    assert hear(text).stop


@pytest.mark.parametrize("text", ["change the task list to use a set", "the wrong file was edited"])
def test_work_on_a_thing_called_task_or_wrong_ends_nothing(text: str) -> None:
    assert hear(text).kind == "other"


@pytest.mark.parametrize("text", ["I approve", "approve", "allow", "allow it", "yes pls", "yess", "Approve!"])
def test_a_clear_yes_is_never_overheard(text: str) -> None:
    assert hear(text).assent == "high"


@pytest.mark.parametrize("text", ["n", "N", "hard no", "that's a no", "That is a no."])
def test_a_clear_no_is_never_overheard(text: str) -> None:
    assert hear(text).kind == "refusal"

"""What a message means, in many wordings: none of them may be taken for the opposite."""

from __future__ import annotations

import pytest

from sayso.core.conversation.message import Message, read_message
from sayso.core.text.acts import contains_forbidden
from sayso.core.text.phrases import Phrases
from tests.support.rows import each_row

SLASHES = ("/commit", "/pr")


def hear(text: str) -> Message:
    return read_message(text, SLASHES)


def loosens(message: Message) -> bool:
    return bool(message.grants or message.slash or message.assent or message.imperatives)


@pytest.mark.parametrize(
    "text",
    [
        "no...",
        "no :(",
        "No!!!",
        "nooo",
        "*no*",
        "no because it breaks prod",
        "no that would delete everything",
        "no way this goes out",
        "nope, not now",
        "nah I'm good",
        "no need to push",
        "Hmm. No, rather not that",
        "oh no please",
        "no go ahead",
        "👎",
        "❌",
        "as if",
    ],
)
def test_a_message_that_begins_with_no_never_counts_as_anything_but_a_refusal(text: str) -> None:
    message = hear(text)
    assert message.kind == "refusal"
    assert not loosens(message)


@pytest.mark.parametrize(
    "text",
    [
        "no problem, go ahead",
        "No problem at all, go ahead!",
        "no worries, proceed",
        "No objections from me. Ship it",
        "no doubt, do it",
        "no issues with that, looks good",
    ],
)
def test_an_idiom_with_an_assent_is_no_refusal(text: str) -> None:
    assert hear(text) == Message(text=text, kind="assent", assent="high")


@pytest.mark.parametrize(
    "text",
    ["no problem", "no problem, but don't push", "no problem, I will do it", "no worries, maybe later"],
)
def test_an_idiom_without_a_plain_assent_stays_a_refusal(text: str) -> None:
    assert hear(text).refusal
    assert not loosens(hear(text))


@each_row(
    ("text", "word"),
    [
        ("Do not edit b.py", "b.py"),
        ("don't change anything else", "chang"),
        ("please don't push", "push"),
        ("Please do not push", "push"),
        ("Please do not ever push to main", "main"),
        ("never push to main", "push"),
        ("you must not delete files", "delet"),
        ("You may not touch src/b.py", "b.py"),
        ("stay away from main", "main"),
        ("Keep out of src/core", "core"),
        ("hands off the config", "config"),
        ("keep your hands off b.py", "b.py"),
        ("leave b.py alone", "b.py"),
        ("b.py is off limits", "b.py"),
        ("pushing is forbidden", "push"),
        ("b.py must not be edited", "b.py"),
        ("I don't want you to touch b.py", "b.py"),
        ("I forbid any push", "push"),
        ("refrain from pushing", "push"),
        ("no more commits", "commit"),
        ("no pushing please", "push"),
        ("Fix the parser but don't push", "push"),
        ("make sure you never deploy", "deploy"),
        ("Could you not push?", "push"),
        ("don't run `git push`", "push"),
        ("no, don't push", "push"),
        ("under no circumstances push this", "push"),
    ],
)
def test_a_prohibition_is_told_with_its_words_and_grants_nothing(text: str, word: str) -> None:
    message = hear(text)
    assert message.forbids
    assert message.kind == "refusal"
    assert word in message.forbidden
    assert not loosens(message)


@pytest.mark.parametrize(
    "text",
    [
        "Don't forget the tests",
        "don't worry about it",
        "please don't hesitate to refactor",
        "I don't know",
        "don't",
        "please don't",
        "don't do it",
        "The parser should not crash on empty input",
        "Why don't we go ahead?",
        "avoid global variables",
        'Rename it to "do not push"',
    ],
)
def test_what_names_nothing_forbids_nothing(text: str) -> None:
    assert not hear(text).forbids


def test_an_entry_is_taken_off_for_a_forbidden_word_in_it_and_for_no_part_of_a_name() -> None:
    assert contains_forbidden("git push", ["push"])
    assert contains_forbidden("vim src/b.py", ["b.py"])
    assert contains_forbidden("npm run pushing", ["push"])
    assert not contains_forbidden("python a.py", ["b.py"])
    assert not contains_forbidden("npm test", ["push"])


def test_a_yes_with_a_prohibition_is_a_change_and_keeps_what_it_forbids() -> None:
    message = hear("yes, but don't touch b.py")
    assert (message.kind, message.refusal, message.forbids) == ("modify", False, True)
    assert "b.py" in message.forbidden


@pytest.mark.parametrize(
    "text",
    [
        "yeah right",
        "Yeah, right!",
        "oh yeah right",
        "sure, right",
        "right, sure",
        "yes, right",
        "yeah, sure thing, genius",
        "sure, why not break everything",
        "great, just great",
        "fine, whatever",
        "yes 🙄",
        "sure 🙃",
        "yes 👎",
        "~~yes~~",
        "yes /s",
        "suuure",
        "in your dreams",
    ],
)
def test_irony_is_no_assent(text: str) -> None:
    assert not loosens(hear(text))


@pytest.mark.parametrize("text", ["yeah sure", "yeah, yeah", "sure, yeah"])
def test_a_yes_that_may_be_ironic_is_asked_back(text: str) -> None:
    assert hear(text).assent == "medium"


@each_row(
    "text",
    [
        "yes 👍",
        "Yes 👍🏽",
        "yes ✔️",
        "Approved ✅",
        "**yes**",
        "_yes_",
        "*Go ahead*!",
        "yes :)",
        "That's right, do it",
        "yes, that's correct",
        "yes to all",
        "LGTM",
        "lgtm 🚀",
        "go for it",
        "Yup!",
        "please do",
        "absolutely",
        "Y",
        "of course, go ahead",
        "Yes please, thank you!",
    ],
)
def test_emoji_emphasis_thanks_and_please_do_not_spoil_a_yes(text: str) -> None:
    assert hear(text) == Message(text=text, kind="assent", assent="high")


@pytest.mark.parametrize(
    "text",
    [
        "yes, once",
        "Yes, just this once.",
        "just this once",
        "only this time",
        "ok, just once",
        "go ahead, but only this once",
    ],
)
def test_a_yes_for_once_says_so(text: str) -> None:
    assert hear(text) == Message(text=text, kind="assent", assent="high", once=True)


@pytest.mark.parametrize(
    "text",
    [
        "yes, if the tests pass",
        "yes but not to main",
        "yes, not to main",
        "yes, unless it is Friday",
        "yes, only on weekdays",
        "yes, once the tests pass",
        "yes, for now",
        "go ahead when CI is green",
        "yes, to staging",
        "ok, after lunch",
        "yes, never to main",
    ],
)
def test_a_limited_yes_is_no_plain_yes(text: str) -> None:
    message = hear(text)
    assert (message.kind, message.assent) == ("modify", None)


@each_row(
    "limit",
    [
        ", but not to main",
        ", if tests pass",
        ", just this once",
        ", never mind",
        ", unless on main",
        ", only on weekdays",
        ", except main",
        ", no",
        ", today",
        ", tests permitting",
        ", to staging",
        ", temporarily",
        ", for an hour",
        ", main excluded",
        " just this once",
        " if it works",
        " (not main)",
        " - only from dev",
        "; but never with force",
        ". But not to main",
        "?",
    ],
)
def test_a_standing_grant_with_a_limit_grants_nothing_and_says_why(limit: str) -> None:
    message = hear(f"Grant standing consent for: git push{limit}")
    assert (message.kind, message.grants) == ("grant", ())
    assert message.problem is not None


def test_a_command_in_backticks_may_hold_any_word() -> None:
    text = "Grant standing consent for: for f in *; do ls; done, `git commit -m only this`"
    assert hear(text).grants == ("for f in *; do ls; done", "git commit -m only this")


@pytest.mark.parametrize(
    "rest",
    [
        " revoke all consent",
        " no, don't",
        " no",
        " don't",
        " please don't push",
        " never mind",
        " wait",
        " hold on a second",
        " not yet",
        " abort",
        " cancel that",
        ", stop",
        " - wait",
        " and wait",
        " that's wrong",
        " revoke consent for: git push",
        " clear consent state",
        "\u200b wait",
    ],
)
def test_what_tightens_in_a_clause_of_its_own_cancels_the_slash_command(rest: str) -> None:
    assert not loosens(hear(f"/pr{rest}"))


@pytest.mark.parametrize(
    "rest",
    [
        "fix the wait loop",
        "add a cancel button",
        "handle the abort signal",
        "describe how to revoke all consent",
        "switch to the new parser",
        "stop_words: sort them",
        "-m 'stop it'",
        "next task in the queue",
    ],
)
def test_words_inside_a_slash_commands_own_text_cancel_nothing(rest: str) -> None:
    assert hear(f"/commit {rest}") == Message(text=f"/commit {rest}", kind="slash", slash="/commit")


@pytest.mark.parametrize(
    "text",
    [
        "halt",
        "Halt!",
        "please abort",
        "Abort the run",
        "pause",
        "pause for a minute",
        "hang on",
        "Hang on, let me check",
        "ok, pause",
        "no, abort",
        "Commit it and then abort.",
        "“abort”",
        "ha\u200blt",
        "🛑",
    ],
)
def test_a_clause_that_begins_with_a_stop_word_stops(text: str) -> None:
    assert hear(text).kind == "stop"


@pytest.mark.parametrize(
    "text",
    ["the pause button", "they abort early", "halting problem", "hanging on it", "Add a pause key"],
)
def test_these_words_elsewhere_are_no_stop(text: str) -> None:
    assert not hear(text).stop


@pytest.mark.parametrize(
    "text",
    [
        "I revoke my consent",
        "revoke everything",
        "Revoke consent",
        "please revoke consent.",
        "Revoke all",
        "I hereby withdraw all my permissions",
        "take back my consent",
        "no, revoke everything now",
        "can you revoke everything?",
        "Revoke all consent, please",
    ],
)
def test_all_consent_is_revoked_in_other_words(text: str) -> None:
    assert hear(text).revoke_all


@pytest.mark.parametrize("text", ["How do I revoke consent?", "Add a button to revoke consent"])
def test_talking_about_revoking_revokes_nothing(text: str) -> None:
    assert (hear(text).revoke_all, hear(text).revokes) == (False, ())


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("Revoke consent for: file-edit", "file-edit"),
        ("revoke my consent for file edits", "file edits"),
        ("I revoke my consent to: git push", "git push"),
        ("Revoke consent: git push", "git push"),
        ("Revoke: git push", "git push"),
        ("revoke git push", "git push"),
        ("withdraw consent for git push", "git push"),
        ("Revoke all consent for git", "git"),
    ],
)
def test_what_is_to_be_revoked_is_named(text: str, entry: str) -> None:
    message = hear(text)
    assert (message.revokes, message.revoke_all) == ((entry,), False)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("New task: write docs", "write docs"),
        ("Switch to the docs", "the docs"),
        ("OK, switch to billing", "billing"),
        ("Now let's work on billing", "billing"),
        ("Let's now tackle the tests", "the tests"),
        ("let's do something else", "something else"),
        ("Now work on the docs", "the docs"),
        ("moving on to the docs", "the docs"),
        ("A different task: docs", "docs"),
        ("Change of plans: do the docs", "do the docs"),
        ("I'd like to switch to billing", "billing"),
    ],
)
def test_another_topic_is_found(text: str, topic: str) -> None:
    assert hear(text).topic == topic


@pytest.mark.parametrize(
    "text",
    ["Complete the parser", "Add a switch to the panel", "let's work on it", "Now the same in b.ts"],
)
def test_going_on_is_no_other_topic(text: str) -> None:
    assert (hear(text).topic, hear(text).done) == (None, False)


PHRASES = Phrases(
    stop=("stopp", "hör auf"), refuse=("nein", "auf keinen Fall"), assent=("ja", "mach das", "no")
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ja", "assent"),
        ("Ja, bitte nicht", "other"),
        ("mach  das!", "assent"),
        ("nein", "refusal"),
        ("Nein, danke", "refusal"),
        ("auf keinen fall", "refusal"),
        ("ja, nein", "refusal"),
        ("STOPP", "stop"),
        ("ja, hör auf", "stop"),
        ("no", "refusal"),
        ("stop", "stop"),
        ("yes", "assent"),
        ("jaja", "other"),
        ("/pr nein", "refusal"),
        ("/pr stopp", "stop"),
    ],
)
def test_phrases_of_the_operator_only_add(text: str, kind: str) -> None:
    assert read_message(text, SLASHES, PHRASES).kind == kind


@pytest.mark.parametrize(
    "text", ["Let's do it now", "now let's do it", "let's do it", "OK, let's do it now!"]
)
def test_a_yes_in_these_words_is_no_other_topic(text: str) -> None:
    assert hear(text).topic is None


def test_going_on_with_another_file_is_no_other_topic() -> None:
    assert hear("Now let's do the same for b.py").topic is None
    assert hear("Let's do the docs instead").topic == "the docs"

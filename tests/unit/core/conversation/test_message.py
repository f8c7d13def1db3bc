"""What a message is read as: every phrase of the specification, and the sentences around them."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.conversation.message import HIGH_PHRASES, MEDIUM_PHRASES, STOP_PHRASES, Message, read_message
from sayso.core.text.unmask import hidden
from tests.support.rows import each_row

SLASHES = ("/commit", "/pr", "/branch", "/status", "/diff")


def hear(text: str) -> Message:
    return read_message(text, SLASHES)


# --- slash commands -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["/commit", "  /commit  ", "/commit\n", "/commit -m 'fix the parser'"])
def test_a_line_that_starts_with_a_registered_name_is_that_slash_command(text: str) -> None:
    assert hear(text) == Message(text=text, kind="slash", slash="/commit")


def test_a_name_that_is_not_registered_is_no_slash_command() -> None:
    assert hear("/deploy now").kind == "other"


def test_the_allowlist_query_is_a_query_until_it_is_registered_and_then_both() -> None:
    assert read_message("/allowlist", ()) == Message(text="/allowlist", kind="query", query="allowlist")
    assert read_message("/allowlist", ("/allowlist",)) == Message(
        text="/allowlist", kind="slash", slash="/allowlist", query="allowlist"
    )


def test_a_stop_beside_a_slash_command_leaves_only_the_stop() -> None:
    assert hear("/commit wait") == Message(text="/commit wait", kind="stop", stop=True)


def test_a_quoted_stop_word_in_the_arguments_of_a_slash_command_is_none() -> None:
    assert hear('/commit -m "stop the timer"').slash == "/commit"


# --- stop ---------------------------------------------------------------------------------------------------


@each_row("phrase", STOP_PHRASES)
@each_row(
    "sentence",
    ["{}", "{}!", "please {}", "no, {}", "yes, {}", "{} for the tests", "so: {}", "(*{}*)", "a\n{}\nb"],
)
def test_a_stop_phrase_anywhere_is_a_stop(phrase: str, sentence: str) -> None:
    for text in (sentence.format(phrase), sentence.format(phrase).upper(), sentence.format(phrase).title()):
        assert hear(text).stop
        assert hear(text).kind == "stop"


@pytest.mark.parametrize(
    "text",
    [
        "I am waiting for the stopwatch",
        "it was cancelled, canceled and stopped",
        "an unstoppable process awaits",
        "rename stop_words and non_stop",
        "hold the line on this",
        "not a problem yet",
        "Run `docker stop web`",
        'Rename the "Cancel" button',
        "Rename the 'Wait' button to 'Continue'",
        "Rename “Hold on” to «Not yet»",
        "This fails:\n```\nwait $pid\n```",
        "~~~sh\nstop\n~~~\nis the script",
        "> please stop\n\nwas their answer",
    ],
)
def test_words_that_only_look_like_a_stop_and_quoted_ones_are_none(text: str) -> None:
    assert not hear(text).stop


def test_a_stop_keeps_what_tightens_and_drops_what_loosens() -> None:
    message = hear("No, wait. Revoke all consent, clear consent state; that's wrong.")
    assert message.kind == "stop"
    assert (message.refusal, message.correction, message.revoke_all, message.clear_state) == (
        True,
        True,
        True,
        True,
    )
    assert (message.assent, message.slash, message.grants, message.imperatives) == (None, None, (), ())


# --- refusal ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "No.",
        "nope",
        "nah",
        "no thanks",
        "No, that file is broken",
        "hmm, no",
        "yes, but no",
        "yeah no",
        "don't",
        "Don’t do that",
        "please don't",
        "never mind",
        "No tests are needed",
        "I'm not okay with this",
        "I do not want this",
        "that does not look good",
        "I don't think so",
    ],
)
def test_a_no_is_a_refusal_and_leaves_nothing_that_loosens(text: str) -> None:
    heard = msgspec.structs.replace(hear(text), bare_no=False)
    assert heard == Message(text=text, kind="refusal", refusal=True)


@pytest.mark.parametrize(
    "text",
    [
        "don't worry, go ahead",
        "I don't know",
        "not sure",
        "note the time",
    ],
)
def test_a_no_that_is_not_the_sense_of_the_message_is_neither_refusal_nor_assent(text: str) -> None:
    assert hear(text) == Message(text=text, kind="other")


# --- assent -------------------------------------------------------------------------------------------------


@each_row("phrase", HIGH_PHRASES)
@each_row("sentence", ["{}", "{}!", "{}.", "ok, {}", "please {}", "{} please", "Great, {}, thanks."])
def test_a_high_confidence_phrase_is_an_assent(phrase: str, sentence: str) -> None:
    for text in (
        sentence.format(phrase),
        sentence.format(phrase).upper(),
        f"\n {sentence.format(phrase)} \n",
    ):
        assert hear(text) == Message(text=text, kind="assent", assent="high")


@each_row("phrase", MEDIUM_PHRASES)
@each_row("sentence", ["{}", "{}!", "{}, thanks", "oh, {} then"])
def test_a_medium_confidence_phrase_is_a_medium_assent(phrase: str, sentence: str) -> None:
    text = sentence.format(phrase)
    assert hear(text) == Message(text=text, kind="medium", assent="medium")


@pytest.mark.parametrize(
    "text",
    [
        "Yes. Go ahead.",
        "yes, yes",
        "Looks good to me, ship it",
        "That looks good, go ahead",
        "the plan sounds good",
        "go ahead with the plan",
        "proceed with it",
        "proceed as planned",
        "just do it",
        "you can go ahead",
        "Yes - do it now, please!",
        "Let’s do it",
        "lets go",
    ],
)
def test_phrases_may_stand_together_and_with_small_words(text: str) -> None:
    of_plan = "plan" in text
    assert hear(text) == Message(text=text, kind="assent", assent="high", of_plan=of_plan)


@pytest.mark.parametrize(
    "text",
    [
        "Yes, that file is broken",
        "yes, push it as well",
        "yes...",
        "yes,",
        "yes, but",
        "fine, whatever",
        "we could proceed tomorrow",
        "thanks",
        "great",
        "",
        " \n ",
        "?",
    ],
)
def test_anything_beside_the_assent_makes_it_none(text: str) -> None:
    message = hear(text)
    assert (message.assent, message.change, message.kind) == (None, None, "other")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("yes, but skip the tests", "skip the tests"),
        ("Yes. But use `argparse`.", "use `argparse`"),
        ("ok but skip tests", "skip tests"),
        ("yes and delete everything", "and delete everything"),
        ("yes, and also update README.md", "and also update README.md"),
        ("go ahead except docs/", "except docs/"),
        ("go ahead, only src/A.py", "only src/A.py"),
        ("looks good, just the first part", "just the first part"),
        ("proceed without committing", "without committing"),
        ("go ahead if the tests pass", "if the tests pass"),
        ("go ahead with step 1", "with step 1"),
        ("go ahead with the plan, but do not push", "do not push"),
        ("yes, don't push", "don't push"),
        ("only edit src/a.py", "only edit src/a.py"),
        ("just do the first part", "just do the first part"),
        ("skip the tests", "skip the tests"),
        ("without the docs", "without the docs"),
    ],
)
def test_a_yes_with_a_change_is_a_modification_and_no_assent(text: str, change: str) -> None:
    message = hear(text)
    assert (message.kind, message.change) == ("modify", change)
    assert (message.assent, message.refusal, message.imperatives) == (None, False, ())


@pytest.mark.parametrize(
    "text",
    [
        "yes?",
        "okay?",
        "Should we proceed?",
        "Why don't we go ahead?",
        "is that fine?",
        "yes, but will it break the API?",
        "yes, but will it break the API",
        "Go ahead. How long does it take?",
        "yes, but do you need a key",
    ],
)
def test_a_question_in_or_about_the_assent_is_a_question(text: str) -> None:
    assert hear(text) == Message(text=text, kind="question", question=True)


# --- correction, done, switch -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "that's wrong",
        "That is completely wrong!",
        "I think this is the wrong file",
        "do it differently",
        "please do that another way",
        "that's not what I asked for",
        "it isn't right",
        "you got that wrong",
        "yes, but that's wrong",
    ],
)
def test_a_correction_is_read_and_is_no_assent(text: str) -> None:
    assert hear(text) == Message(text=text, kind="correction", correction=True)


@pytest.mark.parametrize(
    "text", ["the wrong file fails", "what is wrong here", "that's right", 'he wrote "that\'s wrong"']
)
def test_the_word_wrong_alone_corrects_nothing(text: str) -> None:
    assert not hear(text).correction


@pytest.mark.parametrize(
    "text",
    [
        "done",
        "Done.",
        "done, thanks",
        "ok, done",
        "complete",
        "that's complete",
        "next",
        "Next task!",
        "we are all done now",
        "The tests pass. Done.",
    ],
)
def test_an_acknowledgement_as_message_or_clause_is_done(text: str) -> None:
    assert hear(text) == Message(text=text, kind="done", done=True)


@pytest.mark.parametrize(
    "text",
    [
        "Complete the parser",
        "is it done?",
        "done?",
        "when done run the linter",
        "next.config.js",
        "not done",
        "undone",
    ],
)
def test_the_same_words_in_another_role_are_no_acknowledgement(text: str) -> None:
    assert not hear(text).done


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Actually, let's work on feature Y instead", "feature Y"),
        ("actually let’s work on feature Y", "feature Y"),
        ("Let's work on src/Next.py instead.", "src/Next.py"),
        ("Let's switch to the docs now", "the docs"),
        ("OK. Let's move on to billing!", "billing"),
    ],
)
def test_a_topic_change_names_the_topic_as_spelled(text: str, topic: str) -> None:
    assert hear(text) == Message(text=text, kind="switch", topic=topic)


def test_going_on_with_the_work_is_no_topic_change() -> None:
    assert hear("let's work on the parser").topic is None


# --- imperative ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Run `git status`", ("git status",)),
        ("run git status", ("git status",)),
        ("Please execute git log --oneline -n 10", ("git log --oneline -n 10",)),
        ("run: git status", ("git status",)),
        ("Please run `git status` and `git diff`.", ("git status", "git diff")),
        ("run `a`, `b` and `c`", ("a", "b", "c")),
        ("run `a`, `b`, and `c`, please!", ("a", "b", "c")),
        ("Show `git  log`", ("git  log",)),
        ("run git status.", ("git status",)),
        ("run git status, thanks!", ("git status",)),
        ("run git add .", ("git add .",)),
        ("run ls ..", ("ls ..",)),
        ("run echo please", ("echo please", "echo")),
        ("Run `echo done.`", ("echo done.",)),
    ],
)
def test_an_imperative_names_its_commands_verbatim(text: str, commands: tuple[str, ...]) -> None:
    assert hear(text) == Message(text=text, kind="imperative", imperatives=commands)


@pytest.mark.parametrize(
    "text",
    [
        "Show me the branches",
        "List all files",
        "Run the tests",
        "What's the git status?",
        "Can you run `git status`?",
        "run git status?",
        "Run `git status` and tell me what you see",
        "Run `git status` `git diff`",
        "Run\n`git status`\nand more",
        "running git status",
        "run",
    ],
)
def test_a_request_that_is_not_exactly_a_command_is_no_imperative(text: str) -> None:
    assert hear(text) == Message(text=text, kind="other")


def test_a_dry_run_loosens_nothing_but_can_still_stop() -> None:
    assert hear("DRY RUN: /commit").kind == "other"
    assert hear("DRY RUN: yes").kind == "other"
    assert hear("DRY RUN: wait").kind == "stop"


@pytest.mark.parametrize("text", ["Implement feature X", "Can you commit?", "Push to remote", "I am waiting"])
def test_anything_else_is_other(text: str) -> None:
    assert hear(text) == Message(text=text, kind="other")


def test_what_only_the_reading_with_gaps_shows_names_the_kind_of_the_message() -> None:
    message = read_message("please clear\u200ballowlist", ())
    assert message.clear_allowlist
    assert message.kind == "clear"


@pytest.mark.parametrize("char", ["\u200b", "\U000e0fff", "\ue000", "\ud800"])
def test_a_character_that_shows_nothing_or_nobody_knows_what_is_hidden_and_lets_nothing_loosen(
    char: str,
) -> None:
    assert hidden(char)
    assert read_message("yes", ()).assent == "high"
    assert read_message(f"yes{char}", ()).assent is None


def test_an_apostrophe_after_an_s_opens_no_quotation_that_hides_a_stop() -> None:
    assert read_message("'tis time to stop the users' jobs", ()).stop
    assert not read_message("the label 'stop it all' is too long", ()).stop


@pytest.mark.parametrize(
    "verb", ["worry", "forget", "hesitate", "know", "mind", "care", "understand", "see", "remember"]
)
def test_a_dont_that_forbids_nothing_is_no_refusal(verb: str) -> None:
    assert not read_message(f"don't {verb} about the tests", ()).refusal
    assert read_message("don't run the tests", ()).refusal

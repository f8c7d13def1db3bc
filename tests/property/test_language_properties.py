"""What holds for every message and every plan, whatever is in it."""

from __future__ import annotations

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from sayso.core.conversation.message import HIGH_PHRASES, MEDIUM_PHRASES, STOP_PHRASES, Message, read_message
from sayso.core.plans.edit import adjust_plan
from sayso.core.plans.markup import strip_markup
from sayso.core.plans.plan import plan_from_parts, read_plan

SLASHES = ("/commit", "/allowlist")
KINDS = {
    "slash",
    "stop",
    "grant",
    "revoke",
    "clear",
    "query",
    "refusal",
    "assent",
    "medium",
    "modify",
    "question",
    "correction",
    "done",
    "switch",
    "imperative",
    "other",
}
KNOWN = ("files.edit", "files.delete", "git.add", "git.commit", "git.push", "tests.run")

# Words that mean something, glued in every order, find more than random letters do.
PIECES = st.sampled_from(
    [
        *HIGH_PHRASES,
        *MEDIUM_PHRASES,
        *STOP_PHRASES,
        "no",
        "don't",
        "but",
        "only",
        "please",
        "and",
        "done",
        "next",
        "Grant standing consent for:",
        "Revoke consent for:",
        "Revoke all consent",
        "/commit",
        "run",
        "`git status`",
        "git push",
        "that's wrong",
        "actually, let's work on",
        "instead",
        "waiting",
        "stopwatch",
        "`",
        "```",
        "~~~",
        ">",
        '"',
        "'",
        "“",
        "”",
        ",",
        ".",
        "?",
        "!",
        ":",
        "\n",
        "\u200b",
        "\u202e",
        "\u0435",
        "ｙｅｓ",
        "DRY RUN:",
        "not",
        "edit",
        "src/a.py",
        "delete",
        "tests",
        "1. ",
        "- ",
        "# ",
        "<!--",
        "-->",
    ]
)
MESSAGES = st.one_of(
    st.text(),
    st.lists(PIECES, max_size=12).map(" ".join),
    st.lists(PIECES, max_size=12).map("".join),
)
ORDINARY = st.lists(
    st.sampled_from(["git", "push", "npm", "test", "-m", "--all", "src/a.py", "./run.sh", "docker", "x=1"]),
    min_size=1,
    max_size=4,
).map(" ".join)


def loosens(message: Message) -> bool:
    return bool(message.grants or message.slash or message.assent or message.imperatives or message.change)


@given(MESSAGES)
def test_every_message_has_one_reading_that_keeps_the_promises_of_its_fields(text: str) -> None:
    message = read_message(text, SLASHES)
    assert message.text == text
    assert message.kind in KINDS
    assert message.assent in {None, "high", "medium"}
    assert [message.assent, message.change, message.question or None].count(None) >= 2
    assert not (message.stop and loosens(message))
    assert not (
        (message.refusal or message.correction) and (message.assent or message.change or message.imperatives)
    )
    assert message.kind != "other" or not (
        loosens(message) or message.stop or message.refusal or message.revokes
    )
    assert read_message(text, SLASHES) == message


@given(MESSAGES, st.sampled_from(STOP_PHRASES))
def test_a_stop_on_a_line_of_its_own_stops_whatever_stands_before_it(text: str, stop: str) -> None:
    assert read_message(f"{text}\n\n{stop}", SLASHES).stop


@given(
    st.lists(
        st.sampled_from([*" ".join(STOP_PHRASES).split(), "waiting", "stopped", "go", "on", "it", "yes"]),
        max_size=8,
    )
)
def test_stops_are_found_exactly_where_a_slow_look_at_the_words_finds_them(words: list[str]) -> None:
    text = " ".join(words)
    expected = any(re.search(rf"(^| ){phrase}( |$)", text) for phrase in STOP_PHRASES)
    assume(words[:1] != ["hold"])  # as a whole clause it stops as well, alone or with "it"
    assume(words != ["on", "hold"])  # so does this
    assert read_message(text, SLASHES).stop == expected


@given(MESSAGES, st.sampled_from(["\u200b", "\u202e", "\u2060", "\ufe0f", "\x00"]), st.integers(min_value=0))
def test_an_invisible_character_anywhere_leaves_nothing_that_loosens(text: str, hidden: str, at: int) -> None:
    at %= len(text) + 1
    assert not loosens(read_message(text[:at] + hidden + text[at:], SLASHES))


@given(
    MESSAGES,
    st.sampled_from(["Grant standing consent for: git push", "/commit", "run git status", "go ahead"]),
)
def test_own_text_before_a_loosening_sentence_keeps_it_from_loosening_as_that(
    before: str, loose: str
) -> None:
    message = read_message(f"Read this {before}\n{loose}", SLASHES)
    assert not loosens(message)


@given(st.lists(ORDINARY, min_size=1, max_size=4, unique=True))
def test_granted_commands_come_back_verbatim_and_revoke_as_they_were_granted(named: list[str]) -> None:
    commands = [named[0], *(f"npm {name}" for name in named[1:])]
    assume(len(set(commands)) == len(commands))
    listed = ", ".join([named[0], *(f"`{command}`" for command in commands[1:])])
    assert read_message(f"Grant standing consent for: {listed}", SLASHES).grants == tuple(commands)
    assert read_message(f"Revoke consent for: {listed}", SLASHES).revokes == tuple(commands)


@given(st.lists(st.text(st.sampled_from("ab ,.'\"-/"), min_size=1), min_size=1, max_size=3))
def test_commands_in_backticks_are_taken_as_they_stand(commands: list[str]) -> None:
    expected = tuple(dict.fromkeys(command.strip() for command in commands if command.strip()))
    ticked = [f"`{command}`" for command in commands if command.strip()]
    assert (
        not ticked
        or read_message(f"Grant standing consent for: {', '.join(ticked)}", SLASHES).grants == expected
    )


@given(MESSAGES)
def test_a_plan_names_only_declared_operations_and_targets_that_its_text_spells_out(text: str) -> None:
    plan = read_plan(text, KNOWN)
    assert set(plan.operations) <= set(KNOWN)
    assert all(target.removesuffix("()") in strip_markup(text) for target in plan.targets)
    assert plan.score == len(plan.evidence) <= 4


@given(st.lists(PIECES, max_size=8).map(" ".join).filter(lambda text: not re.search(r"[.!?\n]", text)))
def test_a_negated_sentence_names_nothing(text: str) -> None:
    plan = read_plan(f"I will not {text}", KNOWN)
    assert (plan.targets, plan.operations, plan.changes) == ((), (), ())


@given(
    st.lists(st.text()),
    st.lists(st.text()),
    st.none() | st.text(),
    st.none() | st.text(),
    st.lists(st.text()),
)
def test_what_counts_of_a_structure_stands_on_a_line_of_its_rendering(
    targets: list[str], changes: list[str], scope: str | None, success: str | None, operations: list[str]
) -> None:
    plan = plan_from_parts(targets, changes, scope, success, operations)
    lines = plan.text.splitlines()
    assert {f"- {name}" for name in plan.operations} <= set(lines)
    assert {f"  - {name}" for name in plan.targets if plan.operations} <= set(lines)
    assert lines.count("A yes covers:") == 1
    assert set(plan.operations) <= set(operations)


@given(
    st.sampled_from(
        ["skip", "without", "except", "don't", "no", "only", "just", "also", "and", "instead", ""]
    ),
    st.lists(PIECES, max_size=4),
)
def test_a_change_never_adds(beginning: str, pieces: list[str]) -> None:
    plan = read_plan("Edit src/a.py: add a cache. Run the tests and commit.", KNOWN)
    adjusted = adjust_plan(plan, f"{beginning} {' '.join(pieces)}", KNOWN)
    assert set(adjusted.covers) <= set(plan.covers)
    assert all(set(targets) <= set(plan.covers[name]) for name, targets in adjusted.covers.items())

"""What a plan names, how concrete it is, how it is rendered, and what a "yes, but" makes of it."""

from __future__ import annotations

import pytest

from sayso.core.plans.edit import adjust_plan
from sayso.core.plans.plan import LONGEST_PLAN, plan_from_parts, read_plan
from sayso.core.session.plan_text import PlanText
from tests.support.rows import each_row

KNOWN = frozenset(
    {
        "build.run",
        "files.create",
        "files.delete",
        "files.edit",
        "files.read",
        "files.write",
        "git.add",
        "git.branch",
        "git.commit",
        "git.push",
        "git.push_force",
        "lint.run",
        "pr.create",
        "tests.run",
    }
)


STEPS = """Here is the plan:

1. Edit `src/parse.py`: replace the regex in `parse(text)` with a tokenizer
2. Update docs/usage.md to describe the new option
3. Delete src/old.py
4. Run the tests; they should pass
5. Stage the changes and commit

I will not push. Proceed?"""


def plan(text: str) -> PlanText:
    return read_plan(text, KNOWN)


# --- concreteness -------------------------------------------------------------------------------------------


def test_a_plan_with_targets_changes_scope_and_success_scores_four_and_shows_why() -> None:
    read = plan(STEPS)
    assert (read.score, read.concrete) == (4, True)
    assert read.evidence == {
        "targets": "src/parse.py, parse(), docs/usage.md, src/old.py",
        "changes": "replace the regex in `parse(text)` with a tokenizer; "
        "Update docs/usage.md to describe the new option",
        "scope": "a numbered list of 5 steps",
        "success": "they should pass",
    }


@pytest.mark.parametrize(
    ("text", "criteria"),
    [
        ("", set()),
        ("I'll fix the bug.", set()),
        ("I will improve the code and clean things up.", set()),
        ("I'll look at src/parse.ts.", {"targets"}),
        ("I'll update src/parse.ts.", {"targets"}),
        ("I'll add a null check.", {"changes"}),
        ("I'll add a null check to src/parse.ts.", {"targets", "changes"}),
        ("I'll edit src/parse.ts and nothing else.", {"targets", "scope"}),
        ("Only src/parse.ts changes; all tests pass afterwards.", {"targets", "scope", "success"}),
        (
            "Rename the option, limited to two files, until the linter is green.",
            {"changes", "scope", "success"},
        ),
        ("parse() should return None.", {"targets", "changes", "success"}),
    ],
)
def test_each_criterion_is_found_by_itself(text: str, criteria: set[str]) -> None:
    read = plan(text)
    assert set(read.evidence) == criteria
    assert read.score == len(criteria)
    assert read.concrete == (len(criteria) >= 2)


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("Edit `src/a.py` and src/b.ts, ./run and `docs/`.", ("src/a.py", "src/b.ts", "./run", "docs/")),
        ("Edit `src/a.py:12`, .env, `.gitignore`, Makefile.", ("src/a.py", ".env", ".gitignore", "Makefile")),
        ("Change `Parser.parse(text, mode)` and main().", ("Parser.parse()", "main()")),
        ("Run `pytest tests/test_a.py`.", ("tests/test_a.py",)),
        ("Edit a.py, then a.py again", ("a.py",)),
        ("Use Node.js 18.2 and/or yes/no, e.g. https://example.com/a.py and TCP/IP", ()),
        ("See [the docs](src/secret.py).", ()),
        ("Edit src/keep.py and tests/test_skip.py", ("src/keep.py", "tests/test_skip.py")),
        ("Edit src/not/ and src/a.py", ()),
    ],
)
def test_files_and_functions_are_targets_and_other_dotted_words_are_not(
    text: str, targets: tuple[str, ...]
) -> None:
    assert plan(text).targets == targets


# --- operations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("I'll use git.commit.", {"git.commit"}),
        ("I'll run git commit.", {"git.commit"}),
        ("I'll run `git commit -m x`.", {"git.commit"}),
        ("Run `git push --force`.", {"git.push_force"}),
        ("git.push_force", {"git.push_force"}),
        ("Edit src/a.py", {"files.edit"}),
        ("I'll add a cache to src/a.py", {"files.edit"}),
        ("Remove the import from src/a.py", {"files.edit"}),
        ("Delete the file `src/a.py` and commit", {"files.delete", "git.commit"}),
        ("Create a new file src/a.py", {"files.create", "files.write"}),
        ("Then run all the unit tests and build.", {"tests.run", "build.run"}),
        ("Stage everything, commit and push", {"git.add", "git.commit", "git.push"}),
        ("Create a branch, then open a pull request", {"git.branch", "pr.create"}),
        ("Edit src/a.py\nRun the tests\nCommit\nOK?", {"files.edit", "tests.run", "git.commit"}),
    ],
)
def test_operations_are_named_in_full_as_words_or_in_everyday_words(text: str, operations: set[str]) -> None:
    assert set(plan(text).operations) == operations


@pytest.mark.parametrize(
    "text",
    [
        "Edit the parser",
        "The commit message, the next commit and commit abc1234",
        "We commit to this approach",
        "Stage 1 is the parser",
        "Build a parser",
        "The git-commit hook and git.commit-msg",
        "Fix things. src/a.py has them.",
    ],
)
def test_words_that_only_resemble_an_operation_name_none(text: str) -> None:
    assert plan(text).operations == ()


def test_an_operation_that_the_policy_does_not_declare_is_not_named() -> None:
    assert read_plan("Delete src/a.py and git commit", {"git.commit"}).operations == ("git.commit",)


# --- what names nothing -------------------------------------------------------------------------------------

FORBIDDEN = "delete src/b.py and git push"


@each_row(
    "text",
    [
        "I will not {}.",
        "I won't {}.",
        "I won’t {}.",
        "I will never {}.",
        "I will *not* {}.",
        "I will _not_ {}.",
        "I will n\u043et {}.",
        "I will \uff4e\uff4f\uff54 {}.",
        "I will not\n{}",
        "Work without touching it, so do not {}",
        "No need to {}",
        "Instead of that I could {}",
        "Should I {}?",
        "Shall I also clean up and\n{}?",
        "If you like, I can {}.",
        "Optionally: {}",
        "Later I will {}.",
        "I have already done that: {}",
        "```\n{}\n```",
        "```sh\n{}\n```\nis what I would avoid",
        "> {}",
        'He said "{}".',
        "He said “Stop. {}”.",
        'The message is "Fix. {}"',
        "<!-- {} -->",
        "<!-- {}",
        "<details>\n{}\n</details>",
        "~~{}~~",
        "<del>{}</del>",
        "[//]: # ({})",
        "[x](<{}>)",
        "Not included:\n- {}",
        "Not included:\n\n- {}\n- more",
        "**Not included**\n- {}",
        "## Out of scope\n\n{}\n\n- {}",
        "“Not included”:\n- {}",
        "> Not included\n- {}",
        "- I will not\n- {}",
        "Files I will not touch: {}",
        "Ich werde nicht {}",
        "Not included\u200b:\n- {}",
        "\u202e{}",
        "del\u200bete {}",
    ],
)
def test_what_is_negated_quoted_hidden_or_only_offered_names_nothing(text: str) -> None:
    read = plan(text.replace("{}", FORBIDDEN))
    assert (read.targets, read.operations, read.changes) == ((), (), ())


def test_the_forbidden_sentence_would_otherwise_name_things() -> None:
    assert plan(f"I will {FORBIDDEN}").operations == ("files.delete", "git.push")
    assert plan(f"I will {FORBIDDEN}").targets == ("src/b.py",)


@pytest.mark.parametrize(
    "text",
    [
        "src/b.py will not change.",
        "src/b.py stays as it is",
        "src/b.py isn't touched",
        "Leave src/b.py untouched",
    ],
)
def test_a_file_that_is_said_to_stay_is_no_target(text: str) -> None:
    assert plan(text).targets == ()


def test_a_negation_ends_with_its_sentence_and_with_its_list() -> None:
    read = plan("I won't push. Steps:\n- edit src/a.py\n\nNot included:\n- src/b.py\n\nThen commit.")
    assert read.targets == ("src/a.py",)
    assert read.operations == ("files.edit", "git.commit")


def test_a_text_that_nobody_reads_to_the_end_is_not_read_as_a_plan() -> None:
    text = "Edit src/a.py: add a cache. " + "x" * LONGEST_PLAN
    assert plan(text) == plan("")


def test_a_target_in_look_alike_letters_is_none() -> None:
    assert plan("Edit src/\u0430pp.py").targets == ()


# --- rendering ----------------------------------------------------------------------------------------------


def test_a_structure_is_rendered_as_plain_lines() -> None:
    rendered = plan_from_parts(
        ["src/a.py"], ["add a cache"], "this file", "tests pass", ["files.edit", "git.commit"]
    )
    assert rendered.text.splitlines() == [
        "Plan",
        "A yes covers:",
        "- files.edit",
        "  - src/a.py",
        "- git.commit",
        "  - src/a.py",
        "Changes:",
        "- add a cache",
        "Scope:",
        "- this file",
        "Success:",
        "- tests pass",
    ]
    assert (rendered.score, rendered.operations) == (4, ("files.edit", "git.commit"))


def test_an_empty_structure_scores_nothing_and_says_that_each_operation_is_asked_for() -> None:
    rendered = plan_from_parts([], [" "], "", "\n", [""])
    assert (rendered.score, rendered.operations) == (0, ())
    assert rendered.text.splitlines() == ["Plan", "A yes covers:", "- nothing: each call is asked for"]


@pytest.mark.parametrize(
    "odd", ["git.push\nOperations:", "git.pu\u200bsh", "\u202egit.push", "g\u0456t.push", "x" * 5_000]
)
def test_a_name_that_cannot_be_shown_as_it_is_does_not_count(odd: str) -> None:
    rendered = plan_from_parts([odd, "src/a.py"], [], None, None, [odd, "git.commit"])
    assert (rendered.targets, rendered.operations) == (("src/a.py",), ("git.commit",))


def test_no_entry_can_imitate_another_line_of_the_rendering() -> None:
    rendered = plan_from_parts([], ["x\nA yes covers:\n- git.push"], "y\u2028Success:", None, ["git.commit"])
    assert rendered.text.splitlines().count("A yes covers:") == 1
    assert "- git.push" not in rendered.text.splitlines()
    assert "Success:" not in rendered.text.splitlines()


# --- adjusting ----------------------------------------------------------------------------------------------

ALL_OPERATIONS = ("files.edit", "files.delete", "tests.run", "git.add", "git.commit")


ALL_TARGETS = ("src/parse.py", "parse()", "docs/usage.md", "src/old.py")


def without(names: tuple[str, ...], *gone: str) -> tuple[str, ...]:
    return tuple(name for name in names if name not in gone)


@each_row(
    ("change", "operations", "targets"),
    [
        ("skip the tests", without(ALL_OPERATIONS, "tests.run"), ALL_TARGETS),
        ("no tests", without(ALL_OPERATIONS, "tests.run"), ALL_TARGETS),
        ("without committing", without(ALL_OPERATIONS, "git.commit"), ALL_TARGETS),
        ("don’t commit", without(ALL_OPERATIONS, "git.commit"), ALL_TARGETS),
        ("skip git", without(ALL_OPERATIONS, "git.commit", "git.add"), ALL_TARGETS),
        ("except docs/usage.md", ALL_OPERATIONS, without(ALL_TARGETS, "docs/usage.md")),
        ("skip usage.md", ALL_OPERATIONS, without(ALL_TARGETS, "docs/usage.md")),
        ("don't delete old.py", without(ALL_OPERATIONS, "files.delete"), without(ALL_TARGETS, "src/old.py")),
        ("don't push", ALL_OPERATIONS, ALL_TARGETS),
        ("only edit src/parse.py", ("files.edit",), ("src/parse.py", "parse()")),
        ("just run the tests", ("tests.run",), ALL_TARGETS),
        ("only docs/usage.md", without(ALL_OPERATIONS, "files.delete"), ("parse()", "docs/usage.md")),
        ("also push", ALL_OPERATIONS, ALL_TARGETS),
        ("update src/b.py too", ALL_OPERATIONS, ALL_TARGETS),
        ("edit src/b.py instead of src/usage.md", ALL_OPERATIONS, without(ALL_TARGETS, "docs/usage.md")),
        ("not src/old.py yet", without(ALL_OPERATIONS, "files.delete"), without(ALL_TARGETS, "src/old.py")),
        ("if the tests pass", ALL_OPERATIONS, ALL_TARGETS),
        ("only if the tests pass", ALL_OPERATIONS, ALL_TARGETS),
        ("use argparse", ALL_OPERATIONS, ALL_TARGETS),
        ('call it "git push"', ALL_OPERATIONS, ALL_TARGETS),
    ],
)
def test_a_change_takes_away_or_keeps_what_it_names_and_never_adds(
    change: str, operations: tuple[str, ...], targets: tuple[str, ...]
) -> None:
    adjusted = adjust_plan(plan(STEPS), change, KNOWN)
    assert (adjusted.operations, adjusted.targets) == (operations, targets)


@pytest.mark.parametrize(
    "change", ["skip the third step", "just the parser", "with step 1 only", "only the first two", "not that"]
)
def test_a_restriction_that_cannot_be_understood_leaves_every_operation_to_be_asked(change: str) -> None:
    assert adjust_plan(plan(STEPS), change, KNOWN).operations == ()


def test_a_plan_without_its_last_target_has_no_operation_left() -> None:
    adjusted = adjust_plan(plan("Edit src/a.py and run the tests."), "except src/a.py", KNOWN)
    assert (adjusted.targets, adjusted.operations) == ((), ())


def test_changes_that_speak_of_what_was_left_out_go_with_it() -> None:
    adjusted = adjust_plan(plan(STEPS), "except docs/usage.md", KNOWN)
    assert adjusted.changes == ("replace the regex in `parse(text)` with a tokenizer",)


def test_every_adjustment_and_what_remains_is_shown() -> None:
    adjusted = adjust_plan(adjust_plan(plan(STEPS), "skip the tests", KNOWN), "also push", KNOWN)
    assert adjusted.text.endswith("Your changes, which only take away:\n- skip the tests\n- also push")
    assert {f"- {name}" for name in adjusted.operations} <= set(adjusted.text.splitlines())
    assert {"- tests.run", "- git.push"}.isdisjoint(adjusted.text.splitlines())


def test_only_bounds_the_scope_of_a_plan_that_had_none() -> None:
    assert adjust_plan(plan("Edit src/a.py and src/b.py."), "only src/a.py", KNOWN).scope == "only src/a.py"


def test_a_rendering_that_nobody_reads_to_the_end_covers_nothing() -> None:
    few = plan_from_parts([f"src/{number}.py" for number in range(100)], ["x"], None, None, ["files.edit"])
    many = plan_from_parts([f"src/{number}.py" for number in range(5_000)], ["x"], None, None, ["files.edit"])
    assert len(few.covers["files.edit"]) == 100
    assert (many.covers, many.concrete) == ({}, False)
    assert len(many.text) < 20_000


def test_a_plan_of_twenty_thousand_characters_is_read_and_a_longer_one_is_not() -> None:
    text = "I will edit a.py.".ljust(20_000)
    assert read_plan(text, KNOWN).targets == ("a.py",)
    assert read_plan(f"{text} ", KNOWN).targets == ()

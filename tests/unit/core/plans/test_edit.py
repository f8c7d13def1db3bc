"""What a "yes, but ..." makes of a plan: it takes away or narrows, and never adds."""

from __future__ import annotations

import pytest

from sayso.core.plans.edit import adjust_plan, find_spoken_change
from sayso.core.plans.plan import plan_from_parts
from tests.support.rows import each_row

KNOWN = frozenset(
    {"files.edit", "files.create", "files.delete", "git.add", "git.commit", "git.push", "tests.run"}
)


PLAN = plan_from_parts(
    ["src/a.py", "src/b.py"], ["rename it"], None, None, ["files.edit", "tests.run", "git.commit"]
)


A_ONLY = {"files.edit": ("src/a.py",), "tests.run": ("src/a.py",), "git.commit": ("src/a.py",)}


BOTH = ("src/a.py", "src/b.py")


NO_COMMIT = {"files.edit": BOTH, "tests.run": BOTH}


NO_TESTS = {"files.edit": BOTH, "git.commit": BOTH}


UNCHANGED = {"files.edit": BOTH, "tests.run": BOTH, "git.commit": BOTH}


WITHOUT_B = """
exclude src/b.py|excluding src/b.py|with src/b.py excluded|except src/b.py|except for src/b.py
all but src/b.py|avoid src/b.py|please avoid touching src/b.py|ignore src/b.py|omit src/b.py|drop src/b.py
skip src/b.py|leave src/b.py alone|leave src/b.py out|leave src/b.py for me|leave b.py as it is
keep src/b.py as is|keep out of src/b.py|stay out of src/b.py|stay away from src/b.py
steer clear of src/b.py|hands off src/b.py|src/b.py is off limits|src/b.py is forbidden|src/b.py is mine
src/b.py stays|b.py is taboo|b.py must not change|don't touch src/b.py|do not edit src/b.py
don't edit anything in src/b.py|never edit b.py|no changes to src/b.py|not src/b.py|not src/b.py yet
src/b.py later|src/b.py tomorrow|b.py can be done another time|b.py only after review|I'll do src/b.py
I will edit src/b.py myself|let me handle src/b.py|I want to look at b.py|ask me about b.py
ask me before you edit b.py|b.py needs my approval|check with me before src/b.py|b.py if I say so
edit src/a.py rather than src/b.py|edit src/a.py instead of src/b.py|edit src/c.py instead of src/b.py
without src/b.py|without touching b.py|minus src/b.py|apart from src/b.py|other than src/b.py
hold off on src/b.py|spare src/b.py|eschew src/b.py|bypass src/b.py|be gentle with src/b.py
src/b.py gives me a bad feeling|only src/a.py|just src/a.py|src/a.py only|only a.py for now
limit it to src/a.py|stick to src/a.py|nothing but src/a.py|src/a.py and nothing else
do a.py and skip the rest|with src/a.py|to src/a.py|unless it touches src/b.py
as long as src/b.py stays the same|if you don't touch src/b.py|provided b.py is safe|forget src/b.py
skip the b file|remove src/b.py from the plan|take src/b.py out|src/b.py is out|b.py not
"""


WITHOUT_COMMIT = """
don't commit|do not commit|no commit|no commits|without committing|skip the commit|leave the commit to me
I'll commit|I'll commit myself|I will do the commit|let me commit|let me do the commit|the commit is mine
ask me before you commit|ask before committing|wait for me with the commit|commit only when I say so
committing is forbidden|the commit is off limits|commit later|the commit can come tomorrow|hold the commit
commit only if the tests pass|commit once I reviewed it|commits need my approval|avoid committing|omit git
no git please|hands off git|drop the commit step|make the commit a separate step|reword the commit message
"""


NOTHING_LEFT = """edit a.py, but only read b.py|change a.py and inspect b.py

skip the third step|just the parser|with step 1 only|only the first two|not that|leave the rest
nothing in src|only src/c.py|only edit src/c.py|only a.py after lunch|a.py and b.py are off limits|not now
later|show me the diff first|ask me about everything|if you are sure|don't touch anything until I say so
don't|except a.py and b.py|neither a.py nor b.py|only what I said
"""


AGREED = """
also edit src/c.py|and edit src/c.py too|and also push|push as well|then commit|and then run the tests
use argparse|make it quick|if the tests pass|only if the tests pass|as long as the tests pass|don't push
no push|skip src/c.py|don't change anything else|nothing else|no further changes|run the tests first
delete src/c.py
"""


def every(text: str) -> list[str]:
    return [change for line in text.split("\n") for change in line.split("|") if change]


@each_row("change", every(WITHOUT_B))
def test_a_target_that_a_change_excludes_postpones_or_keeps_for_the_user_does_not_stay(change: str) -> None:
    left = adjust_plan(PLAN, change, KNOWN).covers
    assert all("src/b.py" not in targets for targets in left.values())
    assert left.get("files.edit") == ("src/a.py",)


@each_row("change", every(WITHOUT_COMMIT))
def test_an_operation_that_a_change_forbids_postpones_or_keeps_for_the_user_does_not_stay(
    change: str,
) -> None:
    left = adjust_plan(PLAN, change, KNOWN).covers
    assert "git.commit" not in left
    assert left["files.edit"] == BOTH


@each_row("change", every(NOTHING_LEFT))
def test_a_restriction_that_is_not_understood_leaves_nothing_to_run_unasked(change: str) -> None:
    assert adjust_plan(PLAN, change, KNOWN).covers == {}


@pytest.mark.parametrize("change", every(AGREED))
def test_what_agrees_or_speaks_of_something_else_takes_nothing_away_and_adds_nothing(change: str) -> None:
    assert adjust_plan(PLAN, change, KNOWN).covers == UNCHANGED


@pytest.mark.parametrize(
    "change",
    [
        "src/b.py belongs to another team; committing too",
        "skip src/b.py; the commit too",
        "src/b.py is Bob's. The commit as well.",
        "src/b.py is Bob's, commit also",
        "everything except: src/b.py; git commit",
        "src/b.py is out, ditto the commit",
    ],
)
def test_what_a_change_names_behind_an_exclusion_and_says_no_more_of_does_not_stay(change: str) -> None:
    places = adjust_plan(PLAN, change, KNOWN).places
    assert "git.commit" not in places
    assert all("src/b.py" not in targets for targets in places.values())


@pytest.mark.parametrize(
    "change", ["skip src/b.py. Run the tests too.", "skip src/b.py; run the tests as well"]
)
def test_what_a_change_says_to_do_behind_an_exclusion_stays(change: str) -> None:
    assert "tests.run" in adjust_plan(PLAN, change, KNOWN).places


def test_two_exclusions_in_one_change_both_hold() -> None:
    left = adjust_plan(PLAN, "exclude src/b.py and ask me before you commit", KNOWN).covers
    assert left == {"files.edit": ("src/a.py",), "tests.run": ("src/a.py",)}


@pytest.mark.parametrize("change", ["don't edit src/b.py", "do not edit anything in src/b.py"])
def test_an_operation_excluded_on_one_target_stays_on_the_others(change: str) -> None:
    assert adjust_plan(PLAN, change, KNOWN).covers == A_ONLY


def test_an_exclusion_of_an_operation_on_a_strange_target_takes_nothing_away() -> None:
    assert adjust_plan(PLAN, "don't edit src/c.py", KNOWN).covers == UNCHANGED


@pytest.mark.parametrize(
    ("change", "left"),
    [("only the tests", {"tests.run": BOTH}), ("only edit src/a.py", {"files.edit": ("src/a.py",)})],
)
def test_only_keeps_what_it_names(change: str, left: dict[str, tuple[str, ...]]) -> None:
    assert adjust_plan(PLAN, change, KNOWN).covers == left


@pytest.mark.parametrize("said", ["skip the tests", "without the tests", "no tests", "leave out the tests"])
def test_what_is_left_out_is_left_out_alone(said: str) -> None:
    assert adjust_plan(PLAN, said, KNOWN).covers == NO_TESTS


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("yes, avoid src/b.py", "avoid src/b.py"),
        ("go ahead. src/b.py is off limits.", "src/b.py is off limits"),
        ("sounds good - I'll commit myself", "I'll commit myself"),
        ("yes to src/a.py", "to src/a.py"),
        ("ok, hands off b.py", "hands off b.py"),
        ("src/b.py is off limits", "src/b.py is off limits"),
        ("I'll do the commit", "I'll do the commit"),
        ("yes, why not", None),
        ("yes, no problem", None),
        ("yes, that file is broken", None),
        ("yes, will you avoid src/b.py?", None),
        ("Tell me about src/b.py", None),
        ("The weather is not bad", None),
    ],
)
def test_a_message_that_narrows_the_plan_is_a_change_however_it_is_put(said: str, change: str | None) -> None:
    assert find_spoken_change(said, PLAN) == change


@each_row(
    "named",
    """[b.py]|<b.py>|{b.py}|@b.py|#b.py|~b.py|-b.py|b.py…|b.py—ok|b.py's|b.py=|b.py\u200b|b\u200b.py|((b.py))|*b.py*
    "b.py"|‘b.py’|$b.py|^b.py^|b.py&co|b.py->x|!b.py|%b.py%|+b.py|src\\b.py|./src/b.py|B.PY|b.pyx|•b.py""".replace(
        "\n    ", "|"
    ).split("|"),
)
@each_row("put", ["not {}", "skip {}", "{} later", "{} is off limits", "leave {} alone"])
def test_marks_around_a_name_never_keep_it_in_the_plan(put: str, named: str) -> None:
    assert "src/b.py" not in str(adjust_plan(PLAN, put.format(named), KNOWN).covers)


@pytest.mark.parametrize(
    "glob", ["src/*.py", "src/**", "*.py", "src/*", "**/*.py", "[ab].py", "s*", "src/?.py"]
)
def test_a_pattern_takes_out_all_that_it_fits(glob: str) -> None:
    assert adjust_plan(PLAN, f"not {glob}", KNOWN).covers == {}


@pytest.mark.parametrize(
    "text",
    [
        "yes [b.py excluded]",
        "yes [not b.py]",
        "yes {not b.py}",
        "yes, **b.py** later",
        "yes, <b.py> is off limits",
    ],
)
def test_a_change_in_brackets_is_never_overheard(text: str) -> None:
    change = find_spoken_change(text, PLAN)
    assert change is not None
    assert adjust_plan(PLAN, change, KNOWN).covers == A_ONLY


@pytest.mark.parametrize(
    "verb", ["remove", "delete", "drop", "replace", "change", "move", "rename", "revert", "undo", "cut"]
)
def test_what_a_yes_wants_removed_or_replaced_never_stays_in_the_plan(verb: str) -> None:
    assert adjust_plan(PLAN, f"{verb} b.py", KNOWN).covers == A_ONLY
    assert "git.commit" not in adjust_plan(PLAN, f"{verb} the commit step", KNOWN).covers


@pytest.mark.parametrize(
    "text",
    """just src/a.py|a.py only|src/a.py only please|drop b.py|remove b.py|❌ b.py|could you skip b.py?|no b.py
    can you please leave b.py out?|all except b.py|everything but b.py|b.py ❌|a.py yes, b.py no|not b.py
    please drop b.py|cut b.py|take b.py out""".replace("\n    ", "|").split("|"),
)
def test_a_narrowing_without_a_yes_is_never_overheard(text: str) -> None:
    change = find_spoken_change(text, PLAN)
    assert change is not None
    assert "src/b.py" not in str(adjust_plan(PLAN, change, KNOWN).covers)


@pytest.mark.parametrize(
    "text", ["just 1", "all except 2", "1 yes, 2 no", "only the first", "1 only", "step 2 later"]
)
def test_numbers_that_the_plan_does_not_have_never_leave_anything_in_it(text: str) -> None:
    change = find_spoken_change(text, PLAN)
    assert change is not None
    assert adjust_plan(PLAN, change, KNOWN).covers == {}


@each_row(
    "text",
    every("""
src/a.py|a.py|`src/a.py`|a.py!|a.py please|a.py first|first a.py|a.py now|a.py, please|for a.py|to a.py
on a.py
with a.py|start with a.py|begin with a.py|starting with a.py|start with a.py and then commit|go with a.py
a.py now, b.py later|a.py first, b.py tomorrow|a.py yes, b.py no|a.py ok, b.py not
a.py ✅ b.py ❌|a.py 👍, b.py 👎
for a.py, not for b.py|b.py no, a.py yes|just a.py|proceed with a.py|you can do a.py
let's do a.py|a.py, then commit
"""),
)
def test_a_name_beside_nothing_but_a_yes_never_leaves_the_plan_without_it(text: str) -> None:
    assert adjust_plan(PLAN, text, KNOWN).covers == A_ONLY


@pytest.mark.parametrize(
    "text",
    every("""
a.py and b.py|a.py, b.py|a.py first, then b.py|b.py, then a.py|a.py too|also a.py|edit a.py as well
both a.py and b.py
"""),
)
def test_all_that_is_named_and_what_is_named_as_well_stays(text: str) -> None:
    assert adjust_plan(PLAN, text, KNOWN).covers == UNCHANGED


@pytest.mark.parametrize(
    "text",
    every("""
I'll do a.py, b.py|a.py, b.py are off limits|a.py looks good|b.py is fine|b.py is good|but b.py
a.py, b.py later
a.py and b.py later|a.py is right
"""),
)
def test_what_may_be_praise_or_an_exclusion_leaves_nothing_to_run_unasked(text: str) -> None:
    assert adjust_plan(PLAN, text, KNOWN).covers == {}


@pytest.mark.parametrize("text", ["all but b.py", "everything but src/b.py", "b.py is good as it is"])
def test_all_but_a_name_never_keeps_it(text: str) -> None:
    assert adjust_plan(PLAN, text, KNOWN).covers == A_ONLY


def test_a_chosen_target_keeps_the_operations_named_with_it_alone() -> None:
    assert adjust_plan(PLAN, "edit a.py", KNOWN).covers == {"files.edit": ("src/a.py",)}
    assert adjust_plan(PLAN, "for the tests", KNOWN).covers == {"tests.run": BOTH}


def test_a_word_about_the_order_with_a_limit_leaves_nothing() -> None:
    assert adjust_plan(PLAN, "start with a.py, then ask me", KNOWN).covers == {}


TWO_OPERATIONS = ("files.edit", "git.commit")


TWO_FILES = plan_from_parts(["a.py", "b.py"], ["rename it"], None, None, TWO_OPERATIONS)


def test_what_the_plan_names_already_is_not_shown_twice() -> None:
    adjusted = adjust_plan(TWO_FILES, "also git commit in b.py", TWO_OPERATIONS)
    assert (adjusted.operations, adjusted.targets) == (TWO_FILES.operations, TWO_FILES.targets)
    assert adjusted.text.count("- git.commit\n") == 1


def test_only_if_begins_a_condition_whatever_else_the_sentence_leaves_out() -> None:
    adjusted = adjust_plan(TWO_FILES, "only if it works, and not b.py", TWO_OPERATIONS)
    assert adjusted.targets == ("a.py",)
    assert adjusted.operations == TWO_OPERATIONS


def test_a_plan_without_targets_loses_only_the_operation_that_is_left_out() -> None:
    plan = plan_from_parts([], ["rename it"], None, None, TWO_OPERATIONS)
    assert adjust_plan(plan, "don't commit", TWO_OPERATIONS).operations == ("files.edit",)


def test_a_short_word_has_no_ending_to_take_away() -> None:
    known = ("git.commit", "tool.use")
    plan = plan_from_parts([], ["rename it"], None, None, known)
    assert adjust_plan(plan, "no git commit for us", known).operations == ("tool.use",)


def test_a_change_goes_with_its_operation_only_if_it_speaks_of_more_than_a_common_action() -> None:
    known = ("mail.get", "files.edit")
    plan = plan_from_parts([], ["get the numbers", "sort the mail"], None, None, known)
    assert adjust_plan(plan, "no mail", known).changes == ("get the numbers",)

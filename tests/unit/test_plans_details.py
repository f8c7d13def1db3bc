"""Details of adjusting a plan: what is named twice, and where a condition begins."""

from __future__ import annotations

from sayso.core.plans.edit import adjust_plan
from sayso.core.plans.plan import plan_from_parts, read_plan

KNOWN = ("files.edit", "git.commit")
PLAN = plan_from_parts(["a.py", "b.py"], ["rename it"], None, None, KNOWN)


def test_what_the_plan_names_already_is_not_shown_twice() -> None:
    adjusted = adjust_plan(PLAN, "also git commit in b.py", KNOWN)
    assert (adjusted.operations, adjusted.targets) == (PLAN.operations, PLAN.targets)
    assert adjusted.text.count("- git.commit\n") == 1


def test_only_if_begins_a_condition_whatever_else_the_sentence_leaves_out() -> None:
    adjusted = adjust_plan(PLAN, "only if it works, and not b.py", KNOWN)
    assert adjusted.targets == ("a.py",)
    assert adjusted.operations == KNOWN


def test_a_plan_without_targets_loses_only_the_operation_that_is_left_out() -> None:
    plan = plan_from_parts([], ["rename it"], None, None, KNOWN)
    assert adjust_plan(plan, "don't commit", KNOWN).operations == ("files.edit",)


def test_a_short_word_has_no_ending_to_take_away() -> None:
    known = ("git.commit", "tool.use")
    plan = plan_from_parts([], ["rename it"], None, None, known)
    assert adjust_plan(plan, "no git commit for us", known).operations == ("tool.use",)


def test_a_change_goes_with_its_operation_only_if_it_speaks_of_more_than_a_common_action() -> None:
    known = ("mail.get", "files.edit")
    plan = plan_from_parts([], ["get the numbers", "sort the mail"], None, None, known)
    assert adjust_plan(plan, "no mail", known).changes == ("get the numbers",)


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

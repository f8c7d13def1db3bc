"""How long questions and approvals last, and how many may be asked, are settings of the operator's file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.durations import describe_duration, format_duration, parse_duration
from sayso.core.model import Risk
from sayso.core.policy import Settings
from sayso.policy import load_text
from sayso.policy.build import file_from_policy, settings_to_dict
from sayso.policy.compare.diff import compare_policies, difference_lines, loosens
from sayso.policy.compare.vain_parts import find_vain_parts

MINUTE, HOUR = 60.0, 3_600.0


def settings(text: str) -> Settings:
    return load_text(f"extends: [balanced]\nsettings: {{{text}}}").settings


def test_what_is_not_set_is_what_it_always_was() -> None:
    found = load_text("extends: [balanced]").settings
    assert (found.question_lasts, found.approval_lasts) == (2 * HOUR, 15 * MINUTE)
    assert (found.open_questions, found.questions_per_hour) == (20, 60)
    assert found.approval_of(Risk.HIGH) == 10 * MINUTE


@pytest.mark.parametrize(
    ("written", "others", "high"),
    [
        ("90s", 90, 90),
        ("10m", 10 * MINUTE, 10 * MINUTE),
        ("14m", 14 * MINUTE, 10 * MINUTE),
        ("15m", 15 * MINUTE, 10 * MINUTE),
        ("16m", 16 * MINUTE, 16 * MINUTE),
        ("1h", HOUR, HOUR),
        ("2h", 2 * HOUR, HOUR),
        ("24h", 24 * HOUR, HOUR),
        ("1d", 24 * HOUR, HOUR),
    ],
)
def test_an_approval_of_high_risk_never_outlives_an_hour_nor_the_others(
    written: str, others: float, high: float
) -> None:
    found = settings(f"approval_lasts: {written}")
    assert (found.approval_of(Risk.LOW), found.approval_of(Risk.MODERATE)) == (others, others)
    assert found.approval_of(Risk.HIGH) == high


@given(st.integers(1, 86_400), st.integers(1, 86_400))
def test_a_shorter_setting_never_lengthens_an_approval(one: int, other: int) -> None:
    shorter, longer = sorted((float(one), float(other)))
    for risk in Risk:
        first, second = Settings(approval_lasts=shorter), Settings(approval_lasts=longer)
        assert first.approval_of(risk) <= second.approval_of(risk)


@given(st.integers(1, 9_999_999))
def test_a_time_is_written_so_that_it_is_read_as_the_same(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(7_200, "2 hours"), (5_400, "90 minutes"), (60, "1 minute"), (1, "1 second"), (604_800, "7 days")],
)
def test_a_time_is_said_in_the_largest_unit_that_fits(seconds: float, said: str) -> None:
    assert describe_duration(seconds) == said


def test_the_settings_are_told_as_they_are_written() -> None:
    found = settings_to_dict(settings("question_lasts: 7d, approval_lasts: 90s, open_questions: 3"))
    assert (found["question_lasts"], found["approval_lasts"]) == ("7d", "90s")
    policy = load_text("settings: {question_lasts: 36h, questions_per_hour: 7}\nextends: [balanced]")
    assert file_from_policy(policy).settings.question_lasts == "36h"  # type: ignore[union-attr]
    assert settings_to_dict(policy.settings)["questions_per_hour"] == 7


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("question_lasts: 1h", "question_lasts: 61m"),
        ("approval_lasts: 5m", "approval_lasts: 6m"),
        ("open_questions: 5", "open_questions: 6"),
        ("questions_per_hour: 5", "questions_per_hour: 6"),
    ],
)
def test_shorter_and_fewer_is_tightened_and_the_other_way_round_loosened(shorter: str, longer: str) -> None:
    one, other = (load_text(f"extends: [balanced]\nsettings: {{{text}}}") for text in (shorter, longer))
    assert not loosens(other, one)
    assert loosens(one, other)
    name, before = longer.split(": ")
    assert f"tightened: settings.{name}: {before} -> {shorter.split(': ')[1]}" in list(
        difference_lines(compare_policies(other, one))
    )


def test_a_projects_own_file_cannot_lengthen_what_the_operator_set() -> None:
    policy = load_text("extends: [balanced]\nsettings: {approval_lasts: 10m}")
    assert "approval_lasts" in "\n".join(find_vain_parts(policy, "settings: {approval_lasts: 1h}"))
    assert find_vain_parts(policy, "settings: {approval_lasts: 5m}") == []

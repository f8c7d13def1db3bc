"""Expected decisions in a file, and whether a policy gives them."""

from __future__ import annotations

import pytest

from sayso.policy import PolicyProblems, load_preset
from sayso.policy.expectations import Expectation, read_expectations, run_expectations

GOOD = """
- {check: [imessage, send_vip, 0.9], expect: VISIBLE}
- {check: [email, send, 0.84], expect: FORCED}
- {check: [email, send, 0.85], expect: VISIBLE}
- {check: [email, send], expect: ask}
- {check: [email, read], expect: SILENT}
- {check: [email, read], expect: allow}
- {check: [self_modification, modify_soul_md, 0.99], expect: BLOCKED}
- {check: [self_modification, prune_stale_memory, 0.99], expect: deny}
- {check: [weather, change, 1], expect: FORCED}
"""


def test_the_examples_of_the_graph_come_out_as_documented() -> None:
    results = run_expectations(read_expectations(GOOD), load_preset("graph"))
    assert len(results) == 9
    assert [result for result in results if not result.passed] == []


def test_an_expectation_that_is_not_met_says_what_came_out() -> None:
    (result,) = run_expectations(
        read_expectations("- {check: [email, send, 0.9], expect: SILENT}"), load_preset("graph")
    )
    assert (result.passed, result.got) == (False, "VISIBLE")
    assert result.expectation == Expectation("email.send", 0.9, "SILENT", 1)


def test_a_name_the_policy_refuses_is_never_what_was_expected() -> None:
    (result,) = run_expectations(
        read_expectations("- {check: [Email, send], expect: ask}"), load_preset("graph")
    )
    assert (result.passed, result.got) == (False, "refused")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("check: [a, b]", (1, 1), "a list"),
        ("[]", (1, 1), "a list"),
        ("- [a, b]", (1, 3), "check and expect"),
        ("- {check: [a, b]}", (1, 3), "check and expect"),
        ("- {check: [a, b], expect: allow, why: no}", (1, 3), "check and expect"),
        ("- {check: [a], expect: allow}", (1, 11), "domain, action"),
        ("- {check: a.b, expect: allow}", (1, 11), "domain, action"),
        ("- {check: [a, b c], expect: allow}", (1, 11), "not an operation"),
        ("- {check: [a, b, 1.5], expect: allow}", (1, 11), "out of range"),
        ("- {check: [a, b, high], expect: allow}", (1, 11), "not a number"),
        ("- {check: [a, b, .nan], expect: allow}", (1, 11), "not a number"),
        ("- {check: [a, b, true], expect: allow}", (1, 11), "not a number"),
        ("- {check: [a, b], expect: alow}", (1, 27), "unknown decision"),
        ("- {check: [a, b], expect: [ask]}", (1, 27), "unknown decision"),
    ],
)
def test_a_fault_in_the_file_is_told_with_its_place(text: str, place: tuple[int, int], words: str) -> None:
    with pytest.raises(PolicyProblems) as caught:
        read_expectations(text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == place
    assert words in problem.message


@pytest.mark.parametrize("text", ["", "# later\n", "[]"])
def test_an_empty_file_is_told_what_belongs_into_it(text: str) -> None:
    with pytest.raises(
        PolicyProblems, match=r"expected decisions are a list.*- \{check: \[email, send, 0\.9\]"
    ):
        read_expectations(text)


def test_what_yaml_may_not_do_is_refused() -> None:
    with pytest.raises(PolicyProblems, match="stands here twice"):
        read_expectations("- {check: [a, b], expect: ask, expect: allow}")


def test_all_faults_come_at_once() -> None:
    with pytest.raises(PolicyProblems) as caught:
        read_expectations("- {check: [a], expect: allow}\n- {check: [a, b], expect: never}")
    assert len(caught.value.problems) == 2


def test_an_empty_list_is_not_said_to_be_no_list() -> None:
    with pytest.raises(PolicyProblems, match="empty"):
        read_expectations("[]")


def test_a_call_that_is_misspelled_is_shown_how_calls_are_written() -> None:
    with pytest.raises(PolicyProblems) as told:
        read_expectations("- {call: pay, arg: {amount: 5}, expect: deny}")
    assert "- {call: pay, args:" in str(told.value)

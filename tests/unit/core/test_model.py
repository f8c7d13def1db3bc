"""The words: which ones mean a risk, what a request refuses, what it assumes."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.core.decision import Decision, Item, Offer, Question, Ruling
from sayso.core.errors import MalformedRequest
from sayso.core.model import (
    Assurance,
    Call,
    Mode,
    Operation,
    Origin,
    Request,
    Risk,
    Tier,
    Verdict,
    check_confidence,
    check_name,
)

REQUEST = Request(Call("tool"), (Operation("some.work"),), "digest", "arguments")


@pytest.mark.parametrize(
    ("risk", "aliases"),
    [
        (Risk.LOW, ("low", "safe", "SAFE", "tier 1")),
        (Risk.MODERATE, ("moderate", "medium", "MEDIUM", "tier 2")),
        (Risk.HIGH, ("high", "risky", "HIGH", "tier 3")),
    ],
)
def test_each_word_of_the_seeds_means_its_risk(risk: Risk, aliases: tuple[str, ...]) -> None:
    assert {Risk.parse(alias) for alias in aliases} == {risk}
    assert risk.word == aliases[0]


@pytest.mark.parametrize("word", ["Low", "", "tier 4", 0, None, True, ["low"]])
def test_any_other_word_is_no_risk(word: object) -> None:
    with pytest.raises(MalformedRequest):
        Risk.parse(word)


def test_the_words_that_are_written_to_files_and_wires_stay_the_same() -> None:
    assert [risk.value for risk in Risk] == [0, 1, 2]
    assert [each.value for each in Assurance] == [0, 1]
    assert [tier.value for tier in Tier] == ["autonomous", "requires_approval", "blocked"]
    assert [mode.value for mode in Mode] == ["paranoid", "balanced", "trusting"]
    assert [verdict.value for verdict in Verdict] == ["allow", "ask", "deny"]
    assert [origin.value for origin in Origin] == ["user", "agent", "subagent", "schedule", "trusted_channel"]


def test_a_call_has_no_arguments_and_comes_from_python_unless_it_says_otherwise() -> None:
    assert Call("tool") == Call("tool", b"{}", "", "", None, None, "python", "", "")


def test_a_request_is_an_agents_without_confidence_unless_it_says_otherwise() -> None:
    assert (REQUEST.agent, REQUEST.session) == ("agent", "session")
    assert (REQUEST.origin, REQUEST.confidence) == (Origin.AGENT, 0.0)


@pytest.mark.parametrize("name", ["git.commit", "a.b.c", "e-mail.send_all", "caf\u00e9.open", "1.2"])
def test_a_domain_and_an_action_make_an_operation(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "git",
        "git.",
        ".commit",
        "git..commit",
        "git.-x",
        "git commit.x",
        "\u212bland.open",
        "cafe\u0301.open",
    ],
)
def test_what_is_not_a_domain_and_an_action_in_one_spelling_is_refused(name: str) -> None:
    with pytest.raises(MalformedRequest):
        check_name(name)
    with pytest.raises(MalformedRequest):
        Request(Call("tool"), (Operation("some.work"), Operation(name)), "digest", "arguments")


def test_a_request_without_operations_is_refused() -> None:
    with pytest.raises(MalformedRequest):
        Request(Call("tool"), (), "digest", "arguments")


@pytest.mark.parametrize("confidence", [0, 0.0, 0.5, 1, 1.0])
def test_a_confidence_is_a_number_from_nought_to_one(confidence: float) -> None:
    check_confidence(confidence)


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), float("inf"), True, False, "0.9", None])
def test_any_other_confidence_is_refused(confidence: Any) -> None:
    with pytest.raises(MalformedRequest):
        check_confidence(confidence)
    with pytest.raises(MalformedRequest):
        Request(Call("tool"), (Operation("some.work"),), "digest", "arguments", confidence=confidence)


# Decisions and questions


def item(verdict: Verdict, risk: Risk) -> Item:
    return Item("some.work", "work", "work", risk, risk, risk, Ruling(verdict, "some rule", "because"))


def decision(verdict: Verdict, rule: str = "some rule", *items: Item) -> Decision:
    return Decision(verdict, rule, "because", None, items, (), ())


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [(Verdict.ALLOW, "SILENT"), (Verdict.ASK, "FORCED"), (Verdict.DENY, "BLOCKED")],
)
def test_an_outcome_is_the_verdict_in_the_consent_graphs_words(verdict: Verdict, outcome: str) -> None:
    assert decision(verdict).outcome == outcome
    assert decision(verdict, "confident").outcome == "VISIBLE"


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("approved_call", "explicit"),
        ("operation_grant", "explicit"),
        ("task_grant", "explicit"),
        ("safe", "exception"),
        ("plan", "composite"),
        ("slash_command", "slash-command"),
        ("workflow_grant", "workflow"),
        ("remembered", "mode"),
        ("paranoid", "mode"),
        ("autonomous", "autonomous"),
    ],
)
def test_a_source_is_the_rule_in_the_seeds_words(rule: str, source: str) -> None:
    assert decision(Verdict.ALLOW, rule).source == source


def test_a_decision_lists_what_is_asked_and_weighs_what_is_riskiest() -> None:
    items = (item(Verdict.ALLOW, Risk.HIGH), item(Verdict.ASK, Risk.LOW), item(Verdict.DENY, Risk.MODERATE))
    made = decision(Verdict.DENY, "blocked", *items)
    assert (made.items_to_ask, made.risk, made.offers) == ((items[1],), Risk.HIGH, ())
    question = Question("q1", REQUEST, items, (), "Proceed?", turn=1, opened_at=0.0)
    assert (question.risk, question.task) == (Risk.HIGH, None)


def test_a_question_takes_any_of_its_offers_and_no_other_answer() -> None:
    offers = (Offer("once", "this call"), Offer("deny", "nothing"))
    question = Question("q1", REQUEST, (), offers, "Proceed?", turn=1, opened_at=0.0)
    assert question.offers_answer("once")
    assert question.offers_answer("deny")
    assert not question.offers_answer("always")


def test_a_ruling_announces_uses_and_changes_nothing_unless_it_says_so() -> None:
    assert Ruling(Verdict.ASK, "ask", "because") == Ruling(Verdict.ASK, "ask", "because", None, (), ())

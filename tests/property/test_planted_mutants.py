"""A fault planted in any rule is noticed by the comparison with the second evaluator.

For each rule: it never speaks; where it denies or asks, it allows; it always speaks; it comes one too late.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from itertools import pairwise

import msgspec
import pytest

from sayso.core.deciding import decide as deciding
from sayso.core.deciding.rules import RULES, Rule, RuleResult
from sayso.core.deciding.subject import Subject
from sayso.core.decision import Ruling
from sayso.core.model import Verdict
from tests.property.oracle import Answer, verdict_of
from tests.property.test_second_evaluator import core_answer
from tests.property.worlds import World, bulk

WORLDS = 8_000
Fault = Callable[[Rule], Rule]


@cache
def compared() -> tuple[tuple[World, Answer], ...]:
    return tuple((world, verdict_of(*world.parts)) for _, world in bulk(0, WORLDS))


def noticed() -> bool:
    """Whether the two evaluators disagree on a world, or the rules cannot decide one at all."""
    try:
        return any(core_answer(world) != expected for world, expected in compared())
    except AssertionError:
        return True


def never_speaks(rule: Rule) -> Rule:
    @wraps(rule)
    def planted(subject: Subject) -> RuleResult:
        return "it keeps silent"

    return planted


def allows(rule: Rule) -> Rule:
    @wraps(rule)
    def planted(subject: Subject) -> RuleResult:
        said = rule(subject)
        return msgspec.structs.replace(said, verdict=Verdict.ALLOW) if isinstance(said, Ruling) else said

    return planted


def always_speaks(rule: Rule) -> Rule:
    @wraps(rule)
    def planted(subject: Subject) -> RuleResult:
        said = rule(subject)
        return said if isinstance(said, Ruling) else Ruling(Verdict.ALLOW, rule.__name__, "it always speaks")

    return planted


def plant(monkeypatch: pytest.MonkeyPatch, rule: Rule, fault: Fault) -> None:
    rules = tuple(fault(each) if each is rule else each for each in RULES)
    monkeypatch.setattr(deciding, "RULES", rules)


def each_rule(rules: tuple[Rule, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rule", rules, ids=[rule.__name__ for rule in rules])


STRICT = {"blocked", "trusted_channel", "denied_call", "stopped", "always_ask", "paranoid", "fan_out"}
STRICT |= {"risky", "ask"}
"""The rules that deny or ask."""


def test_without_a_fault_nothing_is_noticed() -> None:
    assert not noticed()


def test_the_rules_that_deny_or_ask_are_the_ones_named_here() -> None:
    decided = {expected.rule: expected.verdict for _, expected in compared()}
    assert {rule for rule, verdict in decided.items() if verdict != "allow"} == STRICT
    assert set(decided) == {rule.__name__ for rule in RULES}


@each_rule(RULES)
def test_a_rule_that_never_speaks_is_noticed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, rule, never_speaks)
    assert noticed()


@each_rule(tuple(rule for rule in RULES if rule.__name__ in STRICT))
def test_a_strict_rule_that_allows_is_noticed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, rule, allows)
    assert noticed()


@each_rule(tuple(rule for rule in RULES if rule.__name__ != "ask"))
def test_a_rule_that_always_speaks_is_noticed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, rule, always_speaks)
    assert noticed()


NEIGHBOURS = tuple(pair for pair in pairwise(RULES) if pair[0].__name__ != "safe")
"""All but `safe` and `risky`: one speaks of low risk and the other of high, so their order means nothing."""


@pytest.mark.parametrize("pair", NEIGHBOURS, ids=[first.__name__ for first, _ in NEIGHBOURS])
def test_a_rule_that_comes_after_its_neighbour_is_noticed(
    pair: tuple[Rule, Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = RULES.index(pair[0])
    monkeypatch.setattr(deciding, "RULES", (*RULES[:at], pair[1], pair[0], *RULES[at + 2 :]))
    assert noticed()

"""A fault planted in any rule is noticed by the comparison with the second evaluator.

For each rule: it never speaks; where it denies or asks, it allows; it always speaks; it comes one too late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import msgspec
import pytest

from sayso.core.deciding import decide as deciding
from sayso.core.deciding.rules import RULES, Check, RuleResult, speaking_on_its_own
from sayso.core.deciding.subject import RuleInput, subject_of
from sayso.core.decision import Ruling
from sayso.core.model import Mode, Verdict
from sayso.core.rulebook import Rule
from tests.property.oracle import Answer, verdict_of
from tests.property.test_second_evaluator import core_answer
from tests.property.worlds import World, bulk

WORLDS = 8_000
Row = tuple[Rule, Check]
Fault = Callable[[Row], Check]


@cache
def compared() -> tuple[tuple[World, Answer], ...]:
    return tuple((world, verdict_of(*world.parts)) for _, world in bulk(0, WORLDS))


def noticed() -> bool:
    """Whether the two evaluators disagree on a world, or the rules cannot decide one at all."""
    try:
        return any(core_answer(world) != expected for world, expected in compared())
    except AssertionError:
        return True


def never_speaks(row: Row) -> Check:
    def planted(subject: RuleInput) -> RuleResult:
        return "it keeps silent"

    return planted


def allows(row: Row) -> Check:
    def planted(subject: RuleInput) -> RuleResult:
        said = row[1](subject)
        return msgspec.structs.replace(said, verdict=Verdict.ALLOW) if isinstance(said, Ruling) else said

    return planted


def always_speaks(row: Row) -> Check:
    def planted(subject: RuleInput) -> RuleResult:
        said = row[1](subject)
        return said if isinstance(said, Ruling) else Ruling(Verdict.ALLOW, row[0].name, "it always speaks")

    return planted


def plant_checks(monkeypatch: pytest.MonkeyPatch, checks: tuple[Check, ...]) -> None:
    """Decide by these checks, wherever a call is made."""
    monkeypatch.setattr(deciding, "CHECKS", checks)
    monkeypatch.setattr(deciding, "CHECKS_ON_ITS_OWN", speaking_on_its_own(checks))


def plant(monkeypatch: pytest.MonkeyPatch, row: Row, fault: Fault) -> None:
    checks = tuple(fault(each) if each is row else each[1] for each in RULES)
    plant_checks(monkeypatch, checks)


def each_rule(rows: tuple[Row, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=[rule.name for rule, _ in rows])


STRICT = {"blocked", "trusted_channel", "denied_call", "stopped", "always_ask", "paranoid", "fan_out"}
STRICT |= {"risky", "ask"}
"""The rules that deny or ask."""


def test_without_a_fault_nothing_is_noticed() -> None:
    assert not noticed()


def test_the_rules_that_deny_or_ask_are_the_ones_named_here() -> None:
    decided = {expected.rule: expected.verdict for _, expected in compared()}
    assert {rule for rule, verdict in decided.items() if verdict != "allow"} == STRICT
    assert set(decided) == {rule.name for rule, _ in RULES}


def test_checks_that_are_left_out_would_keep_silent() -> None:
    left_out: Counter[str] = Counter()
    for world, _ in compared():
        request, policy, view, now = world.parts
        scope = msgspec.structs.replace(view.scope, user_initiated=None, outer=None, reducers={}, run=None)
        alone = msgspec.structs.replace(view, scope=scope)
        calm = msgspec.structs.replace(policy, mode=Mode.BALANCED)
        for operation in request.operations:
            for where in (view, alone):
                subject = subject_of(request, operation, calm, where, now)
                chosen = deciding.checks_of(subject)
                silent = [(rule, check) for rule, check in RULES if check not in chosen]
                assert all(isinstance(check(subject), str) for _, check in silent)
                left_out.update(rule.name for rule, _ in silent)
    always = {
        "blocked",
        "approved_call",
        "denied_call",
        "operation_grant",
        "safe",
        "risky",
        "task_grant",
        "ask",
    }
    assert left_out.keys() == {rule.name for rule, _ in RULES} - always
    assert min(left_out.values()) > WORLDS // 10


@each_rule(RULES)
def test_a_rule_that_never_speaks_is_noticed(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, row, never_speaks)
    assert noticed()


@each_rule(tuple(row for row in RULES if row[0].name in STRICT))
def test_a_strict_rule_that_allows_is_noticed(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, row, allows)
    assert noticed()


@each_rule(tuple(row for row in RULES if row[0].name != "ask"))
def test_a_rule_that_always_speaks_is_noticed(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, row, always_speaks)
    assert noticed()


NEIGHBOURS = tuple(pair for pair in pairwise(RULES) if pair[0][0].name != "safe")
"""All but `safe` and `risky`: one speaks of low risk and the other of high, so their order means nothing."""


@pytest.mark.parametrize("pair", NEIGHBOURS, ids=[first[0].name for first, _ in NEIGHBOURS])
def test_a_rule_that_comes_after_its_neighbour_is_noticed(
    pair: tuple[Row, Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = RULES.index(pair[0])
    rows = (*RULES[:at], pair[1], pair[0], *RULES[at + 2 :])
    plant_checks(monkeypatch, tuple(check for _, check in rows))
    assert noticed()

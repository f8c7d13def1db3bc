"""The facts of a decision are enough to make it again: under its own policy, and under any other."""

from __future__ import annotations

import os

import msgspec
import pytest

from sayso.core.deciding.decide import decide
from sayso.core.deciding.facts import read_facts, spell_facts
from sayso.core.deciding.restore import restore_request, restore_view
from sayso.core.model import Request
from sayso.core.policy import Policy
from sayso.core.session import View
from tests.property.worlds import bulk

CHUNKS, EACH = (100, 10_000) if os.environ.get("SAYSO_ALL") else (4, 800)

Told = tuple[str, str, str, frozenset[str]]


def decide_plainly(request: Request, policy: Policy, view: View, now: float) -> Told:
    made = decide(request, policy, view, now)
    return made.verdict.value, made.rule, made.risk.word, frozenset(made.grants)


def decide_by_facts(text: str, request: Request, view: View, policy: Policy, now: float) -> Told:
    facts = read_facts(text)
    assert facts is not None
    grants = {held.grant.id: held.grant for held in view.session.all_grants}
    names = tuple(dict.fromkeys(one.name for one in request.operations))
    again = restore_request(facts, names, request.origin)
    policy = msgspec.structs.replace(policy, tightened={})  # which approvals that ended, the facts say
    return decide_plainly(again, policy, restore_view(facts, again, grants, now), now)


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_a_decision_is_made_again_from_its_facts_under_any_policy(seed: int) -> None:
    other: Policy | None = None
    for name, case in bulk(seed, EACH):
        request, policy, view, now = case.parts
        text = spell_facts(request, policy, view, now)
        for under in (policy, policy if other is None else other):
            told = decide_by_facts(text, request, view, under, now)
            here = msgspec.structs.replace(under, tightened=policy.tightened)
            assert told == decide_plainly(request, here, view, now), f"{name}: {text}"
        other = policy


@pytest.mark.parametrize("seed", range(2))
def test_facts_hold_no_text_of_the_call(seed: int) -> None:
    for _, case in bulk(seed, 1_000):
        call = case.parts[0].call
        text = spell_facts(*case.parts)
        secret = (call.command, call.target, call.folder, call.workspace, *call.targets, *call.places)
        assert not [one for one in secret if one and len(one) > 2 and one in text]


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"ops":[]}', '{"ops":["zzz"]}', '{"ops":["---"],"is":"Z"}', '{"ops":["---"],"more":1}'],
)
def test_facts_of_another_form_are_not_guessed_at(text: str) -> None:
    assert read_facts(text) is None

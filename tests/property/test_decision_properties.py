"""What holds for every decision, whatever the policy, the grants, the mode and the scope."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
import pytest

from sayso.core.deciding.decide import decide, explain
from sayso.core.decision import Decision
from sayso.core.effects import GrantAdded, GrantRevoked, GrantUsed
from sayso.core.errors import MalformedRequest
from sayso.core.grants import Grant, HeldGrant, Pins
from sayso.core.model import Assurance, Mode, Operation, Risk, Tier, Verdict
from sayso.core.policy import Detail, Domain, Policy, compile_policy, terms_of
from sayso.core.session import Scope, apply_effects
from tests.property.facts import is_decayed
from tests.property.shrinking import hold
from tests.property.worlds import RULE_NAMES, World

STRICTNESS = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}
BLIND_TO_TIME = {"user_initiated", "nested", "reduced_risk", "safe", "confident"}
"""The rules that can allow while the clock cannot be trusted: they rest on no grant and no message."""


S = TypeVar("S", bound=msgspec.Struct)


def changed(value: S, **fields: Any) -> S:
    return msgspec.structs.replace(value, **fields)


def in_session(world: World, **fields: Any) -> World:
    return changed(world, view=changed(world.view, session=changed(world.view.session, **fields)))


def with_domains(world: World, domains: dict[str, Domain]) -> World:
    old = world.policy
    fields = (
        "mode",
        "settings",
        "decay",
        "operations",
        "categories",
        "slash_commands",
        "digest",
        "tightened",
    )
    return changed(
        world, policy=compile_policy(domains=domains, **{name: getattr(old, name) for name in fields})
    )


def with_operation(world: World, number: int, **fields: Any) -> World:
    operations = list(world.request.operations)
    operations[number] = changed(operations[number], **fields)
    return changed(world, request=changed(world.request, operations=tuple(operations)))


def assert_never_looser(before: World, after: World) -> None:
    was, now = decide(*before.parts), decide(*after.parts)
    assert STRICTNESS[now.verdict] >= STRICTNESS[was.verdict], (
        f"{was.verdict.value} by {was.rule} became {now.verdict.value} by {now.rule}"
    )


# What a decision is


def test_every_decision_names_a_rule_and_a_reason_and_decides_every_operation() -> None:
    def check(world: World) -> None:
        decision = decide(*world.parts)
        assert decision.rule in RULE_NAMES
        assert decision.reason
        assert [item.operation for item in decision.items] == [one.name for one in world.request.operations]
        assert all(item.ruling.rule in RULE_NAMES and item.ruling.reason for item in decision.items)
        assert decision.outcome in ("SILENT", "VISIBLE", "FORCED", "BLOCKED")
        assert (decision.outcome == "VISIBLE") == (decision.rule == "confident")

    hold(check, seed=100)


def test_the_strictest_operation_decides_and_a_question_lists_only_those_that_ask() -> None:
    def check(world: World) -> None:
        decision = decide(*world.parts)
        verdicts = [item.ruling.verdict for item in decision.items]
        assert STRICTNESS[decision.verdict] == max(STRICTNESS[verdict] for verdict in verdicts)
        assert len(decision.items_to_ask) == verdicts.count(Verdict.ASK)

    hold(check, seed=101)


def test_deciding_twice_gives_the_same_and_changes_nothing() -> None:
    def check(world: World) -> None:
        before = copy.deepcopy(world)
        assert decide(*world.parts) == decide(*world.parts)
        assert world == before

    hold(check, seed=102)


def test_explain_gives_the_same_decision_and_its_last_check_is_the_one_that_spoke() -> None:
    def check(world: World) -> None:
        decision, traces = explain(*world.parts)
        assert decision == decide(*world.parts)
        assert [trace.operation for trace in traces] == [item.operation for item in decision.items]
        for trace, item in zip(traces, decision.items, strict=True):
            names = tuple(each.rule for each in trace.checks)
            assert names == RULE_NAMES[: len(names)]
            assert names[-1] == item.ruling.rule
            assert [each.spoke for each in trace.checks] == [False] * (len(names) - 1) + [True]
            assert all(each.why for each in trace.checks)

    hold(check, seed=103)


def test_only_an_allow_uses_grants_and_no_decision_ever_creates_one() -> None:
    def check(world: World) -> None:
        decision = decide(*world.parts)
        used = {effect.grant for effect in decision.effects if isinstance(effect, GrantUsed)}
        assert used == set(decision.grants)
        assert decision.verdict is Verdict.ALLOW or not used
        assert not any(isinstance(effect, GrantAdded) for effect in decision.effects)

    hold(check, seed=104)


# What nothing overrides


def test_a_blocked_operation_is_denied_whatever_grants_modes_and_scopes_there_are() -> None:
    def check(world: World) -> None:
        name = world.request.operations[-1].name
        domain, _, action = name.partition(".")
        lists = world.policy.domains.get(domain, Domain())
        for mode in Mode:
            blocked = with_domains(
                world, {**world.policy.domains, domain: changed(lists, blocked=(*lists.blocked, action))}
            )
            blocked = changed(blocked, policy=changed(blocked.policy, mode=mode))
            decision = decide(*blocked.parts)
            assert decision.verdict is Verdict.DENY
            assert decision.items[-1].ruling.rule == "blocked"

    hold(check, seed=110)


def test_what_a_resolver_bars_is_denied_whatever_else_is_so() -> None:
    def check(world: World) -> None:
        decision = decide(*with_operation(world, 0, barred="nobody knows this recipient").parts)
        assert (decision.verdict, decision.rule) == (Verdict.DENY, "blocked")

    hold(check, seed=111)


def test_after_a_stop_only_an_approval_of_this_very_call_allows_anything() -> None:
    def check(world: World) -> None:
        for how in ({"stopped": Assurance.CLAIMED}, {"stopped": Assurance.ASSURED}):
            decision = decide(*in_session(world, **how).parts)
            assert decision.verdict is not Verdict.ALLOW or decision.rule == "approved_call"
        decision = decide(*changed(world, view=changed(world.view, parent_stopped=True)).parts)
        assert decision.verdict is not Verdict.ALLOW or decision.rule == "approved_call"

    hold(check, seed=112)


def test_mode_paranoid_allows_only_what_a_person_approved_typed_or_clicked() -> None:
    def check(world: World) -> None:
        decision = decide(*changed(world, policy=changed(world.policy, mode=Mode.PARANOID)).parts)
        allowed = {item.ruling.rule for item in decision.items if item.ruling.verdict is Verdict.ALLOW}
        assert allowed <= {"approved_call", "slash_command", "user_initiated"}

    hold(check, seed=113)


def test_high_risk_runs_only_on_consent_given_for_it() -> None:
    """Never because it is autonomous, safe, confident, planned or part of the task."""

    def check(world: World) -> None:
        for item in decide(*world.parts).items:
            if item.risk is Risk.HIGH and item.operation not in world.view.scope.reducers:
                assert item.ruling.rule not in ("autonomous", "safe", "task_grant", "plan", "confident")

    hold(check, seed=114)


def test_with_an_untrusted_clock_no_grant_message_or_autonomous_list_allows_anything() -> None:
    def check(world: World) -> None:
        decision = decide(*changed(world, view=changed(world.view, time_trusted=False)).parts)
        assert not decision.grants
        allowed = {item.ruling.rule for item in decision.items if item.ruling.verdict is Verdict.ALLOW}
        assert allowed <= BLIND_TO_TIME

    hold(check, seed=115)


# What never allows more


def each_without(world: World) -> Iterator[tuple[HeldGrant, World]]:
    """The world without each of its grants in turn."""
    grants = world.view.session.grants
    for key, row in grants.items():
        for held in row:
            left = tuple(other for other in row if other is not held)
            yield held, in_session(world, grants={**grants, key: left})


def test_taking_a_grant_away_never_allows_more() -> None:
    def check(world: World) -> None:
        for _, without in each_without(world):
            assert_never_looser(world, without)

    hold(check, seed=120)


def test_after_a_revoke_no_decision_uses_that_grant() -> None:
    def check(world: World) -> None:
        for held in world.view.session.all_grants:
            revoked = apply_effects(world.view.session, [GrantRevoked(held.grant.key, held.grant.id)])
            after = changed(world, view=changed(world.view, session=revoked))
            assert held.grant.id not in decide(*after.parts).grants
            assert_never_looser(world, after)

    hold(check, seed=121)


def test_a_grant_that_was_used_up_is_not_used_again() -> None:
    def check(world: World) -> None:
        decision = decide(*world.parts)
        after = apply_effects(world.view.session, decision.effects)
        spent = {
            held.grant.id
            for held in after.all_grants
            if held.grant.uses is not None and held.used >= held.grant.uses
        }
        again = decide(world.request, world.policy, changed(world.view, session=after), world.now)
        assert not spent & set(again.grants)

    hold(check, seed=122)


def test_grants_of_another_session_allow_nothing() -> None:
    def check(world: World) -> None:
        rows = world.view.session.grants
        foreign = {
            key: tuple(changed(held, grant=changed(held.grant, session="elsewhere")) for held in row)
            for key, row in rows.items()
        }
        elsewhere = in_session(world, grants=foreign)
        assert not decide(*elsewhere.parts).grants
        assert decide(*elsewhere.parts) == decide(*in_session(world, grants={}).parts)

    hold(check, seed=123)


def test_a_further_operation_in_the_call_never_allows_more() -> None:
    def check(world: World) -> None:
        more = (*world.request.operations, Operation("files.edit"))
        assert_never_looser(world, changed(world, request=changed(world.request, operations=more)))

    hold(check, seed=124)


def test_raising_a_reading_never_allows_more() -> None:
    """Nor does a first reading, except where nothing else speaks of the operation: there it is its risk."""

    def check(world: World) -> None:
        for number, operation in enumerate(world.request.operations):
            for reading in Risk:
                speaks = world.policy.entry(operation.name).tier or operation.risk is not None
                speaks = speaks or world.policy.entry(operation.name).risk is not None
                if operation.reading is None and not speaks:
                    continue
                if operation.reading is None or reading > operation.reading:
                    assert_never_looser(world, with_operation(world, number, reading=reading))

    hold(check, seed=125)


def unread(world: World) -> World:
    """The same world with nothing read from the call.

    A declared risk that catches up with a reading takes back what the reading said by exceeding it: a slash
    command speaks again, an explicit weight is no longer raised. That is meant, so the properties below leave
    it out.
    """
    return changed(
        world,
        request=changed(
            world.request, operations=tuple(changed(one, reading=None) for one in world.request.operations)
        ),
    )


def test_raising_a_declared_risk_never_allows_more() -> None:
    def check(world: World) -> None:
        plain = unread(world)
        for number, operation in enumerate(plain.request.operations):
            undeclared = operation.risk is None and world.policy.entry(operation.name).tier is None
            for risk in Risk:
                if risk > (Risk.MODERATE if undeclared else operation.risk or Risk.LOW):
                    assert_never_looser(plain, with_operation(plain, number, risk=risk))

    hold(check, seed=126)


def test_raising_the_risk_of_a_policys_entry_never_allows_more() -> None:
    def check(world: World) -> None:
        plain = unread(world)
        for name, detail in world.policy.operations.items():
            for risk in Risk:
                if detail.risk is not None and risk > detail.risk:
                    entries = {**world.policy.operations, name: changed(detail, risk=risk)}
                    assert_never_looser(plain, changed(plain, policy=with_entries(plain.policy, entries)))

    hold(check, seed=127)


def with_entries(policy: Policy, entries: dict[str, Any]) -> Policy:
    fields = ("mode", "settings", "decay", "domains", "categories", "slash_commands", "digest", "tightened")
    return compile_policy(operations=entries, **{name: getattr(policy, name) for name in fields})


def test_moving_an_operation_to_a_stricter_list_never_allows_more() -> None:
    """But a decayed permission, which asks, may be listed as requiring approval, where confidence counts."""

    def check(world: World) -> None:
        plain = unread(world)
        for name in {operation.name for operation in plain.request.operations}:
            for stricter in tightened(plain, name):
                decayed = is_decayed(name, plain.policy, plain.view, plain.now)
                if decayed and stricter.policy.entry(name).tier is Tier.REQUIRES_APPROVAL:
                    continue
                assert_never_looser(plain, stricter)

    hold(check, seed=128)


def tightened(world: World, name: str) -> Iterator[World]:
    """The world with this action one list further on, and two."""
    domain, _, action = name.partition(".")
    lists = world.policy.domains.get(domain)
    if lists is None:
        return
    order = ("autonomous", "requires_approval", "blocked")
    place = next((number for number, tier in enumerate(order) if action in getattr(lists, tier)), None)
    if place is None:
        return
    left = tuple(each for each in getattr(lists, order[place]) if each != action)
    for tier in order[place + 1 :]:
        moved = changed(lists, **{order[place]: left, tier: (*getattr(lists, tier), action)})
        yield with_domains(world, {**world.policy.domains, domain: moved})


def approved(world: World) -> World:
    """The world with a fresh approval of exactly this call, asked for under its policy."""
    decision, session = decide(*world.parts), world.view.session
    names = tuple(dict.fromkeys(item.operation for item in decision.items))
    grant = Grant(
        "approval",
        "call",
        world.request.digest,
        Risk.HIGH,
        world.now + 600,
        session.id,
        Pins(operations=names),
        uses=1,
        given_at=world.now - 30,
        policy=world.policy.digest,
        terms=terms_of(world.policy, ((item.operation, item.risk) for item in decision.items)),
    )
    return in_session(world, grants={grant.key: (HeldGrant(grant),)})


def stricter_policies(world: World, name: str) -> Iterator[World]:
    """The world after its policy was tightened for this operation, each way there is."""
    policy, detail = world.policy, world.policy.operations.get(name, Detail())
    entries = dict(policy.operations)
    if policy.mode is not Mode.PARANOID:
        yield changed(world, policy=changed(policy, mode=Mode.PARANOID))
    shorter = changed(policy.settings, approval_lasts=30.0)
    yield changed(world, policy=changed(policy, settings=shorter))
    if not detail.always_ask:
        entries[name] = changed(detail, always_ask=True)
        yield changed(world, policy=with_entries(policy, entries))
    if detail.risk is not None and detail.risk < Risk.HIGH and not detail.preset:
        entries[name] = changed(detail, risk=Risk.HIGH)
        yield changed(world, policy=with_entries(policy, entries))
    yield from tightened(world, name)


def test_no_approval_from_before_a_tightened_policy_serves_after_it() -> None:
    def check(world: World) -> None:
        before = approved(unread(changed(world, view=changed(world.view, scope=Scope(), time_trusted=True))))
        for name in {operation.name for operation in before.request.operations}:
            for after in stricter_policies(before, name):
                decision = decide(*after.parts)
                rulings = [item.ruling for item in decision.items if item.operation == name]
                assert all(ruling.rule != "approved_call" for ruling in rulings)
                assert_never_looser(before, after)

    hold(check, seed=129)


# What cannot be decided


@pytest.mark.parametrize("confidence", [math.nan, math.inf, -math.inf, -0.01, 1.01, True, "0.9", None])
def test_a_confidence_that_is_no_number_from_0_to_1_is_an_error(confidence: Any) -> None:
    def check(world: World) -> None:
        with pytest.raises(MalformedRequest):
            changed(world.request, confidence=confidence)

    hold(check, seed=130, count=5)


def test_a_request_without_operations_is_an_error() -> None:
    def check(world: World) -> None:
        with pytest.raises(MalformedRequest):
            changed(world.request, operations=())

    hold(check, seed=131, count=5)


def test_a_decision_is_never_mistaken_for_a_bare_bool() -> None:
    def check(world: World) -> None:
        assert isinstance(decide(*world.parts), Decision)
        assert not isinstance(decide(*world.parts).verdict, bool)

    hold(check, seed=132, count=5)

"""A fault planted in how scopes, runs and grants carry consent is noticed by the model of nested calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from sayso.core import grants
from sayso.core.deciding import rules, subject
from sayso.core.deciding.rules import RULES
from sayso.core.deciding.subject import RuleInput
from sayso.core.deciding.workflow import run_grant as run_grant_of
from sayso.core.decision import Item, Ruling
from sayso.core.grants import HeldGrant
from sayso.core.model import Verdict
from sayso.core.rulebook import CARRYING
from sayso.core.session import OuterCall, Scope, join_outers
from sayso.doors.python import workflow
from sayso.doors.python.calls import gated_call, holding, scope
from sayso.doors.python.calls.scope import Frame
from sayso.gate.ledger import lease, workflows
from sayso.gate.ledger import start as gate_calls
from sayso.gate.questions import view
from sayso.store.memory.store import MemoryStore
from tests.property.nesting_draws import seeded
from tests.property.test_nestings import difference
from tests.property.test_planted_mutants import plant_checks

MOST = 2_000
Planting = Callable[[pytest.MonkeyPatch], None]


def noticed(world: str) -> bool:
    """Whether some program, among so many, comes out otherwise than the model says."""
    return any(
        difference(seeded(world, seed), MemoryStore(), is_async=False) is not None for seed in range(MOST)
    )


def instead(m: pytest.MonkeyPatch, rule: str, planted: Callable[[RuleInput], Any]) -> None:
    plant_checks(m, tuple(planted if row.name == rule else check for row, check in RULES))


def closed_frames_count(m: pytest.MonkeyPatch) -> None:
    m.setattr(scope.Frame, "open", property(lambda frame: True, lambda frame, now: None), raising=False)
    m.setattr(holding.Holding, "_goes_on", lambda held: True)


def frames_of_other_sessions_count(m: pytest.MonkeyPatch) -> None:
    def around(gate: object, session: str, here: Sequence[Frame] | None) -> list[Frame]:
        found: list[Frame] = []
        frame = scope._innermost.get()  # noqa: SLF001 - the fault is planted inside
        while frame is not None:
            found.append(frame)
            frame = frame.around
        return found

    m.setattr(scope, "_around", around)


def every_rule_carries(m: pytest.MonkeyPatch) -> None:
    m.setattr(scope, "CARRYING", frozenset(row.name for row, _ in RULES))


def approvals_do_not_carry(m: pytest.MonkeyPatch) -> None:
    m.setattr(scope, "CARRYING", CARRYING - {"approved_call"})


def what_was_lowered_is_carried_in_full(m: pytest.MonkeyPatch) -> None:
    real = scope.outer_consent
    m.setattr(gated_call, "outer_consent", lambda items, at: real(items, Scope()))


def nesting_ignores_weight(m: pytest.MonkeyPatch) -> None:
    def nested(s: RuleInput) -> Any:
        said = rules.check_nested(s)
        if isinstance(said, Ruling) or s.view.scope.outer is None:
            return said
        return Ruling(Verdict.ALLOW, "nested", "whatever it weighs")

    instead(m, "nested", nested)


def nesting_ignores_the_risk_granted_at(m: pytest.MonkeyPatch) -> None:
    def nested(s: RuleInput) -> Any:
        outer = s.view.scope.outer
        if outer is not None and s.entry.name in outer.granted:
            return Ruling(Verdict.ALLOW, "nested", "whatever its risk")
        return rules.check_nested(s)

    instead(m, "nested", nested)


def only_the_innermost_call_carries(m: pytest.MonkeyPatch) -> None:
    m.setattr(scope, "join_outers", lambda outers: outers[0] if outers else None)


def individual_steps_are_like_any(m: pytest.MonkeyPatch) -> None:
    def like_any(*args: Any, individual: bool, **more: Any) -> Frame:
        return Frame(*args, **more)

    m.setattr(workflow, "Frame", like_any)


def individual_steps_keep_out_only_their_run(m: pytest.MonkeyPatch) -> None:
    real = scope.scope_here

    def scope_of(gate: object, session: str, here: Sequence[Frame]) -> Scope:
        found = real(gate, session, here)
        outers = [frame.outer for frame in _open_frames(gate, session, here) if frame.outer is not None]
        outer = join_outers(outers)
        return msgspec.structs.replace(found, outer=outer, individual=found.individual and outer is None)

    m.setattr(gated_call, "scope_here", scope_of)


def what_a_step_leaves_behind_is_free_of_it(m: pytest.MonkeyPatch) -> None:
    real = scope._around  # noqa: SLF001 - the fault is planted inside
    m.setattr(scope, "_around", lambda *where: [one for one in real(*where) if one.open])


def _open_frames(gate: object, session: str, here: Sequence[Frame]) -> list[Frame]:
    return [one for one in here if one.open and one.gate is gate and one.session == session]


def runs_carry_what_they_do_not_declare(m: pytest.MonkeyPatch) -> None:
    def run_grant(run: str, request: Any, decision: Any, policy: Any, *more: Any) -> Any:
        grant = run_grant_of(run, request, decision, policy, *more)
        pins = msgspec.structs.replace(grant.pins, operations=tuple(policy.table))
        return msgspec.structs.replace(grant, pins=pins)

    m.setattr(gate_calls, "run_grant", run_grant)


def withdrawn_trust_leaves_runs_in_flight(m: pytest.MonkeyPatch) -> None:
    m.setattr(workflows, "_is_of_workflow", lambda held, name: held.grant.key == ("workflow", name))


def revoked_grants_live_on(m: pytest.MonkeyPatch) -> None:
    def spent(held: HeldGrant, now: float) -> bool:
        return grants.spent(msgspec.structs.replace(held, revoked=False), now)

    m.setattr(subject, "spent", spent)


def grants_are_never_used_up(m: pytest.MonkeyPatch) -> None:
    m.setattr(subject, "spent", lambda held, now: held.revoked)


def outer_calls_carry_after_their_consent_has_ended(m: pytest.MonkeyPatch) -> None:
    m.setattr(view, "_carries", lambda gate, found, request, outer: True)


def runs_go_on_after_their_consent_has_ended(m: pytest.MonkeyPatch) -> None:
    m.setattr(lease, "refuse_to_go_on", lambda *parts: None)


def safe_callers_lower_everything(m: pytest.MonkeyPatch) -> None:
    m.setattr(subject, "risk_after_reducers", _lowest)
    m.setattr(rules, "risk_after_reducers", _lowest)


def _lowest(s: RuleInput) -> Any:
    return min(s.view.scope.reducers.values(), default=None)


def the_outermost_safe_caller_wins(m: pytest.MonkeyPatch) -> None:
    real = scope.scope_here

    def scope_of(gate: object, session: str, here: Sequence[Frame]) -> Scope:
        reducers: dict[str, Any] = {}
        for frame in _open_frames(gate, session, here):
            reducers = {**reducers, **frame.reducers}
        return msgspec.structs.replace(real(gate, session, here), reducers=reducers)

    m.setattr(gated_call, "scope_here", scope_of)


def outer_calls_weigh_what_they_risk(m: pytest.MonkeyPatch) -> None:
    def carried(items: tuple[Item, ...], at: Scope) -> OuterCall | None:
        found = scope.outer_consent(items, at)
        return found and OuterCall(found.granted, max(found.granted.values()))

    m.setattr(gated_call, "outer_consent", carried)


PLANTED: dict[Planting, str] = {  # each with a policy under which it shows soon
    closed_frames_count: "gateway",
    frames_of_other_sessions_count: "gateway",
    every_rule_carries: "desk",
    approvals_do_not_carry: "gateway",
    what_was_lowered_is_carried_in_full: "gateway",
    nesting_ignores_weight: "gateway",
    nesting_ignores_the_risk_granted_at: "gateway",
    only_the_innermost_call_carries: "gateway",
    individual_steps_are_like_any: "desk",
    individual_steps_keep_out_only_their_run: "desk",
    what_a_step_leaves_behind_is_free_of_it: "desk",
    runs_carry_what_they_do_not_declare: "gateway",
    withdrawn_trust_leaves_runs_in_flight: "desk, standing grants at high risk",
    revoked_grants_live_on: "gateway",
    grants_are_never_used_up: "gateway",
    outer_calls_carry_after_their_consent_has_ended: "gateway",
    runs_go_on_after_their_consent_has_ended: "gateway",
    safe_callers_lower_everything: "gateway",
    the_outermost_safe_caller_wins: "gateway",
    outer_calls_weigh_what_they_risk: "gateway",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_noticed(plant: Planting, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert noticed(PLANTED[plant])

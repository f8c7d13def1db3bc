"""Proposals that change the policy file of a gate that watches it: what was approved is in force, no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso.core.model import Tier
from sayso.core.proposals.diffs import make_diff
from sayso.core.proposals.proposal import Proposal, ProposalRefused
from sayso.gate.gate import current_gate
from sayso.gate.open import open_gate
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.policy_acts.file_flags import unprotect_file
from sayso.gate.policy_acts.lock import lock_policy, unlock_policy
from sayso.gate.proposals.file_proposal import approve_proposal
from sayso.gate.proposals.files import replace_text
from sayso.gate.proposals.view import view_proposal
from sayso.policy import load_file, load_preset, load_text
from sayso.policy.compare.diff import compare_policies
from tests.attack.test_proposals import Desk, crash_while_applying
from tests.support.changing_file import version_text, write_in_place
from tests.support.gates import KEY, Clock, embedded
from tests.support.teams import acting_under

FREE, ASKS = version_text((0, 0, 0)), version_text((1, 0, 0))


class PolicyDesk(Desk):
    """An operator who proposes changes of the policy."""

    @property
    def policy_file(self) -> Path:
        return self.root.parent / "config" / "policy.yaml"

    def tier(self) -> Tier | None:
        return current_gate(self.gate).policy.entry("mail.read").tier

    def propose(self, after: str) -> Proposal:
        self.gate = current_gate(self.gate)
        diff = make_diff("policy.yaml", self.policy_file.read_text(), after)
        one = approve_proposal(self.gate, self.file(diff=diff, root="policy").id, by="ana")
        self.pass_time(7_200)
        return one


@pytest.fixture
def desk(clock: Clock, tmp_path: Path) -> Iterator[PolicyDesk]:
    (tmp_path / "memory").mkdir()
    file = tmp_path / "config" / "policy.yaml"
    file.parent.mkdir()
    file.write_text(ASKS)
    with embedded("sqlite", tmp_path, clock) as store:
        gate = open_gate(load_file(file), store, key=KEY, source=PolicySource(file))
        yield PolicyDesk(gate, tmp_path / "memory", clock)
    unprotect_file(file)


def test_what_an_approved_proposal_loosens_is_in_force_once_it_is_applied(desk: PolicyDesk) -> None:
    one = desk.propose(FREE)
    assert desk.tier() is Tier.REQUIRES_APPROVAL
    desk.apply(one)
    assert desk.tier() is Tier.AUTONOMOUS
    desk.undo(one)
    assert desk.tier() is Tier.REQUIRES_APPROVAL


def test_a_proposal_does_not_put_in_force_what_else_waits_in_the_file(desk: PolicyDesk) -> None:
    write_in_place(desk.policy_file, version_text((0, 0, 0), "settings: {approval_lasts: 1h}"))
    one = desk.propose(version_text((0, 0, 1), "settings: {approval_lasts: 1h}"))
    desk.apply(one)
    now = current_gate(desk.gate).policy
    assert now.settings.approval_lasts == 900.0
    assert now.entry("mail.read").tier is Tier.REQUIRES_APPROVAL
    assert now.entry("mail.purge").tier is Tier.REQUIRES_APPROVAL


def test_no_proposal_changes_a_locked_policy(desk: PolicyDesk) -> None:
    one = desk.propose(FREE)
    lock_policy(desk.gate, desk.policy_file, by="ana")
    with pytest.raises(ProposalRefused, match="locked"):
        desk.apply(one)
    assert desk.policy_file.read_text() == ASKS
    unlock_policy(desk.gate, desk.policy_file, by="ana")
    desk.apply(one)
    assert desk.tier() is Tier.AUTONOMOUS


@pytest.mark.parametrize("seen", [False, True], ids=["alone", "while others decide"])
def test_after_a_crash_it_is_in_force_as_soon_as_it_is_known_to_be_applied(
    desk: PolicyDesk, seen: bool
) -> None:
    one = desk.propose(FREE)
    crash_while_applying(desk, one, after=True)
    if seen:  # a gate that decides in between is as strict as before
        assert desk.tier() is Tier.REQUIRES_APPROVAL
    desk.carry_on()
    assert desk.state(one) == "applied"
    assert desk.tier() is Tier.AUTONOMOUS
    desk.undo(one)
    assert desk.tier() is Tier.REQUIRES_APPROVAL


def test_a_gate_that_decides_just_then_does_not_keep_it_waiting(
    desk: PolicyDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = desk.propose(FREE)

    def replace_and_look(*args: Any, **more: Any) -> None:
        replace_text(*args, **more)
        assert desk.tier() is Tier.REQUIRES_APPROVAL

    monkeypatch.setattr("sayso.gate.proposals.carry_out.replace_text", replace_and_look)
    desk.apply(one)
    assert desk.tier() is Tier.AUTONOMOUS


def test_after_a_crash_nothing_else_in_the_file_comes_into_force_with_it(desk: PolicyDesk) -> None:
    one = desk.propose(FREE)
    crash_while_applying(desk, one, after=True)
    write_in_place(desk.policy_file, f"{FREE}\nsettings: {{approval_lasts: 1h}}\n")
    desk.carry_on()
    assert desk.state(one) == "failed"
    assert desk.tier() is Tier.REQUIRES_APPROVAL


FIRST = "extends: [graph]\nsettings: {confidence_bypass: false}\n"


@pytest.mark.parametrize("preset", ["graph", "paranoid", "balanced"])
def test_a_first_file_is_shown_against_the_preset_that_the_store_decides_under(
    clock: Clock, tmp_path: Path, preset: str
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "config").mkdir()
    with embedded("sqlite", tmp_path, clock) as store:
        gate = open_gate(load_preset(preset), store, key=KEY, source=PolicySource(None))
        looks = acting_under(gate, load_preset("balanced"))
        desk = Desk(gate, tmp_path / "memory", clock)
        one = desk.file(diff=make_diff("policy.yaml", None, FIRST), root="policy")
        effect = view_proposal(looks, desk.roots, one.id, machine=desk.machine).effect
        assert effect is not None
        found = compare_policies(gate.policy, load_text(FIRST))
        assert effect.loosens is found.loosens
        assert effect.loosened[: len(found.loosened)] == tuple(map(str, found.loosened))
        assert effect.tightened[: len(found.tightened)] == tuple(map(str, found.tightened))


def test_a_change_of_a_file_that_waits_is_shown_against_what_is_in_force(desk: PolicyDesk) -> None:
    write_in_place(desk.policy_file, FREE)
    one = desk.file(diff=make_diff("policy.yaml", FREE, version_text((0, 0, 1))), root="policy")
    effect = view_proposal(current_gate(desk.gate), desk.roots, one.id, machine=desk.machine).effect
    assert effect is not None
    assert effect.loosens
    assert any("mail.read" in line for line in effect.loosened)


def test_undoing_a_first_file_is_not_shown_to_change_what_stays_in_force(
    clock: Clock, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "config").mkdir()
    with embedded("sqlite", tmp_path, clock) as store:
        gate = open_gate(load_preset("graph"), store, key=KEY, source=PolicySource(None))
        desk = Desk(gate, tmp_path / "memory", clock)
        one = desk.file(diff=make_diff("policy.yaml", None, FIRST), root="policy")
        approve_proposal(gate, one.id, by="ana")
        desk.pass_time(7_200)
        desk.apply(one)
        effect = view_proposal(gate, desk.roots, one.id, machine=desk.machine).effect
        assert effect is not None
        assert (effect.loosened, effect.tightened, effect.loosens) == ((), (), False)

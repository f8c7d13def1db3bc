"""A project's own file can only make the policy stricter: whatever else it says is reported."""

from __future__ import annotations

import pytest

from sayso.policy import PolicyProblems, load_preset, load_text, preset_names
from sayso.policy.build import build_policy, file_from_policy
from sayso.policy.compare.vain_parts import find_vain_parts

EMPTY = "autonomous: [], requires_approval: [], blocked: []"


@pytest.mark.parametrize(
    "text",
    [
        "mode: paranoid",
        "domains: {git: {autonomous: [], requires_approval: [status], blocked: [push]}}",
        "git: {autonomous: [], requires_approval: [], blocked: [push]}",
        "settings: {unlisted: block}",
        "operations: {git.commit: {always_ask: true}}",
        "operations: {git.stash: {risk: high}}",
        "consent_decay: {review_interval_days: 7}\nmode: balanced",
        "slash_commands: {/pr: {operations: [pr.create]}}",
        "tools: [{tool: run_bash, operation: files.read}]",  # both readings of a call add up
    ],
)
def test_a_stricter_file_says_nothing_in_vain(text: str) -> None:
    assert find_vain_parts(load_preset("balanced"), text) == []


@pytest.mark.parametrize(
    "text",
    [
        "mode: trusting\nsettings: {trusting_remembers_high: true}",
        "domains: {git: {autonomous: [commit], requires_approval: [], blocked: []}}",
        "domains: {git: {autonomous: [commit], requires_approval: [], blocked: [push]}}",
        "domains: {files: {autonomous: [], requires_approval: [modify_secrets], blocked: []}}",
        "domains: {new: {autonomous: [anything], requires_approval: [], blocked: []}}",
        "settings: {confidence_bypass: true}",
        "settings: {risky_grants: standing}",
        "settings: {grant_pins: operation}",
        "operations: {git.push: {risk: low}}",
        "operations: {new.thing: {risk: low}}",
        "operations: {git.commit: {risk: high}}",  # then /commit stands for calls that read as high, too
        "vip_contacts: {eve: eve@example.com}\nmode: balanced",
        "consent_decay: {enabled: false}\nmode: balanced",
        "slash_commands: {/go: {operations: [git.push]}}",
        "workflows: {go: {operations: [git.commit]}}",
        "extends: [trusting]",
        f"domains: {{git: {{{EMPTY}, last_reviewed: 2026-11-15}}}}",
    ],
)
def test_what_would_loosen_anything_is_in_vain(text: str) -> None:
    assert find_vain_parts(load_preset("balanced"), text) != []


def test_an_action_that_calls_may_become_is_not_in_vain_by_itself() -> None:
    found = find_vain_parts(
        load_preset("balanced"),
        "domains: {files: {autonomous: [], requires_approval: [archive], blocked: []}}",
    )
    assert {line.partition(":")[0] for line in found} == {"files.archive"}


def test_only_what_would_become_looser_is_named() -> None:
    text = "domains: {git: {autonomous: [commit], requires_approval: [], blocked: [add]}}"
    found = "\n".join(find_vain_parts(load_preset("balanced"), text))
    assert "git.commit: ask -> allow" in found
    assert "git.add" not in found


def test_the_guard_cannot_be_freed_from_a_project() -> None:
    text = "domains: {self_modification: {autonomous: [], requires_approval: [modify_policy], blocked: []}}"
    with pytest.raises(PolicyProblems, match="stays blocked"):
        find_vain_parts(load_preset("balanced"), text)


@pytest.mark.parametrize("name", preset_names())
def test_a_policy_written_out_as_a_file_is_the_same_policy(name: str) -> None:
    policy = load_preset(name)
    assert build_policy(file_from_policy(policy), policy.digest, (), ()) == policy


def test_a_projects_file_may_add_ways_to_stop_but_none_to_agree() -> None:
    operators = load_text("extends: [chat]\nphrases: {stop: [stopp]}\n")
    assert find_vain_parts(operators, "phrases: {stop: [arrête], refuse: [non]}") == []
    assert "assent" in "\n".join(find_vain_parts(operators, "phrases: {assent: [oui]}"))

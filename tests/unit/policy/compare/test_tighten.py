"""A project's own file may make the policy stricter, and nothing else."""

from __future__ import annotations

import pytest

from sayso.core.model import Mode, Tier
from sayso.policy import PolicyProblems, load_preset, load_text, preset_names
from sayso.policy.build import build_policy, file_from_policy
from sayso.policy.compare.tighten import PolicyLoosens, tighten

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
    ],
)
def test_a_stricter_file_is_taken(text: str) -> None:
    policy = load_preset("balanced")
    tightened = tighten(policy, text)
    assert tightened.digest != policy.digest
    assert tightened.table.keys() >= policy.table.keys()


def test_what_was_tightened_holds() -> None:
    policy = tighten(load_preset("balanced"), f"mode: paranoid\ndomains: {{git: {{{EMPTY[:-2]}[push]}}}}")
    assert policy.mode is Mode.PARANOID
    assert policy.entry("git.push").tier is Tier.BLOCKED
    assert policy.entry("git.status").tier is Tier.AUTONOMOUS


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
        "tools: [{tool: run_bash, operation: files.read}]",
        "tools: [{tool: '*', operation: files.read}]",
        "extends: [trusting]",
        f"domains: {{git: {{{EMPTY}, last_reviewed: 2026-11-15}}}}",
    ],
)
def test_a_file_that_loosens_anything_is_refused(text: str) -> None:
    with pytest.raises(PolicyLoosens, match=r"\.sayso\.yaml may only tighten"):
        tighten(load_preset("balanced"), text)


def test_the_refusal_names_what_would_become_looser() -> None:
    with pytest.raises(PolicyLoosens, match=r"loosened: git\.commit: ask -> allow") as caught:
        tighten(
            load_preset("balanced"),
            "domains: {git: {autonomous: [commit], requires_approval: [], blocked: [add]}}",
        )
    assert "git.add" not in str(caught.value)


def test_the_guard_cannot_be_freed_from_a_project() -> None:
    text = "domains: {self_modification: {autonomous: [], requires_approval: [modify_policy], blocked: []}}"
    with pytest.raises(PolicyProblems, match="stays blocked"):
        tighten(load_preset("balanced"), text)


@pytest.mark.parametrize("name", preset_names())
def test_a_policy_written_out_as_a_file_is_the_same_policy(name: str) -> None:
    policy = load_preset(name)
    assert build_policy(file_from_policy(policy), policy.digest, (), ()) == policy


def test_a_projects_file_may_add_ways_to_stop_but_none_to_agree() -> None:
    operators = load_text("extends: [chat]\nphrases: {stop: [stopp]}\n")
    assert tighten(operators, "phrases: {stop: [arrête], refuse: [non]}").phrases.stop == ("stopp", "arrête")
    with pytest.raises(PolicyLoosens, match="assent"):
        tighten(operators, "phrases: {assent: [oui]}")

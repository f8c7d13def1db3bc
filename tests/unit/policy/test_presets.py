"""The policies that come with Sayso."""

from __future__ import annotations

import pytest

from sayso.core.errors import PolicyError
from sayso.core.model import Mode, Risk, Tier
from sayso.policy import load_preset, preset_names
from sayso.policy.lint import lint_policy
from sayso.reading.paths.protected_names import PATTERNS

GUARD = {
    "modify_soul_md",
    "modify_agents_md",
    "modify_consent_graph",
    "change_safety_rules",
    "modify_system_prompt",
    "delete_audit_log",
    "modify_audit_log",
    "modify_policy",
    "modify_guard",
    "read_guard_keys",
    "stop_guard",
    "run_guard_command",
}
READS = ("git.status", "git.diff", "git.log", "files.read", "files.list", "files.search")
NOTHING_AUTONOMOUS = ("chat", "trusting", "gateway")


def test_the_presets_are_the_seven_of_the_book() -> None:
    assert preset_names() == ("balanced", "chat", "coding", "gateway", "graph", "paranoid", "trusting")


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_has_nothing_to_complain_about(name: str) -> None:
    assert [finding for finding in lint_policy(load_preset(name)) if finding.severity != "note"] == []


@pytest.mark.parametrize("name", preset_names())
def test_the_guard_is_blocked_in_every_preset_with_a_reason(name: str) -> None:
    policy = load_preset(name)
    assert set(policy.domains["self_modification"].blocked) == GUARD
    for action in GUARD:
        entry = policy.entry(f"self_modification.{action}")
        assert entry.tier is Tier.BLOCKED
        assert entry.reason


def test_the_guard_lists_everything_that_a_reading_can_make() -> None:
    made = {action for one in PATTERNS for action in (one.guarded.change, one.guarded.look) if action}
    assert made | {"delete_audit_log", "stop_guard"} == GUARD


@pytest.mark.parametrize("name", preset_names())
def test_no_slash_command_declares_a_force_push_or_a_rewrite(name: str) -> None:
    declared = {
        operation for command in load_preset(name).slash_commands.values() for operation in command.operations
    }
    assert declared.isdisjoint({"git.push_force", "git.rewrite", "git.reset_hard", "git.clean"})


@pytest.mark.parametrize("name", NOTHING_AUTONOMOUS)
def test_nothing_is_autonomous_where_every_first_use_is_asked_for(name: str) -> None:
    assert all(domain.autonomous == () for domain in load_preset(name).domains.values())


@pytest.mark.parametrize("name", ["chat", "trusting", "gateway", "balanced", "paranoid", "coding"])
def test_reading_is_low_and_reaching_out_is_high(name: str) -> None:
    policy = load_preset(name)
    assert {policy.entry(read).risk for read in READS} == {Risk.LOW}
    for operation in (
        "git.push",
        "git.push_force",
        "git.pull",
        "pr.create",
        "network.fetch",
        "packages.install",
    ):
        assert policy.entry(operation).risk is Risk.HIGH
    for operation in (
        "git.commit",
        "files.edit",
        "files.delete",
        "tests.run",
        "build.run",
        "lint.run",
        "scripts.run",
    ):
        assert policy.entry(operation).risk is Risk.MODERATE


@pytest.mark.parametrize("name", ["balanced", "paranoid", "coding"])
def test_reading_is_autonomous_where_the_day_is_spent(name: str) -> None:
    assert {load_preset(name).entry(read).tier for read in READS} == {Tier.AUTONOMOUS}


def test_each_preset_has_the_settings_of_its_source() -> None:
    modes = {name: load_preset(name).mode for name in preset_names()}
    assert modes.pop("paranoid") is Mode.PARANOID
    assert modes.pop("trusting") is Mode.TRUSTING
    assert set(modes.values()) == {Mode.BALANCED}
    safe = {name: load_preset(name).settings.safe for name in preset_names()}
    assert safe == {
        "balanced": "auto",
        "chat": "imperative",
        "coding": "auto",
        "gateway": "ask",
        "graph": "auto",
        "paranoid": "auto",
        "trusting": "ask",
    }
    gateway = load_preset("gateway").settings
    assert (gateway.risky_grants, gateway.grant_pins) == ("standing", "operation")
    assert load_preset("trusting").settings.trusting_remembers_high
    assert [name for name in preset_names() if load_preset(name).settings.confidence_bypass] == ["graph"]


def test_chat_has_the_categories_and_commands_of_the_conversation() -> None:
    chat = load_preset("chat")
    assert chat.categories["file-edit"] == "file edits"
    assert chat.entry("files.delete").category == "files.delete", "consent for edits deletes nothing"
    assert chat.entry("git.commit").category_words == "git"
    assert chat.entry("lint.run").category == "test-build"
    assert chat.entry("pr.update").category == "git-remote"
    assert chat.entry("packages.install").category == "network"
    declared = {
        name: command.operations for name, command in chat.slash_commands.items() if command.operations
    }
    assert declared == {
        "/commit": ("git.add", "git.commit"),
        "/branch": ("git.branch", "git.checkout"),
        "/pr": ("git.push", "pr.create"),
        "/status": ("git.status",),
        "/diff": ("git.diff",),
    }
    assert chat.slash_commands["/allowlist"].query == "allowlist"


def test_graph_lets_confidence_count_and_holds_nothing_of_high_risk_to_be_asked_for() -> None:
    graph = load_preset("graph")
    assert graph.domains["notifications"].fan_out == "single"
    assert graph.domains["notifications"].content_from == "content"
    asked = [entry for entry in graph.table.values() if entry.tier is Tier.REQUIRES_APPROVAL]
    assert asked
    assert all(entry.risk is not Risk.HIGH and entry.confidence_bypass for entry in asked)


def test_coding_never_lets_confidence_delete_or_schedule() -> None:
    coding = load_preset("coding")
    for name in ("files.delete", "cron.create"):
        assert coding.operations[name].confidence_bypass is False


def test_an_unknown_preset_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(PolicyError, match="did you mean balanced"):
        load_preset("Balanced")
    with pytest.raises(PolicyError, match="presets are balanced, chat"):
        load_preset("_guard")

"""A consent graph as one JSON file with its domains at the top loads unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sayso.core.model import Tier
from sayso.policy import PolicyProblems, load_preset, load_text, read_text

GRAPH: dict[str, Any] = {
    "email": {
        "trust_level": "high",
        "autonomous": ["read", "search", "label", "archive_promo", "archive_social", "archive_forum"],
        "requires_approval": ["send", "delete", "forward"],
        "blocked": ["send_to_unknown", "delete_vip"],
    },
    "imessage": {
        "trust_level": "low",
        "autonomous": ["read", "history"],
        "requires_approval": ["send_vip", "send_family"],
        "blocked": ["send_unknown", "send_group_without_context"],
    },
    "home_automation": {
        "trust_level": "medium",
        "autonomous": ["read_sensors", "check_status", "read_forecast"],
        "requires_approval": ["set_thermostat", "lock_doors", "toggle_lights"],
        "blocked": ["unlock_doors", "disable_alarms", "open_garage"],
    },
    "files": {
        "trust_level": "high",
        "autonomous": ["read", "write_workspace", "create", "edit"],
        "requires_approval": ["delete", "write_outside_workspace"],
        "blocked": ["delete_outside_workspace", "modify_secrets"],
    },
    "external_api": {
        "trust_level": "medium",
        "autonomous": ["search", "read", "fetch"],
        "requires_approval": ["post_social", "tweet", "submit_form"],
        "blocked": ["financial_transaction", "delete_remote"],
    },
    "cron": {
        "trust_level": "high",
        "autonomous": ["list", "run_existing", "update_schedule"],
        "requires_approval": ["create", "delete"],
        "blocked": [],
    },
    "notifications": {
        "trust_level": "high",
        "autonomous": ["send_telegram_owner", "send_email_owner"],
        "requires_approval": ["send_telegram_other", "send_email_other"],
        "blocked": ["send_to_unknown_channel"],
    },
    "calendar": {
        "trust_level": "medium",
        "autonomous": ["read", "list_events"],
        "requires_approval": ["create_event", "modify_event", "delete_event"],
        "blocked": ["invite_external"],
    },
    "nodes": {
        "trust_level": "high",
        "autonomous": [
            "read_files",
            "list_files",
            "run_scripts",
            "check_status",
            "git_operations",
            "read_logs",
        ],
        "requires_approval": ["install_software", "modify_system_config", "delete_files"],
        "blocked": ["expose_ports_externally", "modify_openclaw_config"],
    },
    "self_modification": {
        "autonomous": ["load_memory_file", "restore_context", "update_heartbeat_state", "prune_stale_memory"],
        "requires_approval": [
            "propose_behavioral_change",
            "update_lessons_md",
            "consolidate_daily_to_memory",
        ],
        "blocked": [
            "modify_soul_md",
            "modify_agents_md",
            "modify_consent_graph",
            "change_safety_rules",
            "modify_system_prompt",
            "delete_audit_log",
            "modify_audit_log",
        ],
        "trusted_channel_required": [
            "propose_behavioral_change",
            "consolidate_daily_to_memory",
            "prune_stale_memory",
        ],
        "cooling_period_hours": 2,
        "undo_window_days": 7,
        "require_diff": True,
    },
    "consent_decay": {
        "enabled": True,
        "review_interval_days": 30,
        "decay_action": "downgrade_to_requires_approval",
    },
    "vip_contacts": {"darcy": "+1XXXXXXXXXX", "boss": "+1XXXXXXXXXX", "sister": "+1XXXXXXXXXX"},
}
DOMAINS = {name: domain for name, domain in GRAPH.items() if name not in ("consent_decay", "vip_contacts")}


def test_the_graph_loads_with_a_warning_for_each_placeholder_number() -> None:
    loaded = read_text(json.dumps(GRAPH, indent=2))
    assert [warning.message.split()[0] for warning in loaded.warnings] == ["darcy", "boss", "sister"]
    assert set(loaded.policy.domains) == set(DOMAINS)
    assert loaded.policy.domains["self_modification"].require_diff
    assert loaded.policy.decay.review_interval_days == 30


def test_a_graph_has_the_settings_of_preset_graph_and_none_of_its_domains() -> None:
    policy = load_text(json.dumps({"email": GRAPH["email"]}))
    assert policy.settings == load_preset("graph").settings
    assert list(policy.domains) == ["email"]
    assert policy.domains["email"].fan_out == "any"


def test_preset_graph_holds_the_very_same_lists() -> None:
    policy = load_preset("graph")
    assert set(policy.domains) == set(DOMAINS)
    for name, written in DOMAINS.items():
        domain = policy.domains[name]
        assert set(domain.autonomous) == set(written["autonomous"])
        assert set(domain.requires_approval) == set(written["requires_approval"])
        assert set(domain.blocked) >= set(written["blocked"])
        assert set(domain.blocked) == set(written["blocked"]) or name == "self_modification"
        assert domain.trust_level == written.get("trust_level")
        assert set(domain.trusted_channel_required) == set(written.get("trusted_channel_required", ()))


def test_one_date_at_the_top_is_that_of_every_domain_without_its_own() -> None:
    own = {**GRAPH["cron"], "last_reviewed": "2026-11-01"}
    text = json.dumps({"email": GRAPH["email"], "cron": own, "last_reviewed": "2026-11-15"})
    domains = load_text(text).domains
    assert domains["email"].last_reviewed == 1_794_700_800.0
    assert domains["cron"].last_reviewed == 1_794_700_800.0 - 14 * 86_400


def test_a_date_at_the_top_is_that_of_a_domain_whose_own_is_null() -> None:
    text = json.dumps({"cron": {**GRAPH["cron"], "last_reviewed": None}, "last_reviewed": "2026-11-15"})
    assert load_text(text).domains["cron"].last_reviewed == 1_794_700_800.0


def test_a_graph_may_be_written_in_yaml() -> None:
    policy = load_text("tea:\n  autonomous: [smell]\n  requires_approval: [pour]\n  blocked: [spill]\n")
    assert policy.entry("tea.spill").tier is Tier.BLOCKED


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        (
            "domians:\n  email: {autonomous: [], requires_approval: [], blocked: []}",
            (1, 1),
            "did you mean domains?",
        ),
        ("email: high", (1, 1), "autonomous"),
        ("email: {trust_level: high}", (1, 1), "autonomous"),
        ("email: {autonomous: [read], requires_approval: []}", (1, 8), "blocked: []"),
        ("email: {autonomous: [], requires_approval: [], blocked: [], color: red}", (1, 61), "known"),
        (
            "email: {autonomous: [], requires_approval: [], blocked: []}\nconsent_decay: {enabld: true}",
            (2, 17),
            "enabled",
        ),
    ],
)
def test_a_graph_that_is_none_is_refused_with_a_hint(text: str, place: tuple[int, int], hint: str) -> None:
    with pytest.raises(PolicyProblems) as caught:
        load_text(text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == place
    assert hint in problem.hint


def test_a_graph_with_a_key_of_the_normal_form_is_no_graph() -> None:
    with pytest.raises(PolicyProblems, match="unknown key 'email'"):
        load_text(json.dumps({"mode": "balanced", "email": GRAPH["email"]}))

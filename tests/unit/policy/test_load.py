"""Text to policy: what each part of a file comes to mean."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import sayso.policy as policy_package
from sayso.core.model import Mode, Risk, Tier
from sayso.core.policy import NEVER_REVIEWED, Policy, PolicyWorkflow, SlashCommand, Tool
from sayso.policy import load_file, load_text, read_file, read_text

FULL = """\
sayso: 1
mode: trusting
settings: {confidence_threshold: 0.9, confidence_bypass: true, safe: imperative, task_idle_turns: 5}
categories: {git-remote: remote git}
consent_decay: {enabled: true, review_interval_days: 14, decay_action: downgrade_to_requires_approval}
vip_contacts: {darcy: "+1 555 010 0001"}
family_contacts: {sister: "+1 555 010 0002"}
domains:
  email:
    {trust_level: high, autonomous: [read], requires_approval: [send], blocked: [delete_vip],
     last_reviewed: 2026-11-15}
operations:
  git.push: {risk: risky, weight: tier 2, category: git-remote, always_ask: true, reason: changes a remote}
tools:
  - {tool: git_push, operation: git.push}
  - {tool: "mail_*", resolve: recipient, domain: email, from: args.to, context: args.thread, risk: high}
slash_commands: {/push: {operations: [git.push]}, /allowlist: {query: allowlist}}
workflows: {digest: {operations: [email.read]}}
"""


@pytest.fixture(scope="module")
def full() -> Policy:
    return load_text(FULL)


def test_settings_are_what_is_written_and_the_rest_keeps_its_default(full: Policy) -> None:
    assert full.mode is Mode.TRUSTING
    assert (full.settings.confidence_threshold, full.settings.safe) == (0.9, "imperative")
    assert (full.settings.risky_grants, full.settings.task_idle_turns) == ("once", 5)
    assert (full.decay.enabled, full.decay.review_interval_days) == (True, 14)


def test_lists_and_details_meet_in_one_entry(full: Policy) -> None:
    assert full.entry("email.send").tier is Tier.REQUIRES_APPROVAL
    push = full.entry("git.push")
    assert (push.tier, push.risk, push.weight, push.always_ask) == (None, Risk.HIGH, Risk.MODERATE, True)
    assert (push.category, push.category_words, push.reason) == (
        "git-remote",
        "remote git",
        "changes a remote",
    )


def test_tools_slash_commands_and_workflows_are_read(full: Policy) -> None:
    assert full.tools[0] == Tool(tool="git_push", operation="git.push")
    assert (full.tools[1].source, full.tools[1].context, full.tools[1].risk) == (
        "args.to",
        "args.thread",
        Risk.HIGH,
    )
    assert full.slash_commands["/push"] == SlashCommand(operations=("git.push",))
    assert full.slash_commands["/allowlist"].query == "allowlist"
    assert full.workflows["digest"] == PolicyWorkflow(operations=("email.read",))


def test_a_written_review_is_midnight_utc_of_its_day(full: Policy) -> None:
    assert full.domains["email"].last_reviewed == 1_794_700_800.0


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-11-15T08:00:00+02:00", 1_794_722_400.0),
        ("2026-11-15T06:00:00", 1_794_722_400.0),
        ("not a date", NEVER_REVIEWED),
        ("2026-13-01", NEVER_REVIEWED),
    ],
)
def test_a_review_is_read_in_utc_or_counts_as_never(written: str, seconds: float) -> None:
    loaded = read_text(
        f"domains: {{a: {{autonomous: [x], requires_approval: [], blocked: [], last_reviewed: '{written}'}}}}"
    )
    assert loaded.policy.domains["a"].last_reviewed == seconds
    assert bool(loaded.warnings) == (seconds == NEVER_REVIEWED)


@pytest.mark.parametrize(
    "written", ["12", "20261115", "1.5", "true", "[2026-11-15]", "{on: 2026-11-15}", "''"]
)
def test_a_review_that_is_no_date_at_all_counts_as_never_with_a_warning(written: str) -> None:
    lists = "autonomous: [x], requires_approval: [], blocked: []"
    loaded = read_text(f"domains:\n  a: {{{lists}, last_reviewed: {written}}}")
    assert loaded.policy.domains["a"].last_reviewed == NEVER_REVIEWED
    (warning,) = loaded.warnings
    assert (warning.line, warning.column) == (2, len(f"  a: {{{lists}, ") + 1)
    assert "decayed" in warning.message


def test_a_review_of_null_is_absent() -> None:
    text = "domains: {a: {autonomous: [x], requires_approval: [], blocked: [], last_reviewed: null}}"
    assert load_text(text).domains["a"].last_reviewed is None


@pytest.mark.parametrize(
    ("word", "risk"),
    [
        *(((word, Risk.LOW)) for word in ("low", "safe", "SAFE", "tier 1")),
        *(((word, Risk.MODERATE)) for word in ("moderate", "medium", "MEDIUM", "tier 2")),
        *(((word, Risk.HIGH)) for word in ("high", "risky", "HIGH", "tier 3")),
    ],
)
def test_every_word_for_a_risk_is_understood(word: str, risk: Risk) -> None:
    assert load_text(f"operations: {{a.b: {{risk: {word}}}}}").operations["a.b"].risk is risk


def test_json_and_yaml_load_to_the_same_policy() -> None:
    structure = {
        "extends": ["balanced"],
        "domains": {"email": {"autonomous": ["read"], "requires_approval": [], "blocked": ["delete"]}},
        "categories": {"fun": "fun \U0001f600"},
    }
    yaml = (
        "extends: [balanced]\ndomains:\n  email:\n    autonomous: [read]\n    requires_approval: []\n"
        "    blocked:\n    - delete\ncategories: {fun: fun \U0001f600}\n"
    )
    spellings = [
        json.dumps(structure),
        json.dumps(structure, indent="\t"),
        json.dumps(structure, separators=(",", ":")),
    ]
    first = load_text(yaml)
    for spelling in spellings:
        again = load_text(spelling)
        assert again.digest != first.digest
        assert (again.table, again.domains, again.categories, again.tools) == (
            first.table,
            first.domains,
            first.categories,
            first.tools,
        )


@pytest.mark.parametrize(("said", "alone"), [(b"extends: [balanced]", False), (b"mode: balanced", True)])
def test_the_digest_is_that_of_the_very_bytes(tmp_path: Path, said: bytes, alone: bool) -> None:
    file = tmp_path / "policy.yaml"
    content = b"\xef\xbb\xbf" + said + b"  # \xc3\xa9\r\n"
    file.write_bytes(content)
    loaded = read_file(file)
    assert loaded.digest == hashlib.sha256(content).hexdigest()
    assert (loaded.policy.digest == loaded.digest) is alone, "the presets that it extends are in it, too"
    assert load_file(str(file)) == loaded.policy


def test_a_word_that_yaml_1_1_took_for_a_boolean_stays_text() -> None:
    policy = load_text("domains: {no: {autonomous: [on], requires_approval: [yes, off], blocked: [y]}}")
    assert set(policy.table) == {"no.on", "no.yes", "no.off", "no.y"}


def test_a_policy_cannot_be_changed(full: Policy) -> None:
    with pytest.raises(AttributeError):
        full.mode = Mode.PARANOID  # type: ignore[misc]


def test_a_contact_that_cannot_be_read_is_a_warning_at_its_place() -> None:
    loaded = read_text("mode: balanced\nvip_contacts:\n  boss: '+1XXXXXXXXXX'\n  ana: ana@example.com\n")
    assert [(warning.line, warning.column) for warning in loaded.warnings] == [(3, 3)]
    assert "boss" in loaded.warnings[0].message


def test_importing_the_package_loads_no_yaml_no_phone_numbers_and_no_cel() -> None:
    script = "import sys, sayso.policy; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "sayso" in loaded
    assert loaded.isdisjoint({"ruamel", "phonenumbers", "cel", "msgspec"})


def test_a_preset_loads_without_yaml_phone_numbers_and_cel() -> None:
    script = "import sys; from sayso.policy import load_preset; load_preset('coding'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "msgspec" in loaded
    assert loaded.isdisjoint({"ruamel", "phonenumbers", "cel"})


@pytest.mark.parametrize("name", policy_package.__all__)
def test_every_public_name_can_be_had_and_is_listed(name: str) -> None:
    assert getattr(policy_package, name).__name__ == name
    assert name in dir(policy_package)


def test_a_public_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="load_everything"):
        getattr(policy_package, "load_everything")  # noqa: B009  mypy would refuse the plain spelling

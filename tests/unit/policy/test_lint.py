"""What the linter finds, and that it is silent where nothing is wrong."""

from __future__ import annotations

import pytest

from sayso.policy import load_text, read_text
from sayso.policy.lint import lint_policy
from tests.support.rows import each_row

LISTS = "autonomous: [read], requires_approval: [send], blocked: []"


@each_row(
    ("text", "severity", "where", "words"),
    [
        ("operations: {a.b: {risk: low}}", "warning", "a.b", "is in no list"),
        (
            "people: {ana: {ids: [page:ana]}, bo: {}}\napprovals: [{domain: bnak, from: [ana]}]",
            "warning",
            "approvals bnak from low",
            "there is no domain bnak",
        ),
        ("tools: [{tool: t, operation: a.b}]", "warning", "tool t", "a.b is in no list"),
        ("tools: [{tool: t, resolve: url, domain: a, from: args.u}]", "warning", "tool t", "no domain a"),
        (
            "operations: {a.b: {}}\nworkflows: {w: {operations: [a.b]}}",
            "warning",
            "w",
            "a.b is in no list",
        ),
        (
            "operations: {a.b: {}}\nslash_commands: {/s: {operations: [a.b]}}",
            "warning",
            "/s",
            "a.b is in no list",
        ),
        (
            "tools: [{tool: 'git*', operation: git.push}, {tool: git_log, operation: git.log}]",
            "warning",
            "tool git_log",
            "never reached",
        ),
        (
            "domains: {m: {trust_level: low, autonomous: [send], requires_approval: [], blocked: []}}",
            "warning",
            "m.send",
            "low trust",
        ),
        (
            "settings: {confidence_threshold: 0, confidence_bypass: true}",
            "error",
            "settings.confidence_threshold",
            "0",
        ),
        (
            "settings: {confidence_threshold: 1, confidence_bypass: true}",
            "warning",
            "settings.confidence_threshold",
            "1",
        ),
        (
            "settings: {confidence_threshold: 0.3, confidence_bypass: true}",
            "warning",
            "settings.confidence_threshold",
            "unsure",
        ),
        ("operations: {files.read: {risk: high}}", "warning", "files.read", "still asks"),
        (
            "operations: {files.modify_secrets: {always_ask: true}}",
            "note",
            "files.modify_secrets",
            "does nothing",
        ),
        (f"domains: {{m: {{{LISTS}, fan_out: single}}}}", "warning", "m", "content_from"),
        ("categories: {odd: odd things}", "note", "odd", "no operation"),
        ("consent_decay: {enabled: false}", "warning", "consent_decay", "never decay"),
        ("consent_decay: {review_interval_days: 365}", "warning", "consent_decay", "365 days"),
        ("settings: {task_idle_turns: 500}", "warning", "settings.task_idle_turns", "500"),
        ("slash_commands: {/force: {operations: [git.push_force]}}", "warning", "/force", "without asking"),
        (
            "domains: {self_modification: {autonomous: [rewrite_rules], requires_approval: [], blocked: []}}",
            "warning",
            "self_modification.rewrite_rules",
            "runs unasked",
        ),
        (
            "domains: {self_modification: {autonomous: [], requires_approval: [edit_hooks], blocked: []}}",
            "warning",
            "self_modification.edit_hooks",
            "can be approved",
        ),
        (
            "operations: {self_modification.update_lessons_md: {risk: low}}",
            "warning",
            "self_modification.update_lessons_md",
            "not low risk",
        ),
        (
            "slash_commands: {/learn: {operations: [self_modification.update_lessons_md]}}",
            "warning",
            "/learn",
            "self_modification",
        ),
        (
            "tools: [{tool: Write, resolve: path, operation: files.read, from: args.file_path}]",
            "warning",
            "tool Write",
            "counts as files.read",
        ),
    ],
)
def test_a_fault_is_found(text: str, severity: str, where: str, words: str) -> None:
    found = [one for one in lint_policy(load_text(f"extends: [balanced]\n{text}")) if one.where == where]
    assert any(one.severity == severity and words in one.message for one in found), found


def test_a_narrow_entry_before_a_wide_one_is_not_shadowed() -> None:
    text = "tools: [{tool: git_log, operation: git.log}, {tool: 'git*', operation: git.push}]"
    found = lint_policy(load_text(f"extends: [chat]\n{text}"))
    assert "tool git_log" not in {one.where for one in found if "never reached" in one.message}


def test_reading_is_free_in_a_domain_of_low_trust() -> None:
    lists = "autonomous: [read_all], requires_approval: [], blocked: []"
    text = f"extends: [chat]\ndomains: {{m: {{trust_level: low, {lists}}}}}"
    assert lint_policy(load_text(text)) == []


def test_a_policy_without_a_guard_is_told_so() -> None:
    (finding,) = lint_policy(load_text(f"domains: {{m: {{{LISTS}}}}}"))
    assert finding.where == "self_modification"
    assert "modify_policy" in finding.message


def test_a_policy_that_lists_nothing_is_told_so() -> None:
    assert any(finding.where == "domains" for finding in lint_policy(load_text("mode: balanced")))


def test_what_the_loader_warned_of_is_among_the_findings() -> None:
    loaded = read_text("extends: [balanced]\nvip_contacts: {boss: nobody}", name="my.yaml")
    (finding,) = lint_policy(loaded)
    assert str(finding).startswith("warning: my.yaml:2:16: boss is not a number or address")


def test_errors_come_first() -> None:
    text = "extends: [graph]\nsettings: {confidence_threshold: 0}\nconsent_decay: {enabled: false}"
    assert [finding.severity for finding in lint_policy(load_text(text))] == ["error", "warning"]


def test_a_phrase_that_both_stops_and_agrees_is_reported() -> None:
    policy = load_text("extends: [chat]\nphrases: {stop: [stopp], assent: [ja, stopp, never]}\n")
    found = [str(one) for one in lint_policy(policy) if one.where == "phrases.assent"]
    assert len(found) == 2
    assert "'stopp' is a stop as well" in found[0]
    assert "'never' is a refusal as well" in found[1]


PAY = """
domains: {bank: {autonomous: [], requires_approval: [pay], blocked: []}}
tools: [{tool: pay, operation: bank.pay, title: "Pay {amont} to {args.payee}"MORE}]
"""


def about_titles(text: str, seen: dict[str, frozenset[str]] | None = None) -> list[str]:
    return [str(one) for one in lint_policy(load_text(text), seen) if "title" in one.message]


def test_a_title_that_names_no_argument_of_its_tool_is_not_passed_over() -> None:
    seen = {"pay": frozenset({"amount", "payee"}), "other": frozenset({"amont"})}
    (found,) = about_titles(PAY.replace("MORE", ""), seen)
    assert found.startswith("warning: tool pay: ")
    assert "{amont}" in found
    assert "amount, payee" in found


@pytest.mark.parametrize(
    "more", [', when: "args.amount <= 100"', ", target: args.amount", ", when: 'args[\"amount\"] > 1'"]
)
def test_a_title_that_misspells_an_argument_of_its_entry_is_not_passed_over(more: str) -> None:
    (found,) = about_titles(PAY.replace("MORE", more))
    assert "{amont}" in found
    assert "{amount}" in found


def test_a_title_is_not_complained_about_where_nothing_is_known_or_all_is_well() -> None:
    assert about_titles(PAY.replace("MORE", "")) == []
    well = PAY.replace("amont", "amount.value")
    assert about_titles(well.replace("MORE", ', when: "args.amount <= 100"')) == []
    assert about_titles(well.replace("MORE", ""), {"pay": frozenset({"amount", "payee"})}) == []
    assert about_titles(well.replace("MORE", ""), {"read": frozenset({"path"})}) == []

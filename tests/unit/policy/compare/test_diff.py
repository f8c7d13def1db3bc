"""Two policies compared: exactly what changed, loosened and tightened apart."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.core.model import Mode, Risk, Verdict
from sayso.core.policy import (
    Decay,
    Detail,
    Domain,
    Policy,
    PolicyWorkflow,
    Settings,
    SlashCommand,
    compile_policy,
)
from sayso.policy import load_preset, load_text, preset_names
from sayso.policy.compare.cases import Case, Pair, view_for_case
from sayso.policy.compare.diff import DecisionChange, Difference, compare_policies, difference_lines, loosens
from sayso.policy.probe import probe

BASE = """
extends: [balanced]
settings: {confidence_threshold: 0.85}
workflows: {tidy: {operations: [git.stash]}}
"""


def changed(text: str, base: str = BASE) -> Difference:
    return compare_policies(load_text(base), load_text(base + text))


def operations(changes: tuple[DecisionChange, ...]) -> set[str]:
    return {change.operation for change in changes}


def moved(domain: str, **lists: str) -> str:
    written = {"autonomous": "", "requires_approval": "", "blocked": ""} | lists
    return f"domains: {{{domain}: {{{', '.join(f'{name}: [{value}]' for name, value in written.items())}}}}}"


@pytest.mark.parametrize("name", preset_names())
def test_a_policy_does_not_differ_from_itself(name: str) -> None:
    assert compare_policies(load_preset(name), load_preset(name)) == Difference()


def test_an_action_that_becomes_free_is_loosened_and_nothing_else_is_told() -> None:
    found = changed(moved("git", autonomous="commit"))
    assert operations(found.loosened) == {"git.commit"}
    assert found.tightened == ()
    assert found.loosened[0] == DecisionChange(
        "git.commit",
        "ask",
        "allow",
        ("mode balanced or trusting, just reviewed",),
    )


def test_an_action_that_becomes_blocked_is_tightened_in_every_mode() -> None:
    found = changed(moved("git", blocked="stash, status"))
    assert found.loosened == ()
    assert operations(found.tightened) == {"git.stash", "git.status"}
    assert {change.after for change in found.tightened} == {"deny"}


def test_both_directions_are_told_apart() -> None:
    found = changed(moved("git", autonomous="commit", blocked="push"))
    assert operations(found.loosened) == {"git.commit"}
    assert operations(found.tightened) == {"git.push"}


def test_a_high_risk_moved_to_autonomous_changes_nothing() -> None:
    assert changed(moved("git", autonomous="push")) == Difference()


def test_a_lowered_risk_is_loosened() -> None:
    found = changed("operations: {git.rewrite: {risk: moderate}}")
    assert operations(found.loosened) == {"git.rewrite"}
    assert found.tightened == ()


def test_a_raised_risk_loosens_what_a_slash_command_stands_for() -> None:
    found = changed("operations: {git.commit: {risk: high}}")
    assert operations(found.tightened) == {"git.commit"}
    (change,) = found.loosened
    assert change == DecisionChange(
        "git.commit", "ask", "allow", ("in every mode, if the call reads as high, if the user typed /commit",)
    )


def test_a_mode_of_its_own_shows_where_no_mode_is_chosen() -> None:
    found = changed("mode: paranoid")
    assert found.loosened == ()
    reads = [change for change in found.tightened if change.operation == "git.status"]
    assert ("no mode chosen, just reviewed" in reads[0].conditions, reads[0].after) == (True, "ask")


def test_a_locked_mode_shows_where_another_is_chosen() -> None:
    found = changed("settings: {lock_mode: true, confidence_threshold: 0.85}", "extends: [balanced]\n")
    loosened = {change.operation: change for change in found.loosened}
    assert "mode paranoid, just reviewed" in loosened["git.status"].conditions


def test_unlisted_operations_have_a_stand_in_for_each_domain_and_one_for_none() -> None:
    found = changed("settings: {unlisted: block}", "extends: [balanced]\n")
    assert found.loosened == ()
    stand_ins = {f"{domain}.*" for domain in load_preset("balanced").domains}
    assert operations(found.tightened) == {*stand_ins, "*.*"}


def test_a_threshold_shows_at_the_confidence_between() -> None:
    found = changed("settings: {confidence_threshold: 0.8}", "extends: [graph]\n")
    sending = next(change for change in found.loosened if change.operation == "email.send")
    assert (sending.before, sending.after) == ("ask", "allow and notify")
    assert all("confidence 0.8" in condition for condition in sending.conditions)
    assert "email.read" not in operations(found.loosened)


@pytest.mark.parametrize(
    ("text", "operation", "condition"),
    [
        ("operations: {git.push: {always_ask: true}}", "git.push", "the command is on the allowlist"),
        ("operations: {git.stash: {category: other}}", "git.stash", "the task has consent for git-local"),
        ("operations: {git.stash: {weight: high}}", "git.stash", "inside a granted moderate call"),
        ("slash_commands: {/commit: {operations: [git.add]}}", "git.commit", "the user typed /commit"),
        ("workflows: {tidy: {operations: [git.add]}}", "git.stash", "in a granted run of tidy"),
    ],
)
def test_what_shows_only_with_consent_is_told_with_it(text: str, operation: str, condition: str) -> None:
    base = BASE.replace("workflows: {tidy: {operations: [git.stash]}}\n", "")
    before = load_text(BASE)
    found = compare_policies(
        before, load_text(base + text + ("" if text.startswith("workflows") else "\n" + BASE.splitlines()[3]))
    )
    (change,) = [change for change in found.tightened if change.operation == operation]
    assert any(condition in words for words in change.conditions)


def test_settings_that_only_matter_with_grants_are_seen() -> None:
    assert operations(changed("settings: {risky_grants: standing}", "extends: [balanced]\n").loosened) >= {
        "git.push"
    }
    remembers = changed("settings: {trusting_remembers_high: true}", "extends: [balanced]\n")
    push = next(change for change in remembers.loosened if change.operation == "git.push")
    assert push.conditions == ("mode trusting, if the tool is remembered",)


def test_a_trusted_mark_taken_away_shows_from_the_agent() -> None:
    marked = "trusted_channel_required: [x]"
    lists = "autonomous: [x], requires_approval: [], blocked: []"
    found = compare_policies(
        load_text(f"domains: {{a: {{{lists}, {marked}}}}}"), load_text(f"domains: {{a: {{{lists}}}}}")
    )
    assert {(change.before, change.after) for change in found.loosened} == {
        ("deny", "allow"),
        ("deny", "ask"),
    }
    assert all("from agent" in words for change in found.loosened for words in change.conditions)


def test_a_longer_time_between_reviews_is_loosened_at_the_end_of_the_shorter() -> None:
    found = changed("consent_decay: {review_interval_days: 60}")
    assert found.tightened == ()
    (status,) = [change for change in found.loosened if change.operation == "git.status"]
    assert status.conditions == ("mode balanced or trusting, last reviewed 30 days ago",)


def test_a_later_review_is_loosened() -> None:
    def reviewed(day: str) -> Policy:
        lists = "autonomous: [x], requires_approval: [], blocked: []"
        return load_text(f"domains: {{a: {{{lists}, last_reviewed: {day}}}}}")

    assert loosens(reviewed("2026-10-01"), reviewed("2026-11-15"))
    assert not loosens(reviewed("2026-11-15"), reviewed("2026-10-01"))
    assert loosens(reviewed("unreadable"), reviewed("2026-11-15"))


def test_taking_fan_out_away_is_loosened() -> None:
    text = "extends: [graph]\n"
    lists = "autonomous: [], requires_approval: [], blocked: []"
    found = changed(f"domains: {{notifications: {{{lists}, fan_out: any}}}}", text)
    assert operations(found.loosened) >= {"notifications.send_email_owner"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("settings: {grant_pins: operation}", "settings.grant_pins"),
        ("settings: {task_idle_turns: 11}", "settings.task_idle_turns"),
        ("settings: {trust_hook_messages: true}", "settings.trust_hook_messages"),
        ("settings: {notices: elsewhere}", "settings.notices"),
        ("settings: {question_lasts: 121m}", "settings.question_lasts"),
        ("settings: {approval_lasts: 16m}", "settings.approval_lasts"),
        ("settings: {open_questions: 21}", "settings.open_questions"),
        ("settings: {questions_per_hour: 61}", "settings.questions_per_hour"),
        ("vip_contacts: {eve: eve@example.com}", "vip_contacts.eve"),
        ("tools: [{tool: run_bash, operation: files.read}]", "tool run_bash"),
        (
            moved("self_modification")[:-2] + ", cooling_period_hours: 1}}",
            "self_modification.cooling_period_hours",
        ),
        (moved("self_modification")[:-2] + ", require_diff: false}}", "self_modification.require_diff"),
    ],
)
def test_what_loosens_besides_decisions_is_told_too(text: str, what: str) -> None:
    found = changed(text, "extends: [balanced]\n")
    assert [one.what for one in found.beyond] == [what]
    assert found.loosens
    assert any(line.startswith(f"loosened: {what}: ") for line in difference_lines(found))


@pytest.mark.parametrize(
    "part", ["risk: low", "target: args.path", "command: args.line", "title: Look it up"]
)
def test_the_part_of_a_tools_entry_that_changed_is_told(part: str) -> None:
    base = "extends: [balanced]\ntools: [{tool: look, operation: files.read%s}]"
    (one,) = compare_policies(load_text(base % ""), load_text(base % f", {part}")).beyond
    assert one.before == "files.read"
    assert one.after == f"files.read {part.replace(':', '')}"


BLOCKING = "domains: {account: {autonomous: [], requires_approval: [open], blocked: [close]}}\n"


@pytest.mark.parametrize(
    ("entry", "loosened"),
    [
        ("{tool: close, operation: account.close}", False),
        ('{tool: close, operation: account.close, when: "args.all"}', False),
        ('{tool: "close*", operation: account.close}', False),
        ("{tool: close, operation: account.open}", True),
        ("{tool: close, operation: account.close, command: args.command}", True),
        ("{tool: close, resolve: path, operation: files.write, from: args.path}", True),
    ],
)
def test_a_tool_whose_calls_become_a_blocked_operation_is_not_called_loosened(
    entry: str, loosened: bool
) -> None:
    found = changed(f"tools: [{entry}]\n", f"extends: [balanced]\n{BLOCKING}")
    assert found.beyond
    assert [one.loosens for one in found.beyond] == [loosened] * len(found.beyond)


def test_a_blocked_tool_that_becomes_something_else_is_loosened() -> None:
    tool = "tools: [{tool: close, operation: account.%s}]"
    base = f"extends: [balanced]\n{BLOCKING}"
    for other in (base, base + tool % "open"):
        found = compare_policies(load_text(base + tool % "close"), load_text(other))
        assert [one.loosens for one in found.beyond] == [True]


def test_what_tightens_besides_decisions_does_not_loosen() -> None:
    base = "extends: [gateway]\nvip_contacts: {eve: eve@example.com}\n"
    found = compare_policies(
        load_text(base), load_text("extends: [gateway]\nsettings: {grant_pins: exact, on_failure: clear}")
    )
    assert {one.what for one in found.beyond} == {
        "settings.grant_pins",
        "settings.on_failure",
        "vip_contacts.eve",
    }
    assert not found.loosens


ACTIONS = ("read", "send", "drop")
LISTS = ("autonomous", "requires_approval", "blocked", None)


@pytest.mark.parametrize(
    "consent", ["operation", "command", "tool", "category mail", "run w", "slash /go", "order", "outer"]
)
def test_every_kind_of_consent_that_is_tried_really_allows(consent: str) -> None:
    """Otherwise a comparison under it would show nothing, whatever the policies."""
    policy = compile_policy(
        mode=Mode.TRUSTING,
        settings=Settings(safe="imperative"),
        domains={"mail": Domain(requires_approval=("send",))},
        operations={"mail.send": Detail(category="mail", risk=Risk.LOW if consent == "order" else None)},
        slash_commands={"/go": SlashCommand(operations=("mail.send",))},
        workflows={"w": PolicyWorkflow(operations=("mail.send",))},
    )
    entry = policy.entry("mail.send")
    pair = Pair("mail.send", policy, policy, entry, entry)
    case = Case("trusting", "none", "agent", "0", "0", "none", consent)
    assert probe(policy, "mail.send").verdict is Verdict.ASK
    assert probe(policy, "mail.send", view=view_for_case(policy, pair, case)).verdict is Verdict.ALLOW


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    domains: dict[str, Domain] = {}
    for name in draw(st.lists(st.sampled_from(("mail", "disk")), unique=True)):
        lists: dict[str, Any] = {"autonomous": (), "requires_approval": (), "blocked": ()}
        for action in ACTIONS:
            chosen = draw(st.sampled_from(LISTS))
            if chosen:
                lists[chosen] = (*lists[chosen], action)
        domains[name] = Domain(**lists, confidence_bypass=draw(st.sampled_from((None, True, False))))
    risks = st.sampled_from((None, *Risk))
    details = st.builds(Detail, risk=risks, weight=risks, always_ask=st.booleans())
    names = st.sampled_from(("mail.send", "disk.read", "net.get"))
    return compile_policy(
        mode=draw(st.sampled_from(Mode)),
        settings=draw(
            st.builds(
                Settings,
                confidence_threshold=st.sampled_from((0.5, 0.85)),
                safe=st.sampled_from(("auto", "ask")),
                unlisted=st.sampled_from(("ask", "block")),
                lock_mode=st.booleans(),
            )
        ),
        decay=draw(
            st.builds(Decay, enabled=st.booleans(), review_interval_days=st.sampled_from((7.0, 30.0)))
        ),
        domains=domains,
        operations=draw(st.dictionaries(names, details, max_size=2)),
        slash_commands=draw(st.sampled_from(({}, {"/go": SlashCommand(operations=("mail.send",))}))),
        workflows=draw(st.sampled_from(({}, {"w": PolicyWorkflow(operations=("disk.read",))}))),
    )


@given(policies())
def test_no_policy_differs_from_itself(policy: Policy) -> None:
    again = msgspec.structs.replace(policy, digest="another file")
    assert compare_policies(policy, again) == Difference()


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(policies(), policies())
def test_the_other_way_round_loosened_and_tightened_change_places(a: Policy, b: Policy) -> None:
    there, back = compare_policies(a, b), compare_policies(b, a)
    assert _turned(there.loosened) == set(map(_key, back.tightened))
    assert _turned(there.tightened) == set(map(_key, back.loosened))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(policies(), policies(), st.sampled_from(("mail.read", "mail.send", "disk.drop", "net.get")))
def test_an_operation_that_is_not_told_is_decided_alike(a: Policy, b: Policy, name: str) -> None:
    found = compare_policies(a, b)
    told = operations((*found.loosened, *found.tightened))
    if not told & {name, f"{name.partition('.')[0]}.*", "*.*"}:
        for confidence in (0.0, 0.6, 1.0):
            assert (
                probe(a, name, confidence=confidence).outcome == probe(b, name, confidence=confidence).outcome
            )


def _key(change: DecisionChange) -> tuple[str, str, str]:
    return change.operation, change.before, change.after


def _turned(changes: tuple[DecisionChange, ...]) -> set[tuple[str, str, str]]:
    return {(change.operation, change.after, change.before) for change in changes}


def test_that_no_decision_changes_is_said() -> None:
    policy = load_text(BASE)
    assert list(difference_lines(compare_policies(policy, policy))) == ["No decision changes."]
    contacts = changed("vip_contacts: {ana: ana@example.com}")
    assert list(difference_lines(contacts)) == [
        "No decision changes.",
        "loosened: vip_contacts.ana: nothing -> ana@example.com",
    ]
    assert "No decision changes." not in difference_lines(changed(moved("git", autonomous="commit")))


@pytest.mark.parametrize(
    "text", ["mode: paranoid", "mode: trusting", "settings: {unlisted: block}", "settings: {safe: ask}"]
)
def test_what_stands_in_for_the_unlisted_is_never_told(text: str) -> None:
    lists = "domains: {email: {autonomous: [read], requires_approval: [], blocked: []}}\n"
    before, after = load_text(lists), load_text(lists + text)
    for told in (
        msgspec.json.encode(compare_policies(before, after)),
        msgspec.json.encode(compare_policies(after, before)),
    ):
        assert b"x-unlisted" not in told
        assert b"unknown-domain" not in told


def test_a_listed_operation_keeps_its_name_whatever_that_is() -> None:
    lists = "domains: {email: {autonomous: [], requires_approval: [as-unlisted], blocked: []}}"
    loosened = compare_policies(
        load_text(lists),
        load_text(lists.replace("[]", "[as-unlisted]", 1).replace("l: [as-unlisted]", "l: []")),
    )
    assert "email.as-unlisted" in operations(loosened.loosened)


def test_a_risk_that_nothing_declares_is_named_last() -> None:
    found = compare_policies(load_preset("balanced"), load_preset("coding"))
    listed = next(change for change in found.loosened if change.operation == "cron.list")
    assert listed.conditions[0] == "mode balanced or trusting, declared risk moderate or none, just reviewed"

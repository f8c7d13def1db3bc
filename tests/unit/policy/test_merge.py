"""Presets under a file: actions move, maps merge key by key, scalars are replaced, the guard only grows."""

from __future__ import annotations

import pytest

from sayso.core.model import Mode, Risk, Tier
from sayso.policy import PolicyProblems, load_preset, load_text, read_text
from sayso.policy.load import LoadedPolicy

BASE = b"""
mode: trusting
settings: {safe: ask, unlisted: block}
categories: {one: one thing, two: two things}
consent_decay: {review_interval_days: 10}
vip_contacts: {ana: ana@example.com}
domains:
  email:
    trust_level: low
    autonomous: [read, label]
    requires_approval: [send, forward]
    blocked: [delete]
    trusted_channel_required: [forward]
operations:
  email.send: {risk: high, reason: sends a message}
tools: [{tool: mail, operation: email.read}, {tool: post, operation: email.send}]
slash_commands: {/mail: {operations: [email.send]}}
workflows: {w: {operations: [email.read, email.send]}}
"""


def over(text: str) -> LoadedPolicy:
    return read_text(f"extends: [base]\n{text}", presets={"base": BASE})


def test_an_action_moves_to_the_list_that_names_it_and_the_rest_stays() -> None:
    policy = over("domains: {email: {autonomous: [send], requires_approval: [], blocked: [label]}}").policy
    email = policy.domains["email"]
    assert email.autonomous == ("read", "send")
    assert email.requires_approval == ("forward",)
    assert email.blocked == ("delete", "label")


def test_an_action_named_where_it_already_stands_keeps_its_place() -> None:
    policy = over("domains: {email: {autonomous: [label, read], requires_approval: [], blocked: []}}").policy
    assert policy.domains["email"].autonomous == ("read", "label")


def test_details_of_a_domain_are_kept_unless_named() -> None:
    lists = "autonomous: [], requires_approval: [], blocked: [], trusted_channel_required: [send]"
    text = f"domains: {{email: {{{lists}}}}}"
    email = over(text).policy.domains["email"]
    assert email.trust_level == "low"
    assert email.trusted_channel_required == ("forward", "send")


def test_maps_merge_key_by_key_and_scalars_are_replaced() -> None:
    policy = over(
        "mode: paranoid\nsettings: {safe: auto}\ncategories: {two: pairs}\nconsent_decay: {enabled: false}\n"
        "vip_contacts: {bo: bo@example.com}\noperations: {email.send: {risk: low}}"
    ).policy
    assert policy.mode is Mode.PARANOID
    assert (policy.settings.safe, policy.settings.unlisted) == ("auto", "block")
    assert policy.categories == {"one": "one thing", "two": "pairs"}
    assert (policy.decay.enabled, policy.decay.review_interval_days) == (False, 10)
    assert set(policy.vip_contacts) == {"ana", "bo"}
    assert policy.operations["email.send"].risk is Risk.LOW
    assert policy.operations["email.send"].reason == "sends a message"


def test_slash_commands_and_workflows_are_replaced_name_by_name() -> None:
    policy = over(
        "slash_commands: {/mail: {operations: [email.read]}}\nworkflows: {v: {operations: [email.read]}}"
    ).policy
    assert policy.slash_commands["/mail"].operations == ("email.read",)
    assert policy.workflows["w"].operations == ("email.read", "email.send")
    assert policy.workflows["v"].operations == ("email.read",)


def test_the_tools_of_the_file_come_before_those_of_its_presets() -> None:
    policy = over("tools: [{tool: post, operation: email.forward}]").policy
    assert [tool.tool for tool in policy.tools] == ["post", "mail", "post"]
    assert policy.tools[0].operation == "email.forward"


def test_of_two_presets_the_later_is_right() -> None:
    policy = load_text("extends: [trusting, paranoid]")
    assert policy.mode is Mode.PARANOID
    assert policy.settings.trusting_remembers_high
    assert policy.entry("files.read").tier is Tier.AUTONOMOUS


def test_a_file_without_extends_stands_alone() -> None:
    policy = load_text("mode: balanced")
    assert not policy.table


@pytest.mark.parametrize("list_name", ["autonomous", "requires_approval"])
def test_what_guards_the_guard_cannot_be_freed(list_name: str) -> None:
    lists = {"autonomous": "[]", "requires_approval": "[]", "blocked": "[]"} | {list_name: "[modify_policy]"}
    body = ", ".join(f"{name}: {value}" for name, value in lists.items())
    with pytest.raises(PolicyProblems, match=r"self_modification\.modify_policy stays blocked"):
        load_text(f"extends: [balanced]\ndomains: {{self_modification: {{{body}}}}}")


@pytest.mark.parametrize("list_name", ["autonomous", "requires_approval"])
@pytest.mark.parametrize("top", ["mode: balanced\ndomains:\n  ", ""], ids=["without extends", "graph form"])
def test_what_guards_the_guard_cannot_be_freed_by_a_file_that_stands_alone(list_name: str, top: str) -> None:
    lists = {"autonomous": "[]", "requires_approval": "[]", "blocked": "[]"} | {
        list_name: "[dream, stop_guard]"
    }
    body = ", ".join(f"{name}: {value}" for name, value in lists.items())
    with pytest.raises(PolicyProblems) as caught:
        load_text(f"{top}self_modification: {{{body}}}")
    (problem,) = caught.value.problems
    assert problem.message == "self_modification.stop_guard stays blocked"
    assert (
        problem.column
        == len(top.rpartition("\n")[2]) + f"self_modification: {{{body}}}".index("stop_guard") + 1
    )


def test_a_file_that_stands_alone_may_block_what_guards_the_guard() -> None:
    lists = "autonomous: [], requires_approval: [], blocked: [stop_guard]"
    assert (
        load_text(f"self_modification: {{{lists}}}").entry("self_modification.stop_guard").tier
        is Tier.BLOCKED
    )


def test_the_guard_can_be_added_to() -> None:
    lists = "autonomous: [], requires_approval: [], blocked: [dream]"
    text = f"extends: [balanced]\ndomains: {{self_modification: {{{lists}}}}}"
    blocked = set(load_text(text).domains["self_modification"].blocked)
    assert blocked == {*load_preset("balanced").domains["self_modification"].blocked, "dream"}

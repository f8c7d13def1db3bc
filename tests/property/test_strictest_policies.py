"""Two policies joined: whatever is asked, the answer is no looser than under either of them."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from sayso.core.deciding.decide import decide
from sayso.core.errors import MalformedRequest
from sayso.core.model import Mode, Risk
from sayso.core.policy import NEVER_REVIEWED, Detail, Policy, Settings, compile_policy, with_mode
from sayso.policy import load_preset, load_text
from sayso.policy.compare.diff import compare_policies
from sayso.policy.compare.strictest import ask_always, block_domains, join_strictest, tightens_only
from tests.property.draws import DAY, NOW, likely
from tests.property.shrinking import WORLDS, hold
from tests.property.worlds import RULE_NAMES, World, _policy

RANKS = {"SILENT": 0, "VISIBLE": 1, "FORCED": 2, "BLOCKED": 3}


def rank(world: World, policy: Policy) -> int:
    try:
        return RANKS[decide(world.request, policy, world.view, world.now).outcome]
    except MalformedRequest:
        return RANKS["BLOCKED"]


def another(world: World, rng: Random, digest: str) -> Policy:
    """Another policy about the same operations; mostly the same one with a part or two of another."""
    other = _policy(rng, rng.choice(RULE_NAMES), world.request)
    if likely(rng, 0.3):
        return msgspec.structs.replace(other, digest=digest)
    own = world.policy
    parts: dict[str, Any] = {name: getattr(own, name) for name in PARTS}
    parts["settings"] = msgspec.structs.replace(own.settings, lock_mode=likely(rng, 0.1))
    match rng.choice(("setting", "decay", "mode", "domain", "review", "operation", "operation")):
        case "setting":
            name = rng.choice(Settings.__struct_fields__)
            parts["settings"] = msgspec.structs.replace(own.settings, **{name: getattr(other.settings, name)})
        case "decay" | "mode" as name:
            parts[name] = getattr(other, name)
        case "domain":
            parts["domains"] = {**own.domains, **other.domains}
        case "review":
            dates = (None, NOW - 5 * DAY, NOW - 40 * DAY, NOW + 1, NEVER_REVIEWED)
            parts["domains"] = {
                name: msgspec.structs.replace(one, last_reviewed=rng.choice(dates))
                for name, one in own.domains.items()
            }
        case _:
            parts["operations"] = {name: _change_detail(rng, own, name) for name in own.table}
    return compile_policy(**parts, digest=digest)


PARTS = ("mode", "settings", "decay", "domains", "operations", "categories", "slash_commands")


def _change_detail(rng: Random, policy: Policy, name: str) -> Detail:
    detail = policy.operations.get(name, Detail())
    changes: tuple[dict[str, Any], ...] = (
        {"always_ask": not detail.always_ask},
        {"risk": rng.choice((None, *Risk))},
        {"weight": rng.choice((None, *Risk))},
        {"category": rng.choice((None, "edits", "remote"))},
        {"confidence_bypass": rng.choice((None, True, False))},
        {"preset": not detail.preset},
    )
    return msgspec.structs.replace(detail, **rng.choice(changes))


def test_no_decision_under_both_is_looser_than_under_either() -> None:
    def check(world: World) -> None:
        rng = Random(world.request.digest + str(world.policy.settings))
        a, b = world.policy, another(world, rng, "another")
        c = another(world, rng, "a third")
        wish = rng.choice((None, *Mode))
        joined = join_strictest(join_strictest(a, b, NOW), c, NOW)
        strictest = max(rank(world, with_mode(one, wish)) for one in (a, b, c))
        assert rank(world, with_mode(joined, wish)) >= strictest

    hold(check, seed=150, count=WORLDS // 4)


def test_what_tightens_only_is_nowhere_looser() -> None:
    seen = set()

    def check(world: World) -> None:
        rng = Random(world.request.digest + str(world.policy.settings))
        a = world.policy
        b = another(world, rng, "another")
        if likely(rng, 0.5):  # a few steps on the way to a policy that is stricter for sure
            joined = join_strictest(a, b, NOW)
            b = msgspec.structs.replace(joined, readings=(), table=a.table, operations=a.operations)
        only = tightens_only(a, b)
        seen.add(only)
        if only:
            wish = rng.choice((None, *Mode))
            assert rank(world, with_mode(b, wish)) >= rank(world, with_mode(a, wish))

    hold(check, seed=151, count=60)
    assert seen == {True, False}


def test_asking_always_and_blocking_domains_loosen_nothing() -> None:
    def check(world: World) -> None:
        was = rank(world, world.policy)
        assert rank(world, ask_always(world.policy)) >= was
        domains = frozenset(one.name.partition(".")[0] for one in world.request.operations)
        assert rank(world, block_domains(world.policy, domains)) == RANKS["BLOCKED"]

    hold(check, seed=152, count=WORLDS // 3)


@pytest.mark.parametrize(("a", "b"), [("balanced", "coding")])
def test_no_decision_of_a_preset_is_loosened_by_joining_another(a: str, b: str) -> None:
    first, second = load_preset(a), load_preset(b)
    joined = join_strictest(first, second, NOW)
    for one in (first, second):
        assert compare_policies(one, joined).loosened == ()


def small(lists: str, more: str = "") -> Policy:
    return load_text(f"domains:\n  mail: {{{lists}}}\n{more}")


def test_a_policy_that_only_moves_actions_to_stricter_lists_tightens_only() -> None:
    a = small("autonomous: [read], requires_approval: [send], blocked: []")
    b = small("autonomous: [], requires_approval: [read], blocked: [send]")
    assert tightens_only(a, b)
    assert not tightens_only(b, a)


@pytest.mark.parametrize(
    "looser",
    [
        "settings: {approval_lasts: 1h}",
        "settings: {lock_mode: true}",
        "consent_decay: {review_interval_days: 60}",
        "vip_contacts: {ana: ana@example.org}",
        "tools: [{tool: post, operation: mail.send}]",
        "programs: {frobnicate: {risk: low}}",
        "operations: {mail.send: {risk: low}}",
    ],
)
def test_what_may_loosen_does_not_tighten_only(looser: str) -> None:
    lists = "autonomous: [read], requires_approval: [send], blocked: []"
    try:
        b = small(lists, looser)
    except Exception as error:
        raise AssertionError(str(error)) from error
    assert not tightens_only(small(lists), b)


@pytest.mark.parametrize(
    ("shorter", "as_long"), [("cooling_period_hours: 1.5", 2), ("undo_window_days: 6", 7)]
)
def test_a_time_below_the_usual_one_does_not_tighten_where_none_was_named(shorter: str, as_long: int) -> None:
    lists = "autonomous: [read], requires_approval: [send], blocked: []"
    name = shorter.partition(":")[0]
    assert not tightens_only(small(lists), small(f"{lists}, {shorter}"))
    assert tightens_only(small(lists), small(f"{lists}, {name}: {as_long}"))
    assert tightens_only(small(f"{lists}, {shorter}"), small(lists))


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("operations: {mail.send: {reason: leaves}}", "operations: {mail.send: {reason: is harmless}}"),
        ("operations: {mail.send: {reason: leaves}}", ""),
        ("categories: {out: sends to strangers}", "categories: {out: reads a file}"),
    ],
)
def test_other_words_for_what_people_are_asked_about_wait(words: str, others: str) -> None:
    lists = "autonomous: [read], requires_approval: [send], blocked: []"
    marked = "operations: {mail.send: {category: out}}\n" if "categories" in words else ""
    a, b = small(lists, marked + words), small(lists, marked + others)
    assert not tightens_only(a, b)
    joined = join_strictest(a, b, NOW).entry("mail.send")
    assert (joined.reason, joined.category_words) == (
        a.entry("mail.send").reason,
        a.entry("mail.send").category_words,
    )


def test_a_later_review_date_waits_and_the_earlier_one_counts() -> None:
    def dated(day: str) -> Policy:
        return small(f"autonomous: [read], requires_approval: [], blocked: [], last_reviewed: {day}")

    old, new = dated("2026-12-01"), dated("2026-12-20")
    assert not tightens_only(old, new)
    joined = join_strictest(old, new, NOW)
    assert joined.entry("mail.read").last_reviewed == old.entry("mail.read").last_reviewed


@pytest.mark.parametrize(
    ("name", "one", "other", "joined"),
    [
        ("safe", "auto", "imperative", "ask"),
        ("safe", "ask", "auto", "ask"),
        ("unlisted", "ask", "block", "block"),
        ("risky_grants", "standing", "once", "once"),
        ("grant_pins", "operation", "exact", "exact"),
        ("on_failure", "keep_identical", "clear", "clear"),
        ("task_idle_turns", 10, 3, 3),
        ("question_lasts", 60.0, 7_200.0, 60.0),
        ("open_questions", 20, 5, 5),
        ("questions_per_hour", 60, 6, 6),
        ("trust_hook_messages", True, False, False),
        ("trusting_remembers_high", True, False, False),
    ],
)
def test_of_each_setting_the_stricter_value_counts(name: str, one: Any, other: Any, joined: Any) -> None:
    a = compile_policy(settings=Settings(**{name: one}), digest="a")
    b = compile_policy(settings=Settings(**{name: other}), digest="b")
    for first, second in ((a, b), (b, a)):
        assert getattr(join_strictest(first, second, NOW).settings, name) == joined


def test_content_that_one_policy_watches_is_watched() -> None:
    lists = "autonomous: [read], requires_approval: [], blocked: []"
    plain = small(lists)
    watching = small(f"{lists}, fan_out: single, content_from: content")
    for first, second in ((plain, watching), (watching, plain)):
        assert join_strictest(first, second, NOW).entry("mail.read").fan_out

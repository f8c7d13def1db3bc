"""The compiled policy: what holds unwritten, what an entry gathers, when a permission decays."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.errors import MalformedRequest
from sayso.core.model import Mode, Risk, Tier
from sayso.core.policy import (
    MARK_ALWAYS_ASK,
    MARK_AUTONOMOUS,
    MARK_CONFIDENT,
    MARK_FAN_OUT,
    MARK_TRUSTED_CHANNEL,
    NEVER_REVIEWED,
    Decay,
    Detail,
    Domain,
    Entry,
    Policy,
    PolicyWorkflow,
    Settings,
    SlashCommand,
    Tool,
    compile_policy,
    decayed,
    fold_spelling,
    with_mode,
)

NOW = 1_800_000_000.0
DAY = 86_400.0


def test_where_nothing_is_written_the_cautious_value_holds() -> None:
    assert msgspec.structs.asdict(Settings()) == {
        "confidence_threshold": 0.85,
        "confidence_bypass": False,
        "safe": "auto",
        "risky_grants": "once",
        "unlisted": "ask",
        "trusting_remembers_high": False,
        "lock_mode": False,
        "grant_pins": "exact",
        "on_failure": "keep_identical",
        "task_idle_turns": 10,
        "notices": None,
        "trust_hook_messages": False,
        "question_lasts": 7200.0,
        "approval_lasts": 900.0,
        "open_questions": 20,
        "questions_per_hour": 60,
    }
    assert Decay() == Decay(enabled=True, review_interval_days=30.0)
    domain, detail = Domain(), Detail()
    assert (domain.require_diff, domain.confidence_bypass, domain.fan_out) == (False, None, "any")
    assert (detail.always_ask, detail.confidence_bypass, detail.risk) == (False, None, None)
    entry = Entry("git.commit", "git", None, "git.commit", "git.commit")
    marks = (entry.always_ask, entry.confidence_bypass, entry.trusted_channel, entry.fan_out)
    assert not any(marks)


def test_an_empty_policy_is_balanced_and_holds_nothing() -> None:
    assert compile_policy() == Policy(
        mode=Mode.BALANCED,
        settings=Settings(),
        decay=Decay(),
        domains={},
        operations={},
        categories={},
        tools=(),
        slash_commands={},
        workflows={},
        vip_contacts={},
        family_contacts={},
        digest="",
        tools_named={},
        tools_like=(),
        tools_folded={},
        own_tools=frozenset(),
        table={},
        folded={},
    )


def test_all_that_is_written_is_in_the_policy() -> None:
    written = {
        "mode": Mode.TRUSTING,
        "settings": Settings(lock_mode=True),
        "decay": Decay(enabled=False),
        "domains": {"git": Domain(("status",))},
        "operations": {"git.status": Detail(risk=Risk.LOW)},
        "categories": {"git-local": "work with git"},
        "tools": (Tool("shell"),),
        "slash_commands": {"/go": SlashCommand(("git.status",))},
        "workflows": {"digest": PolicyWorkflow(("git.status",))},
        "vip_contacts": {"ana": "ana@example.org"},
        "family_contacts": {"bo": "bo@example.org"},
        "digest": "policy-1",
    }
    policy = compile_policy(**written)  # type: ignore[arg-type]
    assert {name: getattr(policy, name) for name in written} == written


LISTS = Domain(
    autonomous=("a", "ab", "ac"),
    requires_approval=("b", "ab", "bc"),
    blocked=("c", "ac", "bc"),
    trusted_channel_required=("b", "d"),
    confidence_bypass=True,
    fan_out="single",
    content_from="body",
    last_reviewed=NOW,
)
DETAILS = {
    "some.b": Detail(Risk.HIGH, Risk.LOW, "work", True, False, "it is slow"),
    "some.e": Detail(),
    "other.f": Detail(risk=Risk.LOW),
}
POLICY = compile_policy(domains={"some": LISTS}, operations=DETAILS, categories={"work": "some work"})


def test_the_table_names_each_operation_once_in_the_order_written() -> None:
    actions = ["some.a", "some.ab", "some.ac", "some.b", "some.bc", "some.c", "some.d", "some.e", "other.f"]
    assert list(POLICY.table) == actions


@pytest.mark.parametrize(
    ("name", "tier", "floor"),
    [
        ("some.a", Tier.AUTONOMOUS, Risk.LOW),
        ("some.ab", Tier.REQUIRES_APPROVAL, Risk.MODERATE),
        ("some.ac", Tier.BLOCKED, Risk.HIGH),
        ("some.bc", Tier.BLOCKED, Risk.HIGH),
        ("some.b", Tier.REQUIRES_APPROVAL, Risk.HIGH),
        ("some.c", Tier.BLOCKED, Risk.HIGH),
        ("some.d", None, None),
        ("some.e", None, None),
        ("other.f", None, Risk.LOW),
        ("nowhere.g", None, None),
    ],
)
def test_the_strictest_list_is_the_tier_and_gives_the_risk_if_the_policy_names_none(
    name: str, tier: Tier | None, floor: Risk | None
) -> None:
    entry = POLICY.entry(name)
    assert (entry.tier, entry.floor) == (tier, floor)


def test_an_entry_gathers_what_domain_and_detail_say() -> None:
    assert POLICY.entry("some.b") == Entry(
        name="some.b",
        domain="some",
        tier=Tier.REQUIRES_APPROVAL,
        category="work",
        category_words="some work",
        risk=Risk.HIGH,
        weight=Risk.LOW,
        always_ask=True,
        confidence_bypass=False,
        trusted_channel=True,
        fan_out=True,
        content_from="body",
        reason="it is slow",
        last_reviewed=NOW,
        floor=Risk.HIGH,
    )
    unlisted = POLICY.entry("some.z")
    assert (unlisted.domain, unlisted.category, unlisted.category_words) == ("some", "some.z", "some.z")
    assert (unlisted.confidence_bypass, unlisted.trusted_channel, unlisted.fan_out) == (True, False, True)


@pytest.mark.parametrize("everywhere", [False, True])
def test_whether_confidence_counts_is_said_by_the_operation_else_its_domain_else_the_settings(
    everywhere: bool,
) -> None:
    policy = compile_policy(
        settings=Settings(confidence_bypass=everywhere), domains={"some": LISTS, "git": Domain(("status",))}
    )
    assert policy.entry("some.a").confidence_bypass
    assert policy.entry("git.status").confidence_bypass is everywhere


@pytest.mark.parametrize("name", ["SOME.a", "some .a", "some\u200b.a", "\uff53ome.a"])
def test_a_name_that_only_looks_like_a_known_one_is_refused(name: str) -> None:
    assert fold_spelling(name) == "some.a"
    with pytest.raises(MalformedRequest):
        POLICY.entry(name)


def test_the_first_wish_for_a_mode_counts_unless_the_mode_is_locked() -> None:
    assert with_mode(POLICY) is POLICY
    assert with_mode(POLICY, None, None) is POLICY
    assert with_mode(POLICY, None, Mode.PARANOID, Mode.TRUSTING).mode is Mode.PARANOID
    locked = msgspec.structs.replace(POLICY, settings=Settings(lock_mode=True))
    assert with_mode(locked, Mode.TRUSTING) is locked


@pytest.mark.parametrize(
    ("written", "reviewed", "gone"),
    [
        (None, None, True),
        (None, NOW - 30 * DAY, True),
        (None, NOW - 30 * DAY + 1, False),
        (NOW, None, False),
        (NOW + 1, None, True),
        (NOW + 1, NOW, True),
        (NEVER_REVIEWED, NOW, True),
        (NOW - 30 * DAY, None, True),
        (NOW - 30 * DAY + 1, None, False),
        (NOW - 40 * DAY, NOW - DAY, False),
        (NOW - DAY, NOW - 40 * DAY, False),
        (NOW - 40 * DAY, NOW - 40 * DAY, True),
    ],
)
def test_a_permission_decays_thirty_days_after_its_last_review_and_at_once_with_a_date_ahead(
    written: float | None, reviewed: float | None, gone: bool
) -> None:
    domains = {"git": Domain(("status",), last_reviewed=written)}
    policy = compile_policy(domains=domains)
    entry = policy.entry("git.status")
    assert decayed(policy, entry, reviewed, NOW) is gone
    kept = compile_policy(domains=domains, decay=Decay(enabled=False))
    assert not decayed(kept, entry, reviewed, NOW)


def test_an_entry_that_was_changed_has_the_marks_of_what_it_says_now() -> None:
    """A mark that was left behind would leave out the check that has to speak."""
    plain = Entry("a.b", "a", Tier.REQUIRES_APPROVAL, "a.b", "a.b")
    assert plain.marks == 0
    channel = msgspec.structs.replace(plain, trusted_channel=True)
    assert channel.marks == MARK_TRUSTED_CHANNEL
    assert msgspec.structs.replace(channel, trusted_channel=False, marks=MARK_ALWAYS_ASK).marks == 0
    assert (
        msgspec.structs.replace(plain, always_ask=True, fan_out=True).marks == MARK_ALWAYS_ASK | MARK_FAN_OUT
    )
    assert msgspec.structs.replace(plain, tier=Tier.AUTONOMOUS, confidence_bypass=True).marks == (
        MARK_AUTONOMOUS | MARK_CONFIDENT
    )

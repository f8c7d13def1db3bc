"""Two policies joined into one that is at least as strict as both, and the quick proof that one tightens.

Where a policy file differs from the policy in force, both hold until the operator has chosen:

- An operation that either blocks is blocked. One that they say different things of is asked about every time,
  unless what differs has an order: a mark, a review date, `always_ask`, `confidence_bypass`, an accepted
  reading.
- Of each setting the stricter value counts; where values have no order, the one that allows nothing.
- Both read each call, and what they find adds up. So neither tools nor contacts nor programs are compared.
- Slash commands, workflows and phrases of assent count as far as both have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from sayso.core.digest import sha256
from sayso.core.errors import MalformedRequest
from sayso.core.grants import NEVER
from sayso.core.model import Mode, Risk, Tier
from sayso.core.policy import (
    COOLING_HOURS,
    NEVER_REVIEWED,
    STRICTNESS,
    UNDO_DAYS,
    Decay,
    Domain,
    Entry,
    Policy,
    PolicyWorkflow,
    Settings,
    SlashCommand,
    compile_policy,
)
from sayso.core.team import join_teams
from sayso.core.text.phrases import Phrases
from sayso.policy.compare.diff import find_loosened, names_declaring, operations_to_compare
from sayso.policy.compare.other_changes import find_other_changes

MOST_READINGS = 16
"""How many policies may read a call. If more wait to be applied, everything is blocked until one is."""
MOST_COMPARED = 40
"""How many operations are compared in every situation at a change; beyond that a change has to be applied."""
NOWHERE = Entry("", "", Tier.BLOCKED, "", "")
"""Stands for an operation that both policies refuse to name."""
T = TypeVar("T")


def join_strictest(a: Policy, b: Policy, now: float) -> Policy:
    """The policy under which nothing is decided more loosely than under either of the two, from now on."""
    tightened = _join_times(a.tightened, b.tightened)
    if b.digest in (a.digest, *a.joined):
        return msgspec.structs.replace(a, tightened=tightened) if b.tightened else a
    settings = _join_settings(a.settings, b.settings)
    reviewed = {name: _join_reviews(a, b, name, now) for name in {**a.domains, **b.domains}}
    table = {name: _join_entries(name, a, b, settings, reviewed) for name in {**a.table, **b.table}}
    parts = tuple(dict.fromkeys((*(a.joined or (a.digest,)), *(b.joined or (b.digest,)))))
    joined = compile_policy(
        mode=_join_modes(a, b),
        settings=settings,
        decay=Decay(
            a.decay.enabled or b.decay.enabled,
            min(a.decay.review_interval_days, b.decay.review_interval_days),
        ),
        domains={name: _join_domains(name, a, b, table, reviewed[name]) for name in reviewed},
        operations={**b.operations, **a.operations},
        digest=sha256("\n".join(("strictest", *sorted(parts))).encode()),
        categories={**b.categories, **a.categories},
        tools=(*a.tools, *b.tools),
        own_tools=a.own_tools | b.own_tools,
        slash_commands=_join_slash_commands(a.slash_commands, b.slash_commands),
        workflows=_join_workflows(a.workflows, b.workflows),
        vip_contacts=_what_both_have(a.vip_contacts, b.vip_contacts),
        family_contacts=_what_both_have(a.family_contacts, b.family_contacts),
        phrases=_join_phrases(a.phrases, b.phrases),
        programs=_what_both_have(a.programs, b.programs),
        team=join_teams(a.team, b.team),
    )
    joined = msgspec.structs.replace(
        joined,
        table=table,
        folded={**b.folded, **a.folded},
        readings=_distinct_readings(a, b),
        joined=parts,
        barred_domains=a.barred_domains | b.barred_domains,
        tightened=tightened,
    )
    return joined if len(joined.readings) <= MOST_READINGS else block_domains(joined, frozenset(reviewed))


def _join_times(a: Mapping[str, float], b: Mapping[str, float]) -> Mapping[str, float]:
    """The later time of each operation."""
    return {name: max(one.get(name, NEVER) for one in (a, b)) for name in {**a, **b}}


def tightens_only(a: Policy, b: Policy) -> bool:
    """Return whether b is provably nowhere looser than a. Quick: in doubt it is not.

    Operations of which they say the same need no look where the settings are no looser.
    """
    if a.readings or b.readings or not settings_tighten_only(a, b):
        return False
    if any(change.loosens for change in find_other_changes(a, b)):
        return False
    changed = [name for name in operations_to_compare(a, b) if _differs(name, a, b)]
    return len(changed) <= MOST_COMPARED and not any(find_loosened(name, a, b) for name in changed)


def block_domains(policy: Policy, domains: frozenset[str]) -> Policy:
    """The same policy with everything in these domains blocked, listed or not."""
    table = {
        name: msgspec.structs.replace(entry, tier=Tier.BLOCKED) if entry.domain in domains else entry
        for name, entry in policy.table.items()
    }
    marked = sha256("\n".join(("blocked", policy.digest, *sorted(domains))).encode())
    return msgspec.structs.replace(
        policy, table=table, barred_domains=policy.barred_domains | domains, digest=marked
    )


def block_all(policy: Policy) -> Policy:
    """The same policy with everything blocked, known or not."""
    settings = msgspec.structs.replace(policy.settings, unlisted="block")
    blocked = block_domains(
        policy, frozenset((*policy.domains, *(one.domain for one in policy.table.values())))
    )
    return msgspec.structs.replace(blocked, settings=settings, slash_commands={})


def ask_always(policy: Policy) -> Policy:
    """The same policy with a question before every call that it does not block."""
    settings = msgspec.structs.replace(policy.settings, lock_mode=True, safe="ask")
    table = {name: msgspec.structs.replace(one, always_ask=True) for name, one in policy.table.items()}
    digest = sha256(f"asks always\n{policy.digest}".encode())
    return msgspec.structs.replace(
        policy, mode=Mode.PARANOID, settings=settings, table=table, digest=digest, slash_commands={}
    )


def _differs(name: str, a: Policy, b: Policy) -> bool:
    if find_entry(name, a) != find_entry(name, b):
        return True
    return any(
        names_declaring(getattr(a, kind).items(), name) != names_declaring(getattr(b, kind).items(), name)
        for kind in ("slash_commands", "workflows")
    )


def settings_tighten_only(a: Policy, b: Policy) -> bool:
    """Return whether mode, decay and the settings that decide are the same in b, or stricter."""
    strict = _join_settings(a.settings, b.settings)
    decay = (not a.decay.enabled or b.decay.enabled) and (
        b.decay.review_interval_days <= a.decay.review_interval_days
    )
    same = msgspec.structs.replace(b.settings, notices=strict.notices) == strict
    alike = a.settings.lock_mode == b.settings.lock_mode
    return decay and same and alike and STRICTNESS[b.mode] >= STRICTNESS[a.mode]


def _join_modes(a: Policy, b: Policy) -> Mode:
    """The stricter mode. If only one of them is locked, no mode is stricter whatever the user chooses."""
    if a.settings.lock_mode != b.settings.lock_mode:
        return Mode.PARANOID
    return max(a.mode, b.mode, key=lambda mode: STRICTNESS[mode])


def _join_settings(a: Settings, b: Settings) -> Settings:
    return Settings(
        confidence_threshold=max(a.confidence_threshold, b.confidence_threshold),
        confidence_bypass=a.confidence_bypass and b.confidence_bypass,
        safe=a.safe if a.safe == b.safe else "ask",
        risky_grants="once" if "once" in (a.risky_grants, b.risky_grants) else "standing",
        unlisted="block" if "block" in (a.unlisted, b.unlisted) else "ask",
        trusting_remembers_high=a.trusting_remembers_high and b.trusting_remembers_high,
        lock_mode=a.lock_mode or b.lock_mode,
        grant_pins="exact" if "exact" in (a.grant_pins, b.grant_pins) else "operation",
        on_failure="clear" if "clear" in (a.on_failure, b.on_failure) else "keep_identical",
        task_idle_turns=min(a.task_idle_turns, b.task_idle_turns),
        notices=a.notices,
        trust_hook_messages=a.trust_hook_messages and b.trust_hook_messages,
        question_lasts=min(a.question_lasts, b.question_lasts),
        approval_lasts=min(a.approval_lasts, b.approval_lasts),
        open_questions=min(a.open_questions, b.open_questions),
        questions_per_hour=min(a.questions_per_hour, b.questions_per_hour),
    )


def find_entry(name: str, policy: Policy) -> Entry | None:
    """What the policy says of an operation; None if it refuses the name as a look-alike of another."""
    try:
        return policy.entry(name)
    except MalformedRequest:
        return None


def _join_entries(
    name: str, a: Policy, b: Policy, settings: Settings, reviewed: Mapping[str, float | None]
) -> Entry:
    first, second = find_entry(name, a), find_entry(name, b)
    blocked = _is_blocked(first, a) or _is_blocked(second, b)
    one, other = first or second or NOWHERE, second or first or NOWHERE
    marks = {
        "always_ask": one.always_ask or other.always_ask,
        "confidence_bypass": one.confidence_bypass
        and other.confidence_bypass
        and a.settings.notices == b.settings.notices,
        "trusted_channel": one.trusted_channel or other.trusted_channel,
        "fan_out": one.fan_out or other.fan_out,
        "accepted": one.accepted and other.accepted,
        "content_from": one.content_from or other.content_from,
        "last_reviewed": reviewed.get(one.domain),
        "reason": one.reason or other.reason,
        "category_words": one.category_words,
        "approvals": tuple(dict.fromkeys((*one.approvals, *other.approvals))),
    }
    one, other = msgspec.structs.replace(one, **marks), msgspec.structs.replace(other, **marks)
    if one != other:
        one = _ask_every_time(one, other)
    return msgspec.structs.replace(one, tier=Tier.BLOCKED) if blocked else one


def _is_blocked(entry: Entry | None, policy: Policy) -> bool:
    if entry is None or entry.tier is Tier.BLOCKED:
        return True
    return entry.tier is None and policy.settings.unlisted == "block"


def _ask_every_time(one: Entry, other: Entry) -> Entry:
    """The entry of an operation that the two say different things of. Declarations can still raise it."""
    floor = max(entry.floor if entry.floor is not None else Risk.MODERATE for entry in (one, other))
    weights = [weight for weight in (one.weight, other.weight) if weight is not None]
    same = one.category == other.category
    return msgspec.structs.replace(
        one,
        tier=one.tier if one.tier is other.tier else Tier.REQUIRES_APPROVAL,
        category=one.category if same else one.name,
        category_words=one.category_words if same else one.name,
        risk=floor,
        floor=floor,
        preset=True,
        weight=max(weights, default=None),
        always_ask=True,
        accepted=False,
        confidence_bypass=False,
        named=True,
    )


def _join_reviews(a: Policy, b: Policy, domain: str, now: float) -> float | None:
    """The review date of a domain: the earlier one. Dates without an order count as never reviewed."""
    first, second = (one.domains.get(domain, Domain()).last_reviewed for one in (a, b))
    if first == second:
        return first
    if first is None or second is None or max(first, second) > now:
        return NEVER_REVIEWED
    return min(first, second)


def _join_domains(
    name: str, a: Policy, b: Policy, table: Mapping[str, Entry], reviewed: float | None
) -> Domain:
    first, second = a.domains.get(name, Domain()), b.domains.get(name, Domain())
    entries = [entry for entry in table.values() if entry.domain == name]

    def actions(tier: Tier) -> tuple[str, ...]:
        return tuple(entry.name.partition(".")[2] for entry in entries if entry.tier is tier)

    return Domain(
        autonomous=actions(Tier.AUTONOMOUS),
        requires_approval=actions(Tier.REQUIRES_APPROVAL),
        blocked=actions(Tier.BLOCKED),
        trusted_channel_required=tuple(
            dict.fromkeys((*first.trusted_channel_required, *second.trusted_channel_required))
        ),
        trust_level=first.trust_level if first.trust_level == second.trust_level else "low",
        cooling_period_hours=_longer(first.cooling_period_hours, second.cooling_period_hours, COOLING_HOURS),
        undo_window_days=_longer(first.undo_window_days, second.undo_window_days, UNDO_DAYS),
        require_diff=first.require_diff or second.require_diff,
        confidence_bypass=first.confidence_bypass
        if first.confidence_bypass == second.confidence_bypass
        else False,
        fan_out="single" if "single" in (first.fan_out, second.fan_out) else "any",
        content_from=first.content_from or second.content_from,
        last_reviewed=reviewed,
    )


def _longer(a: float | None, b: float | None, usual: float) -> float | None:
    return None if a is None and b is None else max(usual if one is None else one for one in (a, b))


def _join_slash_commands(
    a: Mapping[str, SlashCommand], b: Mapping[str, SlashCommand]
) -> dict[str, SlashCommand]:
    return {
        name: SlashCommand(_in_both(one.operations, b[name].operations), one.query)
        for name, one in a.items()
        if name in b and b[name].query == one.query
    }


def _join_workflows(
    a: Mapping[str, PolicyWorkflow], b: Mapping[str, PolicyWorkflow]
) -> dict[str, PolicyWorkflow]:
    """A workflow that only one policy knows keeps its limits: without any it could declare everything."""
    both = {name: PolicyWorkflow(_in_both(a[name].operations, b[name].operations)) for name in a if name in b}
    return {**b, **a, **both}


def _join_phrases(a: Phrases, b: Phrases) -> Phrases:
    return Phrases(
        stop=tuple(dict.fromkeys((*a.stop, *b.stop))),
        refuse=tuple(dict.fromkeys((*a.refuse, *b.refuse))),
        assent=_in_both(a.assent, b.assent),
    )


def _in_both(a: tuple[T, ...], b: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(one for one in a if one in b)


def _what_both_have(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in a.items() if b.get(name) == value}


def _distinct_readings(a: Policy, b: Policy) -> tuple[Policy, ...]:
    """The policies that read a call, each way of reading once."""
    found: list[Policy] = []
    for one in (*(a.readings or (a,)), *(b.readings or (b,))):
        if not any(reads_alike(one, other) for other in found):
            found.append(one)
    return tuple(found)


def reads_alike(a: Policy, b: Policy) -> bool:
    """Return whether the two read every call in the same way."""
    parts = ("tools", "own_tools", "vip_contacts", "family_contacts", "programs")
    return (
        all(getattr(a, part) == getattr(b, part) for part in parts)
        and a.table.keys() == b.table.keys()
        and _lists_of(a) == _lists_of(b)
    )


def _lists_of(policy: Policy) -> dict[str, tuple[frozenset[str], str | None]]:
    return {
        name: (frozenset((*one.autonomous, *one.requires_approval, *one.blocked)), one.content_from)
        for name, one in policy.domains.items()
    }

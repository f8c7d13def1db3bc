"""The policy: immutable, and compiled once to tables, so that its size does not cost time."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

import msgspec

from sayso.core.command_arguments import may_be_accepted
from sayso.core.durations import APPROVAL_LASTS, DAY, HOUR, MINUTE, QUESTION_LASTS
from sayso.core.errors import MalformedRequest
from sayso.core.model import Mode, Risk, Tier
from sayso.core.team import NO_TEAM, ApprovalRule, Team, terms_of_rules
from sayso.core.text.mcp_names import find_twins, is_spelled_mcp
from sayso.core.text.phrases import Phrases

GUARDED_DOMAIN = "self_modification"
"""The domain of what would change the guard itself."""
UNLISTED_TOOLS = "tools"
"""The domain of tools that no entry fits."""


class Settings(msgspec.Struct, frozen=True):
    confidence_threshold: float = 0.85
    confidence_bypass: bool = False
    safe: Literal["auto", "imperative", "ask"] = "auto"
    risky_grants: Literal["once", "standing"] = "once"
    unlisted: Literal["ask", "block"] = "ask"
    trusting_remembers_high: bool = False
    lock_mode: bool = False
    grant_pins: Literal["exact", "operation"] = "exact"
    on_failure: Literal["keep_identical", "clear"] = "keep_identical"
    task_idle_turns: int = 10
    notices: str | None = None
    trust_hook_messages: bool = False
    question_lasts: float = QUESTION_LASTS
    """Seconds until a question that nobody answered is over."""
    approval_lasts: float = APPROVAL_LASTS
    """Seconds after the answer for which an approval can be used."""
    open_questions: int = 20
    questions_per_hour: int = 60

    def approval_of(self, risk: Risk) -> float:
        """Return how long an approval at this risk can be used.

        High risk: ten minutes, or as long as others where that is shorter. Only a setting above the default
        of 15 minutes lengthens it, to one hour at most.
        """
        if risk < Risk.HIGH:
            return self.approval_lasts
        longest = 10 * MINUTE if self.approval_lasts <= APPROVAL_LASTS else HOUR
        return min(self.approval_lasts, longest)


class Decay(msgspec.Struct, frozen=True):
    """When autonomous permissions fall back to requires_approval unless somebody reviewed them."""

    enabled: bool = True
    review_interval_days: float = 30.0


COOLING_HOURS, UNDO_DAYS = 2.0, 7.0
"""What counts for a domain that says nothing of it."""


class Domain(msgspec.Struct, frozen=True):
    """One domain as written: three lists of actions, marks, and details. `trust_level` never decides."""

    autonomous: tuple[str, ...] = ()
    requires_approval: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    trusted_channel_required: tuple[str, ...] = ()
    trust_level: Literal["low", "medium", "high"] | None = None
    cooling_period_hours: float | None = None
    undo_window_days: float | None = None
    require_diff: bool = False
    confidence_bypass: bool | None = None
    fan_out: Literal["single", "any"] = "any"
    content_from: str | None = None
    last_reviewed: float | None = None
    """Epoch seconds; NEVER_REVIEWED for a date that could not be read, which counts as decayed at once."""


NEVER_REVIEWED = float("inf")


class Detail(msgspec.Struct, frozen=True):
    """What an `operations` entry adds to an operation. It lists nothing."""

    risk: Risk | None = None
    weight: Risk | None = None
    category: str | None = None
    always_ask: bool = False
    confidence_bypass: bool | None = None
    reason: str | None = None
    preset: bool = False
    """The risk comes from a preset and not from the operator's own file: what code declares can raise it."""
    reading: Literal["accepted"] | None = None
    """The operator's risk stands although the operation's own row is riskier (SPEC 3)."""

    def accepts_reading(self, name: str) -> bool:
        """Return whether that counts: only beside a risk of the operator's own, for what may be accepted."""
        own = self.risk is not None and not self.preset
        return own and self.reading == "accepted" and may_be_accepted(name)


class Tool(msgspec.Struct, frozen=True):
    """How calls of a tool become operations: by name, or by a resolver that looks at the arguments."""

    tool: str
    operation: str | None = None
    resolve: Literal["recipient", "path", "patch", "url", "shell"] | None = None
    domain: str | None = None
    source: str | None = None
    context: str | None = None
    when: str | None = None
    risk: Risk | None = None
    target: str | None = None
    command: str | None = None
    ignore: tuple[str, ...] = ()
    title: str | None = None
    """How a call is told to people, as `Pay {amount} to {payee}`. It decides nothing."""

    @property
    def command_from(self) -> str | None:
        """The argument that is a command line: the one it names, or the one its shell reading reads."""
        return self.command or (self.source if self.resolve == "shell" else None)


class SlashCommand(msgspec.Struct, frozen=True):
    operations: tuple[str, ...] = ()
    query: Literal["allowlist", "consents"] | None = None


class PolicyWorkflow(msgspec.Struct, frozen=True):
    operations: tuple[str, ...] = ()


MARK_AUTONOMOUS, MARK_TRUSTED_CHANNEL, MARK_ALWAYS_ASK, MARK_FAN_OUT, MARK_CONFIDENT = 1, 2, 4, 8, 16


class Entry(msgspec.Struct, frozen=True):
    """Everything the policy says of one operation, in one look-up."""

    name: str
    domain: str
    tier: Tier | None
    category: str
    category_words: str
    risk: Risk | None = None
    weight: Risk | None = None
    always_ask: bool = False
    confidence_bypass: bool = False
    trusted_channel: bool = False
    fan_out: bool = False
    content_from: str | None = None
    reason: str | None = None
    last_reviewed: float | None = None
    preset: bool = False
    named: bool = True
    """Whether the policy names it, in a list, a mark or an `operations` entry."""
    floor: Risk | None = None
    """The risk if nothing else is declared; None for what is unlisted and the policy says nothing of."""
    approvals: tuple[ApprovalRule, ...] = ()
    """The team's rules for its domain. Each counts from its own risk on."""
    accepted: bool = False
    """Its risk and weight stand where only its own row reads the call as riskier."""
    marks: int = 0
    """Which checks have something to look at in this entry (`MARK_…`): always made of the other fields."""

    def __post_init__(self) -> None:
        """So an entry that was changed has the marks of what it says now, whatever it was made from."""
        marks = MARK_AUTONOMOUS if self.tier is Tier.AUTONOMOUS else 0
        if self.trusted_channel:
            marks |= MARK_TRUSTED_CHANNEL
        if self.always_ask or self.approvals:
            marks |= MARK_ALWAYS_ASK
        if self.fan_out:
            marks |= MARK_FAN_OUT
        if self.confidence_bypass:
            marks |= MARK_CONFIDENT
        msgspec.structs.force_setattr(self, "marks", marks)

    def asks_always(self, risk: Risk) -> bool:
        """Return whether it is asked about every time at this risk: by its mark, or by a rule of the team."""
        return self.always_ask or any(risk >= rule.risk for rule in self.approvals)


class Policy(msgspec.Struct, frozen=True):
    """One policy in force. Build it with `compile_policy`, which fills the tables."""

    mode: Mode
    settings: Settings
    decay: Decay
    domains: Mapping[str, Domain]
    operations: Mapping[str, Detail]
    categories: Mapping[str, str]
    tools: tuple[Tool, ...]
    slash_commands: Mapping[str, SlashCommand]
    workflows: Mapping[str, PolicyWorkflow]
    vip_contacts: Mapping[str, str]
    family_contacts: Mapping[str, str]
    digest: str
    table: Mapping[str, Entry]
    folded: Mapping[str, str]
    tools_named: Mapping[str, tuple[int, ...]]
    tools_like: tuple[int, ...]
    tools_folded: Mapping[str, str]
    own_tools: frozenset[str]
    """The tools, and patterns of tools, that the operator's own file lists."""
    mcp_tools: tuple[str, ...] = ()
    """The tools of MCP servers, and patterns of them, that it names anywhere."""
    phrases: Phrases = Phrases()
    programs: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What the operator says of programs on command lines, compiled; the shell reading reads it."""
    readings: tuple[Policy, ...] = ()
    """Policies that each read a call: what they find adds up. Without any, this policy reads alone."""
    joined: tuple[str, ...] = ()
    """The digests of the policies that this one is at least as strict as, if it was joined from several."""
    barred_domains: frozenset[str] = frozenset()
    """Domains of which nothing is allowed, listed or not."""
    tightened: Mapping[str, float] = {}
    """When each operation was last tightened on this store, "" for all; loosening it since changes nothing.

    No part of the digest: the file does not say it.
    """
    project: str = ""
    """The project's own file that this policy was tightened by, if it was."""
    team: Team = NO_TEAM

    def entry(self, name: str) -> Entry:
        """Return what the policy says of an operation, listed or not.

        A name that differs from a known one only in case, white space or Unicode form is refused: it was
        meant to be that one, or to be mistaken for it.
        """
        found = self.table.get(name)
        return found if found is not None else self._default_entry(name)

    def mark_of(self, name: str) -> int:
        """Return how strictly no consent covers an operation: 3 blocked, 2 the channel's, 1 always asked, 0.

        What is blocked because nothing lists it is blocked. No form in which a call comes takes that away.
        """
        entry = self.entry(name)
        if entry.tier is Tier.BLOCKED or (entry.tier is None and self.settings.unlisted == "block"):
            return 3
        return 2 if entry.trusted_channel else int(entry.always_ask)

    def entries_for(self, tool: str) -> list[Tool]:
        """The entries that are about this tool, in their order; some may fit other arguments only.

        A pattern fits no name with control or invisible characters.
        """
        seen = self.tools_like if tool.isprintable() else ()
        like = [index for index in seen if fnmatchcase(tool, self.tools[index].tool)]
        return [self.tools[index] for index in sorted((*self.tools_named.get(tool, ()), *like))]

    def names_of(self, tool: str) -> tuple[str, ...]:
        """The names to judge a call of this tool by: its own, unless only another one of it is listed.

        What the policy says of a tool of an MCP server counts under every name that hosts call it by. Other
        tools that the operator lists count for one only if the call says that it is one.
        """
        if not self.mcp_tools and "mcp" not in tool.lower():
            return (tool,)
        others = self.own_tools if is_spelled_mcp(tool) else ()
        twins = find_twins(tool, dict.fromkeys((*self.mcp_tools, *others)))
        replaced = any(one.speaks_for for one in twins) and not self._lists_tool(tool)
        return tuple(dict.fromkeys((*(() if replaced else (tool,)), *(one.name for one in twins))))

    def _lists_tool(self, tool: str) -> bool:
        return bool(self.entries_for(tool)) or f"{UNLISTED_TOOLS}.{tool}" in self.table

    def check_tool_name(self, tool: str) -> None:
        """Refuse a name that differs from a listed one only in case, white space or Unicode form.

        Presets list the tools of many programs, and some of those are called alike: `Edit` here, `edit`
        there. So a name in small letters is only refused where the operator's own file lists the other.
        """
        if self.readings:
            for one in self.readings:
                one.check_tool_name(tool)
            return
        if tool in self.tools_named:
            return
        folded = fold_spelling(tool)
        twin = self.tools_folded.get(folded)
        if twin is None and (folded != tool or not tool.isprintable()):
            fit = {one.tool for one in self.entries_for(tool)}
            patterns = (one for one in self.own_tools if _is_pattern(one) and one not in fit)
            twin = next((one for one in patterns if fnmatchcase(folded, fold_spelling(one))), None)
        if twin is not None and (twin in self.own_tools or folded != tool):
            raise MalformedRequest(f"{tool!r} is not {twin!r}", hint=f"write {twin} exactly")

    def _default_entry(self, name: str) -> Entry:
        twin = self.folded.get(fold_spelling(name))
        if twin is not None:
            raise MalformedRequest(f"{name!r} is not {twin!r}", hint=f"write {twin} exactly")
        domain = name.partition(".")[0]
        tier = Tier.BLOCKED if domain in self.barred_domains else None
        where = self.domains.get(domain, _NOWHERE)
        return _entry(name, tier, where, None, self.settings, self.categories, self.team.approvals)


class Terms(msgspec.Struct, frozen=True, array_like=True):
    """What a policy said of an operation when a person was asked about it: the mode, its tier, mark and risk.

    An approval ends when the policy is tightened. The digest of a policy says only that another one is in
    force, not whether it is stricter; so an approval keeps the terms it was asked under, and serves while
    those of today are provably no stricter. In doubt it does not serve, and the call is asked about again.
    """

    mode: Mode
    tier: Tier | None
    always_ask: bool
    risk: Risk
    team: str = ""
    """What the team's rules asked for."""


def compile_policy(
    *,
    mode: Mode = Mode.BALANCED,
    settings: Settings | None = None,
    decay: Decay | None = None,
    domains: Mapping[str, Domain] | None = None,
    operations: Mapping[str, Detail] | None = None,
    digest: str = "",
    **rest: Any,
) -> Policy:
    """The same policy with its tables made. What the words mean has been checked before, by the loader."""
    settings, domains, operations = settings or Settings(), domains or {}, operations or {}
    categories: Mapping[str, str] = rest.get("categories") or {}
    tools: tuple[Tool, ...] = tuple(rest.get("tools") or ())
    own_tools = rest.get("own_tools")
    team: Team = rest.get("team") or NO_TEAM
    table: dict[str, Entry] = {}
    for name in _names(domains, operations):
        domain = domains.get(name.partition(".")[0], _NOWHERE)
        tier = _tier(domain, name.partition(".")[2])
        detail = operations.get(name, Detail())
        table[name] = _entry(name, tier, domain, detail, settings, categories, team.approvals)
    return Policy(
        mode=mode,
        settings=settings,
        decay=decay or Decay(),
        domains=domains,
        operations=operations,
        categories=categories,
        tools=tools,
        slash_commands=rest.get("slash_commands") or {},
        workflows=rest.get("workflows") or {},
        vip_contacts=rest.get("vip_contacts") or {},
        family_contacts=rest.get("family_contacts") or {},
        digest=digest,
        table=table,
        folded={fold_spelling(name): name for name in table},
        tools_named=_by_name(tools),
        tools_like=tuple(index for index, tool in enumerate(tools) if _is_pattern(tool.tool)),
        tools_folded={fold_spelling(one.tool): one.tool for one in tools if not _is_pattern(one.tool)},
        own_tools=frozenset((one.tool for one in tools) if own_tools is None else own_tools),
        mcp_tools=_mcp_tools(tools, table),
        phrases=rest.get("phrases") or Phrases(),
        programs=rest.get("programs") or {},
        tightened=rest.get("tightened") or {},
        team=team,
    )


@lru_cache(maxsize=1024)
def fold_spelling(name: str) -> str:
    """The spelling that look-alikes share: without Unicode form, case and white space."""
    visible = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return "".join("".join(visible).casefold().split())


def with_mode(policy: Policy, *wishes: Mode | None) -> Policy:
    """The policy in the first mode wished for (flag, environment, settings file); locked, in its own."""
    wish = next((wish for wish in wishes if wish is not None), None)
    if wish is None or policy.settings.lock_mode:
        return policy
    return msgspec.structs.replace(policy, mode=wish)


def find_review(entry: Entry, reviews: Mapping[str, float]) -> float | None:
    """Return the review that counts for a permission: its domain's, else when the store first saw it.

    Where the policy file says when the domain was reviewed, first being seen does not count.
    """
    reviewed = reviews.get(entry.domain)
    if reviewed is None and entry.last_reviewed is None:
        return reviews.get(entry.name)
    return reviewed


def decayed(policy: Policy, entry: Entry, reviewed: float | None, now: float) -> bool:
    """Return whether an autonomous permission has gone unreviewed for the interval, or for longer.

    A date in the policy file counts as a review; one that cannot be read or lies ahead means decayed at once.
    """
    if not policy.decay.enabled:
        return False
    written = entry.last_reviewed
    if written is not None:
        if written > now:
            return True
        reviewed = written if reviewed is None else max(written, reviewed)
    return reviewed is None or now - reviewed >= policy.decay.review_interval_days * DAY


def terms_of(policy: Policy, risks: Iterable[tuple[str, Risk]]) -> Mapping[str, Terms]:
    """The terms of each operation under this policy, at the highest risk it is named with."""
    found: dict[str, Terms] = {}
    for name, risk in risks:
        before = found.get(name)
        if before is None or before.risk < risk:
            found[name] = terms_of_entry(policy, policy.entry(name), risk)
    return found


def terms_of_entry(policy: Policy, entry: Entry, risk: Risk) -> Terms:
    """The terms of one operation at this risk."""
    team = terms_of_rules(entry.approvals) if entry.approvals else ""
    return Terms(policy.mode, entry.tier, entry.always_ask, risk, team)


def no_stricter(now: Terms, then: Terms) -> bool:
    """Return whether what the policy says now is provably no stricter than what it said then."""
    if STRICTNESS[now.mode] > STRICTNESS[then.mode] or now.risk > then.risk:
        return False
    if now.always_ask and not then.always_ask:
        return False
    if now.team not in ("", then.team):
        return False
    return now.tier is then.tier or now.tier is Tier.AUTONOMOUS


_NOWHERE = Domain()
_NO_DETAIL = Detail()
STRICTNESS = {Mode.TRUSTING: 0, Mode.BALANCED: 1, Mode.PARANOID: 2}
FLOOR = {Tier.AUTONOMOUS: Risk.LOW, Tier.REQUIRES_APPROVAL: Risk.MODERATE, Tier.BLOCKED: Risk.HIGH}


def _by_name(tools: Sequence[Tool]) -> dict[str, tuple[int, ...]]:
    """Return where the entries of each tool are; patterns are tried one by one."""
    found: dict[str, tuple[int, ...]] = {}
    for index, tool in enumerate(tools):
        if not _is_pattern(tool.tool):
            found[tool.tool] = (*found.get(tool.tool, ()), index)
    return found


def _mcp_tools(tools: Iterable[Tool], table: Iterable[str]) -> tuple[str, ...]:
    """The names that say that they are tools of MCP servers, in entries and as operations."""
    operations = (name.split(".", 1) for name in table)
    actions = (rest[0] for domain, *rest in operations if domain == UNLISTED_TOOLS and rest)
    named = dict.fromkeys((*(tool.tool for tool in tools), *actions))
    return tuple(one for one in named if is_spelled_mcp(one))


def _is_pattern(name: str) -> bool:
    return any(c in "*?[" for c in name)


def _names(domains: Mapping[str, Domain], operations: Mapping[str, Detail]) -> list[str]:
    """Every operation the policy names, once, in the order written."""
    names: dict[str, None] = {}
    for domain, lists in domains.items():
        for action in (
            *lists.autonomous,
            *lists.requires_approval,
            *lists.blocked,
            *lists.trusted_channel_required,
        ):
            names[f"{domain}.{action}"] = None
    names.update(dict.fromkeys(operations))
    return list(names)


def _tier(domain: Domain, action: str) -> Tier | None:
    """The list an action is in; the strictest, should a hand-made policy hold it twice."""
    if action in domain.blocked:
        return Tier.BLOCKED
    if action in domain.requires_approval:
        return Tier.REQUIRES_APPROVAL
    return Tier.AUTONOMOUS if action in domain.autonomous else None


def _entry(
    name: str,
    tier: Tier | None,
    domain: Domain,
    written: Detail | None,
    settings: Settings,
    categories: Mapping[str, str],
    approvals: tuple[ApprovalRule, ...],
) -> Entry:
    detail = _NO_DETAIL if written is None else written
    category = detail.category or name
    wishes = (detail.confidence_bypass, domain.confidence_bypass, settings.confidence_bypass)
    return Entry(
        name=name,
        domain=name.partition(".")[0],
        tier=tier,
        category=category,
        category_words=categories.get(category, category),
        risk=detail.risk,
        weight=detail.weight,
        always_ask=detail.always_ask,
        confidence_bypass=next(wish for wish in wishes if wish is not None),
        trusted_channel=name.partition(".")[2] in domain.trusted_channel_required,
        fan_out=domain.fan_out == "single",
        content_from=domain.content_from,
        reason=detail.reason,
        last_reviewed=domain.last_reviewed,
        preset=detail.preset,
        named=written is not None,
        floor=detail.risk if detail.risk is not None or tier is None else FLOOR[tier],
        approvals=tuple(rule for rule in approvals if rule.covers(name.partition(".")[0], Risk.HIGH)),
        accepted=detail.accepts_reading(name),
    )

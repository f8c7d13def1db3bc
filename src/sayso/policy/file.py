"""The policy file as types. Reading, checking, the JSON Schema and docs/policy.md follow from these."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from sayso.core.durations import PATTERN

_NAME = r"\w[\w-]*"
_ARGUMENT = r"(?!args\s*(,|$))[^\s.,]+(\.[^\s.,]+)*"
"""An argument by its name, with or without `args.` before it. `args` alone would be all of them."""

DomainName = Annotated[
    str, Meta(pattern=rf"^{_NAME}$", description="a domain is one word, such as email", examples=["email"])
]
ActionName = Annotated[
    str,
    Meta(
        pattern=rf"^{_NAME}(\.{_NAME})*$",
        description="an action is one word, such as send",
        examples=["send"],
    ),
]
OperationName = Annotated[
    str,
    Meta(
        pattern=rf"^{_NAME}(\.{_NAME})+$",
        description="an operation is domain.action, such as email.send",
        examples=["email.send"],
    ),
]
CommandName = Annotated[
    str,
    Meta(
        pattern=r"^/\S+$", description="a slash command begins with /, such as /commit", examples=["/commit"]
    ),
]
NonEmptyName = Annotated[str, Meta(min_length=1, description="a name is not empty")]
Phrase = Annotated[
    str,
    Meta(
        pattern=r"^[^\W\d_]+([ '’-][^\W\d_]+)*$",
        max_length=60,
        description="a phrase is one word or a few, such as stopp",
        examples=["stopp"],
    ),
]
Title = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=120,
        description="a call in one line; {amount} is replaced by the argument of that name",
        examples=["Pay {amount} to {payee}"],
    ),
]
ArgumentPath = Annotated[
    str,
    Meta(
        pattern=rf"^{_ARGUMENT}(\s*,\s*{_ARGUMENT})*$",
        description="an argument is named as args.to or to; several are separated by commas",
        examples=["args.to"],
    ),
]
RiskWord = Literal[
    "low",
    "moderate",
    "high",
    "safe",
    "medium",
    "risky",
    "SAFE",
    "MEDIUM",
    "HIGH",
    "tier 1",
    "tier 2",
    "tier 3",
]
UNREADABLE = "unreadable"
ReviewDate = Annotated[
    str,
    Meta(
        description="a date, such as 2026-11-15; one that cannot be read counts as long ago",
        extra={"otherwise": UNREADABLE},  # a value of another kind is read as this text
    ),
]
Share = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
Length = Annotated[float, Meta(ge=0, le=1_000_000, description="a number from 0 to 1,000,000")]


Time = Annotated[
    str,
    Meta(
        pattern=PATTERN,
        description="a time, such as 90s, 15m, 2h or 7d",
        examples=["15m"],
        extra={"kind": "a time"},
    ),
]

TeamName = Annotated[
    str,
    Meta(
        pattern=rf"^{_NAME}$",
        max_length=60,
        description="a person or a group is one word, such as ana or finance",
        examples=["finance"],
    ),
]
PersonId = Annotated[
    str,
    Meta(
        pattern=r"^(account|page|token):[^\s].*$|^(surface|oidc|email):[^\s/]+/[^\s].*$",
        max_length=300,
        description="an id is account:, page: or token: and a name, or surface:, oidc: or email: and NAME/ID",
        examples=["token:t_12ab"],
    ),
]
ClockTime = Annotated[
    str,
    Meta(
        pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        description='a time of day in quotes, such as "22:00"',
        examples=["22:00"],
        extra={"kind": "a time of day"},
    ),
]


class SettingsFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The policy's choices where its lists leave one."""

    confidence_threshold: Share | UnsetType = UNSET
    confidence_bypass: bool | UnsetType = UNSET
    safe: Literal["auto", "imperative", "ask"] | UnsetType = UNSET
    risky_grants: Literal["once", "standing"] | UnsetType = UNSET
    unlisted: Literal["ask", "block"] | UnsetType = UNSET
    trusting_remembers_high: bool | UnsetType = UNSET
    lock_mode: bool | UnsetType = UNSET
    grant_pins: Literal["exact", "operation"] | UnsetType = UNSET
    on_failure: Literal["keep_identical", "clear"] | UnsetType = UNSET
    task_idle_turns: Annotated[int, Meta(ge=1, description="a whole number, 1 or more")] | UnsetType = UNSET
    notices: NonEmptyName | UnsetType | None = UNSET
    trust_hook_messages: bool | UnsetType = UNSET
    question_lasts: Time | UnsetType = UNSET
    approval_lasts: Time | UnsetType = UNSET
    open_questions: (
        Annotated[int, Meta(ge=1, le=1_000, description="a whole number from 1 to 1,000")] | UnsetType
    ) = UNSET
    questions_per_hour: (
        Annotated[int, Meta(ge=1, le=10_000, description="a whole number from 1 to 10,000")] | UnsetType
    ) = UNSET


class DecayFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """When autonomous permissions fall back to requires_approval unless somebody reviews them."""

    enabled: bool | UnsetType = UNSET
    review_interval_days: Annotated[float, Meta(ge=1, description="at least 1 day")] | UnsetType = UNSET
    decay_action: Literal["downgrade_to_requires_approval"] | UnsetType = UNSET


class DomainFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One domain. All three lists are required, even if empty, and each action is in one of them."""

    autonomous: tuple[ActionName, ...]
    requires_approval: tuple[ActionName, ...]
    blocked: tuple[ActionName, ...]
    trusted_channel_required: tuple[ActionName, ...] | UnsetType = UNSET
    trust_level: Literal["low", "medium", "high"] | UnsetType = UNSET
    cooling_period_hours: Length | UnsetType = UNSET
    undo_window_days: Length | UnsetType = UNSET
    require_diff: bool | UnsetType = UNSET
    confidence_bypass: bool | UnsetType = UNSET
    fan_out: Literal["single", "any"] | UnsetType = UNSET
    content_from: ArgumentPath | UnsetType = UNSET
    last_reviewed: ReviewDate | UnsetType | None = UNSET


class DetailFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Details of one operation where the lists are not enough. It lists nothing."""

    risk: RiskWord | UnsetType = UNSET
    reading: Literal["accepted"] | UnsetType = UNSET
    weight: RiskWord | UnsetType = UNSET
    category: NonEmptyName | UnsetType = UNSET
    always_ask: bool | UnsetType = UNSET
    confidence_bypass: bool | UnsetType = UNSET
    reason: NonEmptyName | UnsetType = UNSET


class ToolFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename={"source": "from"}):
    """The operations of a tool's calls. `tool` may hold * and ?; the first entry that fits is used."""

    tool: NonEmptyName
    operation: OperationName | UnsetType = UNSET
    resolve: Literal["recipient", "path", "patch", "url", "shell"] | UnsetType = UNSET
    domain: DomainName | UnsetType = UNSET
    source: ArgumentPath | UnsetType = UNSET
    context: ArgumentPath | UnsetType = UNSET
    when: Annotated[str, Meta(min_length=1, max_length=1000, description="a CEL expression")] | UnsetType = (
        UNSET
    )
    risk: RiskWord | UnsetType = UNSET
    target: ArgumentPath | UnsetType = UNSET
    command: ArgumentPath | UnsetType = UNSET
    ignore: tuple[NonEmptyName, ...] | UnsetType = UNSET
    title: Title | UnsetType = UNSET


class SlashCommandFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A slash command of the user: operations it consents to, or a query."""

    operations: tuple[OperationName, ...] | UnsetType = UNSET
    query: Literal["allowlist", "consents"] | UnsetType = UNSET


class WorkflowFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The operations a workflow may perform."""

    operations: tuple[OperationName, ...]


class PhrasesFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Phrases of other languages, added to the English ones that messages are understood by."""

    stop: tuple[Phrase, ...] | UnsetType = UNSET
    refuse: tuple[Phrase, ...] | UnsetType = UNSET
    assent: tuple[Phrase, ...] | UnsetType = UNSET


class PersonFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One person of the team: groups, and the ids that are theirs."""

    groups: tuple[TeamName, ...] | UnsetType = UNSET
    ids: tuple[PersonId, ...] | UnsetType = UNSET


class EscalationFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """More people who may approve after this time, and surfaces that show a question only then."""

    after: Time
    to: tuple[TeamName, ...] | UnsetType = UNSET
    surfaces: tuple[NonEmptyName, ...] | UnsetType = UNSET


class ApprovalRuleFile(
    Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename={"approvers": "from"}
):
    """A number of people who have to approve. It covers what is in the domain, from the risk on."""

    approvers: tuple[TeamName, ...]
    needed: Annotated[int, Meta(ge=1, le=20, description="a whole number from 1 to 20")] | UnsetType = UNSET
    domain: DomainName | UnsetType = UNSET
    risk: RiskWord | UnsetType = UNSET
    escalate: EscalationFile | UnsetType = UNSET


class QuietHoursFile(
    Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename={"begin": "from", "end": "to"}
):
    """Hours in which questions below high risk are not sent to surfaces."""

    begin: ClockTime
    end: ClockTime
    timezone: NonEmptyName | UnsetType = UNSET


class PolicyFile(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A Sayso policy."""

    sayso: Annotated[Literal[1], Meta(description="the version of this language")] | UnsetType = UNSET
    extends: tuple[NonEmptyName, ...] | UnsetType = UNSET
    mode: Literal["paranoid", "balanced", "trusting"] | UnsetType = UNSET
    settings: SettingsFile | UnsetType = UNSET
    phrases: PhrasesFile | UnsetType = UNSET
    categories: dict[NonEmptyName, NonEmptyName] | UnsetType = UNSET
    consent_decay: DecayFile | UnsetType = UNSET
    vip_contacts: dict[NonEmptyName, str] | UnsetType = UNSET
    family_contacts: dict[NonEmptyName, str] | UnsetType = UNSET
    domains: dict[DomainName, DomainFile] | UnsetType = UNSET
    operations: dict[OperationName, DetailFile] | UnsetType = UNSET
    tools: tuple[ToolFile, ...] | UnsetType = UNSET
    slash_commands: dict[CommandName, SlashCommandFile] | UnsetType = UNSET
    workflows: dict[NonEmptyName, WorkflowFile] | UnsetType = UNSET
    programs: dict[NonEmptyName, dict[str, Any]] | UnsetType = UNSET
    people: dict[TeamName, PersonFile] | UnsetType = UNSET
    approvals: tuple[ApprovalRuleFile, ...] | UnsetType = UNSET
    break_glass: tuple[TeamName, ...] | UnsetType = UNSET
    quiet_hours: QuietHoursFile | UnsetType = UNSET


GRAPH_KEYS = ("consent_decay", "vip_contacts", "family_contacts", "last_reviewed")
"""The keys allowed beside the domains at the top of a file in graph form."""


def is_graph_form(keys: Collection[str]) -> bool:
    """Return whether these keys at the top of a file are domains: none is of the normal form alone."""
    normal = {*PolicyFile.__struct_fields__} - {*GRAPH_KEYS}
    return bool(keys) and normal.isdisjoint(keys)

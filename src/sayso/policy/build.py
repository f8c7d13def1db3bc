"""A checked policy file to the policy that decides."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from sayso.core.durations import format_duration, parse_duration
from sayso.core.model import Mode, Risk
from sayso.core.policy import (
    NEVER_REVIEWED,
    Decay,
    Detail,
    Domain,
    Policy,
    PolicyWorkflow,
    Settings,
    SlashCommand,
    Tool,
    compile_policy,
)
from sayso.core.text.phrases import Phrases
from sayso.policy.build_team import team_from_file, team_to_file
from sayso.policy.checks import parse_review_date
from sayso.policy.file import (
    UNREADABLE,
    DecayFile,
    DetailFile,
    DomainFile,
    PhrasesFile,
    PolicyFile,
    SettingsFile,
    SlashCommandFile,
    ToolFile,
    WorkflowFile,
)

TIMES = ("question_lasts", "approval_lasts")
"""The settings that are times."""
S = TypeVar("S", bound=msgspec.Struct)


def build_policy(file: PolicyFile, digest: str, own: Collection[str], own_tools: Collection[str]) -> Policy:
    """The policy this file means. Call it only on a file in which no problem was found.

    `own` names the operations whose risk the operator's own file sets; the other risks are those of presets.
    `own_tools` names the tools that it lists.
    """
    settings = _settings_from_file(file.settings) if file.settings else Settings()
    return compile_policy(
        mode=Mode(file.mode or "balanced"),
        settings=settings,
        decay=Decay(**_present_fields(file.consent_decay, "decay_action")) if file.consent_decay else Decay(),
        domains={name: _domain_from_file(domain) for name, domain in (file.domains or {}).items()},
        operations={
            name: _detail_from_file(detail, preset=name not in own)
            for name, detail in (file.operations or {}).items()
        },
        digest=digest,
        phrases=Phrases(**_present_fields(file.phrases)) if file.phrases else Phrases(),
        categories=dict(file.categories or {}),
        tools=tuple(_tool_from_file(tool) for tool in file.tools or ()),
        own_tools=own_tools,
        slash_commands={
            name: SlashCommand(**_present_fields(one)) for name, one in (file.slash_commands or {}).items()
        },
        workflows={
            name: PolicyWorkflow(**_present_fields(one)) for name, one in (file.workflows or {}).items()
        },
        vip_contacts=dict(file.vip_contacts or {}),
        family_contacts=dict(file.family_contacts or {}),
        programs={name: entry for names, entry in (file.programs or {}).items() for name in names.split()},
        team=team_from_file(file),
    )


def file_from_policy(policy: Policy) -> PolicyFile:
    """The file that means this policy, every value written out."""
    return PolicyFile(
        sayso=1,
        mode=policy.mode.value,
        settings=_settings_to_file(policy.settings),
        consent_decay=_copy_to_file_type(DecayFile, policy.decay),
        domains={name: _domain_to_file(domain) for name, domain in policy.domains.items()},
        operations={
            name: _copy_to_file_type(DetailFile, detail, "preset")
            for name, detail in policy.operations.items()
        },
        phrases=_copy_to_file_type(PhrasesFile, policy.phrases),
        categories=dict(policy.categories),
        tools=tuple(_copy_to_file_type(ToolFile, tool) for tool in policy.tools),
        slash_commands={
            name: _copy_to_file_type(SlashCommandFile, one) for name, one in policy.slash_commands.items()
        },
        workflows={name: _copy_to_file_type(WorkflowFile, one) for name, one in policy.workflows.items()},
        vip_contacts=dict(policy.vip_contacts),
        family_contacts=dict(policy.family_contacts),
        programs=dict(policy.programs),
        **team_to_file(policy.team),
    )


def settings_to_dict(settings: Settings) -> dict[str, Any]:
    """The settings by their names, every value as the file writes it."""
    found = msgspec.structs.asdict(settings)
    return found | {name: format_duration(found[name]) for name in TIMES}


def _settings_to_file(settings: Settings) -> SettingsFile:
    return SettingsFile(
        **{name: value for name, value in settings_to_dict(settings).items() if value is not None}
    )


def _settings_from_file(file: SettingsFile) -> Settings:
    given = _present_fields(file)
    return Settings(**given | {name: parse_duration(given[name]) for name in TIMES if name in given})


def _domain_to_file(domain: Domain) -> DomainFile:
    at = domain.last_reviewed
    if at is None:
        return _copy_to_file_type(DomainFile, domain)
    written = UNREADABLE if at == NEVER_REVIEWED else datetime.fromtimestamp(at, UTC).isoformat()
    return msgspec.structs.replace(_copy_to_file_type(DomainFile, domain), last_reviewed=written)


def _copy_to_file_type(kind: type[S], struct: msgspec.Struct, *without: str) -> S:
    """A core struct as its struct of the file. None means that nothing was written."""
    fields = {name: getattr(struct, name) for name in struct.__struct_fields__ if name not in without}
    words = {name: value.word if isinstance(value, Risk) else value for name, value in fields.items()}
    return kind(**{name: value for name, value in words.items() if value is not None})


def _domain_from_file(domain: DomainFile) -> Domain:
    given = _present_fields(domain, "last_reviewed")
    written = domain.last_reviewed
    return Domain(**given, last_reviewed=parse_review_date(written) if isinstance(written, str) else None)


def operations_with_own_risk(file: PolicyFile) -> set[str]:
    """The operations whose risk this file sets itself."""
    return {name for name, detail in (file.operations or {}).items() if detail.risk is not UNSET}


def _detail_from_file(detail: DetailFile, *, preset: bool) -> Detail:
    return Detail(**_present_fields(detail) | _parse_risks(detail, "risk", "weight"), preset=preset)


def _tool_from_file(tool: ToolFile) -> Tool:
    return Tool(**_present_fields(tool) | _parse_risks(tool, "risk"))


def _parse_risks(struct: msgspec.Struct, *names: str) -> dict[str, Risk]:
    return {name: Risk.parse(getattr(struct, name)) for name in names if getattr(struct, name) is not UNSET}


def _present_fields(struct: Any, *without: str) -> dict[str, Any]:
    """The fields that were written, for a core type whose defaults fill the rest."""
    fields = {name: getattr(struct, name) for name in struct.__struct_fields__ if name not in without}
    return {name: value for name, value in fields.items() if value is not UNSET}

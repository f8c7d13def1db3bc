"""The team of a policy from its file, and back."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from sayso.core.durations import format_duration, parse_duration
from sayso.core.model import Risk
from sayso.core.team import ApprovalRule, Escalation, Person, QuietHours, Team, make_team
from sayso.policy.file import ApprovalRuleFile, EscalationFile, PersonFile, PolicyFile, QuietHoursFile


def team_from_file(file: PolicyFile) -> Team:
    """The team this file declares."""
    return make_team(
        {name: Person(one.groups or (), one.ids or ()) for name, one in (file.people or {}).items()},
        [_rule_from_file(one) for one in file.approvals or ()],
        file.break_glass or (),
        _quiet_from_file(file.quiet_hours) if file.quiet_hours else None,
    )


def team_to_file(team: Team) -> dict[str, Any]:
    """The keys of the file that declare this team."""
    quiet = team.quiet_hours
    return {
        "people": {name: PersonFile(groups=one.groups, ids=one.ids) for name, one in team.people.items()},
        "approvals": tuple(map(_rule_to_file, team.approvals)),
        "break_glass": team.break_glass,
        "quiet_hours": UNSET
        if quiet is None
        else QuietHoursFile(
            begin=_clock(quiet.begin),
            end=_clock(quiet.end),
            timezone=quiet.timezone,
        ),
    }


def _rule_from_file(rule: ApprovalRuleFile) -> ApprovalRule:
    up = rule.escalate
    return ApprovalRule(
        approvers=rule.approvers,
        needed=rule.needed or 1,
        domain=rule.domain or None,
        risk=Risk.parse(rule.risk) if rule.risk else Risk.LOW,
        escalate=Escalation(parse_duration(up.after), up.to or (), up.surfaces or ()) if up else None,
    )


def _rule_to_file(rule: ApprovalRule) -> ApprovalRuleFile:
    up = rule.escalate
    return ApprovalRuleFile(
        approvers=rule.approvers,
        needed=rule.needed,
        domain=UNSET if rule.domain is None else rule.domain,
        risk=rule.risk.word,  # type: ignore[arg-type]  # one of the words of the file
        escalate=UNSET
        if up is None
        else EscalationFile(after=format_duration(up.after), to=up.to, surfaces=up.surfaces),
    )


def _quiet_from_file(hours: QuietHoursFile) -> QuietHours:
    return QuietHours(_minutes(hours.begin), _minutes(hours.end), hours.timezone or "UTC")


def _minutes(clock: str) -> int:
    hours, _, minutes = clock.partition(":")
    return int(hours) * 60 + int(minutes)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"

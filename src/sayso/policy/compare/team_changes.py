"""Differences between the teams of two policies, and whether they loosen.

Fewer approvals, more approvers, an earlier escalation, a new id, a person in one more group: all of that is
looser. So is an id that is nobody's any more: whoever asks with it is not known as the requester.
"""

from __future__ import annotations

from collections.abc import Iterator

from sayso.core.durations import format_duration
from sayso.core.team import ApprovalRule, Person, QuietHours, Team, rule_is_implied, widened_people
from sayso.policy.compare.other_change import OtherChange


def find_team_changes(a: Team, b: Team) -> Iterator[OtherChange]:
    """People, approvals, who may break the glass, quiet hours."""
    for rule in a.approvals:
        if rule not in b.approvals:
            yield OtherChange(
                f"approvals {_where(rule)}", format_rule(rule), "changed", not rule_is_implied(rule, a, b)
            )
        elif not rule_is_implied(rule, a, b):
            yield OtherChange(f"approvals {_where(rule)}", format_rule(rule), "by more people", True)
    for rule in b.approvals:
        if rule not in a.approvals:
            yield OtherChange(f"approvals {_where(rule)}", "nothing", format_rule(rule), False)
    widened = set(widened_people(a, b))
    for name in dict.fromkeys((*a.people, *b.people)):
        was, now = a.people.get(name), b.people.get(name)
        if was != now:
            yield OtherChange(f"people.{name}", _person(was), _person(now), name in widened)
    yield from _owner_changes(a, b)
    if a.members(a.break_glass) != b.members(b.break_glass):
        more = not b.members(b.break_glass) <= a.members(a.break_glass)
        yield OtherChange("break_glass", _names(a.break_glass), _names(b.break_glass), more)
    if a.quiet_hours != b.quiet_hours:
        yield OtherChange("quiet_hours", _quiet(a.quiet_hours), _quiet(b.quiet_hours), False)


def _owner_changes(a: Team, b: Team) -> Iterator[OtherChange]:
    """Yield ids that were somebody's by another policy that was in force as well, and are not any more."""
    for one, names in a.owners.items():
        for name in sorted(names - b.owners.get(one, frozenset())):
            if one not in a.people.get(name, Person()).ids:
                yield OtherChange(f"people.{name}", one, "nobody", True)


def format_rule(rule: ApprovalRule) -> str:
    """A rule in words: 2 of finance, after 15m also leads."""
    said = f"{rule.needed} of {_names(rule.approvers)}"
    if rule.escalate is None:
        return said
    return f"{said}, after {format_duration(rule.escalate.after)} also {_names(rule.escalate.to)}"


def describe_rule(rule: ApprovalRule) -> str:
    """A rule in words, with what it covers: bank from high: 2 of finance."""
    return f"{_where(rule)}: {format_rule(rule)}"


def _where(rule: ApprovalRule) -> str:
    return f"{rule.domain or 'everything'} from {rule.risk.word}"


def _person(person: Person | None) -> str:
    return "nobody" if person is None else f"{_names(person.groups)}; {_names(person.ids)}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nobody"


def _quiet(hours: QuietHours | None) -> str:
    if hours is None:
        return "none"
    begin, end = (f"{at // 60:02}:{at % 60:02}" for at in (hours.begin, hours.end))
    return f"{begin} to {end} {hours.timezone}"

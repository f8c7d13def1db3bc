"""Faults of a team: names that nobody has, an id of two people, a quorum that nobody can meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sayso.core.team import ApprovalRule, Team, can_be_met
from sayso.policy.build_team import team_from_file
from sayso.policy.file import PolicyFile
from sayso.policy.parsing.document import Node

SayProblem = Callable[[tuple[int, int], str, str], None]


def check_team(file: PolicyFile, merged: PolicyFile, tree: Node, say: SayProblem) -> None:
    """Note every fault of the team that the file declares, with what lies under it."""
    if not (file.people or file.approvals or file.break_glass or file.quiet_hours):
        return
    team = team_from_file(merged)
    _check_people(team, tree, say)
    for index, rule in enumerate(team_from_file(file).approvals):
        _check_rule(rule, team, tree.at("approvals", index), say)
    _check_names(team.break_glass, team, tree.at("break_glass"), say)
    quiet = team.quiet_hours
    if quiet is not None:
        import zoneinfo

        try:
            zoneinfo.ZoneInfo(quiet.timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            say(tree.at("quiet_hours"), f"there is no time zone {quiet.timezone!r}", "write Europe/Berlin")
        if quiet.begin == quiet.end:
            say(tree.at("quiet_hours"), "quiet hours begin and end at the same time", "leave them out")


def _check_people(team: Team, tree: Node, say: SayProblem) -> None:
    groups = {group for one in team.people.values() for group in one.groups}
    for name in sorted(groups & team.people.keys()):
        say(tree.at("people", name), f"{name} is a person and a group", "give one of them another name")
    for one, owners in team.owners.items():
        if len(owners) > 1:
            names = sorted(owners)
            say(
                tree.at("people", names[-1]),
                f"{one} is an id of {' and of '.join(names)}",
                "an id belongs to one person",
            )


def _check_rule(rule: ApprovalRule, team: Team, place: tuple[int, int], say: SayProblem) -> None:
    names = (*rule.approvers, *(() if rule.escalate is None else rule.escalate.to))
    if not rule.approvers:
        say(place, "it names nobody who approves", "name groups or people: from: [finance]")
    elif _check_names(names, team, place, say) and not can_be_met(team, rule):
        there = sum(bool(team.people[name].ids) for name in team.members(names))
        say(
            place,
            f"{rule.needed} approvals are needed, and {there} people with an id can give one",
            "declare more people, give them ids, or need fewer",
        )


def _check_names(names: Iterable[str], team: Team, place: tuple[int, int], say: SayProblem) -> bool:
    unknown = [name for name in names if not team.members([name])]
    for name in unknown:
        say(place, f"{name} is neither a person nor a group with people in it", "declare it in people")
    return not unknown

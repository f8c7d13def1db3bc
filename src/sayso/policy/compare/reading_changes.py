"""Differences in how two policies read calls, and whether they loosen.

What a call becomes depends on tools, contacts and programs, and on which actions a domain lists at all: a
resolver takes the first one that is listed. A joined policy reads each call in several ways, and what they
find adds up; so every way that the later policy does not have any more is a change.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping

from sayso.core.model import Tier
from sayso.core.policy import Policy, Tool
from sayso.policy.compare.other_change import OtherChange

FILES = "files"
"""The domain of what command lines do with files."""
CONTACTS = ("vip_contacts", "family_contacts")


def find_reading_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """Contacts, tools, programs, and the actions that calls can become."""
    yield from _tool_changes(a, b)
    ways = [(one, other) for one in _ways(a) for other in _ways(b)]
    found = [change for one, other in ways for change in _changes_of_one_way(one, other)]
    yield from dict.fromkeys(found)


def _ways(policy: Policy) -> tuple[Policy, ...]:
    return policy.readings or (policy,)


def _changes_of_one_way(a: Policy, b: Policy) -> Iterator[OtherChange]:
    yield from _own_tool_changes(a, b)
    for kind in CONTACTS:
        yield from _contact_changes(kind, a, b)
    for domain in domains_that_calls_are_read_into(a) | domains_that_calls_are_read_into(b):
        yield from _list_changes(domain, a, b)
    for name in dict.fromkeys((*a.programs, *b.programs)):
        yield from _program_changes(name, a.programs.get(name), b.programs.get(name))


def _own_tool_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """Yield the tools that only presets list any more: fewer spellings that look like theirs are refused."""
    listed = {tool.tool for tool in b.tools}
    lost = sorted(name for name in a.own_tools - b.own_tools if name in listed)
    if lost:
        yield OtherChange("tool names of your file", ", ".join(lost), "of presets alone", True)


def _contact_changes(kind: str, a: Policy, b: Policy) -> Iterator[OtherChange]:
    """A contact less is stricter where whoever is not one any more is not written to at all."""
    before, after = getattr(a, kind), getattr(b, kind)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was != now:
            loosens = now is not None or _is_contact(was, b) or not _blocks_strangers(b)
            yield OtherChange(f"{kind}.{name}", was or "nothing", now or "nothing", loosens)


def _is_contact(contact: str, policy: Policy) -> bool:
    from sayso.reading.recipients import is_contact

    return any(is_contact(contact, getattr(policy, kind).values()) for kind in CONTACTS)


def _blocks_strangers(policy: Policy) -> bool:
    from sayso.reading.path_operations import first_listed
    from sayso.reading.resolve import UNKNOWN

    domains = {tool.domain or "tools" for tool in policy.tools if tool.resolve == "recipient"}
    listed = {domain: first_listed(domain, policy, UNKNOWN) for domain in domains}
    return all(
        action is None or policy.entry(f"{domain}.{action}").tier is Tier.BLOCKED
        for domain, action in listed.items()
    )


def domains_that_calls_are_read_into(policy: Policy) -> set[str]:
    """The domains in which a resolver looks for an action that is listed."""
    found = {
        tool.domain or (tool.operation or FILES).partition(".")[0] for tool in policy.tools if tool.resolve
    }
    return {*found, FILES}


def _list_changes(domain: str, a: Policy, b: Policy) -> Iterator[OtherChange]:
    """An action more, unless it is blocked, or less: calls may become another one that is looser."""
    before, after = _listed(domain, a), _listed(domain, b)
    gone = [action for action in before if action not in after]
    new = [action for action in after if action not in before and after[action] is not Tier.BLOCKED]
    if gone or new:
        yield OtherChange(f"{domain} lists", ", ".join(gone) or "nothing", ", ".join(new) or "nothing", True)


def _listed(domain: str, policy: Policy) -> Mapping[str, Tier]:
    lists = policy.domains.get(domain)
    if lists is None:
        return {}
    tiers = ((Tier.AUTONOMOUS, lists.autonomous), (Tier.REQUIRES_APPROVAL, lists.requires_approval))
    return {action: tier for tier, actions in (*tiers, (Tier.BLOCKED, lists.blocked)) for action in actions}


def _program_changes(name: str, a: object, b: object) -> Iterator[OtherChange]:
    """Compare the programs: an entry can lower or raise risk, so every change may loosen."""
    if a != b:
        before, after = ("not described" if one is None else "described otherwise" for one in (a, b))
        yield OtherChange(f"program {name}", "described" if a is not None else before, after, True)


def _tool_changes(a: Policy, b: Policy) -> Iterator[OtherChange]:
    """Yield the differences in how a tool's calls become operations.

    Which of two readings is stricter depends on a call's arguments, so every change counts as loosened,
    unless all it does is to make more calls a blocked operation, or to read each call in one more way.
    """
    chains = (a.readings or (a,), b.readings or (b,))
    if len({one.tools for readings in chains for one in readings}) == 1:
        return
    for name in dict.fromkeys(tool.tool for readings in chains for one in readings for tool in one.tools):
        before, after = (dict.fromkeys(_entries_for(one, name) for one in readings) for readings in chains)
        if before.keys() != after.keys():
            adds = before.keys() <= after.keys()
            loosens = not adds and not all(_only_blocks(one, chain, b) for one in before for chain in after)
            yield OtherChange(f"tool {name}", _format_readings(before), _format_readings(after), loosens)


def _only_blocks(before: tuple[Tool, ...], after: tuple[Tool, ...], policy: Policy) -> bool:
    """Return whether the entries are the same but for new ones, each of which denies every call it is for."""
    new = [tool for tool in after if tool not in before]
    return tuple(tool for tool in after if tool in before) == before and all(
        tool.operation is not None
        and tool.resolve is None
        and tool.command is None
        and policy.entry(tool.operation).tier is Tier.BLOCKED
        for tool in new
    )


def _entries_for(policy: Policy, name: str) -> tuple[Tool, ...]:
    """Every entry that could be used for calls of tools with such a name, in order."""
    return tuple(tool for tool in policy.tools if _overlap(tool.tool, name))


def _overlap(one: str, other: str) -> bool:
    """Return whether some name may fit both patterns; told generously."""
    wild = any(c in "*?[" for c in one) and any(c in "*?[" for c in other)
    return wild or fnmatch.fnmatchcase(one, other) or fnmatch.fnmatchcase(other, one)


def _format_readings(chains: Iterable[tuple[Tool, ...]]) -> str:
    """All ways in which calls of a tool are read: what they find adds up."""
    return ", and also ".join(map(_format_entries, chains))


def _format_entries(chain: tuple[Tool, ...]) -> str:
    return ", then ".join(_format_entry(tool) for tool in chain) or "unlisted"


def _format_entry(tool: Tool) -> str:
    """An entry in words: every part of it, since each can change what a call comes to."""
    made = " ".join(part for part in (tool.resolve, tool.operation or tool.domain) if part)
    told = {
        "when": tool.when,
        "risk": None if tool.risk is None else tool.risk.word,
        "from": tool.source,
        "context": tool.context,
        "target": tool.target,
        "command": tool.command,
        "ignore": " and ".join(tool.ignore),
        "title": tool.title,
    }
    return " ".join((made, *(f"{name} {said}" for name, said in told.items() if said)))

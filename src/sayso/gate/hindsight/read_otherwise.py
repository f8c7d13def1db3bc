"""Which calls another policy may read otherwise: of these the recorded operations tell nothing."""

from __future__ import annotations

from collections.abc import Iterable

from sayso.core.policy import UNLISTED_TOOLS, Policy, Tool
from sayso.policy.compare.reading_changes import domains_that_calls_are_read_into
from sayso.reading.verbs import is_git_operation

IN_LINES = ("files", "git")
"""The domains of what a command line does that arguments can make worse."""
DOUBTFUL = frozenset({"shell.run", "scripts.run"})
"""What a line does that nobody can tell: whatever is marked may be found in it."""


class OtherReadings:
    """How two policies read calls, tool by tool: as few calls as can be have to be read again."""

    def __init__(self, then: Policy, now: Policy) -> None:
        self._then, self._now = then, now
        domains = domains_that_calls_are_read_into(then) | domains_that_calls_are_read_into(now)
        self._any = _names_of_tools(then) != _names_of_tools(now)
        self._resolved = _looked_up(then, domains) != _looked_up(now, domains)
        self._marks = {name for name, _ in _marked(then).items() ^ _marked(now).items()}
        self._unlisted = then.settings.unlisted != now.settings.unlisted
        self._known: dict[str, bool] = {}

    def of_call(self, tool: str, operations: Iterable[str]) -> bool:
        """Return whether a call of this tool that did these operations may read otherwise."""
        if tool not in self._known:
            self._known[tool] = self._any or self._look(tool)
        return self._known[tool] or (bool(self._marks) and not DOUBTFUL.isdisjoint(operations))

    def _look(self, tool: str) -> bool:
        entries = self._now.entries_for(tool)
        if entries != self._then.entries_for(tool) or (self._unlisted and entries):
            return True
        if self._resolved and any(one.resolve or one.command_from for one in entries):
            return True
        return any(self._finds_marked(one) for one in entries)

    def _finds_marked(self, entry: Tool) -> bool:
        """Return whether calls of this entry are read by what is marked otherwise: it stays what it is."""
        if entry.command_from and entry.resolve != "shell":
            return bool(self._marks)
        plain = entry.operation or f"{entry.domain}."
        looks = IN_LINES if entry.resolve == "shell" else (plain.partition(".")[0],)
        reads = entry.resolve is not None or is_git_operation(plain)
        return reads and any(name.partition(".")[0] in looks for name in self._marks)


def _names_of_tools(policy: Policy) -> set[str]:
    """Names that a tool which no entry fits could have, or borrow."""
    return {name for name in policy.table if name.startswith(f"{UNLISTED_TOOLS}.")}


def _looked_up(policy: Policy, domains: set[str]) -> tuple[object, ...]:
    """What resolvers look at: contacts, programs, and what is listed in the domains that they read into."""
    lists = {name: one for name, one in policy.domains.items() if name in domains}
    listed = {name: {*one.autonomous, *one.requires_approval, *one.blocked} for name, one in lists.items()}
    return policy.vip_contacts, policy.family_contacts, policy.programs, listed


def _marked(policy: Policy) -> dict[str, object]:
    """What stays what it is, in whatever form a call has it."""
    marks = {name: (policy.mark_of(name), one.approvals) for name, one in policy.table.items()}
    return {name: found for name, found in marks.items() if any(found)}

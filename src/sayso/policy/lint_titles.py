"""Titles that name arguments their tool does not have: the title would be left out of every line.

Which arguments a tool has is known from calls that were seen, and else from the policy itself, as far as its
entries name some. What nobody knows is not complained about.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from sayso.core.deciding.titles import placeholders
from sayso.core.policy import Policy, Tool

ArgumentsByTool = Mapping[str, frozenset[str]]
"""By tool, the arguments that calls of it had."""
NAMED = re.compile(r"\bargs\.([A-Za-z_]\w*)|\bargs\[\s*[\"']([^\"']+)[\"']\s*\]")
ALIKE = 0.75


def find_unknown_in_titles(
    policy: Policy, seen: ArgumentsByTool
) -> Iterator[tuple[Tool, str, tuple[str, ...], bool]]:
    """Each entry whose title names an argument that is none, with the name, those it may have meant, and
    whether that is known from calls."""
    for tool in policy.tools:
        names = () if tool.title is None else placeholders(tool.title)
        had = _arguments_in_calls(tool, seen)
        for name in (name.partition(".")[0] for name in names):
            if had and name not in had:
                yield tool, name, tuple(sorted(had)), True
            elif not had and name not in _arguments_in_entries(policy, tool):
                meant = get_close_matches(name, _arguments_in_entries(policy, tool), 1, ALIKE)
                if meant:
                    yield tool, name, tuple(meant), False


def _arguments_in_calls(tool: Tool, seen: ArgumentsByTool) -> frozenset[str]:
    had = (names for name, names in seen.items() if fnmatch.fnmatchcase(name, tool.tool))
    return frozenset[str]().union(*had)


def _arguments_in_entries(policy: Policy, tool: Tool) -> frozenset[str]:
    """The arguments that entries for the same tool look at. Titles are not taken at their word."""
    same = [one for one in policy.tools if one.tool == tool.tool]
    texts = [text for one in same for text in _expressions_of(one)]
    found = {name for text in texts for pair in NAMED.findall(text) for name in pair if name}
    return frozenset(found.union(*(one.ignore for one in same)))


def _expressions_of(tool: Tool) -> Iterator[str]:
    for text in (tool.source, tool.context, tool.target, tool.command, tool.when):
        if text is not None:
            yield text

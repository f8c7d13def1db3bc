"""The tool that a name means, and what it does: as the policy says, and as this session has seen it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from sayso.core.policy import Policy, Tool
from sayso.core.session import Session
from sayso.core.text.patterns import lazy_pattern


class NamedTool(msgspec.Struct, frozen=True):
    """A name taken for a tool's, with the operations of that tool. Without a tool there are none.

    `does_anything`: it runs command lines, so that no list of operations holds all it can do.
    """

    name: str
    operations: frozenset[str] = frozenset()
    does_anything: bool = False

    def is_called(self, tool: str | None) -> bool:
        return is_named(tool, self.name)


def find_named_tool(name: str, policy: Policy, session: Session) -> NamedTool:
    """The tool of this name, however it is spelled."""
    seen = [
        (tool, does) for tool, does in _tools_in_session(session) if tool is not None and is_named(tool, name)
    ]
    listed = [entry.tool for entry in policy.tools if is_named(entry.tool, name)]
    spelled = {name, re.sub(r"[\s-]+", "_", name), *listed, *(tool for tool, _ in seen)}
    entries = [entry for tool in spelled for entry in policy.entries_for(tool) if entry.tool.strip("*?[]")]
    declared = (_operations_of(entry, policy) for entry in entries)
    operations = frozenset().union(*declared, *(does for _, does in seen))
    return NamedTool(name, operations, any(entry.resolve == "shell" for entry in entries))


def is_named(tool: str | None, name: str) -> bool:
    """Whether this is the tool that people mean by the name."""
    return tool is not None and normalize_tool_name(tool) == normalize_tool_name(name)


def normalize_tool_name(name: str) -> str:
    """A name without what people spell differently: case, hyphens, a plural, "operations" after it."""
    plain = " ".join(re.split(r"[\s_-]+", name.casefold().strip()))
    return _NOUN.sub("", plain).removesuffix("()").removesuffix("s")


def _tools_in_session(session: Session) -> Iterator[tuple[str | None, tuple[str, ...]]]:
    """The tools of calls under way, open questions and grants, each with what it was seen to do."""
    for call in session.under_way.values():
        yield call.tool, call.operations
    for question in session.questions.values():
        yield question.request.call.tool, tuple(one.name for one in question.request.operations)
    for held in session.all_grants:
        grant = held.grant
        does = (grant.value,) if grant.kind == "operation" else grant.pins.operations or ()
        yield grant.asked_for or grant.pins.tool, does


def _operations_of(entry: Tool, policy: Policy) -> set[str]:
    """What an entry makes of calls: the operation it names, else whatever its resolver may find."""
    if entry.operation is not None:
        return {entry.operation}
    return {one for one in policy.table if policy.table[one].domain == entry.domain}


_NOUN = lazy_pattern(r" (?:commands?|operations?|calls?|tools?)\Z")

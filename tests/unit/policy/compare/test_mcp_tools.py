"""A tool of an MCP server that a policy no longer names is a change that can loosen calls of other names."""

from __future__ import annotations

from sayso.core.model import Declaration
from sayso.policy import load_text
from sayso.policy.compare.strictest import tightens_only
from sayso.reading.call import read_call
from sayso.reading.path_operations import CallFolders

LISTS = """
extends: [coding]
domains:
  tools: {{autonomous: [mcp__mail__send], requires_approval: [{asks}], blocked: []}}
"""


def operations(text: str) -> set[str]:
    found = read_call("MCP:send", {}, load_text(text), CallFolders("/w", "/w", "/h"), Declaration())
    return {one.name for one in found.operations}


def test_a_tool_that_is_no_longer_named_may_loosen_one_that_names_no_server() -> None:
    before, after = LISTS.format(asks="mcp__other__send"), LISTS.format(asks="")
    assert operations(before) == {"tools.mcp__mail__send", "tools.mcp__other__send"}
    assert operations(after) == {"tools.mcp__mail__send"}
    assert not tightens_only(load_text(before), load_text(after))
    assert tightens_only(load_text(before), load_text(before))

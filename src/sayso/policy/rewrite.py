"""The text of a policy file, changed so that a permission asks: the smallest change, all else as it was.

What comes out is a suggestion. Whoever uses it compares both policies: nothing here proves that it tightens.
"""

from __future__ import annotations

import json
import re

from sayso.core.errors import PolicyError
from sayso.policy.parsing.document import Node, parse_document

_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
_ITEM = re.compile(r"""[ \t]*-[ \t]+(["']?)[\w.-]+\1[ \t]*(#.*)?\n?""")
HINT = "move it to requires_approval yourself"


def make_it_ask(text: str, domain: str, action: str) -> str:
    """Return this policy with the action among what requires approval in its domain."""
    root, _ = parse_document(text.encode(), "policy")
    found = root.find("domains", domain) or root.find(domain)
    if found is None:
        return _add_domain(text, root, domain, action)
    asks = found.find("requires_approval")
    if asks is None or not isinstance(asks.value, list):
        raise PolicyError(f"{domain} has no list requires_approval here", hint=HINT)
    cuts = [_removal(text, found, node) for node in found.entries("autonomous") if node.value == action]
    edits = [*cuts, _addition(text, asks, action)]
    for start, end, instead in sorted(edits, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


Edit = tuple[int, int, str]


def _add_domain(text: str, root: Node, domain: str, action: str) -> str:
    """Return the text with a domain that moves this action, and leaves the rest to the presets."""
    lists = f"{{autonomous: [], requires_approval: [{_spell(text, action)}], blocked: []}}"
    added = f"{_spell(text, domain)}: {lists}\n"
    domains = root.find("domains")
    if domains is None and not text.lstrip().startswith("{"):
        return f"{text}{'' if text.endswith(chr(10)) else chr(10)}domains:\n  {added}"
    first = min(domains.keys.values(), default=None) if domains is not None else None
    if first is None or first[0] == root.at("domains")[0]:
        raise PolicyError(f"there is no place for {domain} in this file", hint=HINT)
    start = _offset(text, first[0], 1)
    return f"{text[:start]}{' ' * (first[1] - 1)}{added}{text[start:]}"


def _removal(text: str, domain: Node, item: Node) -> Edit:
    """Cut one entry out of a list: from a list in brackets, or a line of its own."""
    start = _offset(text, item.line, item.column)
    line = _offset(text, item.line, 1)
    whole = _ITEM.match(text, line)
    if text[line:start].strip() == "-" and whole is not None:
        if len(domain.entries("autonomous")) > 1:
            return line, whole.end(), ""
        key, column = domain.at("autonomous")
        place = _offset(text, key, column) + len("autonomous:")
        return place, whole.end(), " []\n"
    token = re.compile(r"""(["']?)[\w.-]+\1([ \t]*,[ \t]*)?""").match(text, start)
    before = re.compile(r",[ \t]*\Z").search(text[line:start])
    if token is None:
        raise PolicyError("the list cannot be changed here", hint=HINT)
    if token[2] is None and before is not None:
        return line + before.start(), token.end(), ""
    return start, token.end(), ""


def _addition(text: str, asks: Node, action: str) -> Edit:
    """Put an entry at the head of a list."""
    start = _offset(text, asks.line, asks.column)
    spelled, entries = _spell(text, action), asks.value
    if text[start] == "[":
        return start + 1, start + 1, f"{spelled}, " if entries else spelled
    line = _offset(text, asks.line, 1)
    return line, line, f"{text[line:start]}- {spelled}\n"


def _spell(text: str, name: str) -> str:
    return name if _PLAIN.fullmatch(name) and not text.lstrip().startswith("{") else json.dumps(name)


def _offset(text: str, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
        if not start:
            raise PolicyError("its lines are ambiguous", hint=HINT)
    return min(start + column - 1, len(text) - 1)

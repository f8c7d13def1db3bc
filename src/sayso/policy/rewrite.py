"""The text of a policy file, changed so that a permission asks: the smallest change, all else as it was.

What comes out is a suggestion. Whoever uses it compares both policies: nothing here proves that it tightens.
"""

from __future__ import annotations

import json
import re

from sayso.core.errors import PolicyError
from sayso.policy.file import is_graph_form
from sayso.policy.parsing.document import Node, parse_document

_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
_ITEM = re.compile(r"""[ \t]*-[ \t]+(["']?)[\w.-]+\1[ \t]*(#.*)?\n?""")
_SCALAR = re.compile(r"[^\s,}#]*")
HINT = "move it to requires_approval yourself"


def make_it_ask(text: str, domain: str, action: str) -> str:
    """Return this policy with the action among what requires approval in its domain."""
    root, _ = parse_document(text.encode(), "policy")
    found = root.find("domains", domain) or root.find(domain)
    if found is None:
        return _set_member(text, root, ("domains", domain), _spell_lists(text, action))
    asks = found.find("requires_approval")
    if asks is None or not isinstance(asks.value, list):
        raise PolicyError(f"{domain} has no list requires_approval here", hint=HINT)
    cuts = [_removal(text, found, node) for node in found.entries("autonomous") if node.value == action]
    edits = [*cuts, _addition(text, asks, action)]
    for start, end, instead in sorted(edits, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def ignore_confidence(text: str, domain: str, action: str) -> str:
    """Return this policy with an action that asks however confident the agent is.

    A file in graph form has no place for a single action: there, all that asks in its domain does.
    """
    root, _ = parse_document(text.encode(), "policy")
    path = (domain,) if is_graph_form(root.keys) else ("operations", f"{domain}.{action}")
    return _set_member(text, root, (*path, "confidence_bypass"), "false")


Edit = tuple[int, int, str]


def _set_member(text: str, root: Node, path: tuple[str, ...], value: str) -> str:
    """Return the text with this value at the end of a path of maps; what is missing of the path is added."""
    found, missing = root, path
    while missing and isinstance(found.value, dict) and missing[0] in found.value:
        found, missing = found.value[missing[0]], missing[1:]
    start = _offset(text, found.line, found.column)
    if not missing:
        return text[:start] + _SCALAR.sub(value, text[start:], count=1)
    if not isinstance(found.value, dict):
        raise PolicyError(f"there is no place for {'.'.join(path)} in this file", hint=HINT)
    keys = [f"{_spell(text, key)}: " for key in missing]
    entry = "{".join(keys) + value + "}" * (len(keys) - 1)
    if text[start] == "{":
        return f"{text[: start + 1]}{entry}{', ' if found.value else ''}{text[start + 1 :]}"
    if found is root:
        below = "{".join(keys[1:]) + value + "}" * (len(keys) - 2)
        return f"{text}{'' if text.endswith(chr(10)) else chr(10)}{keys[0].rstrip()}\n  {below}\n"
    line = _offset(text, found.line, 1)
    return f"{text[:line]}{' ' * (found.column - 1)}{entry}\n{text[line:]}"


def _spell_lists(text: str, action: str) -> str:
    """Spell the lists of a domain that moves this action, and leaves the rest to the presets."""
    lists = {"autonomous": "[]", "requires_approval": f"[{_spell(text, action)}]", "blocked": "[]"}
    return f"{{{', '.join(f'{_spell(text, name)}: {entries}' for name, entries in lists.items())}}}"


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

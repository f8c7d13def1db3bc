"""The command that starts a server, and the same behind the gateway."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from sayso.core.digest import sha256
from sayso.core.text.mcp_names import clean_name

MARK = ("-P", "-m", "sayso", "mcp", "wrap", "--name")
"""`-P`: nothing of the folder that the client starts it in is taken for a part of the program."""
_NAME = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")


def wrap_words(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the command with the gateway in front; of one that has an older gateway, with this one."""
    address = unwrap_address(words)
    if address is not None:
        return wrap_address(name, address)
    inner = unwrap_words(words)
    return (sys.executable, *MARK, clean_name(name), "--", *(words if inner is None else inner))


def wrap_address(name: str, address: str) -> tuple[str, ...]:
    """Return the command that puts the gateway in front of a server at this address."""
    return (sys.executable, *MARK, clean_name(name), "--url", address)


def unwrap_address(words: Sequence[str]) -> str | None:
    """Return the address of the server; None if this is not a gateway in front of one."""
    behind = len(MARK) + 2
    if tuple(words[1 : behind - 1]) != MARK or tuple(words[behind : behind + 1]) != ("--url",):
        return None
    return words[behind + 1] if len(words) == behind + 2 else None


def unwrap_words(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the server's own command; None if there is no gateway in front of it."""
    behind = len(MARK) + 2
    if tuple(words[1 : behind - 1]) != MARK or tuple(words[behind : behind + 1]) != ("--",):
        return None
    return tuple(words[behind + 1 :]) or None


def is_wrapped(words: Sequence[str]) -> bool:
    """Return whether a gateway stands in front of the server."""
    return unwrap_words(words) is not None or unwrap_address(words) is not None


def name_servers(names: Iterable[str]) -> dict[str, str]:
    """Return the name of each server in the policy; no two are the same.

    If a cleaned name equals that of another server, it gets a suffix. The suffix depends on the name alone,
    so that a grant for one server never passes to another.
    """
    known = set(names)
    cleaned = Counter(clean_name(name) for name in known)
    return {
        name: clean_name(name)
        if name == clean_name(name) or cleaned[clean_name(name)] == 1
        else f"{clean_name(name)}-{sha256(name.encode('utf-8', 'surrogatepass'))[:8]}"
        for name in known
    }


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None

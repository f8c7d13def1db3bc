"""The command that starts a server, and the same behind the gateway."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

MARK = ("-P", "-m", "sayso", "mcp", "wrap", "--name")
"""`-P`: nothing of the folder that the client starts it in is taken for a part of the program."""
_NAME = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")


def wrap_words(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the command with the gateway in front; of one that has an older gateway, with this one."""
    inner = unwrap_words(words)
    return (sys.executable, *MARK, clean_name(name), "--", *(words if inner is None else inner))


def unwrap_words(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the server's own command; None if there is no gateway in front of it."""
    behind = len(MARK) + 2
    if tuple(words[1 : behind - 1]) != MARK or tuple(words[behind : behind + 1]) != ("--",):
        return None
    return tuple(words[behind + 1 :]) or None


def clean_name(name: str) -> str:
    """Return the name as it can stand in mcp__SERVER__TOOL: two underscores would end it too early."""
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_-]", "_", name)).strip("_") or "server"


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None

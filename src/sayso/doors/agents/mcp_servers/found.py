"""The servers of a configuration: those started by a command, and others."""

from __future__ import annotations

from typing import Any

import msgspec


class StdioServer(msgspec.Struct, frozen=True):
    """A server that its client starts. Its command stands in the text from `start` to `end`."""

    where: tuple[str, ...]
    """Its place in the file; the last part is its name."""
    words: tuple[str, ...]
    start: int
    end: int

    @property
    def name(self) -> str:
        return self.where[-1]


class FoundServers(msgspec.Struct, frozen=True):
    """The servers of one configuration, and the names of those that no gateway can stand in front of."""

    stdio: tuple[StdioServer, ...] = ()
    others: tuple[str, ...] = ()


def join_command(command: Any, args: Any) -> tuple[str, ...] | None:
    """Return the command as words; None if it is not one."""
    words = command if isinstance(command, list) else [command, *(args if isinstance(args, list) else ())]
    if args is not None and not isinstance(args, list):
        return None
    plain = bool(words) and all(isinstance(word, str) for word in words) and bool(words[0])
    return tuple(words) if plain else None

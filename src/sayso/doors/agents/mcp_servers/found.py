"""The servers of a configuration: those started by a command, those at an address, and others."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.doors.agents.mcp_servers.addresses import AddressServer
from sayso.doors.agents.mcp_servers.words import name_servers


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
    addresses: tuple[AddressServer, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def gateable(self) -> tuple[StdioServer | AddressServer, ...]:
        """All that a gateway can stand in front of."""
        return (*self.stdio, *self.addresses)

    @property
    def called(self) -> dict[str, str]:
        """Return the name of each server in the policy, by its name in this file."""
        return name_servers((*(one.name for one in self.gateable), *self.others))


def join_command(command: Any, args: Any) -> tuple[str, ...] | None:
    """Return the command as words; None if it is not one."""
    words = command if isinstance(command, list) else [command, *(args if isinstance(args, list) else ())]
    if args is not None and not isinstance(args, list):
        return None
    plain = bool(words) and all(isinstance(word, str) for word in words) and bool(words[0])
    return tuple(words) if plain else None

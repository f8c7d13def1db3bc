"""A coding agent as data: how it speaks to hooks, where its settings live, and what is registered there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from sayso.wire import CANARY_SESSION, HookDialect

Scope = Literal["user", "project"]
QUICK = 20
"""Seconds for an event at which nobody is waited for."""
UNPROVEN = "whether it runs the hook is not proven here"
NOWHERE = "http://127.0.0.1:9"
"""An address at which nobody listens."""


class HookEvent(msgspec.Struct, frozen=True):
    """An event to register a hook for, and how the hook fails there when nobody could decide.

    The default, exit code 2, blocks. `fail_code` 0 is for events that block nothing, or that block by what is
    printed, `fail_output`.
    """

    name: str
    fail_code: Literal[0, 2] = 2
    fail_output: str = ""
    matcher: str | None = None
    quick: bool = False
    """Nobody is waited for: the host gives this event little time."""

    def seconds(self, most: int) -> int:
        """Return how many seconds its hook may take, where one that waits for a person may take `most`."""
        return QUICK if self.quick else most


class Place(msgspec.Struct, frozen=True):
    """Where agents keep their settings on this machine."""

    home: Path
    project: Path
    variables: Mapping[str, str]


class WantedFile(msgspec.Struct, frozen=True):
    """A file that is Sayso's own, with its whole text."""

    path: Path
    text: str
    executable: bool = False


class WantedEntries(msgspec.Struct, frozen=True):
    """Entries in a JSON file of the user's: what is appended to the list at each path."""

    path: Path
    lists: Mapping[tuple[str, ...], Any]
    values: Mapping[str, Any] = {}
    """Top-level keys the file must have, set only where they are missing."""
    comments: bool = False
    """Whether the agent reads comments in this file. None reads a trailing comma."""
    find_fault: Callable[[Any], str] | None = None
    """What in the file's value makes the agent drop the whole file; nothing if it takes it."""


class Headless(msgspec.Struct, frozen=True):
    """How the program takes one message without a terminal: its words, and variables that keep it offline."""

    words: tuple[str, ...]
    variables: Mapping[str, str]


Wanted = WantedFile | WantedEntries
CommandFor = Callable[[str], str]
"""The command line to register for an event."""


def make_hook_entries(
    events: Iterable[HookEvent], command: CommandFor, entry: Callable[[HookEvent, str], Any]
) -> dict[tuple[str, ...], Any]:
    """What to append to the list of each event under `hooks`: the entry made of its command line."""
    return {("hooks", one.name): entry(one, command(one.name)) for one in events}


def blocked_by_exit(code: int, out: str) -> bool:
    return code == 2


Canary = Callable[[str, str], tuple[str, dict[str, Any]]]
"""The event and payload of a call that must be blocked: in this folder, it writes this file of Sayso's."""


def canary_of(event: str, tool: str, path: str = "file_path", **more: Any) -> Canary:
    """Make the canary of an agent that names fields as Claude Code does; `path` is the tool's argument."""

    def make(file: str, folder: str) -> tuple[str, dict[str, Any]]:
        return event, {
            "session_id": CANARY_SESSION,
            "cwd": folder,
            "hook_event_name": event,
            "tool_name": tool,
            "tool_input": {path: file, "content": ""},
            **more,
        }

    return make


class Agent(HookDialect, frozen=True, kw_only=True):
    """One coding agent."""

    title: str
    program: str
    """The command that starts it, to look for and to ask for its version."""
    events: tuple[HookEvent, ...]
    wanted: Callable[[Place, Scope, CommandFor, int], tuple[Wanted, ...]]
    """What to write; the number is the seconds a hook may take."""
    canary: Canary
    levels: int = 1
    """How many folders above what is written for the user lies the agent's own folder."""
    headless: Callable[[str], Headless] | None = None
    """How to let the program take this message, if its hook runs before any model is asked."""
    unproven: str = f"it was not started, so {UNPROVEN}"
    """What is not proven where the program cannot be started without a model."""
    is_blocked: Callable[[int, str], bool] = blocked_by_exit
    """Whether the host blocks the call, by the hook's exit code and what it printed."""
    wait: int = 300
    """Seconds to wait for a person, unless told otherwise."""
    most_wait: int = 590
    scopes: tuple[Scope, ...] = ("user", "project")
    condition: str = ""
    """Without what the host does not run the hook at all, after "once"."""
    advice: tuple[str, ...] = ()
    """What the user still has to do, or to know."""

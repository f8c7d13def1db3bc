"""What `sayso install` registers: the command line of the hook, and the file that the hook reads.

- The command is `sh` with absolute paths: every exit but 0 and 2 becomes 2, with a reason. The hook itself
  runs without the host's environment.
- The file is the hook's alone to read. It has the token, so it lies where no agent may read or write.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from sayso.doors.agents.agent import Agent, HookEvent

FAILED = "Sayso: the hook failed, so nothing runs"
GUARD = f'"$@"; case $? in 0) exit 0;; 2) exit 2;; esac; echo "{FAILED}" >&2; exit 2'
GUARDED = ["/bin/sh", "-c", GUARD, "sayso"]
CLEAN = ["/usr/bin/env", "-i"]
"""The hook reads no variable. One that loads foreign code acts on `sh` and `env`, but not on the hook."""
OWN_MARKS = (FAILED, "Written by `sayso install", "written by sayso install.")
HOOK = Path(__file__).parents[2] / "hook" / "hook.py"
SPARE = 30
"""Seconds that the host gives the hook beyond those it waits for a person."""
KEPT_VARIABLES = (
    "HOME", "PATH", "LANG", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
    "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR", "OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR", "GEMINI_CLI_HOME",
)  # fmt: skip
"""What of the installer's environment a service is started with: where things are, nothing that decides."""


class HookSettings(msgspec.Struct, frozen=True):
    """What the hook has to know. `start` is the Python to start a missing service with, if it may be."""

    socket: Path
    uid: int
    token: str
    wait: int
    start: str | None
    variables: Mapping[str, str]


def hook_command(agent: Agent, event: str, file: Path) -> str:
    """Return the command line to register for an event of this agent."""
    return shlex.join([*GUARDED, *hook_words(agent, event, file)])


def hook_words(agent: Agent, event: str, file: Path) -> list[str]:
    """Return the hook's own command, without the guard."""
    return [*CLEAN, find_python(), "-I", "-S", str(HOOK), agent.name, event, str(file)]


def find_python() -> str:
    """Return the Python that runs the hook: the one behind a virtual environment, which may move."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return os.path.realpath(base)


def is_own_file(text: str) -> bool:
    """Return whether some version of Sayso has written this file."""
    return any(mark in text for mark in OWN_MARKS)


def is_hook_command(command: object) -> bool:
    """Return whether Sayso has registered this command line, from this folder of the program or another."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    return words[: len(GUARDED)] == GUARDED and any(
        word.startswith("/") and word.endswith("/hook.py") for word in words[len(GUARDED) :]
    )


def write_settings_text(events: Iterable[HookEvent], settings: HookSettings) -> str:
    """Return the file of the hook, or of the gateway, which has no events: a line for each fact."""
    lines = [
        f"socket {settings.socket}",
        f"uid {settings.uid}",
        f"token {settings.token}",
        f"wait {settings.wait}",
    ]
    if settings.start is not None:
        lines += [f"start {settings.start}"]
        lines += [f"env {name} {value}" for name, value in settings.variables.items()]
    lines += [f"fail {one.name} {one.fail_code} {one.fail_output}" for one in events]
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("a path or variable has a line break in it")
    return "\n".join(lines) + "\n"


def kept_variables(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name in KEPT_VARIABLES
        if (value := environment.get(name)) and "\n" not in value and "\r" not in value
    }

"""A home and a workspace that are thrown away, and the program that is driven in them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.e2e.agents.model import PROMPT, Api, Model, ToolCall
from tests.support.repository import ROOT

AGENTS = ROOT / ".venv" / "agents"
PATIENCE = 240.0


class Place:
    """A user's home, and the folder that the agent works in."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.config, self.runtime, self.bin = self.home / ".config", folder / "run", self.home / "bin"
        for one in (self.home, self.work, self.config, self.runtime, self.bin):
            one.mkdir(mode=0o700)
        self.made = self.work / "made.txt"

    @property
    def writing(self) -> str:
        """A command line that writes the file."""
        return f"echo made > {self.made}"

    def environment(self) -> dict[str, str]:
        """The variables of this user, and nothing of whoever runs the tests."""
        return {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([str(self.bin), "/usr/local/bin", "/usr/bin", "/bin"]),
            "TERM": "xterm-256color",
            "TMPDIR": str(self.runtime),
            "XDG_CONFIG_HOME": str(self.config),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_RUNTIME_DIR": str(self.runtime),
        }


@dataclass(frozen=True)
class HandWritten:
    """A hook for proving the harness: what it prints on each stream, and how it ends."""

    out: str = ""
    err: str = ""
    code: int = 0


DENIAL = {
    "hookEventName": "PreToolUse",
    "permissionDecision": "deny",
    "permissionDecisionReason": "no, says the test",
}
CONSENT = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}


class Program(Protocol):
    """A coding agent: how it is set up, started without a terminal, and asked to run a command."""

    name: str
    package: str
    api: Api

    denial: HandWritten
    consent: HandWritten

    def start(self) -> list[str]:
        """Return the words that start it."""

    def arguments(self, prompt: str) -> list[str]:
        """Return what makes it take one prompt and end."""

    def environment(self, model: str) -> dict[str, str]:
        """Return the variables that lead it to the model and keep it silent otherwise."""

    def configure(self, place: Place, model: str) -> None:
        """Write the settings of a user who has no hook."""

    def shell_call(self, line: str) -> ToolCall:
        """Return the call of its shell tool with this command line."""

    def write_hook(self, place: Place, hook: HandWritten) -> None:
        """Register a hand-written hook for every tool."""

    def hook_settings(self, place: Place) -> Path:
        """Return the file that `sayso install` writes to."""

    def accept_hooks(self, place: Place) -> None:
        """Do what the program wants of its user before hooks run."""


@dataclass(frozen=True)
class Ended:
    """How a run of a program ended."""

    code: int
    out: str
    err: str


@contextmanager
def start_program(
    program: Program, place: Place, model: Model, prompt: str = PROMPT
) -> Iterator[subprocess.Popen[str]]:
    """Start it on one prompt. What it wants from elsewhere goes to the model, which refuses it."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), model.url)
    loopback = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    process = subprocess.Popen(
        [*program.start(), *program.arguments(prompt)],
        cwd=place.work,
        env=place.environment() | proxies | loopback | program.environment(model.url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert model.faults == []


def run_program(program: Program, place: Place, model: Model, prompt: str = PROMPT) -> Ended:
    """Run it on one prompt, to its end."""
    with start_program(program, place, model, prompt) as process:
        out, err = process.communicate(timeout=PATIENCE)
    return Ended(process.returncode, out, err)


def pinned_version(program: Program) -> str:
    """The version that tools/agents names for it."""
    wanted = json.loads(
        (ROOT / "tools" / "agents" / program.name / "package.json").read_text(encoding="utf-8")
    )
    version: str = wanted["devDependencies"][program.package]
    return version


def put_on_path(program: Program, place: Place) -> None:
    """Let the user start the program by its name."""
    command = place.bin / program.name
    command.write_text(f'#!/bin/sh\nexec {shlex.join(program.start())} "$@"\n', encoding="utf-8")
    command.chmod(0o755)


def find_installed(agent: str, *patterns: str) -> str:
    """The file of an installed program. Its name holds the machine's kind, so it is a pattern."""
    for pattern in patterns:
        for found in sorted((AGENTS / agent / "node_modules").glob(pattern)):
            return str(found)
    raise AssertionError(f"{agent} is not installed: make .venv/agents/{agent}/.installed")


def write_script(path: Path, hook: HandWritten, seen: Path) -> str:
    """Write a shell script that keeps what it reads in a folder, and answers as told; return its command."""
    seen.mkdir()
    lines: Sequence[str] = [
        "#!/bin/sh",
        f"cat > '{seen}'/$(date +%s%N)-$$",
        f"cat <<'END'\n{hook.out}\nEND" if hook.out else ":",
        f"cat >&2 <<'END'\n{hook.err}\nEND" if hook.err else ":",
        f"exit {hook.code}",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)

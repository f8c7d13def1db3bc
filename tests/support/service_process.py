"""`sayso serve` as a process of its own, with what a test needs around it: tokens, restarts, its log."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

from sayso.doors.remote.connected import Connected, connect
from sayso.gate.gate import Gate
from sayso.gate.open import open_to_act
from sayso.gate.people.tokens import Role, issue_token
from sayso.store.contract import StoreError
from tests.support.repository import ROOT

PATIENCE = 180.0
SAYSO = ("-m", "sayso")
POLICY = """
sayso: 1
settings: {safe: auto}
domains:
  tasks: {trust_level: high, autonomous: [read], requires_approval: [create], blocked: [wipe]}
  git: {trust_level: medium, autonomous: [], requires_approval: [push], blocked: []}
operations:
  git.push: {risk: high, reason: changes a remote}
tools:
  - {tool: push, operation: git.push}
"""


def a_home(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Home:
    """A home in this folder, for this process and those it starts."""
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(folder / name))
        (folder / name).mkdir(mode=0o700)
    return Home(folder)


class Home:
    """A user of the service: a home of their own, with a store and a policy."""

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self.folder = folder
        self.policy = folder / "policy.yaml"
        self.policy.write_text(POLICY)
        self.store = store or str(folder / "store.db")
        self.socket = folder / "run" / "sayso.sock"

    def token(self, role: Role, name: str = "somebody", *, assured: bool = False) -> str:
        gate = self._gate()
        try:
            return issue_token(gate, role, name, by="test", assured=assured)[0]
        finally:
            gate.store.close()

    def _gate(self) -> Gate:
        """The store, opened to act; a server that is busy is asked again."""
        for _ in range(5):
            with suppress(StoreError):
                return open_to_act(None, self.store)
        return open_to_act(None, self.store)

    def serve(
        self, *more: str, port: int = 0, socket: Path | None = None, program: Sequence[str] = SAYSO
    ) -> Service:
        where = ("--port", str(port), "--socket", str(socket or self.socket))
        return Service(["--store", self.store, "--policy", str(self.policy), *where, *more], program)


class Service:
    """One service process. It has started once this is made."""

    def __init__(self, arguments: list[str], program: Sequence[str] = SAYSO) -> None:
        self.process = command("serve", *arguments, program=program)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.match(r"Sayso serves on (http://\S+:(\d+))", line)
        if found is None:
            self.process.kill()
            raise AssertionError(f"{line}{self.process.communicate()[1]}")
        self.url, self.port = found[1], int(found[2])
        self.log: list[str] = []
        assert self.process.stderr is not None
        self._reader = threading.Thread(target=self.log.extend, args=(self.process.stderr,), daemon=True)
        self._reader.start()

    def connect(self, token: str) -> Connected:
        return connect(self.url, token)

    def kill(self) -> None:
        """As a crash would: nothing is tidied up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.kill()
        self._reader.join(PATIENCE)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def command(*arguments: str, program: Sequence[str] = SAYSO) -> subprocess.Popen[str]:
    """The command `sayso`, from the files these tests belong to; or a program that becomes it."""
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(*arguments: str) -> tuple[int, str]:
    """What a command that ends says, and its exit code."""
    with command(*arguments) as process:
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out + err

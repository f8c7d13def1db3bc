"""The whole service in this process: a gate, a token for each role, and requests without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.policy import load_text
from tests.support.gates import KEY, Clock, clock, embedded, no_settings
from tests.support.service import Service
from tests.support.service_process import Home, a_home
from tests.support.service_process import Service as Served

__all__ = ["KEY", "clock", "no_settings"]
POLICY = """
sayso: 1
settings: {safe: auto}
categories: {file-edit: file edits}
domains:
  files: {trust_level: high, autonomous: [read], requires_approval: [write], blocked: [wipe]}
  git: {trust_level: medium, autonomous: [], requires_approval: [commit, push], blocked: []}
operations:
  files.write: {category: file-edit, reason: changes a file}
  git.push: {risk: high, reason: changes a remote}
tools:
  - {tool: read_file, operation: files.read}
  - {tool: write_file, operation: files.write}
  - {tool: wipe, operation: files.wipe}
  - {tool: push, operation: git.push, command: args.line}
  - {tool: read_files, resolve: path, operation: files.read, from: args.paths}
"""
POLICY_READ = load_text(POLICY)
"""Read once: a policy never changes."""


@pytest.fixture
def gate(store_kind: str, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(store_kind, tmp_path, clock) as store:
        yield open_gate(POLICY_READ, store, key=KEY)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def service(gate: Gate, runner: asyncio.Runner) -> Service:
    return Service(gate, runner)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    """Somebody whose service is a process of its own."""
    return a_home(monkeypatch, tmp_path)


@pytest.fixture
def served(home: Home) -> Iterator[Served]:
    with home.serve() as running:
        yield running

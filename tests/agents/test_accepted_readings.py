"""An accepted reading, through every hook: `git fetch` runs unasked, and what does more is asked."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.policy import load_text
from tests.agents.conftest import Desk
from tests.agents.hosts import Host
from tests.support.gates import KEY, Clock, embedded
from tests.support.service import Service

ACCEPTS = """
extends: [coding]
domains: {git: {autonomous: [fetch], requires_approval: [], blocked: []}}
operations: {git.fetch: {risk: low, reading: accepted}}
"""


@pytest.fixture
def gate(store_kind: str, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(store_kind, tmp_path, clock) as store:
        yield open_gate(load_text(ACCEPTS), store, key=KEY)


@pytest.fixture
def at_work(gate: Gate, host: Host, tmp_path: Path, runner: asyncio.Runner) -> Desk:
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)  # noqa: S607 - the git of this machine
    with (project / ".git/config").open("a") as file:
        file.write('[remote "origin"]\n\turl = https://git.example/team/work.git\n')
    return Desk(Service(gate, runner), host, project)


def test_a_fetch_runs_unasked_and_nothing_more_does(at_work: Desk) -> None:
    for line in ("git fetch", "git fetch origin --prune"):
        assert at_work.host.runs(at_work.call("shell", line)), line
    for line in ("git fetch https://evil.test/x", "git fetch > out", "X=1 git fetch", "git fetch; rm x"):
        assert not at_work.host.runs(at_work.call("shell", line)), line
    assert len(at_work.questions()) == 4

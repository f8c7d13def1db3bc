"""A command line whose tool entry names an operation: what the line does stays what the policy says it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.core.decision import Decision
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import request_in_session
from sayso.gate.gate import Gate, current_gate
from sayso.gate.open import open_gate
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.policy.projects import NAME
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_file
from sayso.store.contract import Store
from tests.support.gates import KEY, Clock, embedded

FREE = """\
domains:
  tests: {autonomous: [run], requires_approval: [], blocked: []}
  git: {autonomous: [], requires_approval: [commit, push], blocked: []}
tools:
  - {tool: Bash, operation: tests.run, command: args.command}
"""
LINE = "git commit -m done"
BLOCKED = FREE.replace("[commit, push], blocked: []", "[push], blocked: [commit]")
LOOSER = "settings: {approval_lasts: 1h}\n"
MARKED = {
    "deny blocked": BLOCKED,
    "deny trusted_channel": FREE.replace(
        "blocked: []}\ntools", "blocked: [], trusted_channel_required: [commit]}\ntools"
    ),
    "ask always_ask": f"{FREE}operations: {{git.commit: {{always_ask: true}}}}\n",
    "ask always_ask by a team": f"{FREE}people: {{ana: {{ids: ['page:ana']}}}}\n"
    "approvals: [{domain: git, risk: low, from: [ana]}]\n",
}


class Shell:
    """An agent with a shell, in a workspace, under a policy file."""

    def __init__(self, store: Store, folder: Path, text: str) -> None:
        self.file, self.place = folder / "policy.yaml", folder / "work"
        self.place.mkdir()
        self.file.write_text(text)
        self.gate: Gate = open_gate(load_file(self.file), store, key=KEY, source=PolicySource(self.file))
        self.session = open_session(self.gate, agent="claude", owner="me", workspace=str(self.place))

    def decide(self, line: str = LINE) -> str:
        gate = current_gate(self.gate)
        request = request_in_session(gate, self.session, "Bash", {"command": line}, None, 0.0)
        found: Decision = authorize(gate, request).decision
        return f"{found.verdict.value} {found.rule}"


@pytest.fixture
def store(clock: Clock, tmp_path: Path) -> Iterator[Store]:
    with embedded("sqlite", tmp_path, clock) as opened:
        yield opened


@pytest.mark.parametrize("wanted", MARKED)
def test_what_the_policy_marks_is_not_run_under_another_name(
    store: Store, tmp_path: Path, wanted: str
) -> None:
    shell = Shell(store, tmp_path, MARKED[wanted])
    assert wanted.startswith(shell.decide())
    assert shell.decide("pytest") == "allow autonomous"


@pytest.mark.parametrize("wanted", MARKED)
def test_what_a_file_that_waits_marks_counts_at_once(store: Store, tmp_path: Path, wanted: str) -> None:
    shell = Shell(store, tmp_path, FREE)
    assert shell.decide() == "allow autonomous"
    shell.file.write_text(MARKED[wanted] + LOOSER)
    assert shell.decide().partition(" ")[0] == wanted.partition(" ")[0]


@pytest.mark.parametrize("wanted", MARKED)
def test_what_a_file_that_waits_no_longer_marks_counts_until_it_is_applied(
    store: Store, tmp_path: Path, wanted: str
) -> None:
    shell = Shell(store, tmp_path, MARKED[wanted])
    shell.file.write_text(FREE)
    assert shell.decide().partition(" ")[0] == wanted.partition(" ")[0]


def test_what_a_project_blocks_is_not_run_under_another_name(store: Store, tmp_path: Path) -> None:
    shell = Shell(store, tmp_path, FREE)
    lists = "{autonomous: [], requires_approval: [], blocked: [commit]}"
    (shell.place / NAME).write_text(f"domains: {{git: {lists}}}\n")
    assert shell.decide() == "deny blocked"

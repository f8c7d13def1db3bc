"""A gate that was opened before its user had a policy file: the first one counts as any later one does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.core.audit import events
from sayso.doors.sayso import Sayso
from sayso.gate.gate import current_gate
from sayso.gate.policy_acts.apply import apply_policy, load_policy_status
from sayso.gate.settings import POLICY_NAMES, gate_config_folder
from sayso.store.sqlite.store import SqliteStore
from tests.attack.test_policy_past_its_file import outcome
from tests.support.gates import KEY, no_settings

__all__ = ["no_settings"]

EMPTY = "extends: [balanced]\n"
STRICTER = f"{EMPTY}domains:\n  files: {{autonomous: [], requires_approval: [read], blocked: []}}\n"
LOOSER = f"""{STRICTER.replace("autonomous: []", "autonomous: [delete]")}
operations: {{files.delete: {{risk: low}}}}
"""


class Program:
    """A program that was started without a policy file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sayso = self.open()
        gate_config_folder().mkdir(parents=True, exist_ok=True)

    def open(self) -> Sayso:
        return Sayso.open(None, SqliteStore(self.folder / "s.db"), surfaces=(), key=KEY, marks=self.folder)

    def write(self, text: str, name: str = POLICY_NAMES[0]) -> Path:
        file = gate_config_folder() / name
        file.with_suffix(".new").write_text(text)
        return file.with_suffix(".new").replace(file)

    def outcomes(self) -> list[str]:
        return [outcome(self.sayso, name) for name in ("files.read", "files.delete")]

    def alerts(self) -> list[str]:
        with self.sayso.gate.store.read() as tx:
            rows = tx.entries("main", limit=1_000)
        return [(row.body or b"").decode() for row in rows if row.event == events.PolicyAlerted.event]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    assert made.outcomes() == ["allow", "ask"]
    yield made
    made.sayso.close()


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_a_first_file_that_tightens_counts_with_the_next_decision(program: Program, name: str) -> None:
    text = STRICTER if name != "policy.json" else '{"extends": ["paranoid"]}'
    program.write(text, name)
    assert program.outcomes() == ["ask", "ask"]


def test_what_a_first_file_loosens_waits_until_it_is_applied(program: Program) -> None:
    file = program.write(LOOSER)
    assert program.outcomes() == ["ask", "ask"]
    found = load_policy_status(current_gate(program.sayso.gate), file)
    assert found.state == "waits"
    assert "files.delete" in {one.operation for one in found.loosened}
    assert "files.read" in {one.operation for one in found.tightened}
    apply_policy(current_gate(program.sayso.gate), file, by="ana", content=found.content)
    assert program.outcomes() == ["ask", "allow"]


def test_the_policy_that_init_writes_changes_nothing_and_is_in_force(program: Program) -> None:
    file = program.write(EMPTY)
    assert program.outcomes() == ["allow", "ask"]
    assert load_policy_status(current_gate(program.sayso.gate), file).state == "in_force"


def test_a_first_file_that_is_refused_changes_nothing_and_is_told_once(program: Program) -> None:
    file = program.write("domains: [no policy")
    for _ in range(3):
        assert program.outcomes() == ["allow", "ask"]
    assert len(program.alerts()) == 1
    program.write(STRICTER)
    assert program.outcomes() == ["ask", "ask"]
    file.unlink()
    assert program.outcomes() == ["ask", "ask"]


def test_a_first_file_is_no_looser_than_the_policy_of_the_program_or_of_any_other(program: Program) -> None:
    other = Sayso.open(
        "trusting", SqliteStore(program.folder / "s.db"), surfaces=(), key=KEY, marks=program.folder
    )
    program.write(LOOSER)
    assert program.outcomes() == ["ask", "ask"]
    assert outcome(other, "files.delete") == "ask"
    other.close()


def test_a_gate_that_was_opened_under_a_preset_by_name_puts_no_file_in_force(program: Program) -> None:
    named = Sayso.open(
        "balanced", SqliteStore(program.folder / "s.db"), surfaces=(), key=KEY, marks=program.folder
    )
    program.write(STRICTER)
    assert outcome(named, "files.read") == "allow"
    assert program.outcomes() == ["ask", "ask"]
    assert outcome(named, "files.read") == "ask"
    named.close()

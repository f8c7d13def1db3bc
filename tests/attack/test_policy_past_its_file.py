"""A policy that is in force, and a gate that comes without its file: it holds the gate all the same."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sayso.core.audit import events
from sayso.core.policy import Policy
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired
from sayso.doors.sayso import Sayso
from sayso.gate.open import open_to_act
from sayso.gate.policy.acting_policy import OtherPolicy, check_in_force
from sayso.gate.policy.in_force import PIN, ROW
from sayso.gate.policy_acts.apply import CannotApply, apply_policy, load_policy_status
from sayso.gate.policy_acts.file_flags import unprotect_file
from sayso.gate.policy_acts.lock import lock_policy, unlock_policy
from sayso.policy import load_text
from sayso.store.sqlite.store import SqliteStore
from tests.support.gates import KEY

STRICT = """
domains:
  mail: {autonomous: [], requires_approval: [read], blocked: [send]}
  files: {autonomous: [], requires_approval: [], blocked: [read]}
"""
LOOSE = """
domains:
  mail: {autonomous: [read, send], requires_approval: [], blocked: []}
  files: {autonomous: [read], requires_approval: [], blocked: []}
  self_modification: {autonomous: [prune_stale_memory], requires_approval: [], blocked: []}
"""


def open_gate(folder: Path, policy: Policy | Path | str) -> Sayso:
    return Sayso.open(policy, SqliteStore(folder / "s.db"), surfaces=(), key=KEY, marks=folder)


def outcome(gate: Sayso, operation: str) -> str:
    @gate.requires_consent(operation)
    def act() -> None:
        return None

    try:
        act()
    except ConsentRequired:
        return "ask"
    except ConsentDenied:
        return "deny"
    return "allow"


def outcomes(folder: Path, policy: Policy | Path | str) -> list[str]:
    gate = open_gate(folder, policy)
    found = [outcome(gate, name) for name in ("mail.read", "mail.send", "files.read")]
    gate.close()
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A policy file that is in force, and gone."""
    file = tmp_path / "policy.yaml"
    file.write_text(STRICT)
    assert outcomes(tmp_path, file) == ["ask", "deny", "deny"]
    file.unlink()
    return file


@pytest.mark.parametrize("other", ["balanced", "trusting", "gateway", load_text(LOOSE)])
def test_a_preset_or_a_policy_of_a_program_does_not_loosen_the_file_in_force(
    tmp_path: Path, file: Path, other: Policy | str
) -> None:
    assert outcomes(tmp_path, other) == ["ask", "deny", "deny"]
    gate = open_gate(tmp_path, other)
    with gate.gate.store.read() as tx:
        told = [row for row in tx.entries("main", limit=1_000) if row.event == events.PolicyAlerted.event]
    assert len(told) == 1


def test_a_stricter_policy_of_a_program_holds_for_that_program_alone(tmp_path: Path, file: Path) -> None:
    stricter = STRICT.replace("requires_approval: [read]", "requires_approval: []")
    assert outcomes(tmp_path, load_text(stricter + "settings: {unlisted: block}\n"))[0] == "deny"
    file.write_text(STRICT)
    assert outcomes(tmp_path, file) == ["ask", "deny", "deny"]


def test_a_program_follows_what_is_applied_meanwhile(tmp_path: Path, file: Path) -> None:
    file.write_text(STRICT)
    served, program = open_gate(tmp_path, file), open_gate(tmp_path, load_text(LOOSE))
    assert outcome(program, "mail.read") == "ask"
    file.write_text(
        STRICT.replace(
            "requires_approval: [read], blocked: [send]", "requires_approval: [], blocked: [read, send]"
        )
    )
    assert outcome(served, "mail.read") == "deny"
    assert outcome(program, "mail.read") == "deny"


@pytest.mark.parametrize("own", ["balanced", load_text(LOOSE)], ids=["preset", "policy"])
def test_a_program_that_was_there_first_is_held_to_the_file_that_comes_later(
    tmp_path: Path, own: Policy | str
) -> None:
    program = open_gate(tmp_path, own)
    before = outcome(program, "files.read")
    file = tmp_path / "policy.yaml"
    file.write_text(STRICT)
    served = open_gate(tmp_path, file)
    assert before == "allow"
    assert outcome(program, "files.read") == "deny"
    served.close()
    program.close()


@pytest.mark.parametrize(
    "spoil", ["DELETE FROM meta WHERE name = ?", "UPDATE meta SET value = '{}' WHERE name = ?"]
)
def test_a_program_allows_nothing_where_the_row_was_tampered_with(
    tmp_path: Path, file: Path, spoil: str
) -> None:
    with sqlite3.connect(tmp_path / "s.db") as db:
        assert db.execute(spoil, ("in-force/policy",)).rowcount == 1
    db.close()
    assert "allow" not in outcomes(tmp_path, load_text(LOOSE))


def test_without_the_locked_file_self_modification_is_denied(tmp_path: Path, file: Path) -> None:
    file.write_text(STRICT)
    gate = open_gate(tmp_path, file)
    lock_policy(gate.gate, file, by="ana")
    program = open_gate(tmp_path, load_text(LOOSE))
    try:
        assert outcome(program, "self_modification.prune_stale_memory") == "deny"
        assert outcome(program, "mail.send") == "deny"
    finally:
        unlock_policy(gate.gate, file, by="ana")


def test_which_policy_is_in_force_is_what_the_sealed_row_says(tmp_path: Path, file: Path) -> None:
    """An act that depends on the policy in force is refused under another, whatever stands in the store."""
    loose = load_text(LOOSE)
    with sqlite3.connect(tmp_path / "s.db") as db:
        assert db.execute("UPDATE meta SET value = ? WHERE name = 'policy'", (loose.digest,)).rowcount == 1
    db.close()
    gate = open_to_act(loose, tmp_path / "s.db", key=KEY, marks=tmp_path)
    with pytest.raises(OtherPolicy), gate.store.write() as tx:
        check_in_force(gate, tx)


SPOILT = ("UPDATE meta SET value = '{}' WHERE name = ?", "DELETE FROM meta WHERE name = ?")


@pytest.mark.parametrize("pin", [None, *SPOILT], ids=["row", "row and pin changed", "row and pin deleted"])
@pytest.mark.parametrize("row", SPOILT, ids=["changed", "deleted"])
def test_a_row_that_was_tampered_with_unlocks_nothing(
    tmp_path: Path, file: Path, row: str, pin: str | None
) -> None:
    file.write_text(STRICT)
    gate = open_gate(tmp_path, file)
    lock_policy(gate.gate, file, by="ana")
    gate.close()
    unprotect_file(file)
    file.write_text(LOOSE)
    with sqlite3.connect(tmp_path / "s.db") as db:
        assert db.execute(row, (ROW,)).rowcount == 1
        assert pin is None or db.execute(pin, (PIN,)).rowcount == 1
    db.close()
    act = open_to_act(None, tmp_path / "s.db", key=KEY, marks=tmp_path)
    seen = load_policy_status(act, file)
    assert (seen.state, seen.locked) == ("not_the_locked_one", True)
    with pytest.raises(CannotApply, match="locked"):
        apply_policy(act, file, by="ana", content=seen.content)
    assert "allow" not in outcomes(tmp_path, file)
    unlock_policy(act, file, by="ana")
    apply_policy(act, file, by="ana", content=seen.content)
    assert not load_policy_status(act, file).locked
    assert "allow" in outcomes(tmp_path, file)


def test_the_locked_file_can_be_applied_again_and_stays_locked(tmp_path: Path, file: Path) -> None:
    file.write_text(STRICT)
    gate = open_gate(tmp_path, file)
    lock_policy(gate.gate, file, by="ana")
    gate.close()
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute(SPOILT[0], (ROW,))
    db.close()
    act = open_to_act(None, tmp_path / "s.db", key=KEY, marks=tmp_path)
    apply_policy(act, file, by="ana", content=load_policy_status(act, file).content)
    found = load_policy_status(act, file)
    unprotect_file(file)
    assert (found.state, found.locked) == ("in_force", True)

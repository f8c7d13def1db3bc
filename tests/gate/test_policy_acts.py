"""Applying, locking and unlocking the policy file: the operator's acts, and what nobody else can do."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from sayso.core.audit import events
from sayso.core.errors import NotSeen
from sayso.core.model import Operation, Verdict
from sayso.gate import words
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.people.passkey_sign_in import sign_in_options
from sayso.gate.people.passkeys import ProofNeeded, Signing
from sayso.gate.people.signed_acts import Acknowledgement
from sayso.gate.policy.in_force import ROW
from sayso.gate.policy_acts import file_flags
from sayso.gate.policy_acts.apply import CannotApply, apply_policy, find_file_state, load_policy_status
from sayso.gate.policy_acts.lock import CannotLock, load_pin, lock_policy, unlock_policy
from sayso.gate.rows.webauthn import BadProof, Proof, act_challenge
from sayso.gate.sessions.sessions import open_session
from sayso.store.sqlite.store import SqliteStore
from tests.gate.test_live_policy import ASKS, BLOCKS, BROKEN, FREE, Mailbox
from tests.support.authenticator import Authenticator
from tests.support.signing import ORIGINS, registered


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[Mailbox]:
    made = Mailbox(tmp_path)
    yield made
    if made.file.exists():
        file_flags.unprotect_file(made.file)


def gate_of(mailbox: Mailbox) -> Gate:
    return mailbox.gate.gate


def apply_seen(mailbox: Mailbox) -> None:
    seen = load_policy_status(gate_of(mailbox), mailbox.file)
    apply_policy(gate_of(mailbox), mailbox.file, by="ana", content=seen.content)


def decide(gate: Gate, operation: str) -> Verdict:
    session = open_session(gate, agent="agent", owner="test", workspace="/w")
    request = make_request(make_call("tool"), [Operation(operation)], session=session)
    return authorize(gate, request).decision.verdict


# Applying


def test_an_applied_file_is_in_force_with_the_next_decision(mailbox: Mailbox) -> None:
    mailbox.write(BLOCKS)
    assert mailbox.outcome() == "deny"
    mailbox.write(FREE)
    assert mailbox.outcome() == "deny"
    found = load_policy_status(gate_of(mailbox), mailbox.file)
    assert found.state == "waits"
    assert "mail.read" in {change.operation for change in found.loosened}
    apply_seen(mailbox)
    assert mailbox.outcome() == "allow"
    assert load_policy_status(gate_of(mailbox), mailbox.file).state == "in_force"
    assert '"by":"ana"' in mailbox.events(events.PolicyChanged)[-1]


def test_a_tool_that_the_file_reads_for_the_first_time_is_told_before_it_counts(mailbox: Mailbox) -> None:
    mailbox.write(ASKS)
    mailbox.outcome()
    mailbox.write(ASKS, "tools: [{tool: post, operation: mail.read}]")
    mailbox.outcome()  # the stricter of both is in force, and reads calls in both ways
    found = load_policy_status(gate_of(mailbox), mailbox.file)
    assert found.state == "waits"
    assert [change.what for change in found.beyond if change.loosens] == ["tool post"]
    apply_seen(mailbox)
    assert load_policy_status(gate_of(mailbox), mailbox.file).state == "in_force"


def test_only_what_was_seen_is_applied(mailbox: Mailbox) -> None:
    mailbox.write(ASKS)
    mailbox.outcome()
    mailbox.write(FREE, "settings: {approval_lasts: 1h}")
    seen = load_policy_status(gate_of(mailbox), mailbox.file).content
    mailbox.write(FREE)
    with pytest.raises(CannotApply, match="changed meanwhile"):
        apply_policy(gate_of(mailbox), mailbox.file, by="ana", content=seen)
    assert mailbox.outcome() == "ask"


def test_with_passkeys_a_file_is_applied_only_with_a_signature_of_just_that(mailbox: Mailbox) -> None:
    gate = gate_of(mailbox)
    device = registered(gate)
    mailbox.write(ASKS)
    mailbox.outcome()
    mailbox.write(FREE)
    mailbox.outcome()
    seen = load_policy_status(gate, mailbox.file)
    assert seen.must_sign

    def apply(proof: Proof | None, shown: str) -> None:
        signed = Acknowledgement(shown, Signing(proof, ORIGINS))
        apply_policy(gate_of(mailbox), mailbox.file, by="ana", content=seen.content, shown=signed)

    with pytest.raises(ProofNeeded):
        apply(None, seen.shown)
    with pytest.raises(BadProof):
        apply(_sign(device, "keep", seen.shown), seen.shown)
    assert mailbox.outcome() == "ask"
    proof = _sign(device, "apply", seen.shown)
    apply(proof, seen.shown)
    assert mailbox.outcome() == "allow"
    assert verify_audit(gate).found == 0
    mailbox.write(ASKS)
    mailbox.outcome()
    mailbox.write(FREE)
    with pytest.raises(NotSeen):  # the same file over what is in force since
        apply(proof, seen.shown)
    assert mailbox.outcome() == "ask"


def _sign(device: Authenticator, act: str, shown: str) -> Proof:
    challenge = act_challenge(act, "policy", shown)
    return device.get(sign_in_options(challenge))


def test_a_refused_file_cannot_be_applied(mailbox: Mailbox) -> None:
    mailbox.write(BROKEN)
    seen = load_policy_status(gate_of(mailbox), mailbox.file)
    assert seen.state == "refused"
    with pytest.raises(CannotApply, match="refused"):
        apply_policy(gate_of(mailbox), mailbox.file, by="ana", content=seen.content)


def test_a_later_review_date_waits_until_it_is_applied(mailbox: Mailbox) -> None:
    with gate_of(mailbox).store.read() as tx:
        now = tx.now
    days = 86_400.0

    def dated(age: float) -> str:
        from datetime import UTC, datetime

        day = datetime.fromtimestamp(now - age * days, UTC).date().isoformat()
        return f"{FREE}, last_reviewed: {day}"

    mailbox.write(dated(40))
    apply_seen(mailbox)
    assert mailbox.outcome() == "ask"
    mailbox.write(dated(2))
    assert mailbox.outcome() == "ask"
    apply_seen(mailbox)
    assert mailbox.outcome() == "allow"


# What says which policy is in force


@pytest.mark.parametrize("how", ["changed", "deleted", "put back"])
def test_a_row_that_was_tampered_with_loosens_nothing(mailbox: Mailbox, how: str) -> None:
    store = gate_of(mailbox).store
    with store.read() as tx:
        old = tx.meta(ROW)
    mailbox.write(BLOCKS)
    assert mailbox.outcome() == "deny"
    mailbox.write(FREE)
    with store.write() as tx:
        now = tx.meta(ROW) or ""
        tx.set_meta(ROW, {"changed": now.replace("a", "b"), "deleted": "", "put back": old or ""}[how])
    assert mailbox.outcome() == "deny"  # the gate that runs knows what was in force
    assert any("TAMPER" in row for row in _event_names(mailbox))


@pytest.mark.parametrize("how", ["changed", "put back"])
def test_a_gate_that_cannot_know_what_was_in_force_denies_everything(mailbox: Mailbox, how: str) -> None:
    store = gate_of(mailbox).store
    with store.read() as tx:
        old = tx.meta(ROW)
    mailbox.write(BLOCKS)
    assert mailbox.outcome() == "deny"
    mailbox.gate.close()
    mailbox.write(FREE)
    with closing(SqliteStore(mailbox.folder / "s.db")) as raw, raw.write() as tx:
        now = tx.meta(ROW) or ""
        tx.set_meta(ROW, now.replace("a", "b") if how == "changed" else old or "")
    mailbox.open()
    for _ in range(2):
        assert mailbox.outcome() == "deny"
        _look_again(mailbox)
    apply_seen(mailbox)
    assert mailbox.outcome() == "allow"


@pytest.mark.parametrize("how", ["changed", "deleted"])
def test_whoever_applies_a_file_where_nobody_can_tell_what_was_in_force_is_shown_all_it_loosens(
    mailbox: Mailbox, how: str
) -> None:
    mailbox.write(BLOCKS)
    assert mailbox.outcome() == "deny"
    mailbox.gate.close()
    mailbox.write(FREE)
    with closing(SqliteStore(mailbox.folder / "s.db")) as raw, raw.write() as tx:
        tx.set_meta(ROW, (tx.meta(ROW) or "").replace("a", "b") if how == "changed" else "")
    mailbox.open()
    seen = load_policy_status(gate_of(mailbox), mailbox.file)
    assert (seen.state, seen.problem) == ("waits", words.POLICY_LOST)
    assert "mail.read" in {one.operation for one in seen.loosened if one.before == "deny"}
    assert find_file_state(gate_of(mailbox), mailbox.file) == "waits"
    shown = Acknowledgement(seen.shown)
    applied = apply_policy(gate_of(mailbox), mailbox.file, by="ana", content=seen.content, shown=shown)
    assert (applied.state, applied.problem) == ("in_force", "")


@pytest.mark.parametrize(("before", "outcome"), [(BLOCKS, "deny"), (FREE, "ask")])
def test_after_a_restore_everything_is_asked_that_was_not_blocked(
    mailbox: Mailbox, before: str, outcome: str
) -> None:
    mailbox.write(before)
    mailbox.outcome()
    mailbox.gate.close()
    copy = (mailbox.folder / "s.db").read_bytes()
    mailbox.open()
    mailbox.outcome()
    mailbox.gate.close()
    (mailbox.folder / "s.db").write_bytes(copy)
    mailbox.write(FREE)
    mailbox.open()
    for _ in range(2):
        assert mailbox.outcome() == outcome
        _look_again(mailbox)
    apply_seen(mailbox)
    assert mailbox.outcome() == "allow"


def _look_again(mailbox: Mailbox) -> None:
    live = gate_of(mailbox).live
    assert live is not None
    live.look_again()


def _event_names(mailbox: Mailbox) -> list[str]:
    with gate_of(mailbox).store.read() as tx:
        return [row.event for row in tx.entries("main", limit=1_000)]


# Locking


def test_a_locked_file_cannot_be_written_even_by_root(mailbox: Mailbox) -> None:
    pin = lock_policy(gate_of(mailbox), mailbox.file, by="ana")
    if pin.how != "immutable":
        assert os.geteuid() != 0 or not _permits_immutable(mailbox.folder)
        return
    with pytest.raises(PermissionError):
        mailbox.file.write_text("sayso: 1")
    with pytest.raises(PermissionError):
        mailbox.file.unlink()
    with pytest.raises(PermissionError):
        mailbox.write(BLOCKS)
    unlock_policy(gate_of(mailbox), mailbox.file, by="ana")
    mailbox.write(BLOCKS)
    assert mailbox.outcome() == "deny"


def _permits_immutable(folder: Path) -> bool:
    """Ask the system's own program."""
    probe = folder / "probe"
    probe.touch()
    chattr = shutil.which("chattr")
    if chattr is None:
        return False
    done = subprocess.run([chattr, "+i", str(probe)], check=False, capture_output=True)
    subprocess.run([chattr, "-i", str(probe)], check=False, capture_output=True)
    return done.returncode == 0


def test_where_files_cannot_be_immutable_it_is_read_only_and_pinned(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_flags, "_SET_FLAGS", 0)  # as on a file system without such flags
    pin = lock_policy(gate_of(mailbox), mailbox.file, by="ana")
    assert pin.how == "read-only"
    assert not mailbox.file.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    assert file_flags.read_protection(mailbox.file) == "read-only"


def lock_and_change(mailbox: Mailbox, text: str) -> None:
    """Lock the file, and change it all the same, as somebody does who may."""
    lock_policy(gate_of(mailbox), mailbox.file, by="ana")
    file_flags.unprotect_file(mailbox.file)
    mailbox.write(text)


@pytest.mark.parametrize("text", [BLOCKS, BROKEN, FREE.replace("[send]", "[]")])
def test_a_locked_file_that_was_changed_keeps_the_policy_and_denies_self_modification(
    mailbox: Mailbox, text: str
) -> None:
    lock_and_change(mailbox, text)
    assert mailbox.outcome() == "allow"
    for operation in ("self_modification.propose_behavioral_change", "self_modification.anything_new"):
        assert decide(gate_of(mailbox), operation) is Verdict.DENY
    assert len(mailbox.events(events.PolicyAlerted)) == 1
    assert load_policy_status(gate_of(mailbox), mailbox.file).state == "not_the_locked_one"
    with pytest.raises(CannotApply):
        apply_seen(mailbox)


def test_a_changed_file_keeps_denying_after_a_restart(mailbox: Mailbox) -> None:
    lock_and_change(mailbox, BLOCKS)
    mailbox.gate.close()
    mailbox.open()
    assert mailbox.outcome() == "allow"
    assert decide(gate_of(mailbox), "self_modification.anything_new") is Verdict.DENY


def test_unlocking_lets_the_changed_file_tighten(mailbox: Mailbox) -> None:
    lock_and_change(mailbox, BLOCKS)
    assert mailbox.outcome() == "allow"
    unlock_policy(gate_of(mailbox), mailbox.file, by="ana")
    assert mailbox.outcome() == "deny"
    assert '"locked":false' in mailbox.events(events.PolicyLocked)[-1]


def test_only_what_is_in_force_is_locked(mailbox: Mailbox) -> None:
    mailbox.write(BLOCKS)
    mailbox.outcome()
    mailbox.write(FREE)
    mailbox.outcome()
    with pytest.raises(CannotLock, match="not the policy in force"):
        lock_policy(gate_of(mailbox), mailbox.file, by="ana")
    assert file_flags.read_protection(mailbox.file) is None


def test_a_pin_is_signed_and_holds_the_text(mailbox: Mailbox) -> None:
    lock_policy(gate_of(mailbox), mailbox.file, by="ana")
    gate = gate_of(mailbox)
    with gate.store.read() as tx:
        pin = load_pin(gate, tx)
        assert pin is not None
        assert pin.text == mailbox.file.read_text()
        with pytest.raises(CannotLock):
            load_pin(msgspec.structs.replace(gate, key=None), tx)

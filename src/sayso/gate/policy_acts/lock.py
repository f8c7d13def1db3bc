"""Locking the policy file: nobody changes it, and whoever does changes nothing but what is denied.

- The file is made immutable, or read-only where that is not permitted.
- Its text and digest are pinned in the store, signed with the operator's key.
- A gate that finds another text keeps the locked policy in force, denies everything in `self_modification`
  and alerts. That does not depend on how the file is protected.
- Only a policy that is in force is locked, and a locked one is changed by nobody: unlock it first.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from sayso.core.audit import events
from sayso.core.digest import sha256
from sayso.core.errors import SaysoError
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate
from sayso.gate.policy.in_force import PIN, InForce, find_pinned, read_row, save_row
from sayso.gate.policy_acts.file_flags import Protection, protect_file, read_protection, unprotect_file
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import make_signer, make_verifier, public_key_of
from sayso.gate.sealed_values import TamperedValue, lock_values, read_value, write_value
from sayso.policy.load import read_content, read_policy_bytes
from sayso.store.contract import Reader


class CannotLock(SaysoError):
    """The file cannot be locked or unlocked as it stands. Nothing changed."""

    code = "cannot_lock"


class Pin(msgspec.Struct, frozen=True):
    """The locked file: its text and digest, who locked it and how, signed with the operator's key."""

    path: str
    text: str
    digest: str
    by: str
    at: float
    how: Protection
    signature: bytes = b""

    @property
    def signed_part(self) -> bytes:
        return b"sayso policy pin\n" + msgspec.json.encode(msgspec.structs.replace(self, signature=b""))


def lock_policy(gate: Gate, file: Path, *, by: str) -> Pin:
    """Lock the file, which must say just what is in force."""
    if gate.key is None:
        raise CannotLock("the gate's key is not at hand")
    file = file.resolve()
    before = read_protection(file)
    how = _protect(file)
    try:
        content = read_policy_bytes(file)
        policy = read_content(content, file).policy
        with operator_act(gate) as tx:
            lock_values(tx, "in-force")
            row = _read_row_of(gate, tx, policy.digest)
            pin = Pin(str(file), content.decode(), sha256(content), by, tx.now, how)
            pin = msgspec.structs.replace(pin, signature=make_signer(gate.key).sign(pin.signed_part))
            write_value(gate, tx, PIN, pin)
            save_row(gate, tx, msgspec.structs.replace(row, pin=pin.digest))
            record(tx, events.PolicyLocked(pin.digest, locked=True, by=by, how=how), stream=gate.stream)
    except BaseException:
        if before is None:
            unprotect_file(file)
        raise
    return pin


def _protect(file: Path) -> Protection:
    try:
        return protect_file(file)
    except OSError as error:
        hint = "lock it as the user who owns the file"
        raise CannotLock(f"{file} cannot be protected: {error.strerror}", hint=hint) from error


def _read_row_of(gate: Gate, tx: Reader, digest: str) -> InForce:
    row = read_row(gate, tx)
    if row is None or row.digest != digest:
        raise CannotLock(
            "this file is not the policy in force", hint="`sayso policy apply` first, then lock it"
        )
    return row


def unlock_policy(gate: Gate, file: Path, *, by: str) -> None:
    """Unlock the file. What it says by then waits to be applied, if it loosens anything."""
    with operator_act(gate) as tx:
        lock_values(tx, "in-force")
        pinned = find_pinned(gate, tx)
        if not pinned:
            raise CannotLock("the policy is not locked")
        write_value(gate, tx, PIN, Pin(str(file), "", "", by, tx.now, "read-only"))
        try:
            row = read_row(gate, tx)
        except TamperedValue:
            row = None  # it stays as it is: nothing is in force until the operator applies a file
        if row is not None:
            save_row(gate, tx, msgspec.structs.replace(row, pin="", told=()))
        record(tx, events.PolicyLocked(pinned, locked=False, by=by, how=""), stream=gate.stream)
    if file.exists():
        _unprotect(file.resolve())


def _unprotect(file: Path) -> None:
    try:
        unprotect_file(file)
    except OSError as error:
        hint = "chattr -i (macOS: chflags nouchg), as root or its owner, lets you change the file"
        raise CannotLock(
            f"the policy is unlocked, and {file} is still protected: {error.strerror}", hint=hint
        ) from error


def load_pin(gate: Gate, tx: Reader) -> Pin | None:
    """Return what is locked; None if nothing is. One that the operator's key did not sign is refused."""
    pinned = find_pinned(gate, tx)
    if not pinned:
        return None
    pin = read_value(gate, tx, PIN, Pin)
    if pin is None or pin.digest != pinned or not _is_signed(gate, pin):
        raise CannotLock("what is pinned was not signed with the operator's key", hint="unlock it, lock it")
    return pin


def _is_signed(gate: Gate, pin: Pin) -> bool:
    if gate.key is None:
        return False
    return make_verifier(gate.key.name, public_key_of(gate.key)).verify(pin.signed_part, pin.signature)

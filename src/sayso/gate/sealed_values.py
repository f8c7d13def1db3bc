"""Sealed values: what the gate stores under a name, beside the rows. Tokens, links, passkeys and the like.

- Each value is sealed under its name, with a version that only rises.
- A value that was tampered with, rolled back or deleted does not count, and that is recorded.
- A seal holds for one epoch: a store restored from a backup lets nobody in, because anything may have been
  revoked since.
- Every name begins with a kind that is listed here, so that `audit verify` checks all of them.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Generic, Literal, NamedTuple, TypeVar, get_args

import msgspec

from sayso.core.durations import DAY
from sayso.gate import words
from sayso.gate.decoding import decode_json
from sayso.gate.gate import Gate
from sayso.gate.rows.tampering import Tampered
from sayso.store.contract import Reader, Writer

Value = TypeVar("Value", bound=msgspec.Struct)
ValueKind = Literal[
    "token", "link", "browser", "handoff", "said", "session-of", "session-key", "passkeys", "trusted-id",
    "running-time", "proposal", "in-force", "decay-notice", "delegations", "approvals", "ratings", "push",
    "sign-in",
]  # fmt: skip
LockedKind = Literal[
    "link", "session-key", "passkeys", "trusted-id", "running-time", "proposal", "in-force", "decay-notice",
    "delegations", "approvals", "ratings", "push", "sign-in",
]  # fmt: skip
_PREFIXES = tuple(f"{kind}/" for kind in get_args(ValueKind))
_LOCKS = {kind: f"held:{kind}" for kind in get_args(LockedKind)}
"""What is held while values of a kind are changed. No value has such a name, whatever its key."""


class TamperedValue(Tampered):
    code = "tampered_value"


class _SealedValue(msgspec.Struct, frozen=True):
    kept: msgspec.Raw
    version: int
    epoch: int
    seal: bytes


class ValueReading(NamedTuple, Generic[Value]):
    """A value as it was read, and all that it follows from: the stored text, its mark and the epoch."""

    text: str | None
    marked: int
    epoch: int
    value: Value | None
    """None if there is none that counts."""


_encode = msgspec.json.Encoder().encode
_decode_sealed = msgspec.json.Decoder(_SealedValue).decode


def value_name(kind: ValueKind, key: str) -> str:
    """Return the name of the value that this key stands for."""
    return f"{kind}/{key}"


def secret_value_name(kind: ValueKind, secret: str) -> str:
    """Return the name of a secret's value. It holds a hash: nobody who reads the store learns the secret."""
    return value_name(kind, sha256(secret.encode()).hexdigest())


def lock_values(tx: Writer, kind: LockedKind) -> None:
    """Let one transaction at a time change values of this kind: the others wait here for it to end."""
    tx.set_meta(_LOCKS[kind], "")
    tx.meta(_LOCKS[kind])  # what is to be written may wait until something is read


def read_value(gate: Gate, tx: Reader, name: str, kind: type[Value]) -> Value | None:
    """Return the value of this name, None if there never was one; TamperedValue if it does not count."""
    marked = _find_mark(gate, name)
    return _open_value(gate, name, tx.meta(name), kind, marked)


def find_value(gate: Gate, tx: Reader, name: str, kind: type[Value]) -> Value | None:
    """Return the value of this name; None if there is none that counts."""
    try:
        return read_value(gate, tx, name, kind)
    except TamperedValue:
        return None


def read_value_again(
    gate: Gate, tx: Reader, name: str, kind: type[Value], before: ValueReading[Value] | None
) -> ValueReading[Value]:
    """Return the value of this name as `find_value` does; the one from `before` if it follows from the same.

    Text and mark are looked at every time. What is newer than its mark is opened every time, to be marked.
    """
    marked = _find_mark(gate, name)
    text = tx.meta(name)
    if before is not None and before[:3] == (text, marked, gate.sealer.epoch):
        return before
    try:
        value = _open_value(gate, name, text, kind, marked)
    except TamperedValue:
        value = None
    kept = _unseal(gate, name, text)
    settled = kept is not None and kept.version <= marked
    return ValueReading(text, marked if settled else -1, gate.sealer.epoch, value)


def read_value_of_epoch(gate: Gate, tx: Reader, name: str, kind: type[Value]) -> Value | None:
    """Return the value of this name as `read_value` does; None if it is of an earlier epoch."""
    marked = _find_mark(gate, name)
    text = tx.meta(name)
    kept = _unseal(gate, name, text)
    before = kept is not None and kept.epoch < gate.sealer.epoch
    if kept is not None and before and gate.sealer.is_current("value", name, kept.version, marked=marked):
        return None
    return _open_value(gate, name, text, kind, marked)


def read_value_of_any_epoch(gate: Gate, tx: Reader, name: str, kind: type[Value]) -> Value | None:
    """Return the newest value of this name, also from before a restore; None if it was tampered with."""
    marked = _find_mark(gate, name)
    kept = _unseal(gate, name, tx.meta(name))
    if kept is None or not gate.sealer.is_current("value", name, kept.version, marked=marked):
        return None
    return decode_json(kept.kept, kind)


def read_value_of_all_epochs(gate: Gate, tx: Reader, name: str, kind: type[Value]) -> Value | None:
    """Return the newest value of this name, from whichever epoch; None if there never was one.

    For what happened once and may not happen again. TamperedValue if nobody can tell.
    """
    found = read_value_of_any_epoch(gate, tx, name, kind)
    return found if found is not None else read_value(gate, tx, name, kind)


def is_value(name: str) -> bool:
    """Return whether this is the name of a sealed value."""
    return f"{name}/".startswith(_PREFIXES)


def check_value(gate: Gate, name: str, text: str) -> None:
    """Refuse a value that was tampered with. One of an earlier epoch passes: it counts for nothing."""
    if not text and not _find_mark(gate, name):
        return
    kept = _unseal(gate, name, text)
    if kept is None or not gate.sealer.is_current("value", name, kept.version):
        raise TamperedValue(words.changed_outside(name), hint=words.LOOK_AT_AUDIT)


def _find_mark(gate: Gate, name: str) -> int:
    """Return the version that this value has at least. Look at the mark first, and then read the value."""
    return gate.sealer.mark.committed_version("value", name)


def _open_value(gate: Gate, name: str, text: str | None, kind: type[Value], marked: int) -> Value | None:
    """Return the value in this text, which is stored under this name; None if there never was one.

    Locks of earlier versions of Sayso were empty texts.
    """
    if not text and not marked:
        return None
    kept = _unseal(gate, name, text)
    current = kept is not None and gate.sealer.is_current("value", name, kept.version, marked=marked)
    if kept is None or not current:
        gate.sealer.doubts.note_once(words.changed_or_restored(f"the value {name[:40]}"))
    if kept is None or not current or kept.epoch != gate.sealer.epoch:
        what = name.partition("/")[0]
        raise TamperedValue(words.changed_or_restored(f"a {what}"), hint=words.LOOK_AT_AUDIT)
    return decode_json(kept.kept, kind)


def write_value(
    gate: Gate, tx: Writer, name: str, value: msgspec.Struct, *, until: float | None = None
) -> None:
    """Store this value under this name. Once that is committed, no earlier value of the name counts.

    After `until` the value is of no use anyway, so the mark may forget it a day later.
    """
    kept = _unseal(gate, name, tx.meta(name))
    newest = max(gate.sealer.mark.version("value", name), 0 if kept is None else kept.version)
    gate.sealer.mark.go_by("value", name, newest)
    version = 1 + newest
    body = msgspec.Raw(_encode(value))
    epoch = gate.sealer.epoch
    sealed = _SealedValue(body, version, epoch, _seal_value(gate, name, version, epoch, body))
    gate.sealer.mark.note("value", name, version, until=0.0 if until is None else until + DAY)
    tx.set_meta(name, _encode(sealed).decode())


def _unseal(gate: Gate, name: str, text: str | None) -> _SealedValue | None:
    """Return what is stored, if it was sealed under this name, in this epoch or an earlier one.

    A text that is equal to the last one of this name that was sealed right is as right.
    """
    known: _SealedValue | None = None if text is None else gate.sealer.values.get(name, text)
    if known is not None:
        return known
    try:
        kept = _decode_sealed(text) if text else None
    except msgspec.MsgspecError:
        return None
    if text is None or kept is None or kept.epoch > gate.sealer.epoch:
        return None
    ours = hmac.compare_digest(_seal_value(gate, name, kept.version, kept.epoch, kept.kept), kept.seal)
    return gate.sealer.values.put(name, text, kept) if ours else None


def _seal_value(gate: Gate, name: str, version: int, epoch: int, value: msgspec.Raw) -> bytes:
    return gate.sealer.text("value", f"{name}\n{version}\n{bytes(value).decode()}", epoch=epoch)

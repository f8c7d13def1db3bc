"""Values that are kept beside the rows, each under a name: sealed, and with a version that never goes back.

Tokens, links, browsers, passkeys and hand-offs are such values. One that was changed, put back or taken away
by hand is not believed, and that is recorded. They are sealed for one epoch: a store put back from a copy
lets nobody in, since anything may have been revoked since.
"""

from __future__ import annotations

import hmac
from typing import TypeVar

import msgspec

from sayso.core.durations import DAY
from sayso.gate.gate import Gate
from sayso.gate.rows.tampering import Tampered
from sayso.store.contract import Reader, Writer

Value = TypeVar("Value", bound=msgspec.Struct)
VALUE_PREFIXES = (
    "token/",
    "link/",
    "browser/",
    "handoff/",
    "said/",
    "session-of/",
    "session-key/",
    "passkeys",
)
"""How the names of such values begin."""
LOCK_ROWS = ("link/held", "passkeys/held", "session-key/held")
"""Rows that are written to make others wait; they say nothing."""


class TamperedValue(Tampered):
    code = "tampered_value"


class _SealedValue(msgspec.Struct, frozen=True):
    kept: msgspec.Raw
    version: int
    epoch: int
    seal: bytes


_encode = msgspec.json.Encoder().encode
_decode_sealed = msgspec.json.Decoder(_SealedValue).decode


def read_value(gate: Gate, tx: Reader, name: str, kind: type[Value]) -> Value | None:
    """The value of this name, None if there never was one; an error if it is not as this gate left it."""
    return open_value(gate, name, tx.meta(name), kind)


def find_value(gate: Gate, tx: Reader, name: str, kind: type[Value]) -> Value | None:
    """The same, None as well if it cannot be believed."""
    try:
        return read_value(gate, tx, name, kind)
    except TamperedValue:
        return None


def read_value_of_epoch(gate: Gate, tx: Reader, name: str, kind: type[Value]) -> Value | None:
    """The same as `read_value`; None as well if it is of an earlier epoch, of which nothing counts."""
    text = tx.meta(name)
    kept = _unseal(gate, name, text)
    before = kept is not None and kept.epoch < gate.sealer.epoch
    if kept is not None and before and gate.sealer.is_current("value", name, kept.version):
        return None
    return open_value(gate, name, text, kind)


def is_value(name: str) -> bool:
    """Whether what is kept under this name is such a value."""
    return name.startswith(VALUE_PREFIXES) and name not in LOCK_ROWS


def check_value(gate: Gate, name: str, text: str) -> None:
    """Refuse what was changed or put back by hand. What is of an earlier epoch is passed over."""
    kept = _unseal(gate, name, text)
    if kept is None or not gate.sealer.is_current("value", name, kept.version):
        raise TamperedValue(f"{name} was changed by hand", hint="look at the audit")


def open_value(gate: Gate, name: str, text: str | None, kind: type[Value]) -> Value | None:
    """The value in this text, which is stored under this name."""
    if text is None and not gate.sealer.mark.version("value", name):
        return None
    kept = _unseal(gate, name, text)
    current = kept is not None and gate.sealer.is_current("value", name, kept.version)
    if kept is None or not current:
        finding = f"what is kept as {name[:40]} was changed, put back or taken away by hand"
        gate.sealer.doubts.note_once(finding)
    if kept is None or not current or kept.epoch != gate.sealer.epoch:
        what = name.partition("/")[0]
        raise TamperedValue(f"a {what} was changed by hand, or is of an old copy", hint="look at the audit")
    return msgspec.json.decode(kept.kept, type=kind)


def write_value(
    gate: Gate, tx: Writer, name: str, value: msgspec.Struct, *, until: float | None = None
) -> None:
    """Keep this value under this name. Once that is committed, none of before counts.

    After `until` it is of no use by itself, so that the mark may forget it a day later.
    """
    kept = _unseal(gate, name, tx.meta(name))
    version = 1 + max(gate.sealer.mark.version("value", name), 0 if kept is None else kept.version)
    body = msgspec.Raw(_encode(value))
    epoch = gate.sealer.epoch
    sealed = _SealedValue(body, version, epoch, _seal_value(gate, name, version, epoch, body))
    gate.sealer.mark.note("value", name, version, until=0.0 if until is None else until + DAY)
    tx.set_meta(name, _encode(sealed).decode())


def _unseal(gate: Gate, name: str, text: str | None) -> _SealedValue | None:
    """What is stored, if it was sealed under this name, in this epoch or an earlier one."""
    try:
        kept = _decode_sealed(text) if text else None
    except msgspec.MsgspecError:
        return None
    if kept is None or kept.epoch > gate.sealer.epoch:
        return None
    ours = hmac.compare_digest(_seal_value(gate, name, kept.version, kept.epoch, kept.kept), kept.seal)
    return kept if ours else None


def _seal_value(gate: Gate, name: str, version: int, epoch: int, value: msgspec.Raw) -> bytes:
    return gate.sealer.text("value", f"{name}\n{version}\n{bytes(value).decode()}", epoch=epoch)

"""The policy in force on a store: one sealed row, which every gate there holds itself to.

- The row names the policy and says whether its file is locked; the policy itself lies beside it, whole, so
  that a newer preset or a file that is gone changes nothing of what is in force.
- It is sealed as all values are. One that was tampered with, or comes from a backup, counts for nothing.
- Gates read the row with every decision. When it moves, they go on under the policy that it names.
- Beside a policy that was joined of several lies the last whole one, its base: what the operator last knew to
  be in force, before anything waited.
- Before there is a row, a store may have decided under a preset. That is remembered beside it: the first file
  is held against it, as any later one is against the row.
"""

from __future__ import annotations

import base64
import zlib
from functools import lru_cache

import msgspec

from sayso.core.digest import sha256
from sayso.core.durations import DAY
from sayso.core.policy import Policy
from sayso.gate import words
from sayso.gate.decoding import decode_msgpack
from sayso.gate.gate import Gate
from sayso.gate.policy.clocks import start_permission_clocks
from sayso.gate.sealed_values import (
    TamperedValue,
    find_value,
    lock_values,
    read_value,
    read_value_of_all_epochs,
    read_value_of_any_epoch,
    value_name,
    write_value,
)
from sayso.policy.compare.tightenings import EVERYTHING, find_tightenings
from sayso.store.contract import Reader, Writer

ROW = value_name("in-force", "policy")
BODY = value_name("in-force", "body")
PIN = value_name("in-force", "pin")
PRESET = value_name("in-force", "preset")
NO_FILE = "unknown"
"""Stands for the pin that cannot be read: no file has this digest."""
LONGEST_APPROVAL = 7 * DAY
"""As long as a question is open: what some of a team approved lives no longer, and all else ends before."""
MOST_TOLD = 100
"""How many contents of files are remembered that the operator was told about."""


class InForce(msgspec.Struct, frozen=True):
    """Which policy is in force, since when and by whom.

    `pin` is the digest of the locked file, if it is locked. If the policy was joined of several, `base` is
    the digest of the last whole one as it is kept.
    """

    digest: str
    body: str
    at: float
    by: str = ""
    pin: str = ""
    told: tuple[str, ...] = ()
    """The contents of the file that the operator was told about, so that each is told once."""
    base: str = ""


class _Body(msgspec.Struct, frozen=True):
    packed: str
    base: str = ""


class _Before(msgspec.Struct, frozen=True):
    """The policy in force until now: without a row for a preset, without a policy if there was none."""

    row: InForce | None = None
    policy: Policy | None = None
    base: str = ""


class _Preset(msgspec.Struct, frozen=True):
    digest: str
    mode: str
    packed: str


class _PinDigest(msgspec.Struct, frozen=True):
    digest: str


def read_row(gate: Gate, tx: Reader) -> InForce | None:
    """Return the row, None if there never was one; TamperedValue if it does not count."""
    return read_value(gate, tx, ROW, InForce)


def read_policy(gate: Gate, tx: Reader, row: InForce) -> Policy:
    """Return the policy that the row names, as it was put in force."""
    return _unpack(read_value(gate, tx, BODY, _Body), row)


def read_base(gate: Gate, tx: Reader, row: InForce | None, policy: Policy | None) -> Policy | None:
    """Return the last whole policy in force: this one, or what it was joined with; None if nobody knows."""
    if policy is None or not policy.joined:
        return policy
    body = find_value(gate, tx, BODY, _Body)
    if row is None or body is None or not row.base or sha256(body.base.encode()) != row.base:
        return None
    return _unpack_text(body.base)


def note_preset(gate: Gate, tx: Writer, policy: Policy) -> None:
    """Remember the policy that this store decides under without a file."""
    before = find_value(gate, tx, PRESET, _Preset)
    if before is None or (before.digest, before.mode) != (policy.digest, policy.mode.value):
        write_value(gate, tx, PRESET, _Preset(policy.digest, policy.mode.value, _pack(policy)))


def read_preset(gate: Gate, tx: Reader) -> Policy | None:
    """Return the policy that the store last decided under without a file; None if it never did.

    TamperedValue if nobody can tell.
    """
    found = read_value_of_all_epochs(gate, tx, PRESET, _Preset)
    return None if found is None else _unpack_text(found.packed)


def find_pinned(gate: Gate, tx: Reader) -> str:
    """Return the digest of the locked file, "" if none is locked.

    If the row does not count, what was pinned last does; if that cannot be read either, some file is locked
    that nobody knows, and only the operator unlocks it.
    """
    try:
        row = read_row(gate, tx)
    except TamperedValue:
        return _find_last_pinned(gate, tx)
    return "" if row is None else row.pin


def _find_last_pinned(gate: Gate, tx: Reader) -> str:
    kept = read_value_of_any_epoch(gate, tx, PIN, _PinDigest)
    if kept is not None:
        return kept.digest
    was_pinned = tx.meta(PIN) is not None or gate.sealer.mark.version("value", PIN) > 0
    return NO_FILE if was_pinned else ""


def read_before_restore(gate: Gate, tx: Reader) -> tuple[InForce, Policy] | None:
    """Return what was in force last, if only a restore began a new epoch; None if anything differs."""
    row = read_value_of_any_epoch(gate, tx, ROW, InForce)
    try:
        return None if row is None else (row, _unpack(read_value_of_any_epoch(gate, tx, BODY, _Body), row))
    except TamperedValue:
        return None


def _unpack(body: _Body | None, row: InForce) -> Policy:
    packed = "" if body is None else body.packed
    if sha256(packed.encode()) != row.body:
        raise TamperedValue(words.changed_or_restored("the policy in force"), hint=words.LOOK_AT_AUDIT)
    return _unpack_text(packed)


def _pack(policy: Policy) -> str:
    return _pack_bytes(msgspec.msgpack.encode(policy))


@lru_cache(maxsize=8)
def _pack_bytes(encoded: bytes) -> str:
    """A process opens many gates on few policies, and packing takes longer than all else of opening one."""
    return base64.b85encode(zlib.compress(encoded)).decode()


def _unpack_text(packed: str) -> Policy:
    try:
        return decode_msgpack(zlib.decompress(base64.b85decode(packed)), Policy)
    except (msgspec.MsgspecError, ValueError, zlib.error) as error:
        hint = "`sayso policy apply` puts your file in force"
        raise TamperedValue("the policy in force cannot be read", hint=hint) from error


def put_in_force(
    gate: Gate, tx: Writer, policy: Policy, before: InForce | None, *, by: str = ""
) -> tuple[InForce, Policy]:
    """Put this policy in force, and start the clocks of what it newly allows.

    Returns the row, and the policy with the times at which it was tightened.
    """
    lock_values(tx, "in-force")
    was = _load_before(gate, tx)
    policy = _with_tightenings(policy, was, tx.now)
    pin = find_pinned(gate, tx) if before is None else before.pin
    packed, base = _pack(policy), _find_base(policy, was)
    row = InForce(
        policy.digest,
        sha256(packed.encode()),
        tx.now,
        by,
        pin,
        () if before is None else before.told,
        sha256(base.encode()) if base else "",
    )
    write_value(gate, tx, BODY, _Body(packed, base))
    write_value(gate, tx, ROW, row)
    tx.set_meta("policy", policy.digest)
    start_permission_clocks(tx, policy, gate.sealer, unmarked=False)
    return row, policy


def _load_before(gate: Gate, tx: Reader) -> _Before | None:
    """Load the policy in force; None if it cannot be read."""
    try:
        row = read_row(gate, tx)
        if row is None:
            return _Before(None, read_preset(gate, tx))
        body = read_value(gate, tx, BODY, _Body)
        return _Before(row, _unpack(body, row), "" if body is None else body.base)
    except TamperedValue:
        return None


def _find_base(policy: Policy, was: _Before | None) -> str:
    """Return the last whole policy before this joined one, as it is kept; "" if nobody knows."""
    if not policy.joined or was is None or was.policy is None:
        return ""
    return was.base if was.policy.joined else _pack(was.policy)


def _with_tightenings(policy: Policy, was: _Before | None, now: float) -> Policy:
    """The policy with the times at which this store was tightened: now, if it is stricter than before.

    Nothing older matters than what lives longest. What cannot be read may have been looser.
    """
    if was is None:
        return msgspec.structs.replace(policy, tightened={EVERYTHING: now})
    if was.policy is None:
        return policy
    found = dict.fromkeys(find_tightenings(was.policy, policy), now)
    lately = {name: at for name, at in was.policy.tightened.items() if now - at <= LONGEST_APPROVAL}
    return msgspec.structs.replace(policy, tightened=found if EVERYTHING in found else {**lately, **found})


def save_row(gate: Gate, tx: Writer, row: InForce) -> None:
    lock_values(tx, "in-force")
    write_value(gate, tx, ROW, row)

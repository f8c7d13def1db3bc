"""Passkeys: whose they are, and which answers have to be signed with one.

All are kept in one sealed row. One that was changed by hand, or that came back with an old copy of the store,
lets nobody in, and every answer on the page then needs a signature that nobody can give, until the operator
forgets all passkeys at a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.sealed_values import TamperedValue, read_value, write_value
from sayso.gate.rows.webauthn import BadProof, Proof, check_proof, key_id, unbase64
from sayso.gate.upkeep.operator_transaction import operator_act
from sayso.store.contract import Reader, Writer

Level = Literal["high", "all", "never"]
LEVELS: tuple[Level, ...] = ("high", "all", "never")
ROW = "passkeys"
HELD = "passkeys/held"
MOST = 20
RESET = "look at the audit; `sayso passkey remove --all` forgets them, and you register anew"


class UnknownPasskey(SaysoError):
    code = "unknown_passkey"
    advice = "`sayso passkey list` lists them"


class PasskeysVoid(SaysoError):
    """The row of the passkeys was changed by hand, or is of before the store was put back or moved."""

    code = "passkeys_void"


class ProofNeeded(SaysoError):
    """This answer has to be signed by a passkey."""

    code = "proof_needed"


class Passkey(msgspec.Struct, frozen=True):
    """A passkey of an operator. `credential` is base64url, `key` its public key as base64url of DER."""

    id: str
    user: str
    name: str
    place: str
    """The host name it is for."""
    credential: str
    key: str
    count: int
    made_at: float
    used_at: float | None = None


class Kept(msgspec.Struct, frozen=True):
    """All passkeys, what must be signed (None: nobody chose), and the challenges that were used of late."""

    passkeys: tuple[Passkey, ...] = ()
    require: Level | None = None
    used: Mapping[str, float] = {}


class Signing(msgspec.Struct, frozen=True):
    """An answer from a surface that can sign: the proof, if there is one, and the origins of its pages."""

    proof: Proof | None
    origins: tuple[str, ...]


def list_passkeys(gate: Gate, user: str | None = None) -> list[Passkey]:
    """The passkeys of an operator, or of all, oldest first."""
    with gate.store.read() as tx:
        kept = kept_in(gate, tx)
    return [one for one in kept.passkeys if user in (None, one.user)]


def required(gate: Gate) -> Level | None:
    """What the operator chose that has to be signed; None if nothing was chosen."""
    with gate.store.read() as tx:
        return kept_in(gate, tx).require


def proof_needed(gate: Gate, tx: Reader, risk: Risk) -> bool:
    """Whether an answer that allows this risk has to be signed: by default high, once there is a passkey."""
    try:
        kept = kept_in(gate, tx)
    except PasskeysVoid:
        return True
    if kept.require is None:
        return bool(kept.passkeys) and risk >= Risk.HIGH
    return kept.require == "all" or (kept.require == "high" and risk >= Risk.HIGH)


def unsigned_risk(gate: Gate, tx: Reader) -> Risk | None:
    """The highest risk that an answer without a signature may allow; None if it may allow nothing."""
    return max((risk for risk in Risk if not proof_needed(gate, tx, risk)), default=None)


def require_passkeys(gate: Gate, level: Level, *, by: str) -> None:
    """Choose what has to be signed. Once chosen it holds even where nobody has a passkey."""
    if level not in LEVELS:
        raise SaysoError(f"there is no level {level!r}", hint=f"use one of: {', '.join(LEVELS)}")
    with operator_act(gate) as tx:
        hold(tx)
        kept = kept_in(gate, tx)
        put(gate, tx, msgspec.structs.replace(kept, require=level))
        details = {"require": level, "was": kept.require or "", "by": by}
        record(tx, "PASSKEYS_REQUIRED", details=details, stream=gate.stream)


def remove_passkey(gate: Gate, passkey: str, *, by: str, of: str | None = None) -> Passkey:
    """From now on it signs nothing. `of`: only if it is this operator's."""
    with operator_act(gate) as tx:
        hold(tx)
        kept = kept_in(gate, tx)
        found = next((one for one in kept.passkeys if one.id == passkey and of in (None, one.user)), None)
        if found is None:
            raise UnknownPasskey(f"there is no passkey {passkey}", hint="`sayso passkey list` shows them")
        left = tuple(one for one in kept.passkeys if one.id != passkey)
        put(gate, tx, msgspec.structs.replace(kept, passkeys=left))
        _record_removed(gate, tx, found, by)
        return found


def forget_passkeys(gate: Gate, *, by: str) -> int:
    """Remove all, whatever their row says; how many there were. What has to be signed stays as it was chosen.

    Where that cannot be read any more, it is everything.
    """
    with operator_act(gate) as tx:
        hold(tx)
        try:
            kept = kept_in(gate, tx)
        except PasskeysVoid:
            kept = Kept(require="all")
            record(tx, "PASSKEY_REMOVED", details={"by": by, "why": "void"}, stream=gate.stream)
        put(gate, tx, Kept(require=kept.require))
        for one in kept.passkeys:
            _record_removed(gate, tx, one, by)
    return len(kept.passkeys)


def add_passkey(gate: Gate, passkey: Passkey, *, check: Callable[[Kept, float], Kept]) -> Passkey:
    """Keep a new passkey, if `check` on what is kept lets it pass. Its public key stands in the audit."""
    with operator_act(gate) as tx:
        hold(tx)
        kept = check(kept_in(gate, tx), tx.now)
        if any(one.credential == passkey.credential for one in kept.passkeys):
            raise BadProof("this passkey is registered already")
        if sum(one.user == passkey.user for one in kept.passkeys) >= MOST:
            raise SaysoError(f"an operator has {MOST} passkeys at most", hint="remove one first")
        added = msgspec.structs.replace(passkey, made_at=tx.now)
        put(gate, tx, msgspec.structs.replace(kept, passkeys=(*kept.passkeys, added)))
        details = _named(added) | {"place": added.place, "public_key": added.key}
        record(tx, "PASSKEY_ADDED", details=details, stream=gate.stream)
    return added


def use_passkey(
    gate: Gate,
    tx: Writer,
    proof: Proof,
    challenge: bytes,
    origins: Collection[str],
    *,
    by: str | None = None,
    check: Callable[[Kept, float], Kept] = lambda kept, now: kept,
) -> Passkey:
    """The passkey that signed this, with its count moved on. `by`: only one of this operator."""
    hold(tx)
    kept, after = verify_passkey(gate, tx, proof, challenge, origins, by=by, check=check)
    passkeys = tuple(after if one.id == after.id else one for one in kept.passkeys)
    put(gate, tx, msgspec.structs.replace(kept, passkeys=passkeys))
    return after


def verify_passkey(
    gate: Gate,
    tx: Reader,
    proof: Proof,
    challenge: bytes,
    origins: Collection[str],
    *,
    by: str | None = None,
    check: Callable[[Kept, float], Kept] = lambda kept, now: kept,
) -> tuple[Kept, Passkey]:
    """What would be kept, and the passkey that signed this with its count moved on. Nothing is written."""
    kept = check(kept_in(gate, tx), tx.now)
    found = next((one for one in kept.passkeys if one.credential == proof.credential), None)
    if found is None or by not in (None, found.user):
        raise BadProof("it is not by a passkey that is registered for you here")
    count = check_proof(proof, unbase64(found.key), found.place, challenge, origins)
    if (count or found.count) and count <= found.count:
        raise BadProof("the passkey's count went back: it may have been copied")
    return kept, msgspec.structs.replace(found, count=count, used_at=tx.now)


def proof_told(proof: Proof, passkey: Passkey) -> dict[str, str]:
    """The proof as its entry holds it: with the name of the key, which the passkey's own entry spells out."""
    named = msgspec.structs.replace(proof, key=key_id(unbase64(passkey.key)))
    return {name: str(value) for name, value in msgspec.structs.asdict(named).items()}


def kept_in(gate: Gate, tx: Reader) -> Kept:
    """What is kept, or PasskeysVoid if it is not as we wrote it last, in this epoch."""
    try:
        return read_value(gate, tx, ROW, Kept) or Kept()
    except TamperedValue as error:
        raise PasskeysVoid("the passkeys were changed by hand, or are of an old copy", hint=RESET) from error


def put(gate: Gate, tx: Writer, kept: Kept) -> None:
    write_value(gate, tx, ROW, kept)


def hold(tx: Writer) -> None:
    """Let one change them at a time: whoever writes this row waits for all who wrote it before."""
    tx.set_meta(HELD, "")


def _named(passkey: Passkey) -> dict[str, str]:
    key = key_id(unbase64(passkey.key))
    return {"passkey": passkey.id, "user": passkey.user, "name": passkey.name} | {
        "credential": passkey.credential,
        "key": key,
    }


def _record_removed(gate: Gate, tx: Writer, passkey: Passkey, by: str) -> None:
    record(tx, "PASSKEY_REMOVED", details=_named(passkey) | {"by": by}, stream=gate.stream)

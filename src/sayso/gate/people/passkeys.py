"""Passkeys: their owners, and which answers have to be signed with one.

- All passkeys are stored in one sealed value.
- If it was tampered with, or came back with a backup of the store, it lets nobody in, and every answer on the
  page needs a signature that nobody can give, until the operator removes all passkeys at a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal

import msgspec

from sayso.core.audit import events
from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.gate import words
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.moves import hold_streams
from sayso.gate.rows.webauthn import BadProof, Proof, check_passkey_proof, decode_base64url, public_key_hash
from sayso.gate.sealed_values import TamperedValue, lock_values, read_value, write_value
from sayso.store.contract import Reader, Writer

Level = Literal["high", "all", "never"]
LEVELS: tuple[Level, ...] = ("high", "all", "never")
ROW = "passkeys"
MOST = 20
RESET = "look at the audit; `sayso passkey remove --all` forgets them; then register again"


class UnknownPasskey(SaysoError):
    code = "unknown_passkey"
    advice = "`sayso passkey list` lists them"


class PasskeysVoid(SaysoError):
    """The passkeys were tampered with, or are from before the store was restored or moved."""

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
    identity: str = ""
    """The id that a provider proved of whoever registered it. It signs their answers, and signs nobody in."""

    def is_of(self, user: str, identity: str) -> bool:
        """Return whether it is this operator's, who signed in in this way."""
        return (self.user, self.identity) == (user, identity)


class PasskeySet(msgspec.Struct, frozen=True):
    """All passkeys, what must be signed (None: nobody chose), and the challenges that were used of late."""

    passkeys: tuple[Passkey, ...] = ()
    require: Level | None = None
    used: Mapping[str, float] = {}


class Signing(msgspec.Struct, frozen=True):
    """An answer from a surface that can sign: the proof, if there is one, and the origins of its pages.

    `identity` is the id of whoever answers that a provider proved; empty if they signed in another way.
    """

    proof: Proof | None
    origins: tuple[str, ...]
    identity: str = ""


def list_passkeys(gate: Gate, user: str | None = None, identity: str = "") -> list[Passkey]:
    """The passkeys of an operator who signed in in this way, or of all, oldest first."""
    with gate.store.read() as tx:
        kept = load_passkeys(gate, tx)
    return [one for one in kept.passkeys if user is None or one.is_of(user, identity)]


def has_passkey(gate: Gate, tx: Reader, passkey: str) -> bool:
    """Return whether this passkey can sign. If the list of them cannot be trusted, none can."""
    try:
        return any(one.id == passkey for one in load_passkeys(gate, tx).passkeys)
    except PasskeysVoid:
        return False


def find_passkey_id(gate: Gate, tx: Reader, signing: Signing | None) -> str | None:
    """Return the id of the passkey that a proof was made with."""
    if signing is None or signing.proof is None:
        return None
    kept, credential = load_passkeys(gate, tx).passkeys, signing.proof.credential
    return next((one.id for one in kept if one.credential == credential), None)


def load_required_level(gate: Gate) -> Level | None:
    """Return which answers the operator requires signatures for; None if nothing was chosen."""
    with gate.store.read() as tx:
        return load_passkeys(gate, tx).require


def needs_proof(gate: Gate, tx: Reader, risk: Risk) -> bool:
    """Return whether an answer at this risk must be signed: by default at high, once there is a passkey."""
    try:
        kept = load_passkeys(gate, tx)
    except PasskeysVoid:
        return True
    if kept.require is None:
        return bool(kept.passkeys) and risk >= Risk.HIGH
    return kept.require == "all" or (kept.require == "high" and risk >= Risk.HIGH)


def highest_unsigned_risk(gate: Gate, tx: Reader) -> Risk | None:
    """The highest risk that an answer without a signature may allow; None if it may allow nothing."""
    return max((risk for risk in Risk if not needs_proof(gate, tx, risk)), default=None)


def require_passkeys(gate: Gate, level: Level, *, by: str) -> None:
    """Choose which answers have to be signed. The choice holds even if nobody has a passkey."""
    if level not in LEVELS:
        raise SaysoError(f"there is no level {level!r}", hint=f"use one of: {', '.join(LEVELS)}")
    with operator_act(gate) as tx:
        lock_passkeys(tx)
        kept = load_passkeys(gate, tx)
        save_passkeys(gate, tx, msgspec.structs.replace(kept, require=level))
        record(tx, events.PasskeysRequired(level, was=kept.require or "", by=by), stream=gate.stream)


def remove_passkey(
    gate: Gate, passkey: str, *, by: str, of: str | None = None, identity: str = ""
) -> Passkey:
    """From now on it signs nothing. `of`: only if it is this operator's, who signed in in this way."""
    with operator_act(gate) as tx:
        lock_passkeys(tx)
        hold_streams(tx)  # what is decided in any service after this was committed finds it
        kept = load_passkeys(gate, tx)
        theirs = (one for one in kept.passkeys if of is None or one.is_of(of, identity))
        found = next((one for one in theirs if one.id == passkey), None)
        if found is None:
            raise UnknownPasskey(f"there is no passkey {passkey}", hint="`sayso passkey list` shows them")
        left = tuple(one for one in kept.passkeys if one.id != passkey)
        save_passkeys(gate, tx, msgspec.structs.replace(kept, passkeys=left))
        _record_removed(gate, tx, found, by)
        return found


def forget_passkeys(gate: Gate, *, by: str) -> int:
    """Remove all passkeys, whatever their row says; return how many there were.

    The choice of what has to be signed stays; if it cannot be read, everything has to be.
    """
    with operator_act(gate) as tx:
        lock_passkeys(tx)
        hold_streams(tx)  # what is decided in any service after this was committed finds it
        try:
            kept = load_passkeys(gate, tx)
        except PasskeysVoid:
            kept = PasskeySet(require="all")
            record(tx, events.PasskeyRemoved(by, why="void"), stream=gate.stream)
        save_passkeys(gate, tx, PasskeySet(require=kept.require))
        for one in kept.passkeys:
            _record_removed(gate, tx, one, by)
    return len(kept.passkeys)


def add_passkey(gate: Gate, passkey: Passkey, *, check: Callable[[PasskeySet, float], PasskeySet]) -> Passkey:
    """Keep a new passkey, if `check` on what is kept lets it pass. Its public key is in the audit."""
    with operator_act(gate) as tx:
        lock_passkeys(tx)
        kept = check(load_passkeys(gate, tx), tx.now)
        if any(one.credential == passkey.credential for one in kept.passkeys):
            raise BadProof("this passkey is registered already")
        if sum(one.is_of(passkey.user, passkey.identity) for one in kept.passkeys) >= MOST:
            raise SaysoError(f"an operator has {MOST} passkeys at most", hint="remove one first")
        added = msgspec.structs.replace(passkey, made_at=tx.now)
        save_passkeys(gate, tx, msgspec.structs.replace(kept, passkeys=(*kept.passkeys, added)))
        event = events.PasskeyAdded(**_passkey_details(added), place=added.place, public_key=added.key)
        record(tx, event, stream=gate.stream)
    return added


def use_passkey(
    gate: Gate,
    tx: Writer,
    proof: Proof,
    challenge: bytes,
    origins: Collection[str],
    *,
    by: str | None = None,
    identity: str = "",
    check: Callable[[PasskeySet, float], PasskeySet] = lambda kept, now: kept,
) -> Passkey:
    """The passkey that signed this, with its count moved on. `by`: only one of this operator.

    `identity` is the id that a provider proved of them; without one, no passkey of such a person counts.
    """
    lock_passkeys(tx)
    kept, after = verify_passkey(gate, tx, proof, challenge, origins, by=by, identity=identity, check=check)
    passkeys = tuple(after if one.id == after.id else one for one in kept.passkeys)
    save_passkeys(gate, tx, msgspec.structs.replace(kept, passkeys=passkeys))
    return after


def verify_passkey(
    gate: Gate,
    tx: Reader,
    proof: Proof,
    challenge: bytes,
    origins: Collection[str],
    *,
    by: str | None = None,
    identity: str = "",
    check: Callable[[PasskeySet, float], PasskeySet] = lambda kept, now: kept,
) -> tuple[PasskeySet, Passkey]:
    """Return what to store, and the passkey that signed this with its count raised. Nothing is written."""
    kept = check(load_passkeys(gate, tx), tx.now)
    found = next((one for one in kept.passkeys if one.credential == proof.credential), None)
    if found is None or found.identity != identity or by not in (None, found.user):
        raise BadProof("it is not by a passkey that is registered for you here")
    count = check_passkey_proof(proof, decode_base64url(found.key), found.place, challenge, origins)
    if (count or found.count) and count <= found.count:
        raise BadProof("the passkey's count went back: it may have been copied")
    return kept, msgspec.structs.replace(found, count=count, used_at=tx.now)


def proof_to_details(proof: Proof, passkey: Passkey) -> dict[str, str]:
    """The proof as its entry holds it: with the name of the key, which the passkey's own entry spells out."""
    named = msgspec.structs.replace(proof, key=public_key_hash(decode_base64url(passkey.key)))
    return {name: str(value) for name, value in msgspec.structs.asdict(named).items()}


def load_passkeys(gate: Gate, tx: Reader) -> PasskeySet:
    """Return the stored passkeys; PasskeysVoid if they were tampered with or are of another epoch."""
    try:
        return read_value(gate, tx, ROW, PasskeySet) or PasskeySet()
    except TamperedValue as error:
        raise PasskeysVoid(words.PASSKEYS_CHANGED, hint=RESET) from error


def save_passkeys(gate: Gate, tx: Writer, kept: PasskeySet) -> None:
    write_value(gate, tx, ROW, kept)


def lock_passkeys(tx: Writer) -> None:
    """Let one transaction at a time change them."""
    lock_values(tx, "passkeys")


def _passkey_details(passkey: Passkey) -> dict[str, str]:
    key = public_key_hash(decode_base64url(passkey.key))
    return {"passkey": passkey.id, "user": passkey.user, "name": passkey.name} | {
        "credential": passkey.credential,
        "key": key,
    }


def _record_removed(gate: Gate, tx: Writer, passkey: Passkey, by: str) -> None:
    record(tx, events.PasskeyRemoved(by, **_passkey_details(passkey)), stream=gate.stream)

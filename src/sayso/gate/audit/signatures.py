"""The signatures of passkeys in the trail, checked again from its entries alone."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from sayso.core.audit.anchors import Finding, Kind
from sayso.gate.rows.webauthn import BadProof, Proof, answer_challenge, check_proof, key_id, unbase64

ANSWERED, ADDED, REMOVED = "ANSWERED", "PASSKEY_ADDED", "PASSKEY_REMOVED"
TELLING = frozenset({ANSWERED, ADDED, REMOVED})


class Added(msgspec.Struct, frozen=True):
    user: str
    place: str
    credential: str
    key: str
    public_key: str


class Removed(msgspec.Struct, frozen=True):
    credential: str = ""
    key: str = ""


class Answered(msgspec.Struct, frozen=True):
    question: str
    digest: str
    answer: str
    by: str
    edited: str = ""
    proof: Proof | None = None


_added = msgspec.json.Decoder(Added).decode
_removed = msgspec.json.Decoder(Removed).decode
_answered = msgspec.json.Decoder(Answered).decode
Name = tuple[str, str]
"""A credential and the name of its public key."""


class Proofs:
    """What the entries of all streams say of passkeys, and which signatures do not hold.

    A passkey may be added in one stream and used in another, so a signature by one not seen yet is put off.
    """

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = defaultdict(list)
        self._keys: dict[Name, tuple[Added, str, int]] = {}
        self._removed: set[tuple[str, Name]] = set()
        self._waiting: list[tuple[str, int, Answered]] = []

    def look(self, stream: str, seq: int, event: str, details: msgspec.Raw) -> None:
        """Take in one entry. Entries of a stream come in their order."""
        try:
            if event == ADDED:
                self._add(stream, seq, _added(details))
            elif event == REMOVED:
                one = _removed(details)
                self._removed.add((stream, (one.credential, one.key)))
            elif b'"proof"' in bytes(details):
                self._answer(stream, seq, _answered(details))
        except msgspec.MsgspecError:
            self._found(stream, seq, f"what entry {seq} says of a passkey cannot be read")

    def end(self, *, pruned: bool) -> None:
        """All was read. `pruned`: entries are gone that may have held public keys, which is no fault."""
        for stream, seq, answer in self._waiting:
            added = self._keys.get(_name(answer))
            if added is not None:
                self._check(stream, seq, answer, added)
            elif not pruned:
                self._found(stream, seq, f"entry {seq} is signed by a passkey that was never added")
        self._waiting.clear()

    def _add(self, stream: str, seq: int, added: Added) -> None:
        try:
            fits = key_id(unbase64(added.public_key)) == added.key
        except BadProof:
            fits = False
        if not fits:
            self._found(stream, seq, f"the public key in entry {seq} is not the one it names")
            return
        self._keys[added.credential, added.key] = (added, stream, seq)
        self._removed.discard((stream, (added.credential, added.key)))

    def _answer(self, stream: str, seq: int, answer: Answered) -> None:
        if answer.proof is None:
            return
        if (stream, _name(answer)) in self._removed:
            self._found(stream, seq, f"entry {seq} is signed by a passkey that was removed before")
            return
        added = self._keys.get(_name(answer))
        if added is None:
            self._waiting.append((stream, seq, answer))
        else:
            self._check(stream, seq, answer, added)

    def _check(self, stream: str, seq: int, answer: Answered, known: tuple[Added, str, int]) -> None:
        added, where, since = known
        if answer.proof is None:
            return
        if added.user != answer.by:
            self._found(stream, seq, f"entry {seq} is signed by a passkey of another")
        if where == stream and since > seq:
            self._found(stream, seq, f"entry {seq} is signed by a passkey that was added only later")
        try:
            challenge = answer_challenge(answer.question, answer.digest, answer.answer, answer.edited)
            check_proof(answer.proof, unbase64(added.public_key), added.place, challenge)
        except BadProof as error:
            self._found(stream, seq, f"the signature in entry {seq} does not hold: {error.message}")

    def _found(self, stream: str, seq: int, text: str) -> None:
        self.findings[stream].append(Finding(Kind.PROOF, seq, text))


def _name(answer: Answered) -> Name:
    return ("", "") if answer.proof is None else (answer.proof.credential, answer.proof.key)

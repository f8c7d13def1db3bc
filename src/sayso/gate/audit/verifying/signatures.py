"""The signatures of passkeys in the trail, checked again from its entries alone."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from sayso.core.audit import events
from sayso.core.audit.anchors import AuditFinding, FindingKind
from sayso.gate.rows.webauthn import (
    BadProof,
    Proof,
    answer_challenge,
    check_passkey_proof,
    decode_base64url,
    public_key_hash,
)

PASSKEY_EVENTS = frozenset({events.Answered.event, events.PasskeyAdded.event, events.PasskeyRemoved.event})


class SignedAnswer(msgspec.Struct, frozen=True):
    """The details of an entry ANSWERED that a signature covers."""

    question: str
    digest: str
    answer: str
    by: str
    edited: str = ""
    proof: Proof | None = None


_decode_added = msgspec.json.Decoder(events.PasskeyAdded).decode
_decode_removed = msgspec.json.Decoder(events.PasskeyRemoved).decode
_decode_answer = msgspec.json.Decoder(SignedAnswer).decode
PasskeyName = tuple[str, str]
"""A credential and the name of its public key."""


class Proofs:
    """The passkeys in the entries of all streams, and the signatures that do not hold.

    A passkey may be added in one stream and used in another, so a signature by an unknown passkey is checked
    at the end.
    """

    def __init__(self) -> None:
        self.findings: dict[str, list[AuditFinding]] = defaultdict(list)
        self._keys: dict[PasskeyName, tuple[events.PasskeyAdded, str, int]] = {}
        self._removed: set[tuple[str, PasskeyName]] = set()
        self._waiting: list[tuple[str, int, SignedAnswer]] = []

    def take_entry(self, stream: str, seq: int, event: str, details: msgspec.Raw) -> None:
        """Take in one entry. Entries of a stream come in their order."""
        try:
            if event == events.PasskeyAdded.event:
                self._add(stream, seq, _decode_added(details))
            elif event == events.PasskeyRemoved.event:
                one = _decode_removed(details)
                self._removed.add((stream, (one.credential or "", one.key or "")))
            elif b'"proof"' in bytes(details):
                self._answer(stream, seq, _decode_answer(details))
        except msgspec.MsgspecError:
            self._add_finding(stream, seq, f"what entry {seq} says of a passkey cannot be read")

    def end(self, *, pruned: bool) -> None:
        """Check what is left once all entries were read. `pruned`: missing public keys are not a fault."""
        for stream, seq, answer in self._waiting:
            added = self._keys.get(_passkey_name(answer))
            if added is not None:
                self._check(stream, seq, answer, added)
            elif not pruned:
                self._add_finding(stream, seq, f"entry {seq} is signed by a passkey that was never added")
        self._waiting.clear()

    def _add(self, stream: str, seq: int, added: events.PasskeyAdded) -> None:
        try:
            fits = public_key_hash(decode_base64url(added.public_key)) == added.key
        except BadProof:
            fits = False
        if not fits:
            self._add_finding(stream, seq, f"the public key in entry {seq} is not the one it names")
            return
        self._keys[added.credential, added.key] = (added, stream, seq)
        self._removed.discard((stream, (added.credential, added.key)))

    def _answer(self, stream: str, seq: int, answer: SignedAnswer) -> None:
        if answer.proof is None:
            return
        if (stream, _passkey_name(answer)) in self._removed:
            self._add_finding(stream, seq, f"entry {seq} is signed by a passkey that was removed before")
            return
        added = self._keys.get(_passkey_name(answer))
        if added is None:
            self._waiting.append((stream, seq, answer))
        else:
            self._check(stream, seq, answer, added)

    def _check(
        self, stream: str, seq: int, answer: SignedAnswer, known: tuple[events.PasskeyAdded, str, int]
    ) -> None:
        added, where, since = known
        if answer.proof is None:
            return
        if added.user != answer.by:
            self._add_finding(stream, seq, f"entry {seq} is signed by a passkey of another")
        if where == stream and since > seq:
            self._add_finding(stream, seq, f"entry {seq} is signed by a passkey that was added only later")
        try:
            challenge = answer_challenge(answer.question, answer.digest, answer.answer, answer.edited)
            check_passkey_proof(answer.proof, decode_base64url(added.public_key), added.place, challenge)
        except BadProof as error:
            self._add_finding(stream, seq, f"the signature in entry {seq} does not hold: {error.message}")

    def _add_finding(self, stream: str, seq: int, text: str) -> None:
        self.findings[stream].append(AuditFinding(FindingKind.PROOF, seq, text))


def _passkey_name(answer: SignedAnswer) -> PasskeyName:
    return ("", "") if answer.proof is None else (answer.proof.credential, answer.proof.key)
